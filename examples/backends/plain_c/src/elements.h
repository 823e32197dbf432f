/* The dtypes, and numbers on their way from one to another.
 *
 *   - Each dtype stands once, in a list: X(dtype, code, element, wide, ...) with its name in tnr_dtype, its
 *     DLPack code, the C type of an element, and the C type to compute in.
 *   - Whole numbers are computed with as uint64_t, where overflow wraps around; its low bits are those of any
 *     narrower type, signed or not. Floating numbers are computed with as double and rounded once.
 */
#ifndef PLAIN_C_ELEMENTS_H
#define PLAIN_C_ELEMENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "tenora_backend.h"

/* clang-format off */
#define EACH_BOOL(X, ...) \
    X(BOOL, 6, bool, uint64_t, __VA_ARGS__)
#define EACH_UNSIGNED(X, ...) \
    X(U8, 1, uint8_t, uint64_t, __VA_ARGS__) \
    X(U16, 1, uint16_t, uint64_t, __VA_ARGS__) \
    X(U32, 1, uint32_t, uint64_t, __VA_ARGS__) \
    X(U64, 1, uint64_t, uint64_t, __VA_ARGS__)
#define EACH_SIGNED(X, ...) \
    X(I8, 0, int8_t, uint64_t, __VA_ARGS__) \
    X(I16, 0, int16_t, uint64_t, __VA_ARGS__) \
    X(I32, 0, int32_t, uint64_t, __VA_ARGS__) \
    X(I64, 0, int64_t, uint64_t, __VA_ARGS__)
#define EACH_FLOAT(X, ...) \
    X(F32, 2, float, double, __VA_ARGS__) \
    X(F64, 2, double, double, __VA_ARGS__)
#define EACH_WHOLE(X, ...) EACH_UNSIGNED(X, __VA_ARGS__) EACH_SIGNED(X, __VA_ARGS__)
#define EACH_NUMBER(X, ...) EACH_WHOLE(X, __VA_ARGS__) EACH_FLOAT(X, __VA_ARGS__)
#define EACH_TYPE(X, ...) EACH_BOOL(X, __VA_ARGS__) EACH_NUMBER(X, __VA_ARGS__)

/* What a list becomes: a mask of dtypes, and a table of an op's functions by dtype. */
#define BIT(dtype, code, element, wide, ...) | TNR_MASK(TNR_##dtype)
#define MASK(each) (0u each(BIT, ))
#define ENTRY(dtype, code, element, wide, op) [TNR_##dtype] = op##_##dtype,
/* clang-format on */

/* A number of any dtype: of a signed type in `whole` (a bool too), of an unsigned one in `natural`. */
typedef struct {
    enum { WHOLE, NATURAL, REAL } kind;
    union {
        int64_t whole;
        uint64_t natural;
        double real;
    } is;
} number;

tnr_dtype dtype_of(const DLTensor* tensor);
int64_t bytes_of(const DLTensor* tensor); /* of one element */

number load(tnr_dtype dtype, const char* from);
void store(tnr_dtype dtype, char* to, number value); /* converts as a cast does */
number number_of(const tnr_attr* attribute);
double real_of(number value);

#endif
