// Optimizer steps for lists of parameters, one pass over the memory of each.
//
//   - The call has the written tensors (parameters, then each
//     kind of state), then the gradients; the outputs are the
//     written tensors. There are as many parameters as gradients.
//   - Half types are computed in float and rounded once.
#include <cmath>

#include "kernels.h"
#include "plan.h"

namespace tenora::cpu {

using namespace TENORA_ISA;

namespace {

// Runs `row` over one parameter: N tensors of one shape, the
// last only read. Absent ones are left out by the caller.
template <int N, class Row>
void each_run(const DLTensor* const (&tensors)[N], Row&& row) {
    const tnr_dtype dtype = dtype_of(*tensors[0]);
    const tnr_dtype wide = dtype == TNR_F64 ? TNR_F64 : TNR_F32;
    const size_t size = kSizes[dtype];
    size_t sizes[N];
    for (size_t& s : sizes) s = size;
    const Plan<N> plan = plan_of<N>(*tensors[0], tensors + 1, sizes);
    bool dense = dtype == wide;
    for (int i = 0; i < N; ++i) dense &= plan.row_stride(i) == static_cast<int64_t>(size) || plan.row() == 1;
    const int64_t n = plan.row(), chunk = dense ? n : kChunk;
    plan.walk([&](char* const* at) -> int32_t {
        alignas(64) char wide_rows[N][kChunk * 8], narrow_row[kChunk * 8];
        for (int64_t i = 0; i < n; i += chunk) {
            const int64_t m = n - i < chunk ? n - i : chunk;
            void* rows[N];
            for (int t = 0; t < N; ++t) {
                rows[t] = at[t] + i * static_cast<int64_t>(size);
                if (dense) continue;
                pack(narrow_row, at[t] + i * plan.row_stride(t), plan.row_stride(t), m, size);
                tables.cast[dtype][wide](wide_rows[t], narrow_row, m);
                rows[t] = wide_rows[t];
            }
            row(wide, rows, m);
            for (int t = 0; !dense && t < N - 1; ++t) {
                tables.cast[wide][dtype](narrow_row, wide_rows[t], m);
                unpack(at[t] + i * plan.row_stride(t), plan.row_stride(t), narrow_row, m, size);
            }
        }
        return TNR_OK;
    });
}

// Attributes: lr, momentum, dampening, weight_decay, nesterov, maximize, first.
int32_t run_sgd(const tnr_call* call) {
    const int params = call->n_in - call->n_out;
    const bool momentum = call->n_out > params;
    const SgdSettings s{number_attr(call, 0, 0),  number_attr(call, 1, 0),   number_attr(call, 2, 0),
                        number_attr(call, 3, 0),  int_attr(call, 4, 0) != 0, int_attr(call, 5, 0) != 0,
                        int_attr(call, 6, 0) != 0};
    for (int i = 0; i < params; ++i) {
        const DLTensor *p = call->out[i], *g = call->in[call->n_out + i];
        if (momentum) {
            each_run<3>({p, call->out[params + i], g}, [&](tnr_dtype dtype, void* const* rows, int64_t n) {
                tables.step[dtype].sgd(rows[0], rows[1], rows[2], n, s);
            });
        } else {
            each_run<2>({p, g}, [&](tnr_dtype dtype, void* const* rows, int64_t n) {
                tables.step[dtype].sgd(rows[0], nullptr, rows[1], n, s);
            });
        }
    }
    return TNR_OK;
}

// Attributes: lr, beta1, beta2, eps, weight_decay, decoupled, maximize, step.
int32_t run_adam(const tnr_call* call) {
    const int params = call->n_in - call->n_out;
    const bool amsgrad = call->n_out > 3 * params;
    const double lr = number_attr(call, 0, 0), beta_1 = number_attr(call, 1, 0),
                 beta_2 = number_attr(call, 2, 0);
    const double step = number_attr(call, 7, 1);
    const AdamSettings s{beta_1,
                         beta_2,
                         number_attr(call, 3, 0),
                         number_attr(call, 4, 0),
                         lr,
                         lr / (1.0 - std::pow(beta_1, step)),
                         1.0 / std::sqrt(1.0 - std::pow(beta_2, step)),
                         int_attr(call, 5, 0) != 0,
                         int_attr(call, 6, 0) != 0};
    for (int i = 0; i < params; ++i) {
        const DLTensor *p = call->out[i], *m = call->out[params + i], *v = call->out[2 * params + i];
        const DLTensor* g = call->in[call->n_out + i];
        if (amsgrad) {
            each_run<5>({p, m, v, call->out[3 * params + i], g},
                        [&](tnr_dtype dtype, void* const* rows, int64_t n) {
                            tables.step[dtype].adam(rows[0], rows[1], rows[2], rows[3], rows[4], n, s);
                        });
        } else {
            each_run<4>({p, m, v, g}, [&](tnr_dtype dtype, void* const* rows, int64_t n) {
                tables.step[dtype].adam(rows[0], rows[1], rows[2], nullptr, rows[3], n, s);
            });
        }
    }
    return TNR_OK;
}

}  // namespace

void add_steps(Kernels& kernels) {
    const uint32_t mask = TNR_MASK_HALF | TNR_MASK_REALS, flags = kAnyLayout | TNR_KERNEL_INPLACE;
    add_kernel(kernels, "sgd_step", run_sgd, mask, flags);
    add_kernel(kernels, "adam_update", run_adam, mask, flags);
    add_kernel(kernels, "amsgrad_update", run_adam, mask, flags);
}

}  // namespace tenora::cpu
