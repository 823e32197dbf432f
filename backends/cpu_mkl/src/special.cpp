// Special functions: scaled Bessel functions, derivatives of digamma; and other numbers for those not finite.
//
//   - They are core's composites (special.py) without the masks: each element stops when it has converged.
//   - Operands are contiguous, computed in double; Bessel functions of float32 are rows.
#include <cmath>
#include <limits>

#include "element.h"
#include "kernels.h"

namespace tenora::cpu {

using namespace TENORA_ISA;

namespace {

constexpr double kRootTau = 2.50662827463100050242;
constexpr double kFar = 24;  // the asymptotic series of the Bessel functions from here
constexpr int kTerms = 64, kFarTerms = 26;

// Factors from one term of a series to the next.
template <int kOrder>
struct BesselTerms {
    double series[kTerms], far[kFarTerms];
    constexpr BesselTerms() : series(), far() {
        for (int k = 1; k < kTerms; ++k) series[k] = 1.0 / (static_cast<double>(k) * (k + kOrder));
        const double mu = 4.0 * kOrder * kOrder;
        for (int k = 1; k < kFarTerms; ++k) far[k] = -(mu - (2.0 * k - 1) * (2.0 * k - 1)) / (8.0 * k);
    }
};

// exp(-|x|) I(x) of order 0 or 1.
template <int kOrder>
double scaled_bessel(double x) {
    static constexpr BesselTerms<kOrder> terms;
    const double t = std::fabs(x);
    double found = 1, term = 1;
    if (t <= kFar) {
        const double quarter = t * t * 0.25;
        for (int k = 1; k < kTerms && term > found * 0x1p-54; ++k) {
            term *= quarter * terms.series[k];
            found += term;
        }
        found *= std::exp(-t) * (kOrder == 0 ? 1 : t * 0.5);
    } else {
        const double inverse = 1 / t;
        for (int k = 1; k < kFarTerms; ++k) {
            term *= terms.far[k] * inverse;
            found += term;
        }
        found /= std::sqrt(t) * kRootTau;
    }
    return kOrder == 1 && x < 0 ? -found : found;
}

// x^n for whole n from 0 on.
double whole_power(double x, int n) {
    double found = 1;
    for (; n > 0; n >>= 1, x *= x) {
        if (n & 1) found *= x;
    }
    return found;
}

// The sum of (q + n)^-s over n >= 0 for whole s > 1: terms up to 10 + s, where ten of Euler and Maclaurin's
// corrections (Abramowitz and Stegun 23.1.30) have all digits.
double zeta(int s, double q) {
    const double start = 10.0 + s;
    static constexpr double kBernoulli[] = {1.0 / 6,       -1.0 / 30,      1.0 / 42, -1.0 / 30,
                                            5.0 / 66,      -691.0 / 2730,  7.0 / 6,  -3617.0 / 510,
                                            43867.0 / 798, -174611.0 / 330};
    double total = 0;
    for (; q < start; q += 1) total += whole_power(1 / q, s);
    const double inverse = 1 / q, power = whole_power(inverse, s);
    total += whole_power(inverse, s - 1) / (s - 1) + power * 0.5;
    double factor = s * power * inverse, factorial = 2;
    for (int k = 1; k <= 10; ++k) {
        total += factor * (kBernoulli[k - 1] / factorial);
        factor *= (s + 2.0 * k - 1) * (s + 2.0 * k) * inverse * inverse;
        factorial *= (2.0 * k + 1) * (2.0 * k + 2);
    }
    return total;
}

// (-1)^(n + 1) n! zeta(n + 1, x); below zero from zetas of positive numbers, as in core.
double polygamma(int n, double factor, double x) {
    if (x <= 0 && x == std::floor(x)) return factor * static_cast<double>(INFINITY);
    if (x >= 0 || x != x) return factor * zeta(n + 1, x);
    const double whole = std::floor(x), beyond = zeta(n + 1, whole + 1 - x) - zeta(n + 1, 1 - x);
    return factor * (zeta(n + 1, x - whole) + (n % 2 ? beyond : -beyond));
}

template <class F>
int32_t each_element(const tnr_call* call, F&& f) {
    const DLTensor &in = *call->in[0], &out = *call->out[0];
    const auto run = [&](auto type) -> int32_t {
        using T = typename decltype(type)::type;
        const T* x = static_cast<const T*>(in.data);
        T* o = static_cast<T*>(out.data);
        for (int64_t i = 0, n = count_of(out); i < n; ++i)
            o[i] = static_cast<T>(f(static_cast<double>(x[i])));
        return TNR_OK;
    };
    return dtype_of(in) == TNR_F64 ? run(Type<double>()) : run(Type<float>());
}

template <int kOrder>
int32_t run_bessel(const tnr_call* call) {
    const DLTensor &in = *call->in[0], &out = *call->out[0];
    if (dtype_of(in) == TNR_F32) {
        tables.scaled_bessel(static_cast<float*>(out.data), static_cast<const float*>(in.data), count_of(out),
                             kOrder);
        return TNR_OK;
    }
    return each_element(call, [](double x) { return scaled_bessel<kOrder>(x); });
}

int32_t run_polygamma(const tnr_call* call) {
    constexpr int kLargest = 100;
    const double order = number_attr(call, 0, 1);
    if (!(order >= 1 && order <= kLargest && order == std::floor(order)))
        return fail(call, TNR_NOT_SUPPORTED, "only whole orders from 1 to 100 have a kernel");
    const int n = static_cast<int>(order);
    double factor = n % 2 ? 1 : -1;
    for (int k = 2; k <= n; ++k) factor *= k;
    return each_element(call, [=](double x) { return polygamma(n, factor, x); });
}

// Attributes: what stands for NaN, infinity and minus infinity.
template <class T>
int32_t replace_with(const tnr_call* call) {
    const T nan = static_cast<T>(number_attr(call, 0, 0)), above = static_cast<T>(number_attr(call, 1, 0)),
            below = static_cast<T>(number_attr(call, 2, 0));
    constexpr T kInfinity = std::numeric_limits<T>::infinity();
    const T* x = static_cast<const T*>(call->in[0]->data);
    T* o = static_cast<T*>(call->out[0]->data);
    for (int64_t i = 0, n = count_of(*call->out[0]); i < n; ++i) {
        const T value = x[i] == kInfinity ? above : x[i];
        const T other = value == -kInfinity && x[i] != kInfinity ? below : value;
        o[i] = x[i] != x[i] ? nan : other;
    }
    return TNR_OK;
}

int32_t run_replace(const tnr_call* call) {
    return dtype_of(*call->in[0]) == TNR_F64 ? replace_with<double>(call) : replace_with<float>(call);
}

}  // namespace

void add_special(Kernels& kernels) {
    add_kernel(kernels, "i0e", run_bessel<0>, TNR_MASK_REALS, 0);
    add_kernel(kernels, "i1e", run_bessel<1>, TNR_MASK_REALS, 0);
    add_kernel(kernels, "replace_not_finite", run_replace, TNR_MASK_REALS, 0);
    add_kernel(kernels, "polygamma_any", run_polygamma, TNR_MASK_REALS, 0);
}

}  // namespace tenora::cpu
