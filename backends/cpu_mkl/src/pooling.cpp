// Pooling in one, two and three dims: from descriptors to numbers.
#include "dense_floats.h"
#include "kernels.h"

namespace tenora::cpu {

using namespace TENORA_ISA;

namespace {

// Sliding windows: kernel_size, stride and padding are attributes 0 to 2. Adaptive ones follow from the
// sizes.
Pooling problem(const tnr_call* call, int n, const DLTensor& x, const DLTensor& y, bool adaptive) {
    Pooling p = {};
    for (int d = 0; d < 3; ++d) p.size[d] = p.kernel[d] = p.stride[d] = p.dilation[d] = p.out[d] = 1;
    spatial_size(x, n, p.size);
    spatial_size(y, n, p.out);
    p.planes = leading_size(x, x.ndim - n);
    p.adaptive = adaptive;
    if (adaptive) return p;
    spatial_attr(call, 0, n, kOnes, p.kernel);
    spatial_attr(call, 1, n, p.kernel, p.stride);
    spatial_attr(call, 2, n, kZeros, p.padding);
    skip_stride(p);
    return p;
}

// ceil_mode is in the sizes; count_include_pad and divisor_override are attributes 4 and 5.
Pooling average_problem(const tnr_call* call, int n, const DLTensor& x, const DLTensor& y, bool adaptive) {
    Pooling p = problem(call, n, x, y, adaptive);
    p.include_padding = int_attr(call, 4, 1) != 0;
    p.divisor = n > 1 && !adaptive ? number_attr(call, 5, 0) : 0;
    return p;
}

// A kernel, stride or dilation may be far larger than the input; only sums of such numbers must fit.
int32_t refuse_if_far(const tnr_call* call, const Pooling& p) {
    if (!reaches_beyond(p, int64_t{1} << 60)) return TNR_OK;
    return fail(call, TNR_BAD_VALUE,
                "the windows reach too far: expected at most 2^60 elements. Use smaller numbers");
}

const PoolingRows& rows_for(const DLTensor& t) { return tables.pooling[wide_dtype(dtype_of(t))]; }

template <int kDims, bool kAdaptive>
int32_t largest(const tnr_call* call) {
    const DLTensor &x = *call->in[0], &values = *call->out[0];
    Pooling p = problem(call, kDims, x, values, kAdaptive);
    if (!kAdaptive) spatial_attr(call, 3, kDims, kOnes, p.dilation);
    if (const int32_t status = refuse_if_far(call, p)) return status;
    const WideInput from(&x);
    WideOutput to(values);
    const int32_t status =
        rows_for(x).largest(p, from.data(), to.data(), static_cast<int64_t*>(call->out[1]->data));
    to.finish();
    return told(call, status);
}

template <int kDims, bool kAdaptive>
int32_t average(const tnr_call* call) {
    const DLTensor &x = *call->in[0], &y = *call->out[0];
    const Pooling p = average_problem(call, kDims, x, y, kAdaptive);
    if (const int32_t status = refuse_if_far(call, p)) return status;
    const WideInput from(&x);
    WideOutput to(y);
    const int32_t status = rows_for(x).average(p, from.data(), to.data());
    to.finish();
    return told(call, status);
}

template <int kDims, bool kAdaptive>
int32_t average_backward(const tnr_call* call) {
    const DLTensor &grad = *call->in[0], &x = *call->out[0];
    const Pooling p = average_problem(call, kDims, x, grad, kAdaptive);
    if (const int32_t status = refuse_if_far(call, p)) return status;
    const WideInput from(&grad);
    WideOutput to(x);
    const int32_t status = rows_for(x).average_backward(p, from.data(), to.data());
    to.finish();
    return told(call, status);
}

}  // namespace

void add_pools(Kernels& kernels) {
    add_kernel(kernels, "max_pool1d_with_indices", run_dense<largest<1, false>>, kFloats, 0);
    add_kernel(kernels, "max_pool2d_with_indices", run_dense<largest<2, false>>, kFloats, 0);
    add_kernel(kernels, "max_pool3d_with_indices", run_dense<largest<3, false>>, kFloats, 0);
    add_kernel(kernels, "adaptive_max_pool1d_with_indices", run_dense<largest<1, true>>, kFloats, 0);
    add_kernel(kernels, "adaptive_max_pool2d_with_indices", run_dense<largest<2, true>>, kFloats, 0);
    add_kernel(kernels, "adaptive_max_pool3d_with_indices", run_dense<largest<3, true>>, kFloats, 0);
    add_kernel(kernels, "avg_pool1d", run_dense<average<1, false>>, kFloats, 0);
    add_kernel(kernels, "avg_pool2d", run_dense<average<2, false>>, kFloats, 0);
    add_kernel(kernels, "avg_pool3d", run_dense<average<3, false>>, kFloats, 0);
    add_kernel(kernels, "adaptive_avg_pool1d", run_dense<average<1, true>>, kFloats, 0);
    add_kernel(kernels, "adaptive_avg_pool2d", run_dense<average<2, true>>, kFloats, 0);
    add_kernel(kernels, "adaptive_avg_pool3d", run_dense<average<3, true>>, kFloats, 0);
    add_kernel(kernels, "adaptive_avg_pool1d_backward", run_dense<average_backward<1, true>>, kFloats, 0);
    add_kernel(kernels, "adaptive_avg_pool2d_backward", run_dense<average_backward<2, true>>, kFloats, 0);
    add_kernel(kernels, "adaptive_avg_pool3d_backward", run_dense<average_backward<3, true>>, kFloats, 0);
    add_kernel(kernels, "avg_pool1d_backward", run_dense<average_backward<1, false>>, kFloats, 0);
    add_kernel(kernels, "avg_pool2d_backward", run_dense<average_backward<2, false>>, kFloats, 0);
    add_kernel(kernels, "avg_pool3d_backward", run_dense<average_backward<3, false>>, kFloats, 0);
}

}  // namespace tenora::cpu
