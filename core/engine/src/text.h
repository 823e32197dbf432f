// Message building: text(...) puts words, numbers, shapes and dtypes together.
#pragma once

#include <charconv>
#include <concepts>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tenora/error.h"
#include "tenora/op.h"

namespace tenora {

inline void append(std::string& s, std::string_view v) { s += v; }
inline void append(std::string& s, const char* v) { s += v; }
template <std::integral T>
void append(std::string& s, T v) {
    s += std::to_string(v);
}
inline void append(std::string& s, double v) {  // the fewest digits that mean this number
    char digits[32];
    s.append(digits, std::to_chars(digits, digits + sizeof digits, v).ptr);
}
inline void append(std::string& s, DType v) {
    s += v == DType::None ? std::string_view("none") : info(v).name;
}
inline void append(std::string& s, Device v) { s += to_string(v); }
inline void append(std::string& s, std::span<const int64_t> v) {
    s += '[';
    for (size_t i = 0; i < v.size(); ++i) {
        if (i) s += ", ";
        s += std::to_string(v[i]);
    }
    s += ']';
}
inline void append(std::string& s, const std::vector<std::string>& v) {
    for (size_t i = 0; i < v.size(); ++i) {
        if (i) s += ", ";
        s += v[i];
    }
}

template <class... T>
std::string text(const T&... parts) {
    std::string s;
    (append(s, parts), ...);
    return s;
}

}  // namespace tenora
