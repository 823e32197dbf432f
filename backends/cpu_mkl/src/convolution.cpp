// conv{1,2,3}d and its adjoints: from descriptors to numbers.
#include "dense_floats.h"
#include "kernels.h"

namespace tenora::cpu {

using namespace TENORA_ISA;

namespace {

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

// Images are padded in memory: refused here is what no memory holds, before sizes are multiplied in 64 bits.
int32_t refuse_if_far(const tnr_call* call, const Convolution& c) {
    constexpr int64_t kLimit = int64_t{1} << 40;
    __int128 elements = c.groups * (c.in_channels + c.out_channels);
    for (int d = 0; d < 3 && elements <= kLimit; ++d) {
        elements *= static_cast<__int128>(c.stride[d]) * c.out[d] +
                    static_cast<__int128>(c.dilation[d]) * c.kernel[d] + c.size[d];
    }
    if (!reaches_beyond(c, kLimit) && elements <= kLimit) return TNR_OK;
    return fail(call, TNR_OUT_OF_MEMORY, "an image with its padding would have more than 2^40 elements");
}

const ConvolutionRows& rows_for(const DLTensor& t) { return tables.convolution[wide_dtype(dtype_of(t))]; }

template <int kDims>
int32_t forward(const tnr_call* call) {
    const DLTensor &x = *call->in[0], &w = *call->in[1], &y = *call->out[0];
    const Convolution c = problem(call, kDims, 0, x, w, y);
    if (const int32_t status = refuse_if_far(call, c)) return status;
    const WideInput from(&x), weight(&w), bias(call->n_in > 2 ? call->in[2] : nullptr);
    WideOutput to(y);
    const int32_t status = rows_for(x).forward(c, from.data(), weight.data(), bias.data(), to.data());
    to.finish();
    return told(call, status);
}

template <int kDims>
int32_t to_input(const tnr_call* call) {
    const DLTensor &grad = *call->in[0], &w = *call->in[1], &x = *call->out[0];
    const Convolution c = problem(call, kDims, 1, x, w, grad);
    if (const int32_t status = refuse_if_far(call, c)) return status;
    const WideInput from(&grad), weight(&w);
    WideOutput to(x);
    const int32_t status = rows_for(grad).to_input(c, from.data(), weight.data(), to.data());
    to.finish();
    return told(call, status);
}

template <int kDims>
int32_t to_weight(const tnr_call* call) {
    const DLTensor &grad = *call->in[0], &x = *call->in[1], &w = *call->out[0];
    const Convolution c = problem(call, kDims, 1, x, w, grad);
    if (const int32_t status = refuse_if_far(call, c)) return status;
    const WideInput slopes(&grad), from(&x);
    WideOutput to(w);
    const int32_t status = rows_for(grad).to_weight(c, slopes.data(), from.data(), to.data());
    to.finish();
    return told(call, status);
}

}  // namespace

void add_convolutions(Kernels& kernels) {
    add_kernel(kernels, "conv1d", run_dense<forward<1>>, kFloats, 0);
    add_kernel(kernels, "conv2d", run_dense<forward<2>>, kFloats, 0);
    add_kernel(kernels, "conv3d", run_dense<forward<3>>, kFloats, 0);
    add_kernel(kernels, "conv1d_input", run_dense<to_input<1>>, kFloats, 0);
    add_kernel(kernels, "conv2d_input", run_dense<to_input<2>>, kFloats, 0);
    add_kernel(kernels, "conv3d_input", run_dense<to_input<3>>, kFloats, 0);
    add_kernel(kernels, "conv1d_weight", run_dense<to_weight<1>>, kFloats, 0);
    add_kernel(kernels, "conv2d_weight", run_dense<to_weight<2>>, kFloats, 0);
    add_kernel(kernels, "conv3d_weight", run_dense<to_weight<3>>, kFloats, 0);
}

}  // namespace tenora::cpu
