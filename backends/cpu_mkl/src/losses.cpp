// nll_loss and its gradient: the scores of the target classes, weighted, summed or averaged.
//
//   - input (N, C, d...) or (C,), target (N, d...) of int64, weight (C,) or absent. Sums run in double.
//   - Every target is checked, so no class number can reach beyond the input.
#include "element.h"
#include "kernels.h"
#include "plan.h"

namespace tenora::cpu {

using namespace TENORA_ISA;

namespace {

enum class Reduce { none, mean, sum };

Reduce reduction_of(const tnr_call* call, int attr) {
    if (string_attr_is(call, attr, "none")) return Reduce::none;
    return string_attr_is(call, attr, "sum") ? Reduce::sum : Reduce::mean;
}

// The targets in row-major order, with the offset of the scores they choose from.
struct Targets {
    const DLTensor &scores, &target;
    int64_t ignored;
    int class_dim;
    int64_t classes, class_stride;

    Targets(const DLTensor& s, const DLTensor& t, int64_t ignore)
        : scores(s),
          target(t),
          ignored(ignore),
          class_dim(s.ndim > 1 ? 1 : 0),
          classes(s.shape[class_dim]),
          class_stride(s.strides[class_dim]) {}

    // f(class, offset of the target's scores, offset in
    // `other`); other has the shape of the target or is NULL.
    template <class F>
    int32_t each(const tnr_call* call, const DLTensor* other, F&& f) const {
        int64_t index[kMaxRank] = {}, at = 0, score = 0, out = 0;
        for (int d = 0; d < target.ndim; ++d) {
            if (target.shape[d] == 0) return TNR_OK;
        }
        const int64_t* data = static_cast<const int64_t*>(target.data);
        while (true) {
            const int64_t c = data[at];
            if (c != ignored) {
                if (c < 0 || c >= classes) {
                    return fail(call, TNR_INDEX_ERROR,
                                "index %lld is out of bounds for dimension %d with size %lld",
                                static_cast<long long>(c), class_dim, static_cast<long long>(classes));
                }
            }
            f(c, c != ignored, score, out);
            int d = target.ndim - 1;
            for (; d >= 0; --d) {
                const int64_t score_stride = scores.strides[d == 0 ? 0 : d + 1],
                              other_stride = other ? other->strides[d] : 0;
                at += target.strides[d];
                score += score_stride;
                out += other_stride;
                if (++index[d] < target.shape[d]) break;
                at -= target.strides[d] * target.shape[d];
                score -= score_stride * target.shape[d];
                out -= other_stride * target.shape[d];
                index[d] = 0;
            }
            if (d < 0) return TNR_OK;
        }
    }
};

template <class T>
double weight_of(const DLTensor* weight, int64_t c) {
    return weight ? static_cast<double>(value_of(static_cast<const T*>(weight->data)[c * weight->strides[0]]))
                  : 1.0;
}

template <class T>
void put(void* out, int64_t at, double value) {
    if constexpr (is_half<T>)
        static_cast<T*>(out)[at] = narrow<T>(static_cast<float>(value));
    else
        static_cast<T*>(out)[at] = static_cast<T>(value);
}

template <class T>
int32_t loss(const tnr_call* call) {
    const DLTensor &x = *call->in[0], &out = *call->out[0];
    const DLTensor* weight = call->n_in > 2 ? call->in[2] : nullptr;
    const Reduce reduction = reduction_of(call, 1);
    const Targets targets(x, *call->in[1], int_attr(call, 0, -100));
    const T* scores = static_cast<const T*>(x.data);
    double total = 0, weights = 0;
    const int32_t status = targets.each(
        call, reduction == Reduce::none ? &out : nullptr,
        [&](int64_t c, bool counts, int64_t score, int64_t to) {
            const double w = counts ? weight_of<T>(weight, c) : 0.0;
            const double value =
                counts ? -w * static_cast<double>(value_of(scores[score + c * targets.class_stride])) : 0.0;
            if (reduction == Reduce::none) put<T>(out.data, to, value);
            total += value;
            weights += w;
        });
    if (status != TNR_OK || reduction == Reduce::none) return status;
    put<T>(out.data, 0, reduction == Reduce::sum ? total : total / weights);
    return TNR_OK;
}

int32_t run_nll_loss(const tnr_call* call) {
    return with_type(dtype_of(*call->in[0]), [&](auto type) -> int32_t {
        using T = typename decltype(type)::type;
        if constexpr (is_half<T> || std::is_floating_point_v<T>)
            return loss<T>(call);
        else
            return unsupported(call);
    });
}

// grad, input (shape only), target, weight; the output is zero but for the target classes.
template <class T>
int32_t loss_backward(const tnr_call* call) {
    const DLTensor &grad = *call->in[0], &out = *call->out[0];
    const DLTensor* weight = call->n_in > 3 ? call->in[3] : nullptr;
    const Reduce reduction = reduction_of(call, 1);
    const Targets targets(out, *call->in[2], int_attr(call, 0, -100));
    double weights = 1;
    int32_t status = TNR_OK;
    if (reduction == Reduce::mean) {
        weights = 0;
        status = targets.each(call, nullptr, [&](int64_t c, bool counts, int64_t, int64_t) {
            weights += counts ? weight_of<T>(weight, c) : 0.0;
        });
    }
    if (status != TNR_OK) return status;
    const T zero{};
    const Plan<1> plan = plan_of<1>(out, call->in, {sizeof(T)});
    plan.walk([&](char* const* at) -> int32_t {
        for (int64_t i = 0; i < plan.row(); ++i)
            std::memcpy(at[0] + i * plan.row_stride(0), &zero, sizeof(T));
        return TNR_OK;
    });
    const T* g = static_cast<const T*>(grad.data);
    return targets.each(call, reduction == Reduce::none ? &grad : nullptr,
                        [&](int64_t c, bool counts, int64_t score, int64_t from) {
                            if (!counts) return;
                            const double share =
                                -weight_of<T>(weight, c) * static_cast<double>(value_of(g[from])) / weights;
                            put<T>(out.data, score + c * targets.class_stride, share);
                        });
}

int32_t run_nll_loss_backward(const tnr_call* call) {
    return with_type(dtype_of(*call->in[0]), [&](auto type) -> int32_t {
        using T = typename decltype(type)::type;
        if constexpr (is_half<T> || std::is_floating_point_v<T>)
            return loss_backward<T>(call);
        else
            return unsupported(call);
    });
}

}  // namespace

void add_losses(Kernels& kernels) {
    const uint32_t mask = TNR_MASK_HALF | TNR_MASK_REALS;
    add_kernel(kernels, "nll_loss", run_nll_loss, mask, kAnyLayout);
    add_kernel(kernels, "nll_loss_backward", run_nll_loss_backward, mask, kAnyLayout);
}

}  // namespace tenora::cpu
