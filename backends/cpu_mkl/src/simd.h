// Vectors of the instruction set being compiled for, through the compiler's vector extension.
//   V<T>          a full vector, kLanes<T> elements
//   Tail<T>       loads and stores of the first n < kLanes<T> elements that touch nothing beyond them
#pragma once

#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace tenora::cpu::TENORA_ISA {

#if defined(__AVX512F__)
inline constexpr int kVectorBytes = 64;
#elif defined(__AVX2__)
inline constexpr int kVectorBytes = 32;
#else
inline constexpr int kVectorBytes = 16;
#endif

template <class T>
struct VectorOf {
    typedef T type __attribute__((vector_size(kVectorBytes)));
    typedef T unaligned __attribute__((vector_size(kVectorBytes), aligned(alignof(T)), may_alias));
};
template <class T>
using V = typename VectorOf<T>::type;
template <class T>
inline constexpr int kLanes = kVectorBytes / static_cast<int>(sizeof(T));

template <class T>
inline V<T> load_vector(const T* p) {
    return *reinterpret_cast<const typename VectorOf<T>::unaligned*>(p);
}
template <class T>
inline void store_vector(T* p, V<T> v) {
    *reinterpret_cast<typename VectorOf<T>::unaligned*>(p) = v;
}

template <class T>
class Tail;

#if defined(__AVX512F__)
template <>
class Tail<float> {
  public:
    explicit Tail(int n) : mask_(static_cast<__mmask16>((1u << n) - 1)) {}
    V<float> load(const float* p) const { return (V<float>)_mm512_maskz_loadu_ps(mask_, p); }
    void store(float* p, V<float> v) const { _mm512_mask_storeu_ps(p, mask_, (__m512)v); }

  private:
    __mmask16 mask_;
};
template <>
class Tail<double> {
  public:
    explicit Tail(int n) : mask_(static_cast<__mmask8>((1u << n) - 1)) {}
    V<double> load(const double* p) const { return (V<double>)_mm512_maskz_loadu_pd(mask_, p); }
    void store(double* p, V<double> v) const { _mm512_mask_storeu_pd(p, mask_, (__m512d)v); }

  private:
    __mmask8 mask_;
};
#elif defined(__AVX2__)
template <>
class Tail<float> {
  public:
    explicit Tail(int n)
        : mask_(_mm256_cmpgt_epi32(_mm256_set1_epi32(n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7))) {}
    V<float> load(const float* p) const { return (V<float>)_mm256_maskload_ps(p, mask_); }
    void store(float* p, V<float> v) const { _mm256_maskstore_ps(p, mask_, (__m256)v); }

  private:
    __m256i mask_;
};
template <>
class Tail<double> {
  public:
    explicit Tail(int n) : mask_(_mm256_cmpgt_epi64(_mm256_set1_epi64x(n), _mm256_setr_epi64x(0, 1, 2, 3))) {}
    V<double> load(const double* p) const { return (V<double>)_mm256_maskload_pd(p, mask_); }
    void store(double* p, V<double> v) const { _mm256_maskstore_pd(p, mask_, (__m256d)v); }

  private:
    __m256i mask_;
};
#else
// At most three elements: one at a time.
template <class T>
class Tail {
  public:
    explicit Tail(int n) : n_(n) {}
    V<T> load(const T* p) const {
        V<T> v = {};
        for (int i = 0; i < kLanes<T>; ++i) v[i] = i < n_ ? p[i] : T(0);
        return v;
    }
    void store(T* p, V<T> v) const {
        for (int i = 0; i < kLanes<T>; ++i) {
            if (i < n_) p[i] = v[i];
        }
    }

  private:
    int n_;
};
#endif

// Sums of the lanes of four vectors.
template <class T>
inline void sum_lanes(const V<T> (&v)[4], T (&out)[4]) {
#if defined(__AVX2__) && !defined(__AVX512F__)
    if constexpr (sizeof(T) == 4) {
        const __m256 ab = _mm256_hadd_ps((__m256)v[0], (__m256)v[1]),
                     cd = _mm256_hadd_ps((__m256)v[2], (__m256)v[3]);
        const __m256 abcd = _mm256_hadd_ps(ab, cd);
        const __m128 sum = _mm_add_ps(_mm256_castps256_ps128(abcd), _mm256_extractf128_ps(abcd, 1));
        std::memcpy(out, &sum, sizeof out);
        return;
    }
#endif
    for (int i = 0; i < 4; ++i) {
        T lanes[kLanes<T>];
        std::memcpy(lanes, &v[i], sizeof lanes);
        for (int width = kLanes<T> / 2; width > 0; width /= 2) {
            for (int l = 0; l < width; ++l) lanes[l] += lanes[l + width];
        }
        out[i] = lanes[0];
    }
}

}  // namespace tenora::cpu::TENORA_ISA
