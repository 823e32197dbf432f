// Loops over contiguous runs, from a functor of one or two elements.
//
//   - `ivdep`: out may be exactly one of the inputs, so no iteration reads what another one wrote.
//   - Half types go through blocks of float on the stack: computed in float, rounded once.
#pragma once

#include "half.h"
#include "tables.h"

namespace tenora::cpu::TENORA_ISA {

inline constexpr int64_t kBlock = 256;

template <class Op, class In, class Out = In>
int32_t unary_row(void* out, const void* in, int64_t n) {
    Out* o = static_cast<Out*>(out);
    const In* x = static_cast<const In*>(in);
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) o[i] = Op::apply(x[i]);
    return TNR_OK;
}

template <class Op, class In, class Out = In>
int32_t binary_row(void* out, const void* a, const void* b, int64_t n, int sides) {
    Out* o = static_cast<Out*>(out);
    const In* x = static_cast<const In*>(a);
    const In* y = static_cast<const In*>(b);
    if (sides == kBothRows) {
#pragma GCC ivdep
        for (int64_t i = 0; i < n; ++i) o[i] = Op::apply(x[i], y[i]);
    } else if (sides == kRightScalar) {
        const In right = *y;
#pragma GCC ivdep
        for (int64_t i = 0; i < n; ++i) o[i] = Op::apply(x[i], right);
    } else {
        const In left = *x;
#pragma GCC ivdep
        for (int64_t i = 0; i < n; ++i) o[i] = Op::apply(left, y[i]);
    }
    return TNR_OK;
}

// Half in, half out, through a row of float.
template <class Half, UnaryRow Row>
int32_t half_unary(void* out, const void* in, int64_t n) {
    float block[kBlock];
    for (int64_t i = 0; i < n; i += kBlock) {
        const int64_t m = n - i < kBlock ? n - i : kBlock;
        widen_row(block, static_cast<const Half*>(in) + i, m);
        Row(block, block, m);
        narrow_row(static_cast<Half*>(out) + i, block, m);
    }
    return TNR_OK;
}

// Half in, bool out.
template <class Half, UnaryRow Row>
int32_t half_test(void* out, const void* in, int64_t n) {
    float block[kBlock];
    for (int64_t i = 0; i < n; i += kBlock) {
        const int64_t m = n - i < kBlock ? n - i : kBlock;
        widen_row(block, static_cast<const Half*>(in) + i, m);
        Row(static_cast<uint8_t*>(out) + i, block, m);
    }
    return TNR_OK;
}

template <class Half, BinaryRow Row, bool kTest = false>
int32_t half_binary(void* out, const void* a, const void* b, int64_t n, int sides) {
    float left[kBlock], right[kBlock];
    if (n == 0) return TNR_OK;
    if (sides == kLeftScalar) left[0] = to_float(*static_cast<const Half*>(a));
    if (sides == kRightScalar) right[0] = to_float(*static_cast<const Half*>(b));
    for (int64_t i = 0; i < n; i += kBlock) {
        const int64_t m = n - i < kBlock ? n - i : kBlock;
        if (sides != kLeftScalar) widen_row(left, static_cast<const Half*>(a) + i, m);
        if (sides != kRightScalar) widen_row(right, static_cast<const Half*>(b) + i, m);
        if constexpr (kTest) {
            Row(static_cast<uint8_t*>(out) + i, left, right, m, sides);
        } else {
            float result[kBlock];
            Row(result, left, right, m, sides);
            narrow_row(static_cast<Half*>(out) + i, result, m);
        }
    }
    return TNR_OK;
}

template <class Op>
void fill_unary(Tables& t, Unary op) {
    UnaryRow* rows = t.unary[static_cast<int>(op)];
    rows[TNR_F32] = unary_row<Op, float>;
    rows[TNR_F64] = unary_row<Op, double>;
    rows[TNR_F16] = half_unary<float16, unary_row<Op, float>>;
    rows[TNR_BF16] = half_unary<bfloat16, unary_row<Op, float>>;
}

template <class Op>
void fill_binary(Tables& t, Binary op) {
    BinaryRow* rows = t.binary[static_cast<int>(op)];
    rows[TNR_F32] = binary_row<Op, float>;
    rows[TNR_F64] = binary_row<Op, double>;
    rows[TNR_F16] = half_binary<float16, binary_row<Op, float>>;
    rows[TNR_BF16] = half_binary<bfloat16, binary_row<Op, float>>;
}

}  // namespace tenora::cpu::TENORA_ISA
