// Distances between rows: the rows of x2 are turned in panels, so that vectors run over rows of x2 whatever
// their length, and differences are never written.
#include <algorithm>
#include <cmath>

#include "tables.h"

namespace tenora::cpu::TENORA_ISA {

namespace {

// Rows of x2 in a panel: 16 vectors' worth of accumulators at most.
template <class T>
constexpr int kPanel = sizeof(T) == 4 ? 64 : 32;
constexpr int64_t kRun = 256;  // elements in one running sum; the sums of runs are added

enum class Norm { count, one, two, largest, power };

Norm norm_of(double p) {
    if (p == 0) return Norm::count;
    if (p == 1) return Norm::one;
    if (p == 2) return Norm::two;
    return std::isinf(p) ? Norm::largest : Norm::power;
}

template <class T>
struct Problem {
    T* out;
    const T *x1, *x2;
    int64_t rows, others, width;
    double p;
    T* panel;  // width * kPanel<T>
};

// panel[m][j] = x2[first + j][m]; zeros where there is no row.
template <class T>
void turn(const Problem<T>& c, int64_t first) {
    const int64_t n = std::min<int64_t>(kPanel<T>, c.others - first);
    for (int64_t j = 0; j < n; ++j) {
        const T* row = c.x2 + (first + j) * c.width;
        for (int64_t m = 0; m < c.width; ++m) c.panel[m * kPanel<T> + j] = row[m];
    }
    for (int64_t m = 0; m < c.width; ++m)
        std::fill(c.panel + m * kPanel<T> + n, c.panel + (m + 1) * kPanel<T>, T(0));
}

template <Norm kNorm, class T>
inline T merged(T total, T away, T p) {
    if constexpr (kNorm == Norm::count) return total + (away != away ? away : away != T(0) ? T(1) : T(0));
    if constexpr (kNorm == Norm::one) return total + std::abs(away);
    if constexpr (kNorm == Norm::two) return total + away * away;
    if constexpr (kNorm == Norm::largest) {
        const T size = std::abs(away);
        return size > total || size != size ? size : total;  // a NaN stays
    }
    return total + std::pow(std::abs(away), p);
}

template <Norm kNorm, class T>
void forward(const Problem<T>& c) {
    constexpr int n = kPanel<T>;
    const T p = static_cast<T>(c.p);
    for (int64_t first = 0; first < c.others; first += n) {
        turn(c, first);
        for (int64_t i = 0; i < c.rows; ++i) {
            T total[n] = {};
            for (int64_t begin = 0; begin < c.width; begin += kRun) {
                T run[n] = {};
                const int64_t end = std::min(c.width, begin + kRun);
                for (int64_t m = begin; m < end; ++m) {
                    const T x = c.x1[i * c.width + m];
                    const T* other = c.panel + m * n;
                    for (int j = 0; j < n; ++j) run[j] = merged<kNorm, T>(run[j], x - other[j], p);
                }
                for (int j = 0; j < n; ++j)
                    total[j] =
                        kNorm == Norm::largest ? merged<kNorm, T>(total[j], run[j], p) : total[j] + run[j];
            }
            T* out = c.out + i * c.others + first;
            const int64_t used = std::min<int64_t>(n, c.others - first);
            for (int64_t j = 0; j < used; ++j) {
                if constexpr (kNorm == Norm::two)
                    out[j] = std::sqrt(total[j]);
                else if constexpr (kNorm == Norm::power)
                    out[j] = std::pow(total[j], static_cast<T>(1.0 / c.p));
                else
                    out[j] = total[j];
            }
        }
    }
}

// share: grad over distance^(p - 1), 0 where the distance is; length: the distance.
template <Norm kNorm, class T>
inline T slope(T share, T length, T away, T p) {
    // No branch: the sign of a difference is as good as random.
    const T signed_share = away == T(0) ? T(0) : share * std::copysign(T(1), away);
    if constexpr (kNorm == Norm::one) return signed_share;
    if constexpr (kNorm == Norm::two) return share * away;
    if constexpr (kNorm == Norm::largest) {
        return std::abs(away) == length ? signed_share : T(0);
    }
    const T size = std::abs(away);
    return size == T(0) ? T(0) : share * away * std::pow(size, p - T(2));
}

// The sum of the slopes of one element towards the rows of a panel.
template <Norm kNorm, class T, bool kFull>
T pulled(const T* share, const T* length, T x, const T* other, int64_t used, T p) {
    constexpr int lanes = 64 / sizeof(T);
    T lane[lanes] = {};
    for (int64_t j = 0; j < (kFull ? kPanel<T> : used); j += lanes) {
        const int64_t here = kFull || used - j > lanes ? lanes : used - j;
        for (int64_t l = 0; l < (kFull ? lanes : here); ++l)
            lane[l] += slope<kNorm, T>(share[j + l], length[j + l], x - other[j + l], p);
    }
    for (int half = lanes / 2; half > 0; half /= 2)
        for (int l = 0; l < half; ++l) lane[l] += lane[l + half];
    return lane[0];
}

template <Norm kNorm, class T>
void backward(const Problem<T>& c, const T* grad, const T* distance) {
    constexpr int n = kPanel<T>;
    const T p = static_cast<T>(c.p);
    std::fill(c.out, c.out + c.rows * c.width, T(0));
    if constexpr (kNorm == Norm::count) return;
    for (int64_t first = 0; first < c.others; first += n) {
        turn(c, first);
        const int64_t used = std::min<int64_t>(n, c.others - first);
        for (int64_t i = 0; i < c.rows; ++i) {
            T share[n], length[n];
            for (int64_t j = 0; j < used; ++j) {
                const T g = grad[i * c.others + first + j], d = distance[i * c.others + first + j];
                length[j] = d;
                if constexpr (kNorm == Norm::two)
                    share[j] = d == T(0) ? T(0) : g / d;
                else if constexpr (kNorm == Norm::power)
                    share[j] = d == T(0) ? T(0) : g / std::pow(d, p - T(1));
                else
                    share[j] = g;
            }
            T* out = c.out + i * c.width;
            const T* row = c.x1 + i * c.width;
            for (int64_t m = 0; m < c.width; ++m) {
                const T* other = c.panel + m * n;
                out[m] += used == n ? pulled<kNorm, T, true>(share, length, row[m], other, n, p)
                                    : pulled<kNorm, T, false>(share, length, row[m], other, used, p);
            }
        }
    }
}

template <class T>
Problem<T> problem_of(const DistanceCall& c) {
    return {static_cast<T*>(c.out),
            static_cast<const T*>(c.x1),
            static_cast<const T*>(c.x2),
            c.rows,
            c.others,
            c.width,
            c.p,
            static_cast<T*>(c.panel)};
}

template <class T, class F>
void with_norm(double p, F&& f) {
    switch (norm_of(p)) {
        case Norm::count:
            return f.template operator()<Norm::count>();
        case Norm::one:
            return f.template operator()<Norm::one>();
        case Norm::two:
            return f.template operator()<Norm::two>();
        case Norm::largest:
            return f.template operator()<Norm::largest>();
        case Norm::power:
            return f.template operator()<Norm::power>();
    }
}

template <class T>
void run_forward(const DistanceCall& c) {
    with_norm<T>(c.p, [&]<Norm kNorm>() { forward<kNorm, T>(problem_of<T>(c)); });
}

template <class T>
void run_backward(const DistanceCall& c) {
    with_norm<T>(c.p, [&]<Norm kNorm>() {
        backward<kNorm, T>(problem_of<T>(c), static_cast<const T*>(c.grad),
                           static_cast<const T*>(c.distance));
    });
}

}  // namespace

void fill_distance(Tables& t) {
    t.distance[TNR_F32] = {run_forward<float>, run_backward<float>, kPanel<float>};
    t.distance[TNR_F64] = {run_forward<double>, run_backward<double>, kPanel<double>};
}

}  // namespace tenora::cpu::TENORA_ISA
