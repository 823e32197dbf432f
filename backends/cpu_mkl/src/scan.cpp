// cumsum, argmax, argmin: one pass over every line of a dimension.
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

template <class T>
void cumsum_line(T* out, int64_t out_stride, const T* in, int64_t in_stride, int64_t n) {
    auto sum = running_zero<T>();
    using Sum = decltype(sum);
    for (int64_t i = 0; i < n; ++i) {
        sum = static_cast<Sum>(sum + static_cast<Sum>(value_of(in[i * in_stride])));
        if constexpr (is_half<T>)
            out[i * out_stride] = narrow<T>(static_cast<float>(sum));
        else
            out[i * out_stride] = static_cast<T>(sum);
    }
}

int32_t run_cumsum(const tnr_call* call) {
    const DLTensor &in = *call->in[0], &out = *call->out[0];
    const int dim = line_dim(call, 0, in);
    return with_type(dtype_of(in), [&](auto type) -> int32_t {
        using T = typename decltype(type)::type;
        each_line<2>({&in, &out}, dim, [&](const int64_t* at) {
            cumsum_line(static_cast<T*>(out.data) + at[1], line_stride(out, dim),
                        static_cast<const T*>(in.data) + at[0], line_stride(in, dim), line_length(in, dim));
        });
        return TNR_OK;
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
        return fail(call, TNR_BAD_VALUE, "the position of an extreme of no elements is not defined");
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
    add_kernel(kernels, "cumsum", run_cumsum, TNR_MASK_ALL, kAnyLayout);
    add_kernel(kernels, "argmax", run_position<true>, TNR_MASK_ALL & ~TNR_MASK_COMPLEX, kAnyLayout);
    add_kernel(kernels, "argmin", run_position<false>, TNR_MASK_ALL & ~TNR_MASK_COMPLEX, kAnyLayout);
}

}  // namespace tenora::cpu
