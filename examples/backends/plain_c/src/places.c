/* Reading and writing at places that tensors of int64 name.
 *
 *   - All places are checked before anything is written.
 *   - Outputs of scatter, scatter_add and index_put hold the input already.
 */
#include <string.h>

#include "kernels.h"

static int32_t check(const tnr_call* call, const DLTensor* places, int64_t lowest, int64_t size,
                     int64_t dim) {
    const operand of = operand_of(places);
    walk elements;
    for (bool more = walk_start(&elements, places->ndim, places->shape, -1, 1, &of); more;
         more = walk_next(&elements)) {
        const int64_t place = *(const int64_t*)elements.at[0];
        if (place < lowest || place >= size)
            return refuse(call, TNR_INDEX_ERROR,
                          "index %lld is out of bounds for dimension %lld with size %lld", (long long)place,
                          (long long)dim, (long long)size);
    }
    return TNR_OK;
}

/* Lines between `near`, at[0], whose elements are taken in order, and `far`, at[1], which the places lead to.
 */
#define ADD(dtype, code, element, wide, op)                                                  \
    static int32_t op##_##dtype(int64_t length, char* const at[], const int64_t step[]) {    \
        for (int64_t i = 0; i < length; i++) {                                               \
            element* sum = (element*)(at[1] + i * step[1]);                                  \
            *sum = (element)((wide) * sum + (wide) * (const element*)(at[0] + i * step[0])); \
        }                                                                                    \
        return TNR_OK;                                                                       \
    }
EACH_TYPE(ADD, add)
static const line_function add[TNR_DTYPE_COUNT] = {EACH_TYPE(ENTRY, add)};

typedef enum { TAKE, PUT, ADD_TO } action;

static void act(action what, tnr_dtype dtype, int64_t bytes, int64_t length, char* const at[],
                const int64_t step[]) {
    if (what == ADD_TO) {
        add[dtype](length, at, step);
        return;
    }
    for (int64_t i = 0; i < length; i++) {
        char *near = at[0] + i * step[0], *far = at[1] + i * step[1];
        memcpy(what == TAKE ? near : far, what == TAKE ? far : near, (size_t)bytes);
    }
}

/* near[i][j] <-> far[index[i][j]][j] for dim 0, over the shape of `index`. */
static int32_t along(const tnr_call* call, action what, const DLTensor* near, const DLTensor* far) {
    const DLTensor* index = call->in[1];
    const int dim = (int)call->attr[0].value.i64, rank = index->ndim;
    if (count_of(rank, index->shape) == 0) return TNR_OK; /* its rank may then be any */
    const int64_t size = rank > 0 ? far->shape[dim] : 1, bytes = bytes_of(far);
    const int64_t jump = rank > 0 ? far->strides[dim] * bytes : 0;
    const int32_t status = check(call, index, 0, size, dim);
    if (status != TNR_OK) return status;
    int64_t others[TNR_MAX_RANK];
    for (int d = 0; d < rank; d++) others[d] = d == dim ? 0 : far->strides[d];
    const operand operands[] = {operand_of(near), {far->data, others, bytes}, operand_of(index)};
    walk elements;
    for (bool more = walk_start(&elements, rank, index->shape, -1, 3, operands); more;
         more = walk_next(&elements)) {
        char* const at[] = {elements.at[0], elements.at[1] + *(const int64_t*)elements.at[2] * jump};
        act(what, dtype_of(far), bytes, 1, at, no_strides);
    }
    return TNR_OK;
}

static int32_t gather(const tnr_call* call) { return along(call, TAKE, call->out[0], call->in[0]); }
static int32_t scatter(const tnr_call* call) { return along(call, PUT, call->in[2], call->out[0]); }
static int32_t scatter_add(const tnr_call* call) { return along(call, ADD_TO, call->in[2], call->out[0]); }
KERNEL(gather, gather, MASK(EACH_TYPE), 0, NULL)
KERNEL(scatter, scatter, MASK(EACH_TYPE), 0, NULL)
KERNEL(scatter_add, scatter_add, MASK(EACH_TYPE), 0, NULL)

/* far[index 0][index 1]...: the indices, of one shape, stand for the first dimensions of `far`. */
static char* far_place(const tnr_call* call, int first, const DLTensor* far, const int64_t* position) {
    int64_t offset = 0;
    for (int k = 0; k < call->n_in - first; k++) {
        const int64_t place = *(const int64_t*)element_at(call->in[first + k], position);
        offset += (place < 0 ? place + far->shape[k] : place) * far->strides[k];
    }
    return (char*)far->data + offset * bytes_of(far);
}

/* near[position] <-> far[indices at position], each with all of the dimensions that follow. Indices are
 * inputs from `first` on, and count from the end where they are negative. */
static int32_t indexed(const tnr_call* call, int first, action what, const DLTensor* near,
                       const DLTensor* far) {
    const DLTensor* index = call->in[first];
    const int count = call->n_in - first, rank = index->ndim, rest = near->ndim - rank;
    for (int k = 0; k < count; k++) {
        const int32_t status = check(call, call->in[first + k], -far->shape[k], far->shape[k], k);
        if (status != TNR_OK) return status;
    }
    const operand heads = operand_of(near);
    walk positions, lines;
    for (bool more = walk_start(&positions, rank, index->shape, -1, 1, &heads); more;
         more = walk_next(&positions)) {
        const operand operands[] = {
            {positions.at[0], near->strides + rank, bytes_of(near)},
            {far_place(call, first, far, positions.index), far->strides + count, bytes_of(far)}};
        for (bool some = walk_start(&lines, rest, near->shape + rank, rest - 1, 2, operands); some;
             some = walk_next(&lines))
            act(what, dtype_of(far), bytes_of(far), lines.length, lines.at, lines.step);
    }
    return TNR_OK;
}

static int32_t index_(const tnr_call* call) { return indexed(call, 1, TAKE, call->out[0], call->in[0]); }
static int32_t index_put(const tnr_call* call) {
    return indexed(call, 2, call->attr[0].value.i64 ? ADD_TO : PUT, call->in[1], call->out[0]);
}
KERNEL(index, index_, MASK(EACH_TYPE), 0, NULL)
KERNEL(index_put, index_put, MASK(EACH_TYPE), 0, NULL)
