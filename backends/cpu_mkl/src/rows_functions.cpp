// Functions that no vector form was written for: the C library's, or published approximations in double.
//
//   - digamma and the incomplete gamma functions are those of core's composites without the masks: each
//     element stops when it has converged. Numbers are those of Abramowitz and Stegun, "Handbook of
//     Mathematical Functions".
//   - Instruction sets make little difference to calls, so only the baseline has those rows.
#include <cmath>

#include "row_loops.h"
#include "vector_math.h"

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

// exp(-|x|) I(x) of order 0 or 1 in float, computed in double: the series up to kBesselFar, the asymptotic
// one beyond it (9.6.10, 9.7.1); both always, so that loops vectorise.
constexpr double kBesselFar = 12;
constexpr int kBesselTerms = 34, kBesselFarTerms = 16;

template <int kOrder>
struct BesselSeries {
    double near[kBesselTerms], far[kBesselFarTerms];
    constexpr BesselSeries() : near(), far() {
        double term = 1, distant = 1;
        for (int k = 0; k < kBesselTerms; ++k) {
            if (k > 0) term /= static_cast<double>(k) * (k + kOrder);
            near[kBesselTerms - 1 - k] = term;
        }
        for (int k = 0; k < kBesselFarTerms; ++k) {
            if (k > 0) distant *= ((2.0 * k - 1) * (2.0 * k - 1) - 4.0 * kOrder * kOrder) / (8.0 * k);
            far[kBesselFarTerms - 1 - k] = distant;
        }
    }
};

template <int kOrder>
struct ScaledBessel {
    static constexpr BesselSeries<kOrder> series{};
    static float apply(float x) {
        const float size = math::float_of(math::bits_of(x) & 0x7fffffffu);
        const double t = size, low = t > kBesselFar ? kBesselFar : t, high = t > kBesselFar ? t : kBesselFar;
        const double quarter = low * low * 0.25, inverse = 1 / high;
        double near = series.near[0], far = series.far[0];
#pragma GCC unroll 40  // inner loops would keep the outer one from vectorising
        for (int k = 1; k < kBesselTerms; ++k) near = near * quarter + series.near[k];
#pragma GCC unroll 40
        for (int k = 1; k < kBesselFarTerms; ++k) far = far * inverse + series.far[k];
        const double scale = static_cast<double>(math::exp(-static_cast<float>(low)));
        near *= kOrder == 0 ? scale : scale * low * 0.5;
        far *= std::sqrt(inverse) * 0.39894228040143267794;  // 1 / sqrt(2 pi)
        const float found = static_cast<float>(t > kBesselFar ? far : near);
        return kOrder == 0 ? (x != x ? x : found) : math::with_sign_of(x != x ? size : found, x);
    }
};

void scaled_bessel(float* out, const float* in, int64_t n, int order) {
    if (order == 0)
        unary_row<ScaledBessel<0>, float>(out, in, n);
    else
        unary_row<ScaledBessel<1>, float>(out, in, n);
}

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
constexpr int kSteps = 1000;
// From kLarge on, with |x - a| / a up to kNear, sums would need sqrt(a) steps.
constexpr double kLarge = 200, kNear = 0.3;
// From here on five terms of Stirling's series are exact.
constexpr double kStirling = 20;
constexpr double kRootTau = 2.50662827463100050242;

// 1 + x / (a + 1) + x^2 / ((a + 1) (a + 2)) + ... (6.5.29); NaN if the steps run out.
double gamma_series(double a, double x) {
    double total = 1, term = 1;
    for (int step = 0; step < kSteps; ++step) {
        if (!(term > total * kConverged)) return total;
        a += 1;
        term *= x / a;
        total += term;
    }
    return static_cast<double>(NAN);
}

// The continued fraction (6.5.31), numerators and denominators scaled down as they grow; NaN if the steps run
// out.
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
        if (!(std::fabs(found - last) > std::fabs(found) * kConverged)) return found;
    }
    return static_cast<double>(NAN);
}

// mu - log(1 + mu) of mu = (x - a) / a, by the series of atanh about 0; mu has no digits of x far below a.
double excess(double a, double x) {
    const double mu = (x - a) / a;
    if (std::fabs(mu) > kNear) return mu - std::log(x / a);
    static constexpr double kSeries[] = {1.0 / 27, 1.0 / 25, 1.0 / 23, 1.0 / 21, 1.0 / 19, 1.0 / 17, 1.0 / 15,
                                         1.0 / 13, 1.0 / 11, 1.0 / 9,  1.0 / 7,  1.0 / 5,  1.0 / 3};
    const double r = mu / (mu + 2), square = r * r;
    return 2 * square / (1 - r) - 2 * r * square * polynomial(square, kSeries);
}

// log gamma(1 + a), to all digits about 0: that of 2 + a (6.1.33) less log(1 + a).
double log_gamma_one(double a) {
    if (a >= 0.5) return Lgamma::apply(a + 1);
    static constexpr double kAboutTwo[] = {
        3.104424774732227e-11,  -6.422964563838101e-11,  1.3304764374244491e-10, -2.7595228851242334e-10,
        5.731367241678862e-10,  -1.1921401405860912e-09, 2.4836745438024785e-09, -5.183475041970047e-09,
        1.0838659214896955e-08, -2.2711094608943164e-08, 4.769810169363981e-08,  -1.00432248239681e-07,
        2.1207184805554667e-07, -4.492469198764566e-07,  9.55141213040742e-07,   -2.039215753801366e-06,
        4.374866789907487e-06,  -9.439488275268395e-06,  2.0507212775670694e-05, -4.492623673813314e-05,
        9.945751278180854e-05,  -0.00022315475845357936, 0.0005096695247430423,  -0.001192753911703261,
        0.0028905103307415234,  -0.0073855510286739865,  0.02058080842778455,    -0.0673523010531981,
        0.3224670334241131,     0.42278433509846713};
    return a * polynomial(a, kAboutTwo) - std::log1p(a);
}

// x^a e^-x / gamma(a + 1); from kStirling on by Stirling's series, without the difference of large numbers.
double gamma_weight(double a, double x) {
    if (a < kStirling) return std::exp(a * std::log(x) - x - log_gamma_one(a));
    static constexpr double kSeries[] = {1.0 / 1188, -1.0 / 1680, 1.0 / 1260, -1.0 / 360, 1.0 / 12};
    const double inverse = 1 / a, stirling = inverse * polynomial(inverse * inverse, kSeries);
    return std::exp(-a * excess(a, x) - stirling) / (std::sqrt(a) * kRootTau);
}

// Temme's uniform expansion (DLMF 8.12): c_k as polynomials of eta, as in core's incomplete_gamma.py.
double uniform_gamma(double a, double x, bool upper) {
    static constexpr double k0[] = {-5.830772132550426e-11,  -2.5514193994946248e-11, 9.14769958223679e-10,
                                    -4.382036018453353e-09,  1.0261809784240309e-08,  6.707853543401498e-09,
                                    -1.7665952736826078e-07, 8.296711340953087e-07,   -1.85406221071516e-06,
                                    -2.185448510679992e-06,  3.919263178522438e-05,   -0.0001787551440329218,
                                    0.0003527336860670194,   0.0011574074074074073,   -0.014814814814814815,
                                    0.08333333333333333,     -0.3333333333333333};
    static constexpr double k1[] = {-1.0091543710600413e-09, -1.7543241719747647e-11, 1.1951628599778148e-08,
                                    -5.752545603517705e-08,  1.378633446915721e-07,   4.647127802807434e-09,
                                    -1.6120900894563446e-06, 7.64916091608111e-06,    -1.8098550334489977e-05,
                                    -4.018775720164609e-07,  0.00020576131687242798,  -0.0009902263374485596,
                                    0.0026455026455026454,   -0.003472222222222222,   -0.001851851851851852};
    static constexpr double k2[] = {-1.409252991086752e-08,  -2.0477098421990866e-10, 1.4280614206064242e-07,
                                    -6.298992138380055e-07,  1.3721957309062934e-06,  3.423578734096138e-08,
                                    -1.2760635188618728e-05, 5.2923448829120125e-05,  -0.0001073665322636516,
                                    2.0093878600823047e-06,  0.0007716049382716049,   -0.0026813271604938273,
                                    0.004133597883597883};
    static constexpr double k3[] = {1.4230900732435883e-06, -5.6749528269915965e-06, 1.1082654115347302e-05,
                                    -2.396505113867297e-07, -7.561801671883977e-05,  0.00026772063206283885,
                                    -0.0004691894943952557, 0.00022947209362139917,  0.0006494341563786008};
    static constexpr double k4[] = {1.1375726970678419e-05,  -3.968365047179435e-05, 6.641498215465122e-05,
                                    -1.4638452578843418e-06, -0.0002990724803031902, 0.0007840392217200666,
                                    -0.0008618882909167117};
    static constexpr double k5[] = {6.797780477937208e-05, -0.00019932570516188847, 0.0002772753244959392,
                                    -6.972813758365857e-05, -0.00033679855336635813};
    const double over = excess(a, x), eta = std::copysign(std::sqrt(2 * over), x - a);
    const double c[] = {polynomial(eta, k0), polynomial(eta, k1), polynomial(eta, k2),
                        polynomial(eta, k3), polynomial(eta, k4), polynomial(eta, k5)};
    double total = 0;
    for (int k = 5; k >= 0; --k) total = total / a + c[k];
    const double rest = std::exp(-a * over) * total / (std::sqrt(a) * kRootTau);
    const double half = 0.5 * std::erfc((upper ? eta : -eta) * std::sqrt(0.5 * a));
    return upper ? half + rest : half - rest;
}

// Q for a below 0.5: 1 - x^a / gamma(1 + a), less x^a / gamma(a) times the sum of (-x)^n / (n! (a + n)).
double small_upper_gamma(double a, double x) {
    const double power = a * std::log(x) - log_gamma_one(a);
    double total = 0, term = 1;
    for (int n = 1; n < 22; ++n) {
        term *= -x / n;
        total += term / (a + n);
    }
    return -std::expm1(power) - std::exp(power) * (a * total);
}

// P(a, x), or Q(a, x) = 1 - P(a, x); each is computed where it is the smaller one, roughly.
double incomplete_gamma(double a, double x, bool upper) {
    if (!(a > 0 && x > 0) || std::isinf(a) || std::isinf(x)) {
        const bool known = a >= 0 && x >= 0 && !(a == 0 && x == 0) && !(std::isinf(a) && std::isinf(x));
        const bool all_below = a == 0 || std::isinf(x);
        return known ? static_cast<double>(all_below != upper) : static_cast<double>(NAN);
    }
    if (a >= kLarge && std::fabs(x - a) <= a * kNear) return uniform_gamma(a, x, upper);
    const double weight = gamma_weight(a, x);
    if (x > (a > 1 ? a : 1)) {
        const double rest = weight > 0 ? gamma_fraction(a, x) * (weight * a) : 0;
        return upper ? rest : 1 - rest;
    }
    if (upper && a < 0.5 && a < (x <= 0.5 ? -0.4 / std::log(x) : 0.75 * x)) return small_upper_gamma(a, x);
    const double lower = gamma_series(a, x) * weight;
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
    t.scaled_bessel = scaled_bessel;
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
