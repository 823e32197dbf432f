// scatter_fold: what meets at one place is multiplied, or its largest or smallest taken; NaN wins.
#include "element.h"
#include "indices.h"
#include "kernels.h"

namespace tenora::cpu {

using namespace TENORA_ISA;

namespace {

enum class Fold { prod, amax, amin };

template <Fold kFold, class T>
T folded(T a, T b) {
    if constexpr (kFold == Fold::prod) {
        if constexpr (std::is_integral_v<T>)
            return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
        else
            return a * b;
    } else {
        const bool taken = kFold == Fold::amax ? b > a : b < a;
        return taken || b != b ? b : a;
    }
}

template <Fold kFold, class T>
void fold_into(const DLTensor& out, const DLTensor& index, const DLTensor& src, int dim) {
    const Without to(out, dim);
    const int64_t* positions = static_cast<const int64_t*>(index.data);
    const T* values = static_cast<const T*>(src.data);
    T* data = static_cast<T*>(out.data);
    walk_elements<3>(index.ndim, index.shape, {to.strides, index.strides, src.strides},
                     [&](const int64_t* at) {
                         T& target = data[at[0] + positions[at[1]] * to.along];
                         if (target == target) target = folded<kFold, T>(target, values[at[2]]);
                     });
}

int32_t run_scatter_fold(const tnr_call* call) {
    const DLTensor &index = *call->in[1], &src = *call->in[2], &out = *call->out[0];
    const int dim = along_dim(call, out);
    const int32_t status = check_indices(call, index, 0, dim, out.ndim == 0 ? 1 : out.shape[dim]);
    if (status != TNR_OK) return status;
    return with_type(dtype_of(out), [&](auto type) -> int32_t {
        using T = typename decltype(type)::type;
        if constexpr (is_complex<T> || is_half<T>) {
            return unsupported(call);
        } else {
            if (string_attr_is(call, 1, "prod"))
                fold_into<Fold::prod, T>(out, index, src, dim);
            else if (string_attr_is(call, 1, "amax"))
                fold_into<Fold::amax, T>(out, index, src, dim);
            else
                fold_into<Fold::amin, T>(out, index, src, dim);
            return TNR_OK;
        }
    });
}

}  // namespace

void add_folds(Kernels& kernels) {
    add_kernel(kernels, "scatter_fold", run_scatter_fold, TNR_MASK_INTS | TNR_MASK_REALS,
               kAnyLayout | TNR_KERNEL_INPLACE);
}

}  // namespace tenora::cpu
