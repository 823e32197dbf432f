// What the kernels of indexing share: checks of index tensors, walks without the indexed dimension.
#pragma once

#include "walk.h"

namespace tenora::cpu::TENORA_ISA {

inline int32_t out_of_bounds(const tnr_call* call, int64_t index, int dim, int64_t size) {
    return fail(call, TNR_INDEX_ERROR, "index %lld is out of bounds for dimension %d with size %lld",
                static_cast<long long>(index), dim, static_cast<long long>(size));
}

template <int N, class F>
void walk_elements(int rank, const int64_t* shape, const int64_t* const (&strides)[N], F&& f) {
    Walk<N>(rank, shape, strides)(f);
}

// Status of checking every element of an index tensor against lowest .. size - 1.
inline int32_t check_indices(const tnr_call* call, const DLTensor& index, int64_t lowest, int dim,
                             int64_t size) {
    int64_t wrong = 0;
    bool found = false;
    const int64_t* data = static_cast<const int64_t*>(index.data);
    int64_t shape[kMaxRank];  // of what is not repeated
    for (int d = 0; d < index.ndim; ++d)
        shape[d] = index.strides[d] == 0 && index.shape[d] ? 1 : index.shape[d];
    walk_elements<1>(index.ndim, shape, {index.strides}, [&](const int64_t* at) {
        const int64_t i = data[at[0]];
        if ((i < lowest || i >= size) && !found) {
            wrong = i;
            found = true;
        }
    });
    return found ? out_of_bounds(call, wrong, dim, size) : TNR_OK;
}

// Strides with dimension `dim` taken out: that coordinate comes from the index.
struct Without {
    int64_t strides[kMaxRank];
    int64_t along = 0;
    Without(const DLTensor& t, int dim) {
        for (int d = 0; d < t.ndim; ++d) strides[d] = d == dim ? 0 : t.strides[d];
        if (t.ndim > 0) along = t.strides[dim];
    }
};

inline int along_dim(const tnr_call* call, const DLTensor& t) {
    int64_t dim = int_attr(call, 0, 0);
    return static_cast<int>(dim < 0 ? dim + t.ndim : dim);
}

}  // namespace tenora::cpu::TENORA_ISA
