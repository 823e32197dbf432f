// The innermost pieces of a matrix product, with all accumulators in registers.
//   tile   rows of C by whole vectors of columns: broadcasts of A times vectors of B
//   dots   few rows of C when both operands lie along k: vectors along k, summed at the end
#pragma once

#include "simd.h"

namespace tenora::cpu::TENORA_ISA {

// What becomes of a product: c = alpha * product (+ bias) (+ c).
template <class T>
struct Finish {
    T alpha;
    const T* bias;  // per column, contiguous, or NULL
    bool accumulate;
};

// One question for all rows, not one for each vector: products with a small k end here more than they
// multiply.
template <class T, int kRows, int kVectors, bool kPartial>
inline void finish_rows(V<T> (&sum)[kRows][kVectors], T* c, int64_t c_row, const Tail<T>& tail,
                        const Finish<T>& finish) {
    constexpr int L = kLanes<T>;
    const auto partial = [](int v) { return kPartial && v == kVectors - 1; };
    const auto load = [&](const T* p, int v) { return partial(v) ? tail.load(p) : load_vector(p); };
    const auto each = [&](auto&& step) {
#pragma GCC unroll 8
        for (int v = 0; v < kVectors; ++v) {
#pragma GCC unroll 16
            for (int i = 0; i < kRows; ++i) step(i, v);
        }
    };
    if (finish.alpha != T(1)) {
        const T alpha = finish.alpha;
        each([&](int i, int v) { sum[i][v] = sum[i][v] * alpha; });
    }
    if (finish.bias) {
        V<T> bias[kVectors];
        for (int v = 0; v < kVectors; ++v) bias[v] = load(finish.bias + v * L, v);
        each([&](int i, int v) { sum[i][v] += bias[v]; });
    }
    if (finish.accumulate) {
        each([&](int i, int v) { sum[i][v] += load(c + i * c_row + v * L, v); });
    }
    each([&](int i, int v) {
        if (partial(v))
            tail.store(c + i * c_row + v * L, sum[i][v]);
        else
            store_vector(c + i * c_row + v * L, sum[i][v]);
    });
}

// A: element (i, p) at a[i * a_row + p * a_col]. B: row p of vectors at b[p * b_row]. C: row i at c[i *
// c_row]. With kPartial the last of the kVectors holds only `last` elements.
template <class T, int kRows, int kVectors, bool kPartial>
void tile(int64_t k, const T* a, int64_t a_row, int64_t a_col, const T* b, int64_t b_row, T* c, int64_t c_row,
          int last, const Finish<T>& finish) {
    constexpr int L = kLanes<T>;
    const Tail<T> tail(kPartial ? last : 0);
    V<T> sum[kRows][kVectors] = {};
    for (int64_t p = 0; p < k; ++p) {
        V<T> x[kVectors];
#pragma GCC unroll 8
        for (int v = 0; v < kVectors; ++v) {
            x[v] = kPartial && v == kVectors - 1 ? tail.load(b + v * L) : load_vector(b + v * L);
        }
        b += b_row;
#pragma GCC unroll 16
        for (int i = 0; i < kRows; ++i) {
            const T factor = a[i * a_row];
#pragma GCC unroll 8
            for (int v = 0; v < kVectors; ++v) sum[i][v] += factor * x[v];
        }
        a += a_col;
    }
    finish_rows<T, kRows, kVectors, kPartial>(sum, c, c_row, tail, finish);
}

// kRows x kColumns dot products. A: row i contiguous at a
// + i * a_row; B: column j contiguous at b + j * b_col.
template <class T, int kRows, int kColumns>
void dots(int64_t k, const T* a, int64_t a_row, const T* b, int64_t b_col, T* c, int64_t c_row, int columns,
          const Finish<T>& finish) {
    constexpr int L = kLanes<T>;
    V<T> sum[kRows][kColumns] = {};
    // Columns beyond the last repeat it; their results are dropped.
    const T* column[kColumns];
    for (int j = 0; j < kColumns; ++j) column[j] = b + (j < columns ? j : columns - 1) * b_col;
    int64_t p = 0;
    for (; p + L <= k; p += L) {
        V<T> y[kRows];
#pragma GCC unroll 4
        for (int i = 0; i < kRows; ++i) y[i] = load_vector(a + i * a_row + p);
#pragma GCC unroll 8
        for (int j = 0; j < kColumns; ++j) {
            const V<T> x = load_vector(column[j] + p);
#pragma GCC unroll 4
            for (int i = 0; i < kRows; ++i) sum[i][j] += y[i] * x;
        }
    }
    if (p < k) {
        const Tail<T> tail(static_cast<int>(k - p));
#pragma GCC unroll 8
        for (int j = 0; j < kColumns; ++j) {
            const V<T> x = tail.load(column[j] + p);
#pragma GCC unroll 4
            for (int i = 0; i < kRows; ++i) sum[i][j] += tail.load(a + i * a_row + p) * x;
        }
    }
#pragma GCC unroll 4
    for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 2
        for (int first = 0; first < kColumns; first += 4) {
            T total[4];
            sum_lanes<T>({sum[i][first], sum[i][first + 1], sum[i][first + 2], sum[i][first + 3]}, total);
            const int count = columns - first < 4 ? columns - first : 4;
            for (int j = 0; j < count; ++j) {
                T* target = c + i * c_row + first + j;
                T result = finish.alpha * total[j];
                if (finish.bias) result += finish.bias[first + j];
                *target = finish.accumulate ? *target + result : result;
            }
        }
    }
}

}  // namespace tenora::cpu::TENORA_ISA
