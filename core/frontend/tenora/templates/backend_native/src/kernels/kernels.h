// The kernels by family, and what they need of a call: elements in order, attributes, errors, sums.
#pragma once

#include <algorithm>
#include <array>
#include <cstdio>
#include <span>
#include <vector>

#include "element.h"

namespace newbackend {

struct Kernel {
    const char* op;
    tnr_kernel_fn run;
    uint32_t dtypes, flags;
};
using Kernels = std::vector<Kernel>;

inline constexpr int kMaxRank = TNR_MAX_RANK;
inline constexpr int64_t kNoStrides[kMaxRank] = {};
inline constexpr uint32_t kAnyLayout =
    TNR_KERNEL_STRIDED | TNR_KERNEL_NEGATIVE_STRIDES | TNR_KERNEL_STRIDED_OUT;

inline std::span<const int64_t> shape_of(const DLTensor& t) { return {t.shape, size_t(t.ndim)}; }

inline int64_t count_of(std::span<const int64_t> shape) {
    int64_t n = 1;
    for (int64_t size : shape) n *= size;
    return n;
}

template <class T>
T* data_of(const DLTensor& t) {
    return static_cast<T*>(t.data);
}

// A number that came by value is the same element everywhere.
inline const int64_t* strides_of(const tnr_call* call, int input) {
    return call->host_scalar_mask >> input & 1 ? kNoStrides : call->in[input]->strides;
}

// Calls f(at) for each index of the shape in row-major order; at[k] is its offset under strides[k].
template <size_t n, class F>
void walk(std::span<const int64_t> shape, const std::array<const int64_t*, n>& strides, F&& f) {
    if (count_of(shape) == 0) return;
    std::array<int64_t, n> at{};
    std::array<int64_t, kMaxRank> index{};
    for (;;) {
        f(at);
        size_t d = shape.size();
        for (;;) {
            if (d-- == 0) return;
            for (size_t k = 0; k < n; ++k) at[k] += strides[k][d];
            if (++index[d] < shape[d]) break;
            for (size_t k = 0; k < n; ++k) at[k] -= strides[k][d] * shape[d];
            index[d] = 0;
        }
    }
}

template <class... Values>
int32_t refuse(const tnr_call* call, int32_t status, const char* format, Values... values) {
    if (call->error && call->error_size) std::snprintf(call->error, call->error_size, format, values...);
    return status;
}
inline int64_t whole_attr(const tnr_call* call, int i, int64_t otherwise = 0) {
    return i < call->n_attr && call->attr[i].kind != TNR_ATTR_NONE ? call->attr[i].value.i64 : otherwise;
}

inline bool is_fraction(const tnr_attr& a) {
    return a.kind == TNR_ATTR_F64 || (a.kind == TNR_ATTR_SCALAR && a.dtype == TNR_F64);
}
template <class T>
T number_attr(const tnr_attr& a) {
    if (is_fraction(a)) return convert<T>(a.value.f64);
    if (a.kind == TNR_ATTR_SCALAR && a.dtype == TNR_U64) return convert<T>(uint64_t(a.value.i64));
    return convert<T>(a.value.i64);
}

// What to compute with so that whole numbers wrap around.
template <class T>
auto raw(T x) {
    if constexpr (std::integral<T>)
        return uint64_t(x);
    else
        return x;
}

template <class T>
auto magnitude(T x) {
    if constexpr (Whole<T>)
        return x < 0 ? T(-raw(x)) : x;
    else
        return std::abs(x);
}

struct Plus {  // of bools: or
    template <class T>
    T operator()(T a, T b) const {
        return T(raw(a) + raw(b));
    }
};

struct Times {  // of bools: and; of complex numbers the plain formula, which repairs no infinities
    template <class T>
    T operator()(T a, T b) const {
        if constexpr (!Complex<T>)
            return T(raw(a) * raw(b));
        else
            return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
    }
};

// What sums and products of many elements are held in: twice the digits where there are such.
template <class T>
using SumOf =
    std::conditional_t<std::same_as<Wide<T>, float>, double,
                       std::conditional_t<std::same_as<T, std::complex<float>>, std::complex<double>, T>>;

void add_pointwise(Kernels& kernels);
void add_copies(Kernels& kernels);
void add_reductions(Kernels& kernels);
void add_indexing(Kernels& kernels);

}  // namespace newbackend
