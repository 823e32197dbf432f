// conv{1,2,3}d and its adjoints: from descriptors to numbers.
#include <new>

#include "dense_floats.h"
#include "kernels.h"
#include "matrix.h"

namespace tenora::cpu {

using namespace TENORA_ISA;

namespace {

constexpr int64_t kOnes[3] = {1, 1, 1}, kZeros[3] = {0, 0, 0};

// `first`: the number of the attribute `stride`; padding, dilation and groups follow.
Convolution problem(const tnr_call* call, int n, int first, const DLTensor& x, const DLTensor& w,
                    const DLTensor& y) {
    Convolution c = {};
    for (int d = 0; d < 3; ++d) c.size[d] = c.kernel[d] = c.stride[d] = c.dilation[d] = c.out[d] = 1;
    spatial_size(x, n, c.size);
    spatial_size(w, n, c.kernel);
    spatial_size(y, n, c.out);
    spatial_attr(call, first, n, kOnes, c.stride);
    spatial_attr(call, first + 1, n, kZeros, c.padding);
    spatial_attr(call, first + 2, n, kOnes, c.dilation);
    skip_stride(c);
    c.batch = leading_size(x, x.ndim - n - 1);
    c.groups = int_attr(call, first + 3, 1);
    c.in_channels = w.shape[1];
    c.out_channels = w.shape[0] / c.groups;
    return c;
}

const ConvolutionRows& rows_for(const DLTensor& t) { return tables.convolution[wide_dtype(dtype_of(t))]; }

template <int kDims>
int32_t forward(const tnr_call* call) {
    const DLTensor &x = *call->in[0], &w = *call->in[1], &y = *call->out[0];
    const Convolution c = problem(call, kDims, 0, x, w, y);
    if (!is_sane(c, c.groups * (c.in_channels + c.out_channels))) return TNR_OUT_OF_MEMORY;
    const WideInput from(&x), weight(&w), bias(call->n_in > 2 ? call->in[2] : nullptr);
    WideOutput to(y);
    const int32_t status = rows_for(x).forward(c, from.data(), weight.data(), bias.data(), to.data());
    to.finish();
    return status;
}

template <int kDims>
int32_t to_input(const tnr_call* call) {
    const DLTensor &grad = *call->in[0], &w = *call->in[1], &x = *call->out[0];
    const Convolution c = problem(call, kDims, 1, x, w, grad);
    if (!is_sane(c, c.groups * (c.in_channels + c.out_channels))) return TNR_OUT_OF_MEMORY;
    const WideInput from(&grad), weight(&w);
    WideOutput to(x);
    const int32_t status = rows_for(grad).to_input(c, from.data(), weight.data(), to.data());
    to.finish();
    return status;
}

template <int kDims>
int32_t to_weight(const tnr_call* call) {
    const DLTensor &grad = *call->in[0], &x = *call->in[1], &w = *call->out[0];
    const Convolution c = problem(call, kDims, 1, x, w, grad);
    if (!is_sane(c, c.groups * (c.in_channels + c.out_channels))) return TNR_OUT_OF_MEMORY;
    const WideInput slopes(&grad), from(&x);
    WideOutput to(w);
    const int32_t status = rows_for(grad).to_weight(c, slopes.data(), from.data(), to.data());
    to.finish();
    return status;
}

template <int32_t (*kBody)(const tnr_call*)>
int32_t run(const tnr_call* call) {
    return guarded(call, kBody);
}

}  // namespace

void add_convolutions(Kernels& kernels) {
    add_kernel(kernels, "conv1d", run<forward<1>>, kFloats, 0);
    add_kernel(kernels, "conv2d", run<forward<2>>, kFloats, 0);
    add_kernel(kernels, "conv3d", run<forward<3>>, kFloats, 0);
    add_kernel(kernels, "conv1d_input", run<to_input<1>>, kFloats, 0);
    add_kernel(kernels, "conv2d_input", run<to_input<2>>, kFloats, 0);
    add_kernel(kernels, "conv3d_input", run<to_input<3>>, kFloats, 0);
    add_kernel(kernels, "conv1d_weight", run<to_weight<1>>, kFloats, 0);
    add_kernel(kernels, "conv2d_weight", run<to_weight<2>>, kFloats, 0);
    add_kernel(kernels, "conv3d_weight", run<to_weight<3>>, kFloats, 0);
}

}  // namespace tenora::cpu
