#include "walk.h"

const int64_t no_strides[TNR_MAX_RANK] = {0};

operand operand_of(const DLTensor* tensor) {
    return (operand){tensor->data, tensor->strides, bytes_of(tensor)};
}

int64_t count_of(int rank, const int64_t* shape) {
    int64_t count = 1;
    for (int d = 0; d < rank; d++) count *= shape[d];
    return count;
}

char* element_at(const DLTensor* tensor, const int64_t* index) {
    int64_t offset = 0;
    for (int d = 0; d < tensor->ndim; d++) offset += index[d] * tensor->strides[d];
    return (char*)tensor->data + offset * bytes_of(tensor);
}

bool walk_start(walk* lines, int rank, const int64_t* shape, int along, int operands, const operand* of) {
    lines->rank = rank;
    lines->along = along;
    lines->operands = operands;
    lines->shape = shape;
    lines->length = along >= 0 ? shape[along] : 1;
    for (int d = 0; d < rank; d++) lines->index[d] = 0;
    for (int k = 0; k < operands; k++) {
        lines->of[k] = of[k];
        lines->at[k] = of[k].data;
        lines->step[k] = along >= 0 ? of[k].strides[along] * of[k].bytes : 0;
    }
    return count_of(rank, shape) > 0;
}

/* Like a mileage counter: the last dimension turns fastest, and one that is through starts over. */
bool walk_next(walk* lines) {
    for (int d = lines->rank - 1; d >= 0; d--) {
        if (d == lines->along) continue;
        const bool through = ++lines->index[d] == lines->shape[d];
        const int64_t steps = through ? 1 - lines->shape[d] : 1;
        for (int k = 0; k < lines->operands; k++)
            lines->at[k] += steps * lines->of[k].strides[d] * lines->of[k].bytes;
        if (!through) return true;
        lines->index[d] = 0;
    }
    return false;
}

bool walk_call(walk* lines, const tnr_call* call) {
    static const int64_t dense = 1;
    const DLTensor* out = call->out[0];
    operand operands[MAX_OPERANDS];
    for (int k = 0; k <= call->n_in; k++) {
        operands[k] = operand_of(k < call->n_in ? call->in[k] : out);
        if (call->flat) operands[k].strides = &dense;
        if (k < call->n_in && call->host_scalar_mask >> k & 1)
            operands[k].strides = no_strides; /* a number */
    }
    if (!call->flat) return walk_start(lines, out->ndim, out->shape, out->ndim - 1, call->n_in + 1, operands);
    lines->all = count_of(out->ndim, out->shape); /* everything is one line */
    return walk_start(lines, 1, &lines->all, 0, call->n_in + 1, operands);
}
