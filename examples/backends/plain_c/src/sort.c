/* Sorting: a merge sort of places, in the workspace that tenora brings.
 *
 *   - Stable: equal elements stay in the order in which they came. NaN counts as the largest.
 */
#include <string.h>

#include "kernels.h"

typedef bool (*order_function)(const char* left, const char* right);

#define BEFORE(dtype, code, element, wide, op)                               \
    static bool op##_##dtype(const char* left, const char* right) {          \
        const element a = *(const element*)left, b = *(const element*)right; \
        return a == a && (a < b || b != b);                                  \
    }
EACH_TYPE(BEFORE, before)
static const order_function before[TNR_DTYPE_COUNT] = {EACH_TYPE(ENTRY, before)};

typedef struct {
    const char* data;
    int64_t step;
    order_function before;
    bool descending;
} line;

/* Whether the element at place i must stand before that at j. */
static bool precedes(const line* of, int64_t i, int64_t j) {
    const char *a = of->data + i * of->step, *b = of->data + j * of->step;
    return of->descending ? of->before(b, a) : of->before(a, b);
}

/* Merges the sorted runs from[0 .. middle - 1] and from[middle .. end - 1]. */
static void merge(const line* of, const int64_t* from, int64_t middle, int64_t end, int64_t* to) {
    for (int64_t i = 0, j = middle, k = 0; k < end; k++) {
        const bool right = i == middle || (j < end && precedes(of, from[j], from[i]));
        to[k] = right ? from[j++] : from[i++];
    }
}

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* The places of a line's elements in order; `spare` has as much room as `places`. */
static void sort_places(const line* of, int64_t length, int64_t* places, int64_t* spare) {
    for (int64_t i = 0; i < length; i++) places[i] = i;
    for (int64_t run = 1; run < length; run *= 2) {
        for (int64_t i = 0; i < length; i += 2 * run)
            merge(of, places + i, least(run, length - i), least(2 * run, length - i), spare + i);
        memcpy(places, spare, (size_t)length * sizeof *places);
    }
}

static int dim_of(const tnr_call* call) { return call->in[0]->ndim > 0 ? (int)call->attr[0].value.i64 : -1; }

static size_t workspace(const tnr_call* call) {
    const int dim = dim_of(call);
    return 2 * sizeof(int64_t) * (size_t)(dim >= 0 ? call->in[0]->shape[dim] : 1);
}

static int32_t sort(const tnr_call* call) {
    const DLTensor* in = call->in[0];
    const int64_t bytes = bytes_of(in);
    const operand operands[] = {operand_of(in), operand_of(call->out[0]), operand_of(call->out[1])};
    walk lines;
    for (bool more = walk_start(&lines, in->ndim, in->shape, dim_of(call), 3, operands); more;
         more = walk_next(&lines)) {
        const line of = {lines.at[0], lines.step[0], before[dtype_of(in)], call->attr[1].value.i64 != 0};
        int64_t* places = call->workspace;
        sort_places(&of, lines.length, places, places + lines.length);
        for (int64_t i = 0; i < lines.length; i++) {
            memcpy(lines.at[1] + i * lines.step[1], of.data + places[i] * of.step, (size_t)bytes);
            *(int64_t*)(lines.at[2] + i * lines.step[2]) = places[i];
        }
    }
    return TNR_OK;
}
KERNEL(sort, sort, MASK(EACH_TYPE), 0, NULL, .workspace = workspace)
