// cumsum, cumprod, cummax, cummin, argmax, argmin: one pass over every line of a dimension.
#include "element.h"
#include "kernels.h"
#include "lines.h"

namespace tenora::cpu {

using namespace TENORA_ISA;

namespace {

// Floats run in double (complex in complex128) and are rounded at every element; integers wrap.
template <class T>
auto running_zero() {
    if constexpr (is_half<T> || std::is_floating_point_v<T>)
        return 0.0;
    else if constexpr (is_complex<T>)
        return std::complex<double>(0);
    else
        return std::make_unsigned_t<T>(0);
}

template <bool kProduct, class T>
void running_line(T* out, int64_t out_stride, const T* in, int64_t in_stride, int64_t n) {
    auto total = running_zero<T>();
    using Total = decltype(total);
    if (kProduct) total = Total(1);
    for (int64_t i = 0; i < n; ++i) {
        const Total x = static_cast<Total>(value_of(in[i * in_stride]));
        total = static_cast<Total>(kProduct ? total * x : total + x);
        if constexpr (is_half<T>)
            out[i * out_stride] = narrow<T>(static_cast<float>(total));
        else
            out[i * out_stride] = static_cast<T>(total);
    }
}

// The input has the dtype of the result.
template <bool kProduct>
int32_t run_running(const tnr_call* call) {
    const DLTensor &in = *call->in[0], &out = *call->out[0];
    const int dim = line_dim(call, 0, in);
    return with_type(dtype_of(in), [&](auto type) -> int32_t {
        using T = typename decltype(type)::type;
        each_line<2>({&in, &out}, dim, [&](const int64_t* at) {
            running_line<kProduct>(static_cast<T*>(out.data) + at[1], line_stride(out, dim),
                                   static_cast<const T*>(in.data) + at[0], line_stride(in, dim),
                                   line_length(in, dim));
        });
        return TNR_OK;
    });
}

// Running extremes and where they are: the last of equal ones, and the last NaN once there is one.
template <bool kLargest, class T>
void extremes_line(T* values, int64_t value_stride, int64_t* positions, int64_t position_stride, const T* in,
                   int64_t in_stride, int64_t n) {
    int64_t best = 0;
    for (int64_t i = 0; i < n; ++i) {
        const auto x = value_of(in[i * in_stride]), value = value_of(in[best * in_stride]);
        if (x != x || (value == value && (kLargest ? x >= value : x <= value))) best = i;
        values[i * value_stride] = in[best * in_stride];
        positions[i * position_stride] = best;
    }
}

template <bool kLargest>
int32_t run_extremes(const tnr_call* call) {
    const DLTensor &in = *call->in[0], &values = *call->out[0], &positions = *call->out[1];
    const int dim = line_dim(call, 0, in);
    return with_type(dtype_of(in), [&](auto type) -> int32_t {
        using T = typename decltype(type)::type;
        if constexpr (!is_complex<T>) {
            each_line<3>({&in, &values, &positions}, dim, [&](const int64_t* at) {
                extremes_line<kLargest>(static_cast<T*>(values.data) + at[1], line_stride(values, dim),
                                        static_cast<int64_t*>(positions.data) + at[2],
                                        line_stride(positions, dim), static_cast<const T*>(in.data) + at[0],
                                        line_stride(in, dim), line_length(in, dim));
            });
            return TNR_OK;
        }
        return unsupported(call);
    });
}

// The first NaN wins, then the first extreme.
template <bool kLargest, class T>
int64_t position(const T* in, int64_t stride, int64_t n) {
    int64_t best = 0;
    auto value = value_of(in[0]);
    for (int64_t i = 1; i < n; ++i) {
        if (value != value) return best;
        const auto x = value_of(in[i * stride]);
        if ((kLargest ? x > value : x < value) || x != x) {
            value = x;
            best = i;
        }
    }
    return best;
}

template <bool kLargest>
int32_t run_position(const tnr_call* call) {
    const DLTensor &in = *call->in[0], &out = *call->out[0];
    const uint64_t dims = dims_attr(call, 0);
    const int dim = dims ? __builtin_ctzll(dims) : 0;
    if (count_of(out) == 0) return TNR_OK;
    if (line_length(in, dim) == 0)
        return fail(call, TNR_BAD_VALUE,
                    "there is no extreme: got a dim of size 0, expected elements. Name another dim.");
    return with_type(dtype_of(in), [&](auto type) -> int32_t {
        using T = typename decltype(type)::type;
        if constexpr (!is_complex<T>) {
            each_line<2>({&in, &out}, dim, [&](const int64_t* at) {
                static_cast<int64_t*>(out.data)[at[1]] = position<kLargest>(
                    static_cast<const T*>(in.data) + at[0], line_stride(in, dim), line_length(in, dim));
            });
            return TNR_OK;
        }
        return unsupported(call);
    });
}

}  // namespace

void add_scans(Kernels& kernels) {
    add_kernel(kernels, "cumsum", run_running<false>, TNR_MASK_ALL, kAnyLayout);
    add_kernel(kernels, "cumprod", run_running<true>, TNR_MASK_ALL, kAnyLayout);
    add_kernel(kernels, "cummax", run_extremes<true>, TNR_MASK_ALL & ~TNR_MASK_COMPLEX, kAnyLayout);
    add_kernel(kernels, "cummin", run_extremes<false>, TNR_MASK_ALL & ~TNR_MASK_COMPLEX, kAnyLayout);
    add_kernel(kernels, "argmax", run_position<true>, TNR_MASK_ALL & ~TNR_MASK_COMPLEX, kAnyLayout);
    add_kernel(kernels, "argmin", run_position<false>, TNR_MASK_ALL & ~TNR_MASK_COMPLEX, kAnyLayout);
}

}  // namespace tenora::cpu
