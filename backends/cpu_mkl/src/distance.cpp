// Drivers of row_distances and its gradient: one problem for each matrix of the batch; operands are
// contiguous.
#include <memory>
#include <new>

#include "kernels.h"

namespace tenora::cpu {

using namespace TENORA_ISA;

namespace {

int64_t batches_of(const DLTensor& t) {
    int64_t n = 1;
    for (int d = 0; d < t.ndim - 2; ++d) n *= t.shape[d];
    return n;
}

// x1, x2: operands of the call; the result is per row of x1: one element per row of x2, or a row.
int32_t each_matrix(const tnr_call* call, int x1_at, void (*DistanceRows::*body)(const DistanceCall&)) {
    const DLTensor &x1 = *call->in[x1_at], &x2 = *call->in[x1_at + 1];
    const bool backward = x1_at > 0;
    const tnr_dtype dtype = dtype_of(x1);
    const DistanceRows& rows = tables.distance[dtype];
    DistanceCall c{};
    c.rows = x1.shape[x1.ndim - 2];
    c.others = x2.shape[x2.ndim - 2];
    c.width = x1.shape[x1.ndim - 1];
    c.p = number_attr(call, 0, 2);
    const auto size = static_cast<int64_t>(kSizes[dtype]);
    const std::unique_ptr<char[]> panel(
        new (std::nothrow) char[static_cast<size_t>((c.width > 0 ? c.width : 1) * rows.panel * size)]);
    if (!panel) return fail(call, TNR_OUT_OF_MEMORY, "no memory for a panel of rows");
    c.panel = panel.get();
    const auto part = [size](const DLTensor& t, int64_t b, int64_t count) {
        return static_cast<char*>(t.data) + b * count * size;
    };
    const int64_t own = c.rows * c.width, pairs = c.rows * c.others;
    for (int64_t b = 0, n = batches_of(x1); b < n; ++b) {
        c.x1 = part(x1, b, own);
        c.x2 = part(x2, b, c.others * c.width);
        c.out = part(*call->out[0], b, backward ? own : pairs);
        if (backward) {
            c.grad = part(*call->in[0], b, pairs);
            c.distance = part(*call->in[3], b, pairs);
        }
        (rows.*body)(c);
    }
    return TNR_OK;
}

int32_t run_distances(const tnr_call* call) { return each_matrix(call, 0, &DistanceRows::forward); }
int32_t run_distances_backward(const tnr_call* call) { return each_matrix(call, 1, &DistanceRows::backward); }

}  // namespace

void add_distances(Kernels& kernels) {
    // Powers of few long rows take long: always without the GIL.
    add_kernel(kernels, "row_distances", run_distances, TNR_MASK_REALS, TNR_KERNEL_BLOCKS);
    add_kernel(kernels, "row_distances_backward", run_distances_backward, TNR_MASK_REALS, TNR_KERNEL_BLOCKS);
}

}  // namespace tenora::cpu
