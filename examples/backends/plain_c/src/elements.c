/* Reading, converting and writing numbers of any dtype. */
#include "elements.h"

tnr_dtype dtype_of(const DLTensor* tensor) {
    switch (tensor->dtype.code << 8 | tensor->dtype.bits) {
#define CASE(dtype, code, element, wide, ...)  \
    case code << 8 | 8 * (int)sizeof(element): \
        return TNR_##dtype;
        EACH_TYPE(CASE, )
#undef CASE
        default:
            return TNR_DTYPE_COUNT;
    }
}

int64_t bytes_of(const DLTensor* tensor) { return tensor->dtype.bits / 8; }

number load(tnr_dtype dtype, const char* from) {
    number value = {WHOLE, {0}};
    switch (dtype) {
#define CASE(dtype, code, element, wide, its_kind, member) \
    case TNR_##dtype:                                      \
        value.kind = its_kind;                             \
        value.is.member = *(const element*)from;           \
        break;
        EACH_BOOL(CASE, WHOLE, whole)
        EACH_SIGNED(CASE, WHOLE, whole)
        EACH_UNSIGNED(CASE, NATURAL, natural)
        EACH_FLOAT(CASE, REAL, real)
#undef CASE
        default:
            break;
    }
    return value;
}

/* Towards zero. What does not fit becomes the lowest int64, as x86 processors have it. */
static uint64_t cut(double real) {
    if (real >= 0x1p63 && real < 0x1p64) return (uint64_t)real;
    if (real > -0x1p63 && real < 0x1p63) return (uint64_t)(int64_t)real;
    return (uint64_t)INT64_MIN;
}

static uint64_t bits_of(number value) {
    return value.kind == REAL    ? cut(value.is.real)
           : value.kind == WHOLE ? (uint64_t)value.is.whole
                                 : value.is.natural;
}

double real_of(number value) {
    return value.kind == REAL    ? value.is.real
           : value.kind == WHOLE ? (double)value.is.whole
                                 : (double)value.is.natural;
}

void store(tnr_dtype dtype, char* to, number value) {
    switch (dtype) {
        case TNR_BOOL:
            *(bool*)to = value.kind == REAL ? value.is.real != 0 : bits_of(value) != 0;
            break;
        case TNR_F32: /* a whole number is rounded once, not to double first */
            *(float*)to = value.kind == REAL    ? (float)value.is.real
                          : value.kind == WHOLE ? (float)value.is.whole
                                                : (float)value.is.natural;
            break;
        case TNR_F64:
            *(double*)to = real_of(value);
            break;
#define CASE(dtype, code, element, wide, ...)    \
    case TNR_##dtype:                            \
        *(element*)to = (element)bits_of(value); \
        break;
            EACH_WHOLE(CASE, )
#undef CASE
        default:
            break;
    }
}

number number_of(const tnr_attr* attribute) {
    number value = {WHOLE, {.whole = attribute->value.i64}}; /* an integer or a bool */
    const bool scalar = attribute->kind == TNR_ATTR_SCALAR;
    if (attribute->kind == TNR_ATTR_F64 || (scalar && attribute->dtype == TNR_F64)) {
        value.kind = REAL;
        value.is.real = attribute->value.f64;
    } else if (scalar && attribute->dtype == TNR_U64) {
        value.kind = NATURAL;
        value.is.natural = (uint64_t)attribute->value.i64;
    }
    return value;
}
