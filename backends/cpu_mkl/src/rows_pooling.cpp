// Pooling over windows of float and double: largest element and its position, mean, gradient of the mean.
//
//   - A row of results is worked on in chunks on the stack: one element of the kernel after another meets
//     the whole chunk, so that the loop over results is a vector loop for the common strides.
//   - The first NaN of a window wins, then the first largest element; padding never does.
//   - Means are summed in double.
//   - Windows of adaptive pooling differ in length: one window after the other.
#include <cmath>

#include "image.h"
#include "tables.h"

namespace tenora::cpu::TENORA_ISA {

namespace {

constexpr int64_t kChunkResults = 256;

inline int64_t ceil_div(int64_t a, int64_t b) { return a > 0 ? (a + b - 1) / b : -(-a / b); }

// Some results of one row: those numbered begin .. begin + n - 1 in the last dim.
struct Chunk {
    const Pooling& p;
    int64_t i, j, begin, n;

    int64_t start(int d, int64_t at) const { return at * p.stride[d] - p.padding[d]; }

    // Positions of the kernel in dim d that meet the input for a window that begins at `start_at`.
    int64_t first_tap(int d, int64_t start_at) const {
        return start_at < 0 ? ceil_div(-start_at, p.dilation[d]) : 0;
    }
    int64_t last_tap(int d, int64_t start_at) const {
        const int64_t end = ceil_div(p.size[d] - start_at, p.dilation[d]);
        return end < p.kernel[d] ? end : p.kernel[d];
    }

    // f(offset in the plane of the first element met, first result that meets one, results)
    template <class F>
    void each_tap(F&& f) const {
        const int64_t step = p.stride[2], left = start(2, begin), right = start(2, begin + n - 1);
        for (int64_t a = first_tap(0, start(0, i)); a < last_tap(0, start(0, i)); ++a) {
            const int64_t plane = start(0, i) + a * p.dilation[0];
            for (int64_t b = first_tap(1, start(1, j)); b < last_tap(1, start(1, j)); ++b) {
                const int64_t row = (plane * p.size[1] + start(1, j) + b * p.dilation[1]) * p.size[2];
                for (int64_t e = first_tap(2, right); e < last_tap(2, left); ++e) {
                    const int64_t first = left + e * p.dilation[2];
                    const int64_t skipped = first < 0 ? ceil_div(-first, step) : 0;
                    const int64_t end = ceil_div(p.size[2] - first, step), last = end < n ? end : n;
                    if (skipped < last) f(row + first + skipped * step, skipped, last - skipped);
                }
            }
        }
    }
    // The first place of a window that lies in the input.
    int64_t first_inside(int d, int64_t at) const {
        const int64_t begin_at = start(d, at);
        const int64_t inside =
            begin_at < 0 ? begin_at + ceil_div(-begin_at, p.dilation[d]) * p.dilation[d] : begin_at;
        return inside < p.size[d] ? inside : p.size[d] - 1;
    }
    int64_t count(int d, int64_t at) const {
        const int64_t begin_at = start(d, at), edge = p.size[d] + (p.include_padding ? p.padding[d] : 0);
        const int64_t from = p.include_padding || begin_at > 0 ? begin_at : 0;
        const int64_t end = begin_at + p.kernel[d];
        return (end < edge ? end : edge) - from;
    }
    double divisor(int64_t k) const {
        return p.divisor != 0 ? p.divisor
                              : static_cast<double>(count(0, i) * count(1, j) * count(2, begin + k));
    }
};

// f(chunk, plane, offset of its first result)
template <class F>
void each_chunk(const Pooling& p, F&& f) {
    int64_t at = 0;
    for (int64_t plane = 0; plane < p.planes; ++plane) {
        for (int64_t i = 0; i < p.out[0]; ++i) {
            for (int64_t j = 0; j < p.out[1]; ++j) {
                for (int64_t k = 0; k < p.out[2]; k += kChunkResults) {
                    const int64_t n = p.out[2] - k < kChunkResults ? p.out[2] - k : kChunkResults;
                    f(Chunk{p, i, j, k, n}, plane, at);
                    at += n;
                }
            }
        }
    }
}

// I is as wide as T, so that values and positions fill vectors alike.
template <class T, class I>
void take_larger(T* __restrict values, I* __restrict positions, const T* __restrict x, int64_t at, int64_t n,
                 int64_t step) {
    with_step(step, [&](auto index) {
        for (int64_t i = 0; i < n; ++i) {
            const T value = x[index(i)], best = values[i];
            const bool better = (value > best) | ((value != value) & (best == best));
            values[i] = better ? value : best;
            positions[i] = better ? static_cast<I>(at + index(i)) : positions[i];
        }
    });
}

template <class T, class I>
void largest_of(const Pooling& p, const T* x, T* values, int64_t* positions) {
    each_chunk(p, [&](const Chunk& chunk, int64_t plane, int64_t at) {
        const T* source = x + plane * volume(p.size);
        T best[kChunkResults];
        I where[kChunkResults];
        const int64_t row =
            (chunk.first_inside(0, chunk.i) * p.size[1] + chunk.first_inside(1, chunk.j)) * p.size[2];
        for (int64_t k = 0; k < chunk.n; ++k) {
            best[k] = -INFINITY;
            where[k] = static_cast<I>(row + chunk.first_inside(2, chunk.begin + k));
        }
        chunk.each_tap([&](int64_t from, int64_t first, int64_t n) {
            take_larger(best + first, where + first, source + from, from, n, p.stride[2]);
        });
        std::memcpy(values + at, best, static_cast<size_t>(chunk.n) * sizeof(T));
        for (int64_t k = 0; k < chunk.n; ++k) positions[at + k] = where[k];
    });
}

template <class T>
void average_of(const Pooling& p, const T* x, T* y) {
    each_chunk(p, [&](const Chunk& chunk, int64_t plane, int64_t at) {
        const T* source = x + plane * volume(p.size);
        double sums[kChunkResults] = {};
        chunk.each_tap([&](int64_t from, int64_t first, int64_t n) {
            const T* __restrict row = source + from;
            with_step(p.stride[2], [&](auto index) {
                for (int64_t i = 0; i < n; ++i) sums[first + i] += static_cast<double>(row[index(i)]);
            });
        });
        for (int64_t k = 0; k < chunk.n; ++k) y[at + k] = static_cast<T>(sums[k] / chunk.divisor(k));
    });
}

template <class T>
void average_backward_of(const Pooling& p, const T* grad, T* x) {
    std::memset(x, 0, static_cast<size_t>(p.planes * volume(p.size)) * sizeof(T));
    each_chunk(p, [&](const Chunk& chunk, int64_t plane, int64_t at) {
        T* target = x + plane * volume(p.size);
        T shares[kChunkResults];
        for (int64_t k = 0; k < chunk.n; ++k)
            shares[k] = static_cast<T>(static_cast<double>(grad[at + k]) / chunk.divisor(k));
        chunk.each_tap([&](int64_t to, int64_t first, int64_t n) {
            T* row = target + to;
            with_step(p.stride[2], [&](auto index) {
#pragma GCC ivdep
                for (int64_t i = 0; i < n; ++i) row[index(i)] += shares[first + i];
            });
        });
    });
}

// ---- windows of different length ----
struct Region {
    int64_t begin[3], end[3];
    int64_t count() const { return (end[0] - begin[0]) * (end[1] - begin[1]) * (end[2] - begin[2]); }
    // f(offset of a row of the window, its length)
    template <class F>
    void each_row(const int64_t* size, F&& f) const {
        for (int64_t i = begin[0]; i < end[0]; ++i) {
            for (int64_t j = begin[1]; j < end[1]; ++j)
                f((i * size[1] + j) * size[2] + begin[2], end[2] - begin[2]);
        }
    }
};

// f(region, plane, number of the result)
template <class F>
void each_region(const Pooling& p, F&& f) {
    int64_t at = 0;
    for (int64_t plane = 0; plane < p.planes; ++plane) {
        for (int64_t i = 0; i < volume(p.out); ++i, ++at) {
            const int64_t place[3] = {i / (p.out[1] * p.out[2]), i / p.out[2] % p.out[1], i % p.out[2]};
            Region r;
            for (int d = 0; d < 3; ++d) {
                r.begin[d] = place[d] * p.size[d] / p.out[d];
                r.end[d] = ((place[d] + 1) * p.size[d] + p.out[d] - 1) / p.out[d];
            }
            f(r, plane, at);
        }
    }
}

template <class T>
double sum_of(const T* x, int64_t n) {
    double sums[8] = {};
    int64_t i = 0;
    for (; i + 8 <= n; i += 8) {
        for (int l = 0; l < 8; ++l) sums[l] += static_cast<double>(x[i + l]);
    }
    for (; i < n; ++i) sums[0] += static_cast<double>(x[i]);
    return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

template <class T>
void adaptive_average(const Pooling& p, const T* x, T* y) {
    each_region(p, [&](const Region& r, int64_t plane, int64_t at) {
        const T* source = x + plane * volume(p.size);
        double sum = 0;
        r.each_row(p.size, [&](int64_t from, int64_t n) { sum += sum_of(source + from, n); });
        y[at] = static_cast<T>(sum / static_cast<double>(r.count()));
    });
}

template <class T>
void adaptive_average_backward(const Pooling& p, const T* grad, T* x) {
    std::memset(x, 0, static_cast<size_t>(p.planes * volume(p.size)) * sizeof(T));
    each_region(p, [&](const Region& r, int64_t plane, int64_t at) {
        T* target = x + plane * volume(p.size);
        const T share = static_cast<T>(static_cast<double>(grad[at]) / static_cast<double>(r.count()));
        r.each_row(p.size, [&](int64_t to, int64_t n) {
            for (int64_t i = 0; i < n; ++i) target[to + i] += share;
        });
    });
}

template <class T>
void adaptive_largest(const Pooling& p, const T* x, T* values, int64_t* positions) {
    each_region(p, [&](const Region& r, int64_t plane, int64_t at) {
        const T* source = x + plane * volume(p.size);
        T best = -INFINITY;
        int64_t where = (r.begin[0] * p.size[1] + r.begin[1]) * p.size[2] + r.begin[2];
        r.each_row(p.size, [&](int64_t from, int64_t n) {
            for (int64_t i = from; i < from + n; ++i) {
                if (source[i] > best || (source[i] != source[i] && best == best)) {
                    best = source[i];
                    where = i;
                }
            }
        });
        values[at] = best;
        positions[at] = where;
    });
}

template <class T, class I>
int32_t largest(const Pooling& p, const void* x, void* values, int64_t* positions) {
    const T* source = static_cast<const T*>(x);
    T* best = static_cast<T*>(values);
    if (p.adaptive)
        adaptive_largest(p, source, best, positions);
    else if (volume(p.size) <= INT32_MAX)
        largest_of<T, I>(p, source, best, positions);
    else
        largest_of<T, int64_t>(p, source, best, positions);
    return TNR_OK;
}

template <class T>
int32_t average(const Pooling& p, const void* x, void* y) {
    (p.adaptive ? adaptive_average<T> : average_of<T>)(p, static_cast<const T*>(x), static_cast<T*>(y));
    return TNR_OK;
}

template <class T>
int32_t average_backward(const Pooling& p, const void* grad, void* x) {
    (p.adaptive ? adaptive_average_backward<T> : average_backward_of<T>)(p, static_cast<const T*>(grad),
                                                                         static_cast<T*>(x));
    return TNR_OK;
}

}  // namespace

void fill_pooling(Tables& t) {
    t.pooling[TNR_F32] = {largest<float, int32_t>, average<float>, average_backward<float>};
    t.pooling[TNR_F64] = {largest<double, int64_t>, average<double>, average_backward<double>};
}

}  // namespace tenora::cpu::TENORA_ISA
