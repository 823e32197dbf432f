// standardise and its gradient: rows are the elements of the last dimensions; operands are contiguous.
#include "kernels.h"

namespace tenora::cpu {

using namespace TENORA_ISA;

namespace {

// The elements of the dims of an attribute if they are the last ones of the tensor, otherwise -1.
int64_t trailing_length(const tnr_call* call, int attr, const DLTensor& t) {
    if (attr >= call->n_attr || call->attr[attr].kind != TNR_ATTR_SPAN) return -1;
    const int count = static_cast<int>(call->attr[attr].count);
    if (count == 0 || count > t.ndim) return -1;
    uint64_t seen = 0;
    int64_t length = 1;
    for (int i = 0; i < count; ++i) {
        const int64_t given = call->attr[attr].value.span[i], d = given < 0 ? given + t.ndim : given;
        if (d < t.ndim - count || d >= t.ndim || seen >> d & 1) return -1;
        seen |= uint64_t{1} << d;
        length *= t.shape[d];
    }
    return length;
}

bool same_shape(const DLTensor& a, const DLTensor& b) {
    bool same = a.ndim == b.ndim;
    for (int d = 0; same && d < a.ndim; ++d) same = a.shape[d] == b.shape[d];
    return same;
}

// The last operand is the input, one before it the gradient.
template <class Row>
int32_t each_row(const tnr_call* call, Row&& row) {
    const DLTensor &in = *call->in[call->n_in - 1], &out = *call->out[0];
    const int64_t length = trailing_length(call, 0, in);
    if (length < 0 || !same_shape(in, out) || !same_shape(*call->in[0], in))
        return fail(call, TNR_NOT_SUPPORTED,
                    "only the last dimensions of operands of one shape have a kernel");
    if (length == 0) return TNR_OK;
    const FusedRows& rows = tables.fused[dtype_of(in)];
    const auto step = static_cast<size_t>(length) * kSizes[dtype_of(in)];
    const double eps = number_attr(call, 1, 0);
    const bool centred = int_attr(call, 2, 1) != 0;
    for (size_t at = 0, n = static_cast<size_t>(count_of(in) / length) * step; at < n; at += step)
        row(rows, at, length, eps, centred);
    return TNR_OK;
}

char* bytes(const DLTensor& t, size_t at) { return static_cast<char*>(t.data) + at; }

int32_t run_standardise(const tnr_call* call) {
    return each_row(call, [&](const FusedRows& rows, size_t at, int64_t n, double eps, bool centred) {
        rows.standardise(bytes(*call->out[0], at), bytes(*call->in[0], at), n, eps, centred);
    });
}

int32_t run_standardise_backward(const tnr_call* call) {
    return each_row(call, [&](const FusedRows& rows, size_t at, int64_t n, double eps, bool centred) {
        rows.standardise_backward(bytes(*call->out[0], at), bytes(*call->in[0], at), bytes(*call->in[1], at),
                                  n, eps, centred);
    });
}

}  // namespace

void add_standards(Kernels& kernels) {
    add_kernel(kernels, "standardise", run_standardise, TNR_MASK_REALS, 0);
    add_kernel(kernels, "standardise_backward", run_standardise_backward, TNR_MASK_REALS, 0);
}

}  // namespace tenora::cpu
