// Functions that no vector form was written for: the C library's, or published approximations in double.
//
//   - digamma and the incomplete gamma functions are those of core's composites without the masks: each
//     element stops when it has converged. Numbers are those of Abramowitz and Stegun, "Handbook of
//     Mathematical Functions".
//   - Instruction sets make little difference to calls, so only the baseline has those rows.
#include <cmath>

#include "row_loops.h"

namespace tenora::cpu::TENORA_ISA {

namespace {

struct HardSigmoid {
    template <class T>
    static T apply(T x) {
        const T up = x + T(3), low = up < 0 ? T(0) : up;
        return (low > T(6) ? T(6) : low) / T(6);
    }
};
struct HardSwish {
    template <class T>
    static T apply(T x) {
        const T up = x + T(3), low = up < 0 ? T(0) : up;
        return x * (low > T(6) ? T(6) : low) / T(6);
    }
};
struct Frac {
    template <class T>
    static T apply(T x) {
        return x - std::trunc(x);
    }
};
struct CopySign {
    template <class T>
    static T apply(T a, T b) {
        return std::copysign(a, b);
    }
};

#if !defined(__AVX2__)
#define TENORA_LIBRARY_FUNCTION(Name, function) \
    struct Name {                               \
        template <class T>                      \
        static T apply(T x) {                   \
            return std::function(x);            \
        }                                       \
    };
TENORA_LIBRARY_FUNCTION(Asin, asin)
TENORA_LIBRARY_FUNCTION(Acos, acos)
TENORA_LIBRARY_FUNCTION(Atan, atan)
TENORA_LIBRARY_FUNCTION(Exp2, exp2)
TENORA_LIBRARY_FUNCTION(Erfc, erfc)
#undef TENORA_LIBRARY_FUNCTION

template <int kCount>
double polynomial(double x, const double (&coefficients)[kCount]) {
    double value = coefficients[0];
    for (int i = 1; i < kCount; ++i) value = value * x + coefficients[i];
    return value;
}

// log |gamma|; the library's reentrant form, as the other one writes a global.
struct Lgamma {
    static float apply(float x) {
        int sign;
        return static_cast<float>(::lgamma_r(x, &sign));
    }
    static double apply(double x) {
        int sign;
        return ::lgamma_r(x, &sign);
    }
};

constexpr double kPi = 3.14159265358979323846;

// Recurrence (6.3.5) up to 10, the asymptotic series (6.3.18) from there; reflection (6.3.7) below 0.
double digamma(double x) {
    if (x == 0) return -1 / x;
    if (x < 0) {
        const double fraction = x - std::nearbyint(x);
        return fraction == 0 ? static_cast<double>(NAN) : digamma(1 - x) - kPi / std::tan(kPi * fraction);
    }
    double total = 0;
    for (; x < 10; x += 1) total -= 1 / x;
    static constexpr double kSeries[] = {174611.0 / 6600, -43867.0 / 14364, 3617.0 / 8160, -1.0 / 12,
                                         691.0 / 32760,   -1.0 / 132,       1.0 / 240,     -1.0 / 252,
                                         1.0 / 120,       -1.0 / 12};
    const double inverse = 1 / x, square = inverse * inverse;
    return std::log(x) - 0.5 * inverse + polynomial(square, kSeries) * square + total;
}
struct Digamma {
    template <class T>
    static T apply(T x) {
        return static_cast<T>(digamma(static_cast<double>(x)));
    }
};

// The standard normal quantile of 0.5 + q, with `smaller` beyond it: Wichura, AS 241 (1988), PPND16.
double normal_quantile(double q, double smaller) {
    static constexpr double kCentreP[] = {
        2.5090809287301226727e3, 3.3430575583588128105e4, 6.7265770927008700853e4, 4.5921953931549871457e4,
        1.3731693765509461125e4, 1.9715909503065514427e3, 1.3314166789178437745e2, 3.3871328727963666080e0};
    static constexpr double kCentreQ[] = {
        5.2264952788528545610e3, 2.8729085735721942674e4, 3.9307895800092710610e4, 2.1213794301586595867e4,
        5.3941960214247511077e3, 6.8718700749205790830e2, 4.2313330701600911252e1, 1.0};
    static constexpr double kNearP[] = {7.74545014278341407640e-4, 2.27238449892691845833e-2,
                                        2.41780725177450611770e-1, 1.27045825245236838258e0,
                                        3.64784832476320460504e0,  5.76949722146069140550e0,
                                        4.63033784615654529590e0,  1.42343711074968357734e0};
    static constexpr double kNearQ[] = {1.05075007164441684324e-9, 5.47593808499534494600e-4,
                                        1.51986665636164571966e-2, 1.48103976427480074590e-1,
                                        6.89767334985100004550e-1, 1.67638483018380384940e0,
                                        2.05319162663775882187e0,  1.0};
    static constexpr double kTailP[] = {2.01033439929228813265e-7, 2.71155556874348757815e-5,
                                        1.24266094738807843860e-3, 2.65321895265761230930e-2,
                                        2.96560571828504891230e-1, 1.78482653991729133580e0,
                                        5.46378491116411436990e0,  6.65790464350110377720e0};
    static constexpr double kTailQ[] = {2.04426310338993978564e-15, 1.42151175831644588870e-7,
                                        1.84631831751005468180e-5,  7.86869131145613259100e-4,
                                        1.48753612908506148525e-2,  1.36929880922735805310e-1,
                                        5.99832206555887937690e-1,  1.0};
    if (std::fabs(q) <= 0.425) {
        const double inner = 0.180625 - q * q;
        return q * polynomial(inner, kCentreP) / polynomial(inner, kCentreQ);
    }
    if (smaller == 0) return q < 0 ? -INFINITY : INFINITY;
    const double r = std::sqrt(-std::log(smaller));
    const double outer = r <= 5 ? polynomial(r - 1.6, kNearP) / polynomial(r - 1.6, kNearQ)
                                : polynomial(r - 5, kTailP) / polynomial(r - 5, kTailQ);
    return q < 0 ? -outer : outer;
}
struct Erfinv {
    template <class T>
    static T apply(T value) {
        const double x = static_cast<double>(value);
        if (!(std::fabs(x) <= 1)) return static_cast<T>(NAN);
        return static_cast<T>(normal_quantile(0.5 * x, 0.5 * (1 - std::fabs(x))) * 0.70710678118654752440);
    }
};

constexpr double kConverged = 0x1p-51;
constexpr int kSteps = 2000;

// 1 + x / (a + 1) + x^2 / ((a + 1) (a + 2)) + ... (6.5.29)
double gamma_series(double a, double x) {
    double total = 1, term = 1;
    for (int step = 0; step < kSteps && term > total * kConverged; ++step) {
        a += 1;
        term *= x / a;
        total += term;
    }
    return total;
}

// The continued fraction (6.5.31), numerators and denominators scaled down as they grow.
double gamma_fraction(double a, double x) {
    double y = 1 - a, z = x - a + 2;
    double p0 = 1, p1 = x + 1, q0 = x, q1 = z * x, found = p1 / q1;
    for (int step = 1; step < kSteps; ++step) {
        y += 1;
        z += 2;
        const double p2 = p1 * z - p0 * (y * step), q2 = q1 * z - q0 * (y * step), last = found;
        const double scale = std::fabs(p2) > 0x1p52 ? 0x1p-52 : 1;
        p0 = p1 * scale;
        p1 = p2 * scale;
        q0 = q1 * scale;
        q1 = q2 * scale;
        found = p2 / q2;
        if (!(std::fabs(found - last) > std::fabs(found) * kConverged)) break;
    }
    return found;
}

// P(a, x), or Q(a, x) = 1 - P(a, x); each is computed where it is the smaller one, roughly.
double incomplete_gamma(double a, double x, bool upper) {
    if (!(a > 0 && x > 0) || std::isinf(a) || std::isinf(x)) {
        const bool known = a >= 0 && x >= 0 && !(a == 0 && x == 0) && !(std::isinf(a) && std::isinf(x));
        const bool all_below = a == 0 || std::isinf(x);
        return known ? static_cast<double>(all_below != upper) : static_cast<double>(NAN);
    }
    const double weight = std::exp(a * std::log(x) - x - Lgamma::apply(a));
    if (x > (a > 1 ? a : 1)) {
        const double rest = gamma_fraction(a, x) * weight;
        return upper ? rest : 1 - rest;
    }
    const double lower = gamma_series(a, x) * weight / a;
    return upper ? 1 - lower : lower;
}
struct Igamma {
    template <class T>
    static T apply(T a, T x) {
        return static_cast<T>(incomplete_gamma(static_cast<double>(a), static_cast<double>(x), false));
    }
};
struct Igammac {
    template <class T>
    static T apply(T a, T x) {
        return static_cast<T>(incomplete_gamma(static_cast<double>(a), static_cast<double>(x), true));
    }
};

struct NextAfter {
    template <class T>
    static T apply(T a, T b) {
        return std::nextafter(a, b);
    }
};
// Exact in double for floats while the quotient has few digits; the library's own takes a step per digit.
struct Fmod {
    static float apply(float x, float y) {
        const double quotient = std::trunc(static_cast<double>(x) / static_cast<double>(y));
        if (!(std::fabs(quotient) < 0x1p28) || std::isinf(y)) return std::fmod(x, y);
        double rest = static_cast<double>(x) - quotient * static_cast<double>(y);
        if (rest != 0 && (rest < 0) != (x < 0)) rest += std::copysign(static_cast<double>(y), x);
        return std::copysign(static_cast<float>(rest), x);
    }
    static double apply(double x, double y) { return std::fmod(x, y); }
};
#endif

}  // namespace

void fill_functions(Tables& t) {
    fill_unary<HardSigmoid>(t, Unary::hardsigmoid);
    fill_unary<HardSwish>(t, Unary::hardswish);
    fill_unary<Frac>(t, Unary::frac);
    fill_binary<CopySign>(t, Binary::copysign);
#if !defined(__AVX2__)
    fill_unary<Asin>(t, Unary::asin);
    fill_unary<Acos>(t, Unary::acos);
    fill_unary<Atan>(t, Unary::atan);
    fill_unary<Exp2>(t, Unary::exp2);
    fill_unary<Erfc>(t, Unary::erfc);
    fill_unary<Erfinv>(t, Unary::erfinv);
    fill_unary<Lgamma>(t, Unary::lgamma);
    fill_unary<Digamma>(t, Unary::digamma);
    fill_binary<Fmod>(t, Binary::fmod);
    fill_binary<Igamma>(t, Binary::igamma);
    fill_binary<Igammac>(t, Binary::igammac);
    t.binary[static_cast<int>(Binary::nextafter)][TNR_F32] = binary_row<NextAfter, float>;
    t.binary[static_cast<int>(Binary::nextafter)][TNR_F64] = binary_row<NextAfter, double>;
#endif
}

}  // namespace tenora::cpu::TENORA_ISA
