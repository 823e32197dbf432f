// Packing of operands for the blocked product, and the memory for it.
#pragma once

#include <cstdlib>

#include "simd.h"

namespace tenora::cpu::TENORA_ISA {

// Grows as needed, belongs to one thread, freed when the thread ends. NULL when there is no memory.
class Scratch {
  public:
    ~Scratch() { std::free(data_); }
    void* get(size_t bytes) {
        if (bytes > size_) {
            std::free(data_);
            size_ = (bytes + 4095) & ~size_t{4095};
            data_ = std::aligned_alloc(64, size_);
            if (!data_) size_ = 0;
        }
        return data_;
    }

  private:
    void* data_ = nullptr;
    size_t size_ = 0;
};

#if defined(__AVX2__)
// out[p][j] = in[j][p] for 8 x 8 floats.
inline void transpose_8x8(const float* in, int64_t in_row, float* out, int64_t out_row) {
    __m256 r[8], t[8];
    for (int i = 0; i < 8; ++i) r[i] = _mm256_loadu_ps(in + i * in_row);
    for (int i = 0; i < 8; i += 2) {
        t[i] = _mm256_unpacklo_ps(r[i], r[i + 1]);
        t[i + 1] = _mm256_unpackhi_ps(r[i], r[i + 1]);
    }
    for (int i = 0; i < 8; i += 4) {
        r[i] = _mm256_shuffle_ps(t[i], t[i + 2], 0x44);
        r[i + 1] = _mm256_shuffle_ps(t[i], t[i + 2], 0xee);
        r[i + 2] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0x44);
        r[i + 3] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0xee);
    }
    for (int i = 0; i < 4; ++i) {
        _mm256_storeu_ps(out + i * out_row, _mm256_permute2f128_ps(r[i], r[i + 4], 0x20));
        _mm256_storeu_ps(out + (i + 4) * out_row, _mm256_permute2f128_ps(r[i], r[i + 4], 0x31));
    }
}
#endif

// k x n of B (element (p, j) at b[p * row + j * col]) into
// k rows of `width` elements, zeros behind the last column.
template <class T>
void pack_b_panel(T* out, const T* b, int64_t row, int64_t col, int64_t k, int n, int width) {
    int64_t p = 0;
    if (col == 1 && n == width) {
        for (; p < k; ++p) {
            for (int j = 0; j < width; j += kLanes<T>)
                store_vector(out + p * width + j, load_vector(b + p * row + j));
        }
        return;
    }
    int packed = 0;  // columns already packed
#if defined(__AVX2__)
    if constexpr (sizeof(T) == 4) {
        for (; row == 1 && packed + 8 <= n; packed += 8) {
            int64_t q = 0;
            for (; q + 8 <= k; q += 8)
                transpose_8x8(b + packed * col + q, col, out + q * width + packed, width);
            for (; q < k; ++q) {
                for (int j = packed; j < packed + 8; ++j) out[q * width + j] = b[q + j * col];
            }
        }
    }
#endif
    if (packed == width) return;
    for (; p < k; ++p) {
        T* o = out + p * width;
        for (int j = packed; j < n; ++j) o[j] = b[p * row + j * col];
        for (int j = n; j < width; ++j) o[j] = T(0);
    }
}

// The same from tables: element (p, j) at b[row_at[p] + col_at[j]].
template <class T>
void pack_b_windows(T* out, const T* b, const int64_t* row_at, const int64_t* col_at, int64_t k, int n,
                    int width) {
    bool run = n == width;
    for (int j = 1; j < n; ++j) run &= col_at[j] == col_at[0] + j;
    for (int64_t p = 0; p < k; ++p) {
        const T* x = b + row_at[p];
        T* o = out + p * width;
        if (run) {
            for (int j = 0; j < width; j += kLanes<T>) store_vector(o + j, load_vector(x + col_at[0] + j));
        } else {
            for (int j = 0; j < n; ++j) o[j] = x[col_at[j]];
            for (int j = n; j < width; ++j) o[j] = T(0);
        }
    }
}

// `rows` rows of A into k groups of `rows` elements.
template <class T>
void pack_a_panel(T* out, const T* a, int64_t row, int64_t col, int rows, int64_t k) {
    for (int i = 0; i < rows; ++i) {
        const T* x = a + i * row;
        for (int64_t p = 0; p < k; ++p) out[p * rows + i] = x[p * col];
    }
}

}  // namespace tenora::cpu::TENORA_ISA
