// Rows of softmax, log_softmax and standardise and their gradients, and channels; float and double,
// contiguous. Half types come here as float. Every out may be one of the inputs.
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

// Of one channel: runs of `length` elements, `step` elements apart.
template <class T>
void channel_moments(double* mean, double* square, const T* x, int64_t runs, int64_t step, int64_t length) {
    const auto count = static_cast<double>(runs * length);
    double total = 0, squares = 0;
    for (int64_t r = 0; r < runs; ++r) {
        const T* run = x + r * step;
        total += sum_of<T>(length, [run](int64_t i) { return run[i]; });
    }
    *mean = total / count;
    const T m = static_cast<T>(*mean);
    for (int64_t r = 0; r < runs; ++r) {
        const T* run = x + r * step;
        squares += sum_of<T>(length, [run, m](int64_t i) { return (run[i] - m) * (run[i] - m); });
    }
    *square = squares / count;
}

template <class T>
void moments(double* mean, double* square, const void* in, int64_t batch, int64_t channels, int64_t length) {
    const T* x = static_cast<const T*>(in);
    if (length != 1) {
        for (int64_t c = 0; c < channels; ++c)
            channel_moments(mean + c, square + c, x + c * length, batch, channels * length, length);
        return;
    }
    // Rows of one element a channel are added to all channels at once.
    for (int64_t c = 0; c < channels; ++c) mean[c] = square[c] = 0;
    for (int64_t b = 0; b < batch; ++b) {
#pragma GCC ivdep
        for (int64_t c = 0; c < channels; ++c) mean[c] += static_cast<double>(x[b * channels + c]);
    }
    for (int64_t c = 0; c < channels; ++c) mean[c] /= static_cast<double>(batch);
    for (int64_t b = 0; b < batch; ++b) {
#pragma GCC ivdep
        for (int64_t c = 0; c < channels; ++c) {
            const double left = static_cast<double>(x[b * channels + c]) - mean[c];
            square[c] += left * left;
        }
    }
    for (int64_t c = 0; c < channels; ++c) square[c] /= static_cast<double>(batch);
}

template <class T>
void scale_channels(void* out, const void* in, int64_t batch, int64_t channels, int64_t length,
                    const void* mean, const void* scale, const void* shift) {
    T* o = static_cast<T*>(out);
    const T* x = static_cast<const T*>(in);
    const T *m = static_cast<const T*>(mean), *s = static_cast<const T*>(scale),
            *t = static_cast<const T*>(shift);
    for (int64_t b = 0; b < batch; ++b) {
        if (length == 1) {
#pragma GCC ivdep
            for (int64_t c = 0; c < channels; ++c) o[c] = (x[c] - m[c]) * s[c] + t[c];
            o += channels, x += channels;
            continue;
        }
        for (int64_t c = 0; c < channels; ++c, o += length, x += length) {
            const T mc = m[c], sc = s[c], tc = t[c];
#pragma GCC ivdep
            for (int64_t i = 0; i < length; ++i) o[i] = (x[i] - mc) * sc + tc;
        }
    }
}

}  // namespace

void fill_fused(Tables& t) {
    t.fused[TNR_F32] = {softmax<float>,          log_softmax<float>,
                        softmax_backward<float>, log_softmax_backward<float>,
                        standardise<float>,      standardise_backward<float>};
    t.fused[TNR_F64] = {softmax<double>,          log_softmax<double>,
                        softmax_backward<double>, log_softmax_backward<double>,
                        standardise<double>,      standardise_backward<double>};
    t.channels[TNR_F32] = {moments<float>, scale_channels<float>};
    t.channels[TNR_F64] = {moments<double>, scale_channels<double>};
}

}  // namespace tenora::cpu::TENORA_ISA
