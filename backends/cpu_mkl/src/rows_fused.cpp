// Rows of softmax, log_softmax and standardise and their gradients; float and double, contiguous.
// Half types come here as float. Every out may be one of the inputs.
#include <cmath>
#include <limits>

#include "tables.h"
#include "vector_math.h"

namespace tenora::cpu::TENORA_ISA {

namespace {

constexpr int kWidth = 16;
constexpr int64_t kRun = 512;

template <class T>
T larger(T a, T b) {
    return b > a ? b : a;
}

template <class T>
T largest(const T* x, int64_t n) {
    if (n <= kWidth) {
        T top = x[0];
        for (int64_t i = 1; i < n; ++i) top = larger(top, x[i]);
        return top;
    }
    T lane[kWidth];
    for (int l = 0; l < kWidth; ++l) lane[l] = x[0];
    int64_t i = 0;
    for (; i + kWidth <= n; i += kWidth) {
        for (int l = 0; l < kWidth; ++l) lane[l] = larger(lane[l], x[i + l]);
    }
    for (; i < n; ++i) lane[0] = larger(lane[0], x[i]);
    for (int width = kWidth / 2; width > 0; width /= 2) {
        for (int l = 0; l < width; ++l) lane[l] = larger(lane[l], lane[l + width]);
    }
    return lane[0];
}

// The sum of value(i): lanes of T over at most kRun terms, then double.
template <class T, class F>
double sum_of(int64_t n, F&& value) {
    double total = 0;
    if (n <= kWidth) {
        for (int64_t i = 0; i < n; ++i) total += static_cast<double>(value(i));
        return total;
    }
    for (int64_t begin = 0; begin < n; begin += kRun) {
        const int64_t end = n - begin < kRun ? n : begin + kRun;
        T lane[kWidth] = {};
        int64_t i = begin;
        for (; i + kWidth <= end; i += kWidth) {
            for (int l = 0; l < kWidth; ++l) lane[l] += value(i + l);
        }
        for (int l = 0; i < end; ++i, ++l) lane[l] += value(i);
        for (int width = kWidth / 2; width > 0; width /= 2) {
            for (int l = 0; l < width; ++l) lane[l] += lane[l + width];
        }
        total += lane[0];
    }
    return total;
}

// exp(x - largest) of a short row, zeros behind it: a whole number of vectors, so nothing is done one by one.
template <class T>
double short_powers(T (&powers)[kWidth], const T* x, T top, int64_t n) {
    for (int l = 0; l < kWidth; ++l)
        powers[l] = l < n ? x[l < n ? l : 0] - top : -std::numeric_limits<T>::infinity();
    for (int l = 0; l < kWidth; ++l) powers[l] = math::exp(powers[l]);
    double sum = 0;
    for (int l = 0; l < kWidth; ++l) sum += static_cast<double>(powers[l]);
    return sum;
}

template <class T>
void softmax(void* out, const void* in, int64_t n) {
    T* o = static_cast<T*>(out);
    const T* x = static_cast<const T*>(in);
    const T top = largest(x, n);
    if (n <= kWidth) {
        T powers[kWidth];
        const T scale = static_cast<T>(1.0 / short_powers(powers, x, top, n));
        for (int64_t i = 0; i < n; ++i) o[i] = powers[i] * scale;
        return;
    }
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) o[i] = math::exp(x[i] - top);
    const T scale = static_cast<T>(1.0 / sum_of<T>(n, [o](int64_t i) { return o[i]; }));
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) o[i] *= scale;
}

template <class T>
void log_softmax(void* out, const void* in, int64_t n) {
    T* o = static_cast<T*>(out);
    const T* x = static_cast<const T*>(in);
    const T top = largest(x, n);
    T powers[kWidth];
    const double sum = n <= kWidth ? short_powers(powers, x, top, n)
                                   : sum_of<T>(n, [x, top](int64_t i) { return math::exp(x[i] - top); });
    const T log_sum = static_cast<T>(std::log(sum));
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) o[i] = (x[i] - top) - log_sum;
}

// y (g - sum(g y))
template <class T>
void softmax_backward(void* out, const void* grad, const void* result, int64_t n) {
    T* o = static_cast<T*>(out);
    const T *g = static_cast<const T*>(grad), *y = static_cast<const T*>(result);
    const T dot = static_cast<T>(sum_of<T>(n, [g, y](int64_t i) { return g[i] * y[i]; }));
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) o[i] = y[i] * (g[i] - dot);
}

// g - exp(y) sum(g)
template <class T>
void log_softmax_backward(void* out, const void* grad, const void* result, int64_t n) {
    T* o = static_cast<T*>(out);
    const T *g = static_cast<const T*>(grad), *y = static_cast<const T*>(result);
    const T sum = static_cast<T>(sum_of<T>(n, [g](int64_t i) { return g[i]; }));
    if (n <= kWidth) {
        T powers[kWidth];
        short_powers(powers, y, T(0), n);
        for (int64_t i = 0; i < n; ++i) o[i] = g[i] - powers[i] * sum;
        return;
    }
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) o[i] = g[i] - math::exp(y[i]) * sum;
}

// Where a row stands: its mean (0 when it is not centred), and what makes its mean square 1.
template <class T>
struct Standard {
    T mean = 0, scale;

    Standard(const T* x, int64_t n, double eps, bool centred) {
        const auto count = static_cast<double>(n);
        if (centred) mean = static_cast<T>(sum_of<T>(n, [x](int64_t i) { return x[i]; }) / count);
        const T m = mean;
        const double square = sum_of<T>(n, [x, m](int64_t i) { return (x[i] - m) * (x[i] - m); }) / count;
        scale = static_cast<T>(1 / std::sqrt(square + eps));
    }
};

template <class T>
void standardise(void* out, const void* in, int64_t n, double eps, bool centred) {
    T* o = static_cast<T*>(out);
    const T* x = static_cast<const T*>(in);
    const Standard<T> row(x, n, eps, centred);
    const T mean = row.mean, scale = row.scale;
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) o[i] = (x[i] - mean) * scale;
}

// scale (g - mean(g) - y mean(g y)) of the result y
template <class T>
void standardise_backward(void* out, const void* grad, const void* in, int64_t n, double eps, bool centred) {
    T* o = static_cast<T*>(out);
    const T *g = static_cast<const T*>(grad), *x = static_cast<const T*>(in);
    const Standard<T> row(x, n, eps, centred);
    const T mean = row.mean, scale = row.scale;
    const auto count = static_cast<double>(n);
    const T slope = centred ? static_cast<T>(sum_of<T>(n, [g](int64_t i) { return g[i]; }) / count) : T(0);
    const T along = static_cast<T>(sum_of<T>(n, [g, x, mean](int64_t i) { return g[i] * (x[i] - mean); }) /
                                   count * scale * scale);
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) o[i] = scale * (g[i] - slope - (x[i] - mean) * along);
}

}  // namespace

void fill_fused(Tables& t) {
    t.fused[TNR_F32] = {softmax<float>,          log_softmax<float>,
                        softmax_backward<float>, log_softmax_backward<float>,
                        standardise<float>,      standardise_backward<float>};
    t.fused[TNR_F64] = {softmax<double>,          log_softmax<double>,
                        softmax_backward<double>, log_softmax_backward<double>,
                        standardise<double>,      standardise_backward<double>};
}

}  // namespace tenora::cpu::TENORA_ISA
