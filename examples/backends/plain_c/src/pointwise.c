/* Ops on elements. Each has a function for a line of elements of each dtype, which a macro writes from an
 * expression of its operands a and b.
 *
 *   - WIDE computes in the wide type, OWN in the dtype's own; both give the dtype. TEST gives a bool.
 *   - The memory of an output may be that of an input: an element is read before it is written.
 */
#include <math.h>
#include <string.h>

#include "kernels.h"

#define LINE1(function, in, calc, out, expression)                                    \
    static int32_t function(int64_t length, char* const at[], const int64_t step[]) { \
        for (int64_t i = 0; i < length; i++) {                                        \
            const calc a = (calc) * (const in*)(at[0] + i * step[0]);                 \
            *(out*)(at[1] + i * step[1]) = (out)(expression);                         \
        }                                                                             \
        return TNR_OK;                                                                \
    }
#define LINE2(function, in, calc, out, refused, expression)                           \
    static int32_t function(int64_t length, char* const at[], const int64_t step[]) { \
        for (int64_t i = 0; i < length; i++) {                                        \
            const calc a = (calc) * (const in*)(at[0] + i * step[0]);                 \
            const calc b = (calc) * (const in*)(at[1] + i * step[1]);                 \
            if (refused) return TNR_ZERO_DIVISION;                                    \
            *(out*)(at[2] + i * step[2]) = (out)(expression);                         \
        }                                                                             \
        return TNR_OK;                                                                \
    }

#define WIDE1(dtype, code, element, wide, op, expression) \
    LINE1(op##_##dtype, element, wide, element, expression)
#define OWN1(dtype, code, element, wide, op, expression) \
    LINE1(op##_##dtype, element, element, element, expression)
#define TEST1(dtype, code, element, wide, op, expression) \
    LINE1(op##_##dtype, element, element, bool, expression)
#define WIDE2(dtype, code, element, wide, op, expression) \
    LINE2(op##_##dtype, element, wide, element, false, expression)
#define OWN2(dtype, code, element, wide, op, expression) \
    LINE2(op##_##dtype, element, element, element, false, expression)
#define TEST2(dtype, code, element, wide, op, expression) \
    LINE2(op##_##dtype, element, element, bool, false, expression)
/* Whole numbers have no quotient by zero. */
#define DIVIDE(dtype, code, element, wide, op, expression) \
    LINE2(op##_##dtype, element, element, element, b == 0, expression)

static int32_t pointwise(const tnr_call* call) {
    const line_function function = ((const line_function*)call->state)[dtype_of(call->in[0])];
    walk lines;
    int32_t status = TNR_OK;
    for (bool more = walk_call(&lines, call); more && status == TNR_OK; more = walk_next(&lines))
        status = function(lines.length, lines.at, lines.step);
    return status == TNR_OK ? status : refuse(call, status, "integer division by zero");
}

#define POINTWISE(op, each)                                               \
    static line_function op##_lines[TNR_DTYPE_COUNT] = {each(ENTRY, op)}; \
    KERNEL(op, pointwise, MASK(each), TNR_KERNEL_INPLACE, op##_lines)

/* Python's rule: the remainder has the sign of the divisor. */
static double real_remainder(double a, double b) {
    const double rest = fmod(a, b);
    if (rest == 0) return copysign(0, b);
    return (rest < 0) != (b < 0) ? rest + b : rest;
}

static int64_t signed_remainder(int64_t a, int64_t b) {
    const int64_t rest = b == -1 ? 0 : a % b; /* the lowest number has no quotient by -1 */
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

static double real_floor_divide(double a, double b) {
    if (b == 0) return a / b;
    const double rest = fmod(a, b); /* of an infinite divisor, of the other sign too, a itself */
    const double quotient = (a - rest) / b - (rest != 0 && (rest < 0) != (b < 0)), low = floor(quotient);
    if (quotient == 0) return copysign(0, a / b);
    return quotient - low > 0.5 ? low + 1 : low;
}

static uint64_t signed_floor_divide(int64_t a, int64_t b) {
    if (b == -1) return 0 - (uint64_t)a;
    return (uint64_t)(a / b - (a % b != 0 && (a < 0) != (b < 0)));
}

static uint64_t unsigned_pow(uint64_t base, uint64_t exponent) {
    uint64_t result = 1;
    for (; exponent > 0; exponent >>= 1, base *= base)
        if (exponent & 1) result *= base;
    return result;
}

/* To a negative power it is 1 / a ** -b, rounded towards zero. */
static uint64_t signed_pow(int64_t a, int64_t b) {
    if (b >= 0) return unsigned_pow((uint64_t)a, (uint64_t)b);
    return a == 1 || (a == -1 && b % 2 == 0) ? 1 : a == -1 ? UINT64_MAX : 0;
}

/* What is chosen is moved as it is: `input` where the condition holds, `other` elsewhere. */
static int32_t where(const tnr_call* call) {
    const size_t bytes = (size_t)bytes_of(call->out[0]);
    walk lines;
    for (bool more = walk_call(&lines, call); more; more = walk_next(&lines))
        for (int64_t i = 0; i < lines.length; i++) {
            const int chosen = *(const bool*)(lines.at[0] + i * lines.step[0]) ? 1 : 2;
            memmove(lines.at[3] + i * lines.step[3], lines.at[chosen] + i * lines.step[chosen], bytes);
        }
    return TNR_OK;
}
KERNEL(where, where, TNR_MASK(TNR_BOOL), TNR_KERNEL_INPLACE, NULL)

/* clang-format off */
EACH_NUMBER(WIDE1, neg, -a)                           POINTWISE(neg, EACH_NUMBER)
EACH_WHOLE(OWN1, abs, a > 0 ? (uint64_t)a : 0 - (uint64_t)a)
EACH_FLOAT(OWN1, abs, fabs(a))                        POINTWISE(abs, EACH_NUMBER)
EACH_BOOL(OWN1, sign, a)
EACH_UNSIGNED(OWN1, sign, a > 0)
EACH_SIGNED(OWN1, sign, (a > 0) - (a < 0))
EACH_FLOAT(OWN1, sign, (a > 0) - (a < 0))             POINTWISE(sign, EACH_TYPE)
EACH_BOOL(OWN1, floor, a) EACH_WHOLE(OWN1, floor, a)
EACH_FLOAT(WIDE1, floor, floor(a))                    POINTWISE(floor, EACH_TYPE)
EACH_BOOL(OWN1, ceil, a) EACH_WHOLE(OWN1, ceil, a)
EACH_FLOAT(WIDE1, ceil, ceil(a))                      POINTWISE(ceil, EACH_TYPE)
EACH_BOOL(OWN1, trunc, a) EACH_WHOLE(OWN1, trunc, a)
EACH_FLOAT(WIDE1, trunc, trunc(a))                    POINTWISE(trunc, EACH_TYPE)
EACH_BOOL(OWN1, round, a) EACH_WHOLE(OWN1, round, a)
EACH_FLOAT(WIDE1, round, rint(a))                     POINTWISE(round, EACH_TYPE)
EACH_TYPE(TEST1, isnan, a != a)                       POINTWISE(isnan, EACH_TYPE)

EACH_FLOAT(WIDE1, exp, exp(a))                        POINTWISE(exp, EACH_FLOAT)
EACH_FLOAT(WIDE1, log, log(a))                        POINTWISE(log, EACH_FLOAT)
EACH_FLOAT(WIDE1, sqrt, sqrt(a))                      POINTWISE(sqrt, EACH_FLOAT)
EACH_FLOAT(WIDE1, sin, sin(a))                        POINTWISE(sin, EACH_FLOAT)
EACH_FLOAT(WIDE1, cos, cos(a))                        POINTWISE(cos, EACH_FLOAT)
EACH_FLOAT(WIDE1, tanh, tanh(a))                      POINTWISE(tanh, EACH_FLOAT)
EACH_FLOAT(WIDE1, erf, erf(a))                        POINTWISE(erf, EACH_FLOAT)

EACH_BOOL(OWN2, add, a || b)
EACH_NUMBER(WIDE2, add, a + b)                        POINTWISE(add, EACH_TYPE)
EACH_BOOL(OWN2, mul, a && b)
EACH_NUMBER(WIDE2, mul, a * b)                        POINTWISE(mul, EACH_TYPE)
EACH_NUMBER(WIDE2, sub, a - b)                        POINTWISE(sub, EACH_NUMBER)
EACH_FLOAT(WIDE2, div, a / b)                         POINTWISE(div, EACH_FLOAT)
EACH_UNSIGNED(DIVIDE, floor_divide, a / b)
EACH_SIGNED(DIVIDE, floor_divide, signed_floor_divide(a, b))
EACH_FLOAT(WIDE2, floor_divide, real_floor_divide(a, b)) POINTWISE(floor_divide, EACH_NUMBER)
EACH_UNSIGNED(DIVIDE, remainder, a % b)
EACH_SIGNED(DIVIDE, remainder, signed_remainder(a, b))
EACH_FLOAT(WIDE2, remainder, real_remainder(a, b))    POINTWISE(remainder, EACH_NUMBER)
EACH_UNSIGNED(WIDE2, pow, unsigned_pow(a, b))
EACH_SIGNED(OWN2, pow, signed_pow(a, b))
EACH_FLOAT(WIDE2, pow, pow(a, b))                     POINTWISE(pow, EACH_NUMBER)
EACH_FLOAT(WIDE2, copysign, copysign(a, b))           POINTWISE(copysign, EACH_FLOAT)
EACH_FLOAT(WIDE2, atan2, atan2(a, b))                 POINTWISE(atan2, EACH_FLOAT)

EACH_TYPE(OWN2, maximum, a != a || a > b ? a : b)     POINTWISE(maximum, EACH_TYPE) /* NaN wins */
EACH_TYPE(OWN2, minimum, a != a || a < b ? a : b)     POINTWISE(minimum, EACH_TYPE)
EACH_TYPE(TEST2, eq, a == b)                          POINTWISE(eq, EACH_TYPE)
EACH_TYPE(TEST2, ne, a != b)                          POINTWISE(ne, EACH_TYPE)
EACH_TYPE(TEST2, lt, a < b)                           POINTWISE(lt, EACH_TYPE)
EACH_TYPE(TEST2, le, a <= b)                          POINTWISE(le, EACH_TYPE)
EACH_TYPE(TEST2, gt, a > b)                           POINTWISE(gt, EACH_TYPE)
EACH_TYPE(TEST2, ge, a >= b)                          POINTWISE(ge, EACH_TYPE)

#define EACH_BITS(X, ...) EACH_BOOL(X, __VA_ARGS__) EACH_WHOLE(X, __VA_ARGS__)
EACH_TYPE(TEST1, logical_not, a == 0)                 POINTWISE(logical_not, EACH_TYPE)
EACH_TYPE(TEST2, logical_and, a != 0 && b != 0)       POINTWISE(logical_and, EACH_TYPE)
EACH_TYPE(TEST2, logical_or, a != 0 || b != 0)        POINTWISE(logical_or, EACH_TYPE)
EACH_TYPE(TEST2, logical_xor, (a != 0) != (b != 0))   POINTWISE(logical_xor, EACH_TYPE)
EACH_BOOL(OWN1, bitwise_not, !a)
EACH_WHOLE(WIDE1, bitwise_not, ~a)                    POINTWISE(bitwise_not, EACH_BITS)
EACH_BITS(WIDE2, bitwise_and, a & b)                  POINTWISE(bitwise_and, EACH_BITS)
EACH_BITS(WIDE2, bitwise_or, a | b)                   POINTWISE(bitwise_or, EACH_BITS)
EACH_BITS(WIDE2, bitwise_xor, a ^ b)                  POINTWISE(bitwise_xor, EACH_BITS)
