// Exponentials, logarithms, trigonometry, powers, gelu.
#include <cmath>
#include <complex>

#include "row_loops.h"
#include "vector_math.h"

namespace tenora::cpu::TENORA_ISA {

namespace {

struct Exp {
    template <class T>
    static T apply(T x) {
        return math::exp(x);
    }
};
struct Log {
    template <class T>
    static T apply(T x) {
        return math::log(x);
    }
};
struct Tanh {
    template <class T>
    static T apply(T x) {
        return math::tanh(x);
    }
};
struct Erf {
    template <class T>
    static T apply(T x) {
        return math::erf(x);
    }
};
struct Sigmoid {
    template <class T>
    static T apply(T x) {
        return math::sigmoid(x);
    }
};
struct Atan2 {
    template <class T>
    static T apply(T y, T x) {
        return std::atan2(y, x);
    }
};

// Hendrycks and Gimpel, "Gaussian Error Linear Units", 2016: x times the normal distribution function.
struct Gelu {
    template <class T>
    static T apply(T x) {
        return T(0.5) * x * (T(1) + math::erf(x * T(0.70710678118654752440)));
    }
};
// Phi(x) + x phi(x)
struct GeluBackward {
    template <class T>
    static T apply(T g, T x) {
        const T cumulative = T(0.5) * (T(1) + math::erf(x * T(0.70710678118654752440)));
        const T density = math::exp(T(-0.5) * x * x) * T(0.39894228040143267794);
        return g * (cumulative + x * density);
    }
};
// The same with the distribution function approximated by tanh: inner = sqrt(2 / pi) (x + 0.044715 x^3).
struct GeluTanh {
    template <class T>
    static T apply(T x) {
        const T inner = T(0.79788456080286535588) * (x + T(0.044715) * x * x * x);
        return T(0.5) * x * (T(1) + math::tanh(inner));
    }
};
struct GeluTanhBackward {
    template <class T>
    static T apply(T g, T x) {
        const T inner = T(0.79788456080286535588) * (x + T(0.044715) * x * x * x);
        const T slope = T(0.79788456080286535588) * (T(1) + T(3 * 0.044715) * x * x);
        const T t = math::tanh(inner);
        return g * (T(0.5) * (T(1) + t) + T(0.5) * x * (T(1) - t * t) * slope);
    }
};

// Blocks without huge arguments take the vector form, the others the C library with its exact reduction.
template <uint64_t kShift>
int32_t trigonometric_row(void* out, const void* in, int64_t n) {
    float* o = static_cast<float*>(out);
    const float* x = static_cast<const float*>(in);
    for (int64_t begin = 0; begin < n; begin += kBlock) {
        const int64_t end = n - begin < kBlock ? n : begin + kBlock;
        int huge = 0;
        for (int64_t i = begin; i < end; ++i) huge |= !(std::fabs(x[i]) <= math::kTrigonometricLimit);
        if (huge) {
            for (int64_t i = begin; i < end; ++i) {
                o[i] = static_cast<float>(kShift ? std::cos(static_cast<double>(x[i]))
                                                 : std::sin(static_cast<double>(x[i])));
            }
        } else {
#pragma GCC ivdep
            for (int64_t i = begin; i < end; ++i) o[i] = math::sin_shifted(x[i], kShift);
        }
    }
    return TNR_OK;
}

struct Sin {
    template <class T>
    static T apply(T x) {
        return std::sin(x);
    }
};
struct Cos {
    template <class T>
    static T apply(T x) {
        return std::cos(x);
    }
};
struct Pow {
    template <class T>
    static T apply(T a, T b) {
        return std::pow(a, b);
    }
};
struct Square {
    template <class T>
    static T apply(T x) {
        return x * x;
    }
};
struct Reciprocal {
    template <class T>
    static T apply(T x) {
        return T(1) / x;
    }
};

// The exponents that formulas and users write most need no library call and give the same bits.
template <class T>
int32_t pow_row(void* out, const void* a, const void* b, int64_t n, int sides) {
    if (sides == kRightScalar && n > 0) {
        const T exponent = *static_cast<const T*>(b);
        if (exponent == T(2)) return unary_row<Square, T>(out, a, n);
        if (exponent == T(-1)) return unary_row<Reciprocal, T>(out, a, n);
    }
    return binary_row<Pow, T>(out, a, b, n, sides);
}

template <class Row>
void set(Row (&rows)[TNR_DTYPE_COUNT], Row float_row, Row double_row, Row half_row, Row bfloat_row) {
    rows[TNR_F32] = float_row;
    rows[TNR_F64] = double_row;
    rows[TNR_F16] = half_row;
    rows[TNR_BF16] = bfloat_row;
}

void fill_special(Tables& t) {
    constexpr UnaryRow sine = trigonometric_row<0>, cosine = trigonometric_row<1>;
    set<UnaryRow>(t.unary[static_cast<int>(Unary::sin)], sine, unary_row<Sin, double>,
                  half_unary<float16, sine>, half_unary<bfloat16, sine>);
    set<UnaryRow>(t.unary[static_cast<int>(Unary::cos)], cosine, unary_row<Cos, double>,
                  half_unary<float16, cosine>, half_unary<bfloat16, cosine>);
    set<BinaryRow>(t.binary[static_cast<int>(Binary::pow)], pow_row<float>, pow_row<double>,
                   half_binary<float16, pow_row<float>>, half_binary<bfloat16, pow_row<float>>);
}

#if !defined(__AVX2__)
// complex64 is computed in complex128: the C library's
// float versions are less exact, and nobody waits for them.
#define TENORA_COMPLEX_FUNCTION(Name, expression)         \
    struct Name {                                         \
        template <class T>                                \
        static std::complex<T> apply(std::complex<T> x) { \
            const std::complex<double> z(x);              \
            return std::complex<T>(expression);           \
        }                                                 \
    };
TENORA_COMPLEX_FUNCTION(ComplexExp, std::exp(z))
TENORA_COMPLEX_FUNCTION(ComplexLog, std::log(z))
TENORA_COMPLEX_FUNCTION(ComplexSqrt, std::sqrt(z))
TENORA_COMPLEX_FUNCTION(ComplexSin, std::sin(z))
TENORA_COMPLEX_FUNCTION(ComplexCos, std::cos(z))
TENORA_COMPLEX_FUNCTION(ComplexTanh, std::tanh(z))
#undef TENORA_COMPLEX_FUNCTION
struct ComplexPow {
    template <class T>
    static std::complex<T> apply(std::complex<T> a, std::complex<T> b) {
        if (b == std::complex<T>(0)) return T(1);
        if (a == std::complex<T>(0) && b.real() > 0 && b.imag() == 0) return T(0);
        return std::complex<T>(std::pow(std::complex<double>(a), std::complex<double>(b)));
    }
};

template <class C>
void fill_complex(Tables& t, tnr_dtype d) {
    t.unary[static_cast<int>(Unary::exp)][d] = unary_row<ComplexExp, C>;
    t.unary[static_cast<int>(Unary::log)][d] = unary_row<ComplexLog, C>;
    t.unary[static_cast<int>(Unary::sqrt)][d] = unary_row<ComplexSqrt, C>;
    t.unary[static_cast<int>(Unary::sin)][d] = unary_row<ComplexSin, C>;
    t.unary[static_cast<int>(Unary::cos)][d] = unary_row<ComplexCos, C>;
    t.unary[static_cast<int>(Unary::tanh)][d] = unary_row<ComplexTanh, C>;
    t.binary[static_cast<int>(Binary::pow)][d] = binary_row<ComplexPow, C>;
}
#endif

}  // namespace

void fill_math(Tables& t) {
    fill_unary<Exp>(t, Unary::exp);
    fill_unary<Log>(t, Unary::log);
    fill_unary<Tanh>(t, Unary::tanh);
    fill_unary<Erf>(t, Unary::erf);
    fill_unary<Sigmoid>(t, Unary::sigmoid);
    fill_unary<Gelu>(t, Unary::gelu);
    fill_unary<GeluTanh>(t, Unary::gelu_tanh);
    fill_binary<Atan2>(t, Binary::atan2);
    fill_binary<GeluBackward>(t, Binary::gelu_backward);
    fill_binary<GeluTanhBackward>(t, Binary::gelu_tanh_backward);
    fill_special(t);
#if !defined(__AVX2__)
    fill_complex<std::complex<float>>(t, TNR_C64);
    fill_complex<std::complex<double>>(t, TNR_C128);
#endif
}

}  // namespace tenora::cpu::TENORA_ISA
