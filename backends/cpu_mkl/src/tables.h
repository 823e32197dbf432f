// Tables of rows: what to do with a contiguous run of elements, by op and dtype.
//
//   - Drivers walk shapes and strides and call rows; they are compiled once.
//   - Rows are compiled for each instruction set. `fill_*` of a set overwrites
//     the entries it has something better for, so filling baseline, avx2,
//     avx512 in this order gives the best table the processor can run.
//   - No inline function stands here: this header is seen by every set.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tenora_backend.h"
#include "windows.h"

namespace tenora::cpu {

// Which operands are a single element. The order is part of the rows' signature.
enum Sides : int { kBothRows = 0, kRightScalar = 1, kLeftScalar = 2 };

// Rows return a tnr_status; out may be exactly one of the inputs. NULL = the op has no meaning for the dtype.
using UnaryRow = int32_t (*)(void* out, const void* in, int64_t n);
using BinaryRow = int32_t (*)(void* out, const void* a, const void* b, int64_t n, int sides);

// clang-format off
#define TENORA_UNARY_OPS(X)                                                                       \
    X(neg) X(abs) X(sign) X(exp) X(log) X(sqrt) X(sin) X(cos) X(tanh) X(erf) X(floor) X(ceil)     \
    X(trunc) X(round) X(logical_not) X(bitwise_not) X(isnan) X(relu) X(sigmoid) X(rsqrt)          \
    X(reciprocal) X(square) X(gelu) X(gelu_tanh) X(asin) X(acos) X(atan) X(exp2) X(erfc) X(erfinv) \
    X(lgamma) X(digamma) X(hardsigmoid) X(hardswish) X(frac)

#define TENORA_BINARY_OPS(X)                                                                      \
    X(add) X(sub) X(mul) X(div) X(pow) X(maximum) X(minimum) X(floor_divide) X(remainder)         \
    X(atan2) X(eq) X(ne) X(lt) X(le) X(gt) X(ge) X(logical_and) X(logical_or) X(logical_xor)      \
    X(bitwise_and) X(bitwise_or) X(bitwise_xor) X(threshold_backward) X(sigmoid_backward)         \
    X(tanh_backward) X(gelu_backward) X(gelu_tanh_backward) X(nextafter) X(fmod) X(copysign)      \
    X(bitwise_left_shift) X(bitwise_right_shift) X(igamma) X(igammac)
// clang-format on

#define TENORA_NAME(name) name,
enum class Unary : int { TENORA_UNARY_OPS(TENORA_NAME) count };
enum class Binary : int { TENORA_BINARY_OPS(TENORA_NAME) count };
#undef TENORA_NAME

// Reductions of a contiguous run: `fold` adds the run to the accumulator; `merge` folds run elements of the
// accumulator type, element by element, into a row of accumulators (sums over leading dimensions).
enum class Reduction : int { sum, prod, amax, amin, any, all, norm, count };
struct ReductionRows {
    // acc: one accumulator (see accumulator_size). first: acc holds nothing yet.
    void (*fold)(void* acc, const void* in, int64_t n, bool first);
    // acc: n accumulators; in: n elements.
    void (*merge)(void* acc, const void* in, int64_t n, bool first);
    // acc += other, n accumulators each.
    void (*join)(void* acc, const void* other, int64_t n);
    // Rounds n accumulators to the out dtype.
    void (*finish)(void* out, const void* acc, int64_t n);
    size_t accumulator_size;
};

using CastRow = void (*)(void* out, const void* in, int64_t n);

// C (m x n) = alpha * A (m x k) B (k x n), any strides in elements.
struct Gemm {
    int64_t m, n, k;
    const void *a, *b;
    void* c;
    int64_t a_row, a_col, b_row, b_col, c_row, c_col;
    bool accumulate;
    double alpha;
    const void* bias;  // n elements added to every row, or NULL; bias_stride apart
    int64_t bias_stride;
    // Not NULL: element (p, j) of B is b[b_row_at[p] + b_col_at[j]] (windows of an image); C is dense in its
    // rows.
    const int64_t *b_row_at, *b_col_at;
};
using GemmFn = int32_t (*)(const Gemm& g);

// A row of softmax, standardise and their relatives, contiguous; half types through float.
struct FusedRows {
    void (*softmax)(void* out, const void* in, int64_t n);
    void (*log_softmax)(void* out, const void* in, int64_t n);
    void (*softmax_backward)(void* out, const void* grad, const void* result, int64_t n);
    void (*log_softmax_backward)(void* out, const void* grad, const void* result, int64_t n);
    // (x - mean) / sqrt(mean square of that + eps); not centred: the mean counts as 0.
    void (*standardise)(void* out, const void* in, int64_t n, double eps, bool centred);
    void (*standardise_backward)(void* out, const void* grad, const void* in, int64_t n, double eps,
                                 bool centred);
};

// Channels of a batch: elements [batch][channels][length], contiguous; statistics and factors [channels].
struct ChannelRows {
    // The mean, and the mean square of what is left without it.
    void (*moments)(double* mean, double* square, const void* in, int64_t batch, int64_t channels,
                    int64_t length);
    // (x - mean) * scale + shift
    void (*scale)(void* out, const void* in, int64_t batch, int64_t channels, int64_t length,
                  const void* mean, const void* scale, const void* shift);
};

// An optimizer's step on contiguous runs: the parameter and its states, which are written, then the gradient.
// `settings` is the struct of the method in step_settings.h.
enum class Step : int {
    sgd,
    sgd_momentum,
    adam,
    amsgrad,
    rmsprop,
    rmsprop_momentum,
    rmsprop_centered,
    rmsprop_centered_momentum,
    adagrad,
    adadelta,
    adamax,
    nadam,
    radam,
    asgd,
    rprop,
    count
};
using StepRow = void (*)(void* const* rows, int64_t n, const void* settings);

// One matrix x1 (rows, width) against one x2 (others, width), all contiguous; grad and distance (rows,
// others).
struct DistanceCall {
    void* out;
    const void *x1, *x2, *grad, *distance;
    void* panel;  // width * DistanceRows::panel elements
    int64_t rows, others, width;
    double p;
};
struct DistanceRows {
    void (*forward)(const DistanceCall& c);
    void (*backward)(const DistanceCall& c);
    int panel;
};

struct Tables {
    UnaryRow unary[static_cast<int>(Unary::count)][TNR_DTYPE_COUNT];
    BinaryRow binary[static_cast<int>(Binary::count)][TNR_DTYPE_COUNT];
    ReductionRows reduction[static_cast<int>(Reduction::count)][TNR_DTYPE_COUNT];
    CastRow cast[TNR_DTYPE_COUNT][TNR_DTYPE_COUNT];  // [from][to]
    GemmFn gemm[TNR_DTYPE_COUNT];
    FusedRows fused[TNR_DTYPE_COUNT];
    ChannelRows channels[TNR_DTYPE_COUNT];
    StepRow step[static_cast<int>(Step::count)][TNR_DTYPE_COUNT];
    ConvolutionRows convolution[TNR_DTYPE_COUNT];
    PoolingRows pooling[TNR_DTYPE_COUNT];
    DistanceRows distance[TNR_DTYPE_COUNT];
    void (*scaled_bessel)(float* out, const float* in, int64_t n, int order);  // exp(-|x|) I of order 0 or 1
    void (*philox)(uint32_t* out, uint64_t first_block, int64_t blocks, uint64_t seed);  // 4 words a block
};

#define TENORA_DECLARE_FILLS(set)          \
    namespace set {                        \
    void fill_arithmetic(Tables& tables);  \
    void fill_compare(Tables& tables);     \
    void fill_integer(Tables& tables);     \
    void fill_math(Tables& tables);        \
    void fill_cast(Tables& tables);        \
    void fill_reduce(Tables& tables);      \
    void fill_gemm(Tables& tables);        \
    void fill_fused(Tables& tables);       \
    void fill_random(Tables& tables);      \
    void fill_steps(Tables& tables);       \
    void fill_convolution(Tables& tables); \
    void fill_pooling(Tables& tables);     \
    void fill_functions(Tables& tables);   \
    void fill_distance(Tables& tables);    \
    }
TENORA_DECLARE_FILLS(baseline)
TENORA_DECLARE_FILLS(avx2)
TENORA_DECLARE_FILLS(avx512)
#undef TENORA_DECLARE_FILLS

// Filled once when the library is loaded, read-only afterwards.
extern Tables tables;
// "baseline", "avx2" or "avx512".
const char* instruction_set();

}  // namespace tenora::cpu
