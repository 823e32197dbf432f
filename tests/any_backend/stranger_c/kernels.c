/* Kernels that walk any strides and compute in double: slow, short, and enough to train a network.
 *
 *   - An operand is a cursor: an address and byte strides, the address made readable unless it is a host
 * scalar.
 *   - `walk` visits the elements of the output's shape in row-major order and moves all cursors along.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "stranger.h"

#define MAX_RANK 64

typedef struct {
    char* data;
    const DLTensor* tensor;
    uint8_t code, bits;
} cursor;

static cursor cursor_of(const tnr_call* call, const DLTensor* tensor, int input) {
    int host = input >= 0 && (call->host_scalar_mask >> input & 1);
    cursor made = {host ? (char*)tensor->data : rock_pointer(tensor->data), tensor, tensor->dtype.code,
                   tensor->dtype.bits};
    return made;
}

static double load(const cursor* c, int64_t element) {
    const char* at = c->data + element * (c->bits / 8);
    switch (c->code << 8 | c->bits) {
        case 2 << 8 | 32:
            return *(const float*)at;
        case 2 << 8 | 64:
            return *(const double*)at;
        case 0 << 8 | 32:
            return *(const int32_t*)at;
        case 0 << 8 | 64:
            return (double)*(const int64_t*)at;
        default:
            return *(const uint8_t*)at; /* bool and uint8 */
    }
}

static void store(const cursor* c, int64_t element, double value) {
    char* at = c->data + element * (c->bits / 8);
    switch (c->code << 8 | c->bits) {
        case 2 << 8 | 32:
            *(float*)at = (float)value;
            break;
        case 2 << 8 | 64:
            *(double*)at = value;
            break;
        case 0 << 8 | 32:
            *(int32_t*)at = (int32_t)value;
            break;
        case 0 << 8 | 64:
            *(int64_t*)at = (int64_t)value;
            break;
        default:
            *(uint8_t*)at = c->code == 6 ? value != 0 : (uint8_t)value;
    }
}

/* Row-major position -> element offset in a tensor that is broadcast to `shape`'s tensor. */
static int64_t offset_of(const DLTensor* tensor, const DLTensor* shape, int64_t position) {
    int64_t offset = 0;
    for (int d = shape->ndim - 1; d >= 0; d--) {
        int64_t index = position % shape->shape[d];
        position /= shape->shape[d];
        int own = d - (shape->ndim - tensor->ndim);
        if (own >= 0 && tensor->shape[own] != 1) offset += index * tensor->strides[own];
    }
    return offset;
}

static int64_t count_of(const DLTensor* tensor) {
    int64_t count = 1;
    for (int d = 0; d < tensor->ndim; d++) count *= tensor->shape[d];
    return count;
}

/* ---- pointwise ---- */
typedef double (*function3)(double a, double b, double c);
typedef struct {
    function3 apply;
} pointwise_state;

static int32_t pointwise(const tnr_call* call) {
    const pointwise_state* state = call->state;
    const DLTensor* out = call->out[0];
    cursor to = cursor_of(call, out, -1);
    int64_t count = count_of(out);
    for (int64_t i = 0; i < count; i++) {
        double value[3] = {0, 0, 0};
        for (int k = 0; k < call->n_in && k < 3; k++) {
            cursor from = cursor_of(call, call->in[k], k);
            value[k] = load(&from, offset_of(call->in[k], out, i));
        }
        store(&to, offset_of(out, out, i), state->apply(value[0], value[1], value[2]));
    }
    return TNR_OK;
}

#define UNARY(name, expression)                            \
    static double f_##name(double a, double b, double c) { \
        (void)b, (void)c;                                  \
        return expression;                                 \
    }
#define BINARY(name, expression)                           \
    static double f_##name(double a, double b, double c) { \
        (void)c;                                           \
        return expression;                                 \
    }
UNARY(copy, a)
UNARY(neg, -a)
UNARY(abs, fabs(a))
UNARY(sign, (double)((a > 0) - (a < 0)))
UNARY(exp, exp(a))
UNARY(log, log(a))
UNARY(sqrt, sqrt(a))
UNARY(tanh, tanh(a))
UNARY(erf, erf(a))
UNARY(logical_not, a == 0)
UNARY(isnan, isnan(a))
BINARY(add, a + b)
BINARY(sub, a - b)
BINARY(mul, a* b)
BINARY(div, a / b)
BINARY(pow, pow(a, b))
BINARY(maximum, isnan(a) || a > b ? a : b)
BINARY(minimum, isnan(a) || a < b ? a : b)
BINARY(eq, a == b)
BINARY(ne, a != b)
BINARY(lt, a < b)
BINARY(le, a <= b)
BINARY(gt, a > b)
BINARY(ge, a >= b)
BINARY(logical_and, a != 0 && b != 0)
BINARY(logical_or, a != 0 || b != 0)
static double f_where(double a, double b, double c) { return a != 0 ? b : c; }

static int32_t fill(const tnr_call* call) {
    const tnr_attr* number = &call->attr[0];
    double value = number->dtype == TNR_F64 ? number->value.f64 : (double)number->value.i64;
    const DLTensor* out = call->out[0];
    cursor to = cursor_of(call, out, -1);
    for (int64_t i = 0, n = count_of(out); i < n; i++) store(&to, offset_of(out, out, i), value);
    return TNR_OK;
}

/* ---- reductions: the output has size 1 in the reduced dimensions ---- */
typedef struct {
    double start;
    function3 combine;
} reduce_state;

static int32_t reduce(const tnr_call* call) {
    const reduce_state* state = call->state;
    cursor from = cursor_of(call, call->in[0], 0), to = cursor_of(call, call->out[0], -1);
    int64_t count = count_of(call->in[0]), results = count_of(call->out[0]);
    double sums[4096];
    if (results > 4096) {
        snprintf(call->error, call->error_size, "at most 4096 results, got %lld", (long long)results);
        return TNR_NOT_SUPPORTED;
    }
    for (int64_t i = 0; i < results; i++) sums[i] = state->start;
    for (int64_t i = 0; i < count; i++) {
        /* Which result an element belongs to: the row-major position in the output with its sizes of 1. */
        int64_t position = i, result = 0, scale = 1;
        for (int d = call->in[0]->ndim - 1; d >= 0; d--) {
            int64_t index = position % call->in[0]->shape[d];
            position /= call->in[0]->shape[d];
            if (call->out[0]->shape[d] != 1) result += index * scale;
            scale *= call->out[0]->shape[d];
        }
        sums[result] = state->combine(sums[result], load(&from, offset_of(call->in[0], call->in[0], i)), 0);
    }
    for (int64_t i = 0; i < results; i++) store(&to, offset_of(call->out[0], call->out[0], i), sums[i]);
    return TNR_OK;
}

/* ---- matmul: (B..., M, K) x (B..., K, N) ---- */
static int32_t matmul(const tnr_call* call) {
    const DLTensor *a = call->in[0], *b = call->in[1], *out = call->out[0];
    cursor ca = cursor_of(call, a, 0), cb = cursor_of(call, b, 1), to = cursor_of(call, out, -1);
    int r = out->ndim;
    int64_t depth = a->shape[a->ndim - 1], columns = out->shape[r - 1], rows = out->shape[r - 2];
    for (int64_t i = 0, n = count_of(out); i < n; i++) {
        int64_t column = i % columns, row = i / columns % rows, batch = i / columns / rows, oa = 0, ob = 0;
        for (int d = r - 3; d >= 0; d--) {
            oa += batch % out->shape[d] * a->strides[d];
            ob += batch % out->shape[d] * b->strides[d];
            batch /= out->shape[d];
        }
        double sum = 0;
        for (int64_t k = 0; k < depth; k++)
            sum += load(&ca, oa + row * a->strides[r - 2] + k * a->strides[r - 1]) *
                   load(&cb, ob + k * b->strides[r - 2] + column * b->strides[r - 1]);
        store(&to, offset_of(out, out, i), sum);
    }
    return TNR_OK;
}

/* ---- gather, scatter and scatter_add along attribute 0 ---- */
static int32_t along(const tnr_call* call, int scatter, int add) {
    const DLTensor *index = call->in[1], *far = scatter ? call->out[0] : call->in[0];
    const DLTensor* near = scatter ? call->in[2] : call->out[0];
    cursor ci = cursor_of(call, index, 1), cf = cursor_of(call, far, -1),
           cn = cursor_of(call, near, scatter ? 2 : -1);
    int64_t dim = call->attr[0].value.i64;
    for (int64_t i = 0, n = count_of(index); i < n; i++) {
        int64_t chosen = (int64_t)load(&ci, offset_of(index, index, i)), position = i, offset = 0, at = 0;
        if (chosen < 0 || chosen >= far->shape[dim]) {
            snprintf(call->error, call->error_size,
                     "index %lld is out of bounds for dimension %lld with size %lld", (long long)chosen,
                     (long long)dim, (long long)far->shape[dim]);
            return TNR_INDEX_ERROR;
        }
        for (int d = index->ndim - 1; d >= 0; d--) {
            int64_t step = position % index->shape[d];
            position /= index->shape[d];
            offset += (d == dim ? chosen : step) * far->strides[d];
            at += step * near->strides[d];
        }
        if (scatter)
            store(&cf, offset, load(&cn, at) + (add ? load(&cf, offset) : 0));
        else
            store(&cn, at, load(&cf, offset));
    }
    return TNR_OK;
}
static int32_t gather(const tnr_call* call) { return along(call, 0, 0); }
static int32_t scatter(const tnr_call* call) { return along(call, 1, 0); }
static int32_t scatter_add(const tnr_call* call) { return along(call, 1, 1); }

/* ---- the table ---- */
#define MINE                                                                                            \
    (TNR_MASK(TNR_F32) | TNR_MASK(TNR_F64) | TNR_MASK(TNR_I64) | TNR_MASK(TNR_I32) | TNR_MASK(TNR_U8) | \
     TNR_MASK(TNR_BOOL))
#define STRIDED (TNR_KERNEL_STRIDED | TNR_KERNEL_NEGATIVE_STRIDES | TNR_KERNEL_STRIDED_OUT)
#define KERNEL(name, function, extra, its_state) \
    static const tnr_kernel k_##name = {         \
        sizeof(tnr_kernel), STRIDED | (extra), #name, function, MINE, 0, its_state, NULL, NULL};
#define POINTWISE(name)                           \
    static pointwise_state s_##name = {f_##name}; \
    KERNEL(name, pointwise, TNR_KERNEL_BROADCAST | TNR_KERNEL_INPLACE, &s_##name)
#define REDUCE(name, start, function)                 \
    static reduce_state s_##name = {start, function}; \
    KERNEL(name, reduce, 0, &s_##name)
/* clang-format off */
#define EACH_POINTWISE(X) \
    X(copy) X(neg) X(abs) X(sign) X(exp) X(log) X(sqrt) X(tanh) X(erf) X(logical_not) X(isnan) \
    X(add) X(sub) X(mul) X(div) X(pow) X(maximum) X(minimum) \
    X(eq) X(ne) X(lt) X(le) X(gt) X(ge) X(logical_and) X(logical_or) X(where)
/* clang-format on */
EACH_POINTWISE(POINTWISE)
REDUCE(sum, 0, f_add)
REDUCE(prod, 1, f_mul)
REDUCE(amax, -INFINITY, f_maximum)
REDUCE(amin, INFINITY, f_minimum)
REDUCE(any, 0, f_logical_or)
REDUCE(all, 1, f_logical_and)
KERNEL(fill, fill, 0, NULL)
KERNEL(matmul, matmul, 0, NULL)
KERNEL(gather, gather, 0, NULL)
KERNEL(scatter, scatter, 0, NULL)
KERNEL(scatter_add, scatter_add, 0, NULL)

/* clang-format off */
#define ADDRESS(name) &k_##name,
const tnr_kernel* const rock_kernels[] = {
    EACH_POINTWISE(ADDRESS)
    &k_sum, &k_prod, &k_amax, &k_amin, &k_any, &k_all, &k_fill, &k_matmul, &k_gather, &k_scatter, &k_scatter_add};
/* clang-format on */
const uint32_t rock_kernel_count = sizeof rock_kernels / sizeof rock_kernels[0];
