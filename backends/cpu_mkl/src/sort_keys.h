// Numbers as unsigned keys in the order of sort: NaN is the largest, -0 equals 0.
#pragma once

#include <limits>
#include <type_traits>

#include "element.h"

namespace tenora::cpu::TENORA_ISA {

template <class T>
struct KeyOf {
    using type = std::conditional_t<(sizeof(T) > 4), uint64_t, uint32_t>;
};
template <class T>
using Key = typename KeyOf<T>::type;

template <class T>
Key<T> key_of(T value, bool descending) {
    using K = Key<T>;
    constexpr int kSign = sizeof(K) * 8 - 1;
    K key;
    if constexpr (std::is_integral_v<T>) {
        key = static_cast<K>(value);
        if constexpr (std::is_signed_v<T>) key ^= K(1) << kSign;
    } else {
        const auto x = value_of(value);
        key = __builtin_bit_cast(K, x == 0 ? decltype(x)(0) : x);
        key = x != x ? ~K(0) : key >> kSign ? ~key : key | K(1) << kSign;
    }
    return descending ? ~key : key;
}

template <class T>
struct Entry {
    Key<T> key;
    std::conditional_t<(sizeof(T) > 4), int64_t, uint32_t> position;
};

template <class T>
bool before(const Entry<T>& a, const Entry<T>& b) {
    return a.key < b.key || (a.key == b.key && a.position < b.position);
}

}  // namespace tenora::cpu::TENORA_ISA
