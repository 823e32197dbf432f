// float16 and bfloat16: storage types, and conversion of
// contiguous runs to and from float (round to nearest even).
#pragma once

#include <cstdint>
#include <cstring>

#if defined(__F16C__)
#include <immintrin.h>
#endif

namespace tenora::cpu::TENORA_ISA {

struct float16 {
    uint16_t bits;
};
struct bfloat16 {
    uint16_t bits;
};

inline float as_float(uint32_t bits) { return __builtin_bit_cast(float, bits); }
inline uint32_t as_bits(float value) { return __builtin_bit_cast(uint32_t, value); }

inline float to_float(bfloat16 h) { return as_float(static_cast<uint32_t>(h.bits) << 16); }

inline bfloat16 to_bfloat16(float value) {
    const uint32_t bits = as_bits(value);
    const uint32_t rounded = (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
    const uint32_t quiet = bits >> 16 | 0x40u;
    return {static_cast<uint16_t>(value != value ? quiet : rounded)};
}

inline float to_float(float16 h) {
#if defined(__F16C__)
    return _cvtsh_ss(h.bits);
#else
    const uint32_t sign = static_cast<uint32_t>(h.bits & 0x8000u) << 16;
    const uint32_t rest = h.bits & 0x7fffu;
    if (rest >= 0x7c00u) return as_float(sign | 0x7f800000u | (rest & 0x3ffu) << 13);
    // Scaling by 2^112 moves the exponent and makes subnormals normal, exactly.
    return as_float(sign | as_bits(as_float(rest << 13) * 0x1p112f));
#endif
}

inline float16 to_float16(float value) {
#if defined(__F16C__)
    return {static_cast<uint16_t>(_cvtss_sh(value, _MM_FROUND_TO_NEAREST_INT))};
#else
    const uint32_t bits = as_bits(value);
    const uint16_t sign = static_cast<uint16_t>(bits >> 16 & 0x8000u);
    const uint32_t rest = bits & 0x7fffffffu;
    if (rest > 0x7f800000u) return {static_cast<uint16_t>(sign | 0x7e00u | (rest >> 13 & 0x3ffu))};
    if (rest >= 0x477ff000u) return {static_cast<uint16_t>(sign | 0x7c00u)};
    if (rest < 0x38800000u) {
        // Subnormal: adding 0.5 leaves the rounded multiple of 2^-24 in the low bits of the mantissa.
        return {static_cast<uint16_t>(sign | (as_bits(as_float(rest) + 0.5f) - 0x3f000000u))};
    }
    return {static_cast<uint16_t>(sign | (rest - 0x38000000u + 0xfffu + (rest >> 13 & 1u)) >> 13)};
#endif
}

template <class Half>
Half narrow(float value);
template <>
inline float16 narrow<float16>(float value) {
    return to_float16(value);
}
template <>
inline bfloat16 narrow<bfloat16>(float value) {
    return to_bfloat16(value);
}

inline void widen_row(float* out, const bfloat16* in, int64_t n) {
    for (int64_t i = 0; i < n; ++i) out[i] = to_float(in[i]);
}
inline void narrow_row(bfloat16* out, const float* in, int64_t n) {
    for (int64_t i = 0; i < n; ++i) out[i] = to_bfloat16(in[i]);
}
inline void widen_row(float* out, const float16* in, int64_t n) {
    int64_t i = 0;
#if defined(__F16C__)
    for (; i + 8 <= n; i += 8) {
        _mm256_storeu_ps(out + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(in + i))));
    }
#endif
    for (; i < n; ++i) out[i] = to_float(in[i]);
}
inline void narrow_row(float16* out, const float* in, int64_t n) {
    int64_t i = 0;
#if defined(__F16C__)
    for (; i + 8 <= n; i += 8) {
        _mm_storeu_si128(reinterpret_cast<__m128i*>(out + i),
                         _mm256_cvtps_ph(_mm256_loadu_ps(in + i), _MM_FROUND_TO_NEAREST_INT));
    }
#endif
    for (; i < n; ++i) out[i] = to_float16(in[i]);
}

}  // namespace tenora::cpu::TENORA_ISA
