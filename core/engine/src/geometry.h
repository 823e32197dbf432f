// Layout arithmetic shared by rules, plans and the kernel runner.
#pragma once

#include "rules.h"

namespace tenora {

// By hand: of the few sizes of a tensor std::equal makes a call of memcmp.
inline bool same_shape(const Tensor* a, const Tensor* b) {
    if (a->dl.ndim != b->dl.ndim) return false;
    for (int i = 0; i < a->dl.ndim; ++i)
        if (a->dl.shape[i] != b->dl.shape[i]) return false;
    return true;
}

// Strides that show `shape/strides` as `size` without a
// copy; false when there are none (PyTorch's computation).
bool view_strides(std::span<const int64_t> shape, std::span<const int64_t> strides,
                  std::span<const int64_t> size, int64_t* out);
// Resolves one -1 and checks the number of elements; returns the rank.
int infer_size(const Infer& c, std::span<const int64_t> size, int64_t numel, int64_t* out);
// Error unless every element of m lies in [0, elements).
void check_inside(const Infer& c, const OutMeta& m, size_t elements);

// Strides that show `t` with `shape`, size 1 and missing leading dimensions repeated; false when it does not
// broadcast to that shape. `strides` has room for shape.size().
bool broadcast_strides(const Tensor* t, std::span<const int64_t> shape, int64_t* strides);

// Two elements of the window share memory for certain (a
// stride 0 over more than one element, or a pigeonhole).
bool overlaps_itself(const Tensor* t);
bool non_overlapping_dense(const Tensor* t);
// Smallest and one past the largest byte of the window; equal for empty ones.
struct Extent {
    const char* begin;
    const char* end;
};
Extent extent(const Tensor* t);
bool share_memory(const Tensor* a, const Tensor* b);  // extents meet
bool same_window(const Tensor* a, const Tensor* b);   // exactly the same elements in the same order

}  // namespace tenora
