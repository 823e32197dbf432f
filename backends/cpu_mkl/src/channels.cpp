// batch_norm_train and batch_norm_eval: operands are contiguous, channels are dim 1.
#include <cmath>
#include <memory>
#include <new>

#include "kernels.h"

namespace tenora::cpu {

using namespace TENORA_ISA;

namespace {

const DLTensor* operand(const tnr_call* call, int i) { return i < call->n_in ? call->in[i] : nullptr; }

// The input as [batch][channels][length]; `fits` unless an operand has not one element a channel.
struct Batch {
    int64_t batch = 1, channels = 1, length = 1;
    bool fits = false;

    explicit Batch(const tnr_call* call) {
        const DLTensor& x = *call->in[0];
        if (x.ndim < 2) return;
        batch = x.shape[0], channels = x.shape[1];
        for (int d = 2; d < x.ndim; ++d) length *= x.shape[d];
        fits = true;
        for (int i = 1; i < call->n_in; ++i) {
            const DLTensor* each = call->in[i];
            fits = fits && (each == nullptr || (each->ndim == 1 && each->shape[0] == channels));
        }
    }
};

// What the elements of a channel are multiplied with and moved by, from its mean and variance.
template <class T>
int32_t normalise(const tnr_call* call, const Batch& at, const DLTensor* mean, const DLTensor* var,
                  int weight_at, double eps) {
    const ChannelRows& rows = tables.channels[dtype_of(*call->in[0])];
    const DLTensor *weight = operand(call, weight_at), *bias = operand(call, weight_at + 1);
    const auto n = static_cast<size_t>(at.channels);
    const std::unique_ptr<T[]> factors(new (std::nothrow) T[3 * n]);
    const std::unique_ptr<double[]> found(mean ? nullptr : new (std::nothrow) double[2 * n]);
    if (!factors || (!mean && !found)) return fail(call, TNR_OUT_OF_MEMORY, "no memory for the channels");
    if (!mean) rows.moments(&found[0], &found[n], call->in[0]->data, at.batch, at.channels, at.length);
    const auto element = [](const DLTensor& t, size_t c) { return static_cast<const T*>(t.data)[c]; };
    T *middle = &factors[0], *scale = middle + n, *shift = scale + n;
    for (size_t c = 0; c < n; ++c) {
        const double spread = mean ? static_cast<double>(element(*var, c)) : found[n + c];
        const double w = weight ? static_cast<double>(element(*weight, c)) : 1.0;
        middle[c] = mean ? element(*mean, c) : static_cast<T>(found[c]);
        scale[c] = static_cast<T>(w / std::sqrt(spread + eps));
        shift[c] = bias ? element(*bias, c) : T(-0.0);  // which leaves a zero its sign
        if (!mean) {
            static_cast<T*>(call->out[1]->data)[c] = middle[c];
            static_cast<T*>(call->out[2]->data)[c] = static_cast<T>(spread);
        }
    }
    rows.scale(call->out[0]->data, call->in[0]->data, at.batch, at.channels, at.length, middle, scale, shift);
    return TNR_OK;
}

int32_t run(const tnr_call* call, bool given) {
    const Batch at(call);
    if (!at.fits)
        return fail(call, TNR_NOT_SUPPORTED,
                    "only one element of each operand for each channel has a kernel");
    if (count_of(*call->in[0]) == 0) {
        if (!given && at.channels > 0)
            return fail(call, TNR_NOT_SUPPORTED, "an empty batch has no statistics to compute");
        return TNR_OK;
    }
    const DLTensor *mean = given ? call->in[1] : nullptr, *var = given ? call->in[2] : nullptr;
    const double eps = number_attr(call, 0, 0);
    return dtype_of(*call->in[0]) == TNR_F64 ? normalise<double>(call, at, mean, var, given ? 3 : 1, eps)
                                             : normalise<float>(call, at, mean, var, given ? 3 : 1, eps);
}

int32_t run_train(const tnr_call* call) { return run(call, false); }
int32_t run_eval(const tnr_call* call) { return run(call, true); }

}  // namespace

void add_channels(Kernels& kernels) {
    add_kernel(kernels, "batch_norm_train", run_train, TNR_MASK_REALS, 0);
    add_kernel(kernels, "batch_norm_eval", run_eval, TNR_MASK_REALS, 0);
}

}  // namespace tenora::cpu
