// Elements: the fifteen dtypes as C++ types, and what to compute with.
//   - float16 and bfloat16 are read as float, computed in float and rounded once, to nearest even.
//   - A kernel's declared dtypes are those that its function takes (`mask_of`).
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <complex>
#include <concepts>
#include <cstdint>
#include <iterator>
#include <limits>
#include <tuple>
#include <type_traits>
#include <utility>

#include "tenora_backend.h"

namespace newbackend {

struct Half {
    uint16_t bits;
};
struct BFloat {
    uint16_t bits;
};

template <class T>
concept Floating = std::floating_point<T>;
template <class T>
concept Whole = std::integral<T> && !std::same_as<T, bool>;
template <class T>
concept Real = Whole<T> || Floating<T>;
template <class T>
concept Complex = std::same_as<T, std::complex<float>> || std::same_as<T, std::complex<double>>;
template <class T>
concept Number = Real<T> || Complex<T>;
template <class T>
concept Inexact = Floating<T> || Complex<T>;
template <class T>
concept Short = std::same_as<T, Half> || std::same_as<T, BFloat>;
template <class T>
using Wide = std::conditional_t<Short<T>, float, T>;

template <class T>
T widen(T x) {
    return x;
}
inline float widen(BFloat x) { return std::bit_cast<float>(uint32_t{x.bits} << 16); }
inline float widen(Half x) {
    const uint32_t sign = uint32_t(x.bits & 0x8000) << 16, exponent = x.bits >> 10 & 31, rest = x.bits & 1023;
    if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000 | rest << 13);
    if (exponent) return std::bit_cast<float>(sign | (exponent + 112) << 23 | rest << 13);
    const float tiny = std::ldexp(float(rest), -24);
    return sign ? -tiny : tiny;
}

// The nearest number with so many bits behind the leading one and no exponent below `lowest`.
template <int bits, int lowest>
double rounded(double x) {
    if (x == 0 || !std::isfinite(x)) return x;
    const int step = std::max(std::ilogb(x), lowest) - bits;
    return std::ldexp(std::nearbyint(std::ldexp(x, -step)), step);
}
inline BFloat to_bfloat(double x) {
    const auto all = std::bit_cast<uint32_t>(float(rounded<7, -126>(x)));
    return {uint16_t(x == x ? all >> 16 : (all >> 16 | 0x40))};
}
inline Half to_half(double x) {
    const uint16_t sign = std::signbit(x) ? 0x8000 : 0;
    if (x != x) return {uint16_t(sign | 0x7e00)};
    const double size = std::fabs(rounded<10, -14>(x));
    if (size >= 65520) return {uint16_t(sign | 0x7c00)};
    if (size < 0x1p-14) return {uint16_t(sign | uint16_t(std::ldexp(size, 24)))};
    return {uint16_t(sign | uint16_t((std::bit_cast<uint32_t>(float(size)) >> 13) - (112u << 10)))};
}

// Of floating numbers that do not fit the lowest one results, as from x86 processors.
template <Whole T>
T to_whole(double x) {
    if (std::same_as<T, uint64_t> && x >= 0x1p63 && x < 0x1p64) return T(uint64_t(x));
    if (!(x > -0x1p63 && x < 0x1p63)) return T(std::numeric_limits<int64_t>::min());
    return T(int64_t(x));
}

// A number as an element of another type: what casts, fills and results need.
template <class To, class From>
To convert(From x) {
    if constexpr (std::same_as<To, From>) {  // first: what is only copied keeps its bits, those of a NaN too
        return x;
    } else if constexpr (Short<From>) {
        return convert<To>(widen(x));
    } else if constexpr (std::same_as<To, bool>) {
        return x != From{};
    } else if constexpr (Complex<From> && !Complex<To>) {
        return convert<To>(x.real());
    } else if constexpr (Complex<To> && !Complex<From>) {
        return To(convert<typename To::value_type>(x));
    } else if constexpr (std::same_as<To, Half>) {
        return to_half(double(x));
    } else if constexpr (std::same_as<To, BFloat>) {
        return to_bfloat(double(x));
    } else if constexpr (Whole<To> && Floating<From>) {
        return to_whole<To>(double(x));
    } else {
        return static_cast<To>(x);
    }
}

// In the order of tnr_dtype.
using Elements = std::tuple<bool, uint8_t, uint16_t, uint32_t, uint64_t, int8_t, int16_t, int32_t, int64_t,
                            Half, BFloat, float, double, std::complex<float>, std::complex<double>>;

inline constexpr int kTypes[] = {0x608, 0x108, 0x110, 0x120, 0x140, 0x008, 0x010, 0x020,
                                 0x040, 0x210, 0x410, 0x220, 0x240, 0x540, 0x580};  // code and bits

inline int index_of(DLDataType type) {  // a tnr_dtype
    return int(std::find(std::begin(kTypes), std::end(kTypes), type.code << 8 | type.bits) - kTypes);
}

// Calls f(T{}) for the dtype's type T, if f takes it; f returns nothing or a status.
template <size_t i = 0, class F>
int32_t visit(DLDataType type, F&& f) {
    if constexpr (i == TNR_DTYPE_COUNT) {
        return TNR_NOT_SUPPORTED;
    } else {
        using T = std::tuple_element_t<i, Elements>;
        if (index_of(type) != i) return visit<i + 1>(type, f);
        if constexpr (!std::invocable<F, T>)
            return TNR_NOT_SUPPORTED;
        else if constexpr (std::is_void_v<std::invoke_result_t<F, T>>)
            return f(T{}), TNR_OK;
        else
            return f(T{});
    }
}

template <class F, class T, size_t inputs>
inline constexpr bool takes = inputs == 1 ? std::invocable<F, Wide<T>> : std::invocable<F, Wide<T>, Wide<T>>;

template <class F, size_t inputs>
constexpr uint32_t mask_of() {
    return []<size_t... i>(std::index_sequence<i...>) {
        return ((takes<F, std::tuple_element_t<i, Elements>, inputs> ? 1u << i : 0u) | ...);
    }(std::make_index_sequence<TNR_DTYPE_COUNT>());
}

}  // namespace newbackend
