/* Reductions, running sums and matrix products.
 *
 *   - The output of a reduction has size 1 in the dimensions that are reduced.
 *   - Sums and products are held in the wide type and rounded once.
 */
#include "kernels.h"

typedef void (*fold_function)(walk* lines, bool more, char* out);

/* Takes element after element, x, and writes what came of them. */
#define FOLD(function, element, before, take, result, after)                            \
    static void function(walk* lines, bool more, char* out) {                           \
        before;                                                                         \
        for (; more; more = walk_next(lines))                                           \
            for (int64_t i = 0; i < lines->length; i++) {                               \
                const element x = *(const element*)(lines->at[0] + i * lines->step[0]); \
                take;                                                                   \
            }                                                                           \
        *(result*)out = (result)(after);                                                \
    }
#define COMBINE(dtype, code, element, wide, op, start, take) \
    FOLD(op##_##dtype, element, wide total = start, take, element, total)
#define TRUTH(dtype, code, element, wide, op, start, take) \
    FOLD(op##_##dtype, element, bool total = start, take, bool, total)
/* clang-format off */
/* The first of the extreme elements, or its place; NaN is more extreme than anything. */
#define EXTREME(function, element, exceeds, result, after) \
    FOLD(function, element, \
         element best = 0; int64_t place = -1; int64_t seen = 0, \
         if (place < 0 || (best == best && !(exceeds))) { best = x; place = seen; } seen++, \
         result, after)
/* clang-format on */
#define VALUE(dtype, code, element, wide, op, exceeds) EXTREME(op##_##dtype, element, exceeds, element, best)
#define PLACE(dtype, code, element, wide, op, exceeds) EXTREME(op##_##dtype, element, exceeds, int64_t, place)

static int32_t reduce(const tnr_call* call) {
    const DLTensor *in = call->in[0], *out = call->out[0];
    const fold_function fold = ((const fold_function*)call->state)[dtype_of(in)];
    int64_t reduced[TNR_MAX_RANK]; /* sizes of the dimensions that are, 1 elsewhere */
    for (int d = 0; d < in->ndim; d++) reduced[d] = out->shape[d] == 1 ? in->shape[d] : 1;
    const operand operands[] = {operand_of(in), operand_of(out)};
    walk results, lines;
    for (bool more = walk_start(&results, out->ndim, out->shape, -1, 2, operands); more;
         more = walk_next(&results)) {
        const operand first = {results.at[0], in->strides, bytes_of(in)};
        const bool some = walk_start(&lines, in->ndim, reduced, in->ndim - 1, 1, &first);
        fold(&lines, some, results.at[1]);
    }
    return TNR_OK;
}
#define REDUCTION(op)                                                          \
    static fold_function op##_folds[TNR_DTYPE_COUNT] = {EACH_TYPE(ENTRY, op)}; \
    KERNEL(op, reduce, MASK(EACH_TYPE), 0, op##_folds)

/* clang-format off */
EACH_TYPE(COMBINE, sum, 0, total += x)                REDUCTION(sum)
EACH_TYPE(COMBINE, prod, 1, total *= x)               REDUCTION(prod)
EACH_TYPE(TRUTH, any, false, total |= x != 0)         REDUCTION(any)
EACH_TYPE(TRUTH, all, true, total &= x != 0)          REDUCTION(all)
EACH_TYPE(VALUE, amax, x <= best)                     REDUCTION(amax)
EACH_TYPE(VALUE, amin, x >= best)                     REDUCTION(amin)
EACH_TYPE(PLACE, argmax, x <= best)                   REDUCTION(argmax)
EACH_TYPE(PLACE, argmin, x >= best)                   REDUCTION(argmin)
/* clang-format on */

/* clang-format off */
#define RUNNING(dtype, code, element, wide, op) \
    static int32_t op##_##dtype(int64_t length, char* const at[], const int64_t step[]) { \
        wide total = 0; \
        for (int64_t i = 0; i < length; i++) { \
            total += *(const element*)(at[0] + i * step[0]); \
            *(element*)(at[1] + i * step[1]) = (element)total; \
        } \
        return TNR_OK; \
    }
EACH_TYPE(RUNNING, cumsum)
static const line_function cumsum_lines[TNR_DTYPE_COUNT] = {EACH_TYPE(ENTRY, cumsum)};
/* clang-format on */

static int32_t cumsum(const tnr_call* call) {
    const DLTensor *in = call->in[0], *out = call->out[0];
    const int along = in->ndim > 0 ? (int)call->attr[0].value.i64 : -1;
    const operand operands[] = {operand_of(in), operand_of(out)};
    walk lines;
    for (bool more = walk_start(&lines, in->ndim, in->shape, along, 2, operands); more;
         more = walk_next(&lines))
        cumsum_lines[dtype_of(in)](lines.length, lines.at, lines.step);
    return TNR_OK;
}
KERNEL(cumsum, cumsum, MASK(EACH_TYPE), 0, NULL)

/* A row of one matrix times a column of the other; of bools it is "or" of "and". */
#define DOT(dtype, code, element, wide, op)                                                              \
    static int32_t op##_##dtype(int64_t length, char* const at[], const int64_t step[]) {                \
        wide total = 0;                                                                                  \
        for (int64_t i = 0; i < length; i++)                                                             \
            total +=                                                                                     \
                (wide) * (const element*)(at[0] + i * step[0]) * *(const element*)(at[1] + i * step[1]); \
        *(element*)at[2] = (element)total;                                                               \
        return TNR_OK;                                                                                   \
    }
EACH_TYPE(DOT, dot)
static const line_function dots[TNR_DTYPE_COUNT] = {EACH_TYPE(ENTRY, dot)};

/* (B..., M, K) x (B..., K, N) -> (B..., M, N). */
static int32_t matmul(const tnr_call* call) {
    const DLTensor *a = call->in[0], *b = call->in[1], *out = call->out[0];
    const int row = out->ndim - 2, column = out->ndim - 1;
    /* With the output's index, rows of a stay where they are along columns, columns of b along rows. */
    int64_t of_a[TNR_MAX_RANK], of_b[TNR_MAX_RANK];
    for (int d = 0; d < out->ndim; d++) {
        of_a[d] = d == column ? 0 : a->strides[d];
        of_b[d] = d == row ? 0 : b->strides[d];
    }
    const int64_t step[] = {a->strides[column] * bytes_of(a), b->strides[row] * bytes_of(b)};
    const operand operands[] = {{a->data, of_a, bytes_of(a)}, {b->data, of_b, bytes_of(b)}, operand_of(out)};
    walk elements;
    for (bool more = walk_start(&elements, out->ndim, out->shape, -1, 3, operands); more;
         more = walk_next(&elements))
        dots[dtype_of(out)](a->shape[column], elements.at, step);
    return TNR_OK;
}
KERNEL(matmul, matmul, MASK(EACH_TYPE), 0, NULL)
