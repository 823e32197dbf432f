// Ops that work along one dimension: every line of it in turn.
#pragma once

#include "plan.h"

namespace tenora::cpu::TENORA_ISA {

// A dimension attribute as 0 .. ndim - 1; a 0-d tensor counts as one line of one element.
inline int line_dim(const tnr_call* call, int attr, const DLTensor& t) {
    int64_t dim = int_attr(call, attr, -1);
    if (dim < 0) dim += t.ndim;
    return static_cast<int>(dim);
}

// f(offsets of the line's first element in each tensor, in elements) for every line along `dim`; all N
// tensors have the shape of the first but for that dimension.
template <int N, class F>
void each_line(const DLTensor* const (&tensors)[N], int dim, F&& f) {
    const DLTensor& shape_of = *tensors[0];
    int64_t index[kMaxRank], at[N] = {};
    for (int d = 0; d < shape_of.ndim; ++d) {
        if (d != dim && shape_of.shape[d] == 0) return;
        index[d] = 0;
    }
    while (true) {
        f(at);
        int d = shape_of.ndim - 1;
        for (; d >= 0; --d) {
            if (d == dim) continue;
            for (int i = 0; i < N; ++i) at[i] += tensors[i]->strides[d];
            if (++index[d] < shape_of.shape[d]) break;
            for (int i = 0; i < N; ++i) at[i] -= tensors[i]->strides[d] * shape_of.shape[d];
            index[d] = 0;
        }
        if (d < 0) return;
    }
}

inline int64_t line_length(const DLTensor& t, int dim) { return t.ndim == 0 ? 1 : t.shape[dim]; }
inline int64_t line_stride(const DLTensor& t, int dim) { return t.ndim == 0 ? 1 : t.strides[dim]; }

}  // namespace tenora::cpu::TENORA_ISA
