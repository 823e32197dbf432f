/* All kernels, once: `backend.c` hands them to tenora. */
#ifndef PLAIN_C_KERNELS_H
#define PLAIN_C_KERNELS_H

#include "walk.h"

/* clang-format off */
#define EACH_KERNEL(X) \
    /* pointwise.c */ \
    X(neg) X(abs) X(sign) X(floor) X(ceil) X(trunc) X(round) X(isnan) \
    X(exp) X(log) X(sqrt) X(sin) X(cos) X(tanh) X(erf) \
    X(add) X(sub) X(mul) X(div) X(floor_divide) X(remainder) X(pow) X(copysign) X(atan2) \
    X(maximum) X(minimum) X(eq) X(ne) X(lt) X(le) X(gt) X(ge) \
    X(logical_not) X(logical_and) X(logical_or) X(logical_xor) \
    X(bitwise_not) X(bitwise_and) X(bitwise_or) X(bitwise_xor) X(where) \
    /* reduce.c */ \
    X(sum) X(prod) X(any) X(all) X(amax) X(amin) X(argmax) X(argmin) X(cumsum) X(matmul) \
    /* sort.c */ \
    X(sort) \
    /* copies.c */ \
    X(copy) X(fill) X(iota) X(random_bits) \
    /* places.c */ \
    X(gather) X(scatter) X(scatter_add) X(index) X(index_put)
/* clang-format on */

#define DECLARE(op) extern const tnr_kernel op##_kernel;
EACH_KERNEL(DECLARE)

#define ANY_LAYOUT (TNR_KERNEL_STRIDED | TNR_KERNEL_NEGATIVE_STRIDES | TNR_KERNEL_STRIDED_OUT)

/* `...` is the kernel's state, and what else it needs. */
#define KERNEL(its_op, function, mask, more_flags, ...)                     \
    const tnr_kernel its_op##_kernel = {.struct_size = sizeof(tnr_kernel),  \
                                        .op = #its_op,                      \
                                        .run = function,                    \
                                        .dtypes = mask,                     \
                                        .flags = ANY_LAYOUT | (more_flags), \
                                        .state = __VA_ARGS__};

/* Writes the text of an error and returns its status. */
int32_t refuse(const tnr_call* call, int32_t status, const char* format, ...);

#endif
