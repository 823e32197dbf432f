// Floating-point arithmetic: f16, bf16, f32, f64 in every set, complex numbers in the baseline alone.
#include <cmath>
#include <complex>
#include <limits>

#include "row_loops.h"

namespace tenora::cpu::TENORA_ISA {

namespace {

struct Neg {
    template <class T>
    static T apply(T x) {
        return -x;
    }
};
struct Abs {
    template <class T>
    static T apply(T x) {
        return std::fabs(x);
    }
};
// 0 for NaN, as in PyTorch.
struct Sign {
    template <class T>
    static T apply(T x) {
        return static_cast<T>(x > 0) - static_cast<T>(x < 0);
    }
};
struct Sqrt {
    template <class T>
    static T apply(T x) {
        return std::sqrt(x);
    }
};
struct Floor {
    template <class T>
    static T apply(T x) {
        return std::floor(x);
    }
};
struct Ceil {
    template <class T>
    static T apply(T x) {
        return std::ceil(x);
    }
};
struct Trunc {
    template <class T>
    static T apply(T x) {
        return std::trunc(x);
    }
};
struct Round {
    template <class T>
    static T apply(T x) {
        return std::nearbyint(x);
    }
};
struct Relu {
    template <class T>
    static T apply(T x) {
        return x < 0 ? T(0) : x;
    }
};
struct Rsqrt {
    template <class T>
    static T apply(T x) {
        return T(1) / std::sqrt(x);
    }
};
struct Reciprocal {
    template <class T>
    static T apply(T x) {
        return T(1) / x;
    }
};
struct Square {
    template <class T>
    static T apply(T x) {
        return x * x;
    }
};

struct Add {
    template <class T>
    static T apply(T a, T b) {
        return a + b;
    }
};
struct Sub {
    template <class T>
    static T apply(T a, T b) {
        return a - b;
    }
};
struct Mul {
    template <class T>
    static T apply(T a, T b) {
        return a * b;
    }
};
struct Div {
    template <class T>
    static T apply(T a, T b) {
        return a / b;
    }
};
// NaN on either side wins.
struct Maximum {
    template <class T>
    static T apply(T a, T b) {
        return (a > b) | (a != a) ? a : b;
    }
};
struct Minimum {
    template <class T>
    static T apply(T a, T b) {
        return (a < b) | (a != a) ? a : b;
    }
};
// 0 where x <= 0, else g, of NaN too.
struct ThresholdBackward {
    template <class T>
    static T apply(T g, T x) {
        return x <= 0 ? T(0) : g;
    }
};
// From the results s and t: g s (1 - s), g (1 - t t).
struct SigmoidBackward {
    template <class T>
    static T apply(T g, T s) {
        return g * (s * (T(1) - s));
    }
};
struct TanhBackward {
    template <class T>
    static T apply(T g, T t) {
        return g * (T(1) - t * t);
    }
};

// Python's rule: the remainder has the divisor's sign, also a zero one.
struct Remainder {
    template <class T>
    static T apply(T a, T b) {
        if (b == 0) return std::numeric_limits<T>::quiet_NaN();
        T r = std::fmod(a, b);
        if (r == 0) return std::copysign(T(0), b);
        return (r < 0) != (b < 0) ? r + b : r;
    }
};

// The quotient of a - remainder, which is near a whole number, snapped to it.
struct FloorDivide {
    template <class T>
    static T apply(T a, T b) {
        if (b == 0) return a / b;
        const T r = std::fmod(a, b);
        T quotient = (a - r) / b;
        if (r != 0 && (r < 0) != (b < 0)) quotient -= 1;
        if (quotient == 0) return std::copysign(T(0), a / b);
        T floored = std::floor(quotient);
        if (quotient - floored > T(0.5)) floored += 1;
        return floored;
    }
};

template <class T>
int32_t complex_abs(void* out, const void* in, int64_t n) {
    for (int64_t i = 0; i < n; ++i)
        static_cast<T*>(out)[i] = std::abs(static_cast<const std::complex<T>*>(in)[i]);
    return TNR_OK;
}

// Smith's method (Communications of the ACM 5, 1962): no overflow in between.
struct ComplexDiv {
    template <class T>
    static std::complex<T> apply(std::complex<T> a, std::complex<T> b) {
        if (std::fabs(b.real()) >= std::fabs(b.imag())) {
            if (b.real() == 0 && b.imag() == 0)
                return {a.real() / std::fabs(b.real()), a.imag() / std::fabs(b.real())};
            const T ratio = b.imag() / b.real(), scale = T(1) / (b.real() + b.imag() * ratio);
            return {(a.real() + a.imag() * ratio) * scale, (a.imag() - a.real() * ratio) * scale};
        }
        const T ratio = b.real() / b.imag(), scale = T(1) / (b.imag() + b.real() * ratio);
        return {(a.real() * ratio + a.imag()) * scale, (a.imag() * ratio - a.real()) * scale};
    }
};

template <class T>
void fill_complex(Tables& t, tnr_dtype dtype) {
    using C = std::complex<T>;
    t.unary[static_cast<int>(Unary::neg)][dtype] = unary_row<Neg, C>;
    t.unary[static_cast<int>(Unary::abs)][dtype] = complex_abs<T>;
    t.unary[static_cast<int>(Unary::square)][dtype] = unary_row<Square, C>;
    t.binary[static_cast<int>(Binary::add)][dtype] = binary_row<Add, C>;
    t.binary[static_cast<int>(Binary::sub)][dtype] = binary_row<Sub, C>;
    t.binary[static_cast<int>(Binary::mul)][dtype] = binary_row<Mul, C>;
    t.binary[static_cast<int>(Binary::div)][dtype] = binary_row<ComplexDiv, C>;
}

}  // namespace

void fill_arithmetic(Tables& t) {
    fill_unary<Neg>(t, Unary::neg);
    fill_unary<Abs>(t, Unary::abs);
    fill_unary<Sign>(t, Unary::sign);
    fill_unary<Sqrt>(t, Unary::sqrt);
    fill_unary<Floor>(t, Unary::floor);
    fill_unary<Ceil>(t, Unary::ceil);
    fill_unary<Trunc>(t, Unary::trunc);
    fill_unary<Round>(t, Unary::round);
    fill_unary<Relu>(t, Unary::relu);
    fill_unary<Rsqrt>(t, Unary::rsqrt);
    fill_unary<Reciprocal>(t, Unary::reciprocal);
    fill_unary<Square>(t, Unary::square);
    fill_binary<Add>(t, Binary::add);
    fill_binary<Sub>(t, Binary::sub);
    fill_binary<Mul>(t, Binary::mul);
    fill_binary<Div>(t, Binary::div);
    fill_binary<Maximum>(t, Binary::maximum);
    fill_binary<Minimum>(t, Binary::minimum);
    fill_binary<Remainder>(t, Binary::remainder);
    fill_binary<FloorDivide>(t, Binary::floor_divide);
    fill_binary<ThresholdBackward>(t, Binary::threshold_backward);
    fill_binary<SigmoidBackward>(t, Binary::sigmoid_backward);
    fill_binary<TanhBackward>(t, Binary::tanh_backward);
#if !defined(__AVX2__)
    fill_complex<float>(t, TNR_C64);
    fill_complex<double>(t, TNR_C128);
#endif
}

}  // namespace tenora::cpu::TENORA_ISA
