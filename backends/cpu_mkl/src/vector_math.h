// Elementary functions of one float, branch-free, so that loops over them vectorise and every layout gives
// the same bits. Polynomials are our own minimax fits (Chebyshev nodes, Lawson's iteration, rounded to
// float); the error bounds beside them are those of the fit. Reductions are Cody and Waite's ("Software
// Manual for the Elementary Functions", 1980). Measured against float64 (tests/integration): sin, cos within
// 0.6 ULP, exp, log, tanh, erf within 1.5, sigmoid 2.1.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

namespace tenora::cpu::TENORA_ISA::math {

inline uint32_t bits_of(float x) { return __builtin_bit_cast(uint32_t, x); }
inline float float_of(uint32_t bits) { return __builtin_bit_cast(float, bits); }
inline uint64_t bits_of(double x) { return __builtin_bit_cast(uint64_t, x); }
inline float with_sign_of(float magnitude, float sign) {
    return float_of((bits_of(magnitude) & 0x7fffffffu) | (bits_of(sign) & 0x80000000u));
}

// Adding and subtracting it rounds to a whole number, whose bits are then the low bits of the sum.
inline constexpr float kRounder = 12582912.0f;
inline constexpr float kLn2High = 0x1.62e400p-1f, kLn2Low = 0x1.7f7d1cp-20f;

inline float exp(float x) {
    // Beyond these the result is infinity or zero anyway; the comparisons keep NaN.
    x = x > 89.0f ? 89.0f : x;
    x = x < -104.0f ? -104.0f : x;
    const float shifted = x * 0x1.715476p+0f + kRounder;
    const float n = shifted - kRounder;
    const float r = (x - n * kLn2High) - n * kLn2Low;
    // (exp(r) - 1 - r) / r^2 on |r| <= ln 2 / 2, 5e-9 of exp(r)
    float q = 0x1.6dbc64p-10f;
    q = q * r + 0x1.124148p-7f;
    q = q * r + 0x1.555454p-5f;
    q = q * r + 0x1.555486p-3f;
    q = q * r + 0.5f;
    const float e = 1.0f + (r + r * r * q);
    // 2^n in two factors, so that neither leaves the range and subnormal results round once.
    const int32_t whole = static_cast<int32_t>(bits_of(shifted) - bits_of(kRounder));
    const int32_t half = whole >> 1;
    const float scale_1 = float_of(static_cast<uint32_t>(half + 127) << 23);
    const float scale_2 = float_of(static_cast<uint32_t>(whole - half + 127) << 23);
    return e * scale_1 * scale_2;
}

inline float log(float x) {
    const bool subnormal = x < std::numeric_limits<float>::min();
    const float normal = subnormal ? x * 0x1p23f : x;
    // Mantissa in sqrt(1/2) .. sqrt(2)
    const uint32_t bits = bits_of(normal) + (0x3f800000u - 0x3f3504f3u);
    const int32_t exponent = static_cast<int32_t>(bits >> 23) - (subnormal ? 127 + 23 : 127);
    const float k = static_cast<float>(exponent);
    const float f = float_of((bits & 0x007fffffu) + 0x3f3504f3u) - 1.0f;
    // (log(1 + f) - f + f^2 / 2) / f^3, 8e-10
    float r = 0x1.1b40e4p-4f;
    r = r * f + -0x1.e2e918p-4f;
    r = r * f + 0x1.e6512ep-4f;
    r = r * f + -0x1.fb434ep-4f;
    r = r * f + 0x1.2332b8p-3f;
    r = r * f + -0x1.5562e2p-3f;
    r = r * f + 0x1.99a546p-3f;
    r = r * f + -0x1.ffffeep-3f;
    r = r * f + 0x1.555546p-2f;
    const float square = f * f;
    float result = k * kLn2High + (f - (0.5f * square - (f * square * r + k * kLn2Low)));
    constexpr float infinity = std::numeric_limits<float>::infinity();
    result = x < infinity ? result : x;  // infinity, NaN
    result = x == 0 ? -infinity : result;
    return x < 0 ? std::numeric_limits<float>::quiet_NaN() : result;
}

inline float tanh(float x) {
    const float z = x * x;
    // (tanh(x) - x) / (x z) on |x| <= 0.625, 9e-10
    float p = 0x1.197b62p-9f;
    p = p * z + -0x1.0c213ep-7f;
    p = p * z + 0x1.6394d8p-6f;
    p = p * z + -0x1.b9ef7cp-5f;
    p = p * z + 0x1.11106cp-3f;
    p = p * z + -0x1.555554p-2f;
    const float small = with_sign_of(x + x * z * p, x);  // keeps -0
    const float magnitude = float_of(bits_of(x) & 0x7fffffffu);
    const float large = with_sign_of(1.0f - 2.0f / (exp(magnitude + magnitude) + 1.0f), x);
    return magnitude < 0.625f ? small : large;
}

inline float sigmoid(float x) {
    // exp of the negative magnitude neither overflows nor cancels.
    const float z = exp(-float_of(bits_of(x) & 0x7fffffffu));
    return (x < 0 ? z : 1.0f) / (1.0f + z);
}

inline float erf(float x) {
    const float z = x * x;
    // erf(x) / x - 1 on |x| <= 0.93, 6e-10
    float p = 0x1.5e062cp-14f;
    p = p * z + -0x1.aaa2d6p-11f;
    p = p * z + 0x1.54d42ap-8f;
    p = p * z + -0x1.b80ff2p-6f;
    p = p * z + 0x1.ce2e1cp-4f;
    p = p * z + -0x1.812744p-2f;
    p = p * z + 0x1.06eba8p-3f;
    const float small = x + x * p;
    float t = float_of(bits_of(x) & 0x7fffffffu);
    const bool inner = t < 0.927734375f;
    t = t > 4.0f ? 4.0f : t;
    // -log(erfc(t)) on 0.9 .. 4, 2e-9 of erfc(t)
    float q = 0x1.5ecddcp-16f;
    q = q * t + -0x1.c54d74p-12f;
    q = q * t + 0x1.10aa10p-8f;
    q = q * t + -0x1.9b195ep-6f;
    q = q * t + 0x1.bb5652p-4f;
    q = q * t + 0x1.444b42p-1f;
    q = q * t + 0x1.212698p+0f;
    q = q * t + -0x1.65ac6ep-13f;
    const float large = with_sign_of(1.0f - exp(-q), x);
    return inner ? small : large;
}

// sin(x + shift * pi / 2) for |x| <= kTrigonometricLimit, in
// double: the reduction loses nothing that a float shows.
inline constexpr float kTrigonometricLimit = 1.0e6f;

inline float sin_shifted(float value, uint64_t shift) {
    constexpr double rounder = 6755399441055744.0;
    constexpr double high = 0x1.921fb544p+0, middle = 0x1.0b4611a6p-34, low = 0x1.3198a2e037073p-69;
    const double x = value;
    const double shifted = x * 0x1.45f306dc9c883p-1 + rounder;
    const double n = shifted - rounder;
    const double r = ((x - n * high) - n * middle) - n * low;
    const double z = r * r;
    // Taylor series on |r| <= pi / 4: 7e-12 and 4e-13
    double s = -1.0 / 39916800.0;
    s = s * z + 1.0 / 362880.0;
    s = s * z + -1.0 / 5040.0;
    s = s * z + 1.0 / 120.0;
    s = s * z + -1.0 / 6.0;
    const double sine = r * (1.0 + z * s);  // keeps -0
    double c = 1.0 / 479001600.0;
    c = c * z + -1.0 / 3628800.0;
    c = c * z + 1.0 / 40320.0;
    c = c * z + -1.0 / 720.0;
    c = c * z + 1.0 / 24.0;
    c = c * z + -0.5;
    const double cosine = 1.0 + z * c;
    const uint64_t quadrant = bits_of(shifted) + shift;
    const double magnitude = quadrant & 1 ? cosine : sine;
    return static_cast<float>(__builtin_bit_cast(double, bits_of(magnitude) ^ (quadrant & 2) << 62));
}

// The double versions are the C library's, which are within 1 ULP.
inline double exp(double x) { return std::exp(x); }
inline double log(double x) { return std::log(x); }
inline double tanh(double x) { return std::tanh(x); }
inline double erf(double x) { return std::erf(x); }
inline double sigmoid(double x) {
    const double z = std::exp(-std::fabs(x));
    return (x < 0 ? z : 1.0) / (1.0 + z);
}

}  // namespace tenora::cpu::TENORA_ISA::math
