// Calling a template with the C++ type of a dtype.
#pragma once

#include <complex>
#include <type_traits>

#include "half.h"
#include "tenora_backend.h"

namespace tenora::cpu::TENORA_ISA {

template <class T>
struct Type {
    using type = T;
};

// f(Type<T>()) for the storage type of the dtype; bool is uint8_t.
template <class F>
auto with_type(tnr_dtype dtype, F&& f) {
    switch (dtype) {
        case TNR_U16:
            return f(Type<uint16_t>());
        case TNR_U32:
            return f(Type<uint32_t>());
        case TNR_U64:
            return f(Type<uint64_t>());
        case TNR_I8:
            return f(Type<int8_t>());
        case TNR_I16:
            return f(Type<int16_t>());
        case TNR_I32:
            return f(Type<int32_t>());
        case TNR_I64:
            return f(Type<int64_t>());
        case TNR_F16:
            return f(Type<float16>());
        case TNR_BF16:
            return f(Type<bfloat16>());
        case TNR_F32:
            return f(Type<float>());
        case TNR_F64:
            return f(Type<double>());
        case TNR_C64:
            return f(Type<std::complex<float>>());
        case TNR_C128:
            return f(Type<std::complex<double>>());
        default:
            return f(Type<uint8_t>());
    }
}

template <class T>
constexpr bool is_half = std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>;
template <class T>
constexpr bool is_complex = std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>;

// The value of an element for comparisons and arithmetic: halves as float.
template <class T>
auto value_of(T x) {
    if constexpr (is_half<T>)
        return to_float(x);
    else
        return x;
}

}  // namespace tenora::cpu::TENORA_ISA
