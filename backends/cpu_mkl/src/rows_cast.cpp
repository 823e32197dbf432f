// Conversion of contiguous runs from any dtype to any other, PyTorch's rules:
//   float to integer truncates (out of range: wraps or is unspecified), anything to bool is `!= 0`, real to
//   complex has imaginary part 0, complex to real drops the imaginary part. Half types go through float.
#include <complex>
#include <cstring>
#include <type_traits>

#include "row_loops.h"

namespace tenora::cpu::TENORA_ISA {

namespace {

struct boolean {
    uint8_t value;
};

template <class T>
constexpr bool kHalf = std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>;
template <class T>
constexpr bool kComplex = std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>;

template <class To, class From>
To real_to(From x) {
    if constexpr (std::is_same_v<To, boolean>) {
        return {static_cast<uint8_t>(x != From(0))};
    } else if constexpr (kHalf<To>) {
        return narrow<To>(static_cast<float>(x));
    } else if constexpr (kComplex<To>) {
        return To(static_cast<typename To::value_type>(x), 0);
    } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
        // Through a wider signed integer, so that narrow and unsigned targets wrap.
        if constexpr (sizeof(To) < 4 || std::is_same_v<To, int32_t>)
            return static_cast<To>(static_cast<int32_t>(x));
        if constexpr (std::is_same_v<To, uint64_t>) {
            if (x >= From(0x1p63)) return static_cast<uint64_t>(x);
        }
        return static_cast<To>(static_cast<int64_t>(x));
    } else {
        return static_cast<To>(x);
    }
}

template <class To, class From>
To convert(From x) {
    if constexpr (std::is_same_v<From, boolean>) {
        return real_to<To>(static_cast<uint8_t>(x.value != 0));
    } else if constexpr (kHalf<From>) {
        return real_to<To>(to_float(x));
    } else if constexpr (kComplex<From>) {
        if constexpr (kComplex<To>)
            return To(x);
        else if constexpr (std::is_same_v<To, boolean>)
            return {static_cast<uint8_t>(x != From(0))};
        else
            return real_to<To>(x.real());
    } else {
        return real_to<To>(x);
    }
}

template <class From, class To>
void cast_row(void* out, const void* in, int64_t n) {
    To* o = static_cast<To*>(out);
    const From* x = static_cast<const From*>(in);
    if constexpr (std::is_same_v<From, To>) {
        if (n > 0) std::memcpy(out, in, static_cast<size_t>(n) * sizeof(To));
    } else if constexpr (kHalf<From> && std::is_same_v<To, float>) {
        widen_row(o, x, n);
    } else if constexpr (std::is_same_v<From, float> && kHalf<To>) {
        narrow_row(o, x, n);
    } else {
        for (int64_t i = 0; i < n; ++i) o[i] = convert<To>(x[i]);
    }
}

template <class From>
void fill_from(Tables& t, tnr_dtype from) {
    CastRow* row = t.cast[from];
    row[TNR_BOOL] = cast_row<From, boolean>;
    row[TNR_U8] = cast_row<From, uint8_t>;
    row[TNR_U16] = cast_row<From, uint16_t>;
    row[TNR_U32] = cast_row<From, uint32_t>;
    row[TNR_U64] = cast_row<From, uint64_t>;
    row[TNR_I8] = cast_row<From, int8_t>;
    row[TNR_I16] = cast_row<From, int16_t>;
    row[TNR_I32] = cast_row<From, int32_t>;
    row[TNR_I64] = cast_row<From, int64_t>;
    row[TNR_F16] = cast_row<From, float16>;
    row[TNR_BF16] = cast_row<From, bfloat16>;
    row[TNR_F32] = cast_row<From, float>;
    row[TNR_F64] = cast_row<From, double>;
    row[TNR_C64] = cast_row<From, std::complex<float>>;
    row[TNR_C128] = cast_row<From, std::complex<double>>;
}

}  // namespace

// AVX-512 takes AVX2's rows: conversions are bound by memory.
void fill_cast(Tables& t) {
#if defined(__AVX512F__)
    static_cast<void>(t);
#else
    fill_from<boolean>(t, TNR_BOOL);
    fill_from<uint8_t>(t, TNR_U8);
    fill_from<uint16_t>(t, TNR_U16);
    fill_from<uint32_t>(t, TNR_U32);
    fill_from<uint64_t>(t, TNR_U64);
    fill_from<int8_t>(t, TNR_I8);
    fill_from<int16_t>(t, TNR_I16);
    fill_from<int32_t>(t, TNR_I32);
    fill_from<int64_t>(t, TNR_I64);
    fill_from<float16>(t, TNR_F16);
    fill_from<bfloat16>(t, TNR_BF16);
    fill_from<float>(t, TNR_F32);
    fill_from<double>(t, TNR_F64);
    fill_from<std::complex<float>>(t, TNR_C64);
    fill_from<std::complex<double>>(t, TNR_C128);
#endif
}

}  // namespace tenora::cpu::TENORA_ISA
