// Fused kernels over whole tensors: softmax and log_softmax with their gradients, linear, addmm.
//
//   - A line of softmax that is contiguous is worked on where
//     it lies; another one, and every line of a half type, is
//     gathered into a buffer of float or double first.
#include <memory>
#include <new>

#include "kernels.h"
#include "lines.h"
#include "matrix.h"

namespace tenora::cpu {

using namespace TENORA_ISA;

namespace {

constexpr uint32_t kFloats = TNR_MASK_HALF | TNR_MASK_REALS;

// A buffer for lines of n elements, on the stack while they are short. Throws std::bad_alloc.
class LineBuffer {
  public:
    explicit LineBuffer(int64_t elements) {
        if (elements > kOnStack) heap_.reset(new double[static_cast<size_t>(elements)]);
    }
    char* data() { return reinterpret_cast<char*>(heap_ ? heap_.get() : stack_); }

  private:
    static constexpr int64_t kOnStack = 512;
    double stack_[kOnStack];
    std::unique_ptr<double[]> heap_;
};

// A tensor's line as a contiguous run of the row's type.
struct LineReader {
    const DLTensor& t;
    tnr_dtype dtype, row_dtype;
    int64_t n, stride;
    bool direct;

    LineReader(const DLTensor& tensor, int dim, tnr_dtype row)
        : t(tensor),
          dtype(dtype_of(tensor)),
          row_dtype(row),
          n(line_length(tensor, dim)),
          stride(line_stride(tensor, dim)),
          direct(dtype == row && (stride == 1 || n == 1)) {}
    char* at(int64_t offset) const { return static_cast<char*>(t.data) + offset * kSizes[dtype]; }
    const char* read(int64_t offset, char* buffer) const {
        if (direct) return at(offset);
        if (stride == 1) {
            tables.cast[dtype][row_dtype](buffer, at(offset), n);
        } else {
            for (int64_t i = 0; i < n; ++i) {
                tables.cast[dtype][row_dtype](buffer + i * kSizes[row_dtype], at(offset + i * stride), 1);
            }
        }
        return buffer;
    }
    void write(int64_t offset, const char* buffer) const {
        for (int64_t i = 0; i < (stride == 1 ? 1 : n); ++i) {
            tables.cast[row_dtype][dtype](at(offset + i * stride), buffer + i * kSizes[row_dtype],
                                          stride == 1 ? n : 1);
        }
    }
};

using OneRow = void (*)(void*, const void*, int64_t);
using TwoRow = void (*)(void*, const void*, const void*, int64_t);

template <OneRow FusedRows::* kRow>
int32_t one_input(const tnr_call* call) {
    const DLTensor &in = *call->in[0], &out = *call->out[0];
    const int dim = line_dim(call, 0, in);
    const tnr_dtype row_dtype = dtype_of(in) == TNR_F64 ? TNR_F64 : TNR_F32;
    const OneRow row = tables.fused[row_dtype].*kRow;
    const LineReader x(in, dim, row_dtype), y(out, dim, row_dtype);
    if (x.n == 0) return TNR_OK;
    LineBuffer from(x.direct ? 0 : x.n), to(y.direct ? 0 : x.n);
    each_line<2>({&in, &out}, dim, [&](const int64_t* at) {
        char* target = y.direct ? y.at(at[1]) : to.data();
        row(target, x.read(at[0], from.data()), x.n);
        if (!y.direct) y.write(at[1], target);
    });
    return TNR_OK;
}

template <TwoRow FusedRows::* kRow>
int32_t two_inputs(const tnr_call* call) {
    const DLTensor &grad = *call->in[0], &result = *call->in[1], &out = *call->out[0];
    const int dim = line_dim(call, 0, grad);
    const tnr_dtype row_dtype = dtype_of(grad) == TNR_F64 ? TNR_F64 : TNR_F32;
    const TwoRow row = tables.fused[row_dtype].*kRow;
    const LineReader g(grad, dim, row_dtype), r(result, dim, row_dtype), o(out, dim, row_dtype);
    if (g.n == 0) return TNR_OK;
    LineBuffer grads(g.direct ? 0 : g.n), results(r.direct ? 0 : g.n), to(o.direct ? 0 : g.n);
    each_line<3>({&grad, &result, &out}, dim, [&](const int64_t* at) {
        char* target = o.direct ? o.at(at[2]) : to.data();
        row(target, g.read(at[0], grads.data()), r.read(at[1], results.data()), g.n);
        if (!o.direct) o.write(at[2], target);
    });
    return TNR_OK;
}

// Rows of the first `dims` dimensions as one stride, if they run on without a gap. An expanded dimension
// has stride 0, so a stride of 0 does not say that none was seen yet.
bool merged_rows(const DLTensor& t, int dims, int64_t& rows, int64_t& stride) {
    rows = 1;
    stride = 0;
    bool first = true;
    for (int d = dims - 1; d >= 0; --d) {
        if (t.shape[d] == 1) continue;
        if (first)
            stride = t.strides[d];
        else if (t.strides[d] != stride * rows)
            return false;
        first = false;
        rows *= t.shape[d];
    }
    return true;
}

// y (..., N) = x (..., K) w^T (N, K) + b (N); b may be one number.
int32_t linear(const tnr_call* call) {
    const DLTensor &x = *call->in[0], &w = *call->in[1], &y = *call->out[0];
    const DLTensor* bias = call->n_in > 2 ? call->in[2] : nullptr;
    const int last = x.ndim - 1;
    const bool one_number = bias && (bias->ndim == 0 || bias->shape[0] == 1);
    const tnr_dtype dtype = dtype_of(x);
    Gemm g{1,
           w.shape[0],
           w.shape[1],
           x.data,
           w.data,
           y.data,
           0,
           x.strides[last],
           w.strides[1],
           w.strides[0],
           0,
           y.strides[last],
           call->accumulate != 0,
           1.0,
           bias ? bias->data : nullptr,
           bias && !one_number ? bias->strides[0] : 0};
    int64_t rows = 1;
    if (merged_rows(x, last, g.m, g.a_row) && merged_rows(y, last, rows, g.c_row))
        return matrix_product(g, dtype);
    g.m = 1;
    int32_t status = TNR_OK;
    const size_t size = kSizes[dtype];
    each_line<2>({&y, &x}, last, [&](const int64_t* at) {
        Gemm row = g;
        row.c = static_cast<char*>(y.data) + at[0] * static_cast<int64_t>(size);
        row.a = static_cast<const char*>(x.data) + at[1] * static_cast<int64_t>(size);
        if (status == TNR_OK) status = matrix_product(row, dtype);
    });
    return status;
}

int32_t run_linear(const tnr_call* call) { return guarded(call, linear); }

// out (M, N) = beta input + alpha mat1 mat2; `input` broadcasts, and is not read when beta is 0.
int32_t addmm(const tnr_call* call) {
    const DLTensor &input = *call->in[0], &a = *call->in[1], &b = *call->in[2], &out = *call->out[0];
    const tnr_dtype dtype = dtype_of(a);
    const double beta = number_attr(call, 0, 1), alpha = number_attr(call, 1, 1);
    Gemm g{out.shape[0], out.shape[1], a.shape[1],     a.data,
           b.data,       out.data,     a.strides[0],   a.strides[1],
           b.strides[0], b.strides[1], out.strides[0], out.strides[1],
           beta != 0,    alpha,        nullptr,        1};
    if (beta != 0) {
        const size_t size = kSizes[dtype];
        const DLTensor* source = &input;
        const Plan<2> plan = plan_of<2>(out, &source, {size, size});
        const BinaryRow product = tables.binary[static_cast<int>(Binary::mul)][dtype];
        alignas(16) char factor[16];
        tables.cast[TNR_F64][dtype](factor, &beta, 1);
        plan.walk([&](char* const* at) -> int32_t {
            alignas(64) char chunk[kChunk * 16];
            for (int64_t i = 0; i < plan.row(); i += kChunk) {
                const int64_t m = plan.row() - i < kChunk ? plan.row() - i : kChunk;
                pack(chunk, at[1] + i * plan.row_stride(1), plan.row_stride(1), m, size);
                if (beta != 1) product(chunk, chunk, factor, m, kRightScalar);
                unpack(at[0] + i * plan.row_stride(0), plan.row_stride(0), chunk, m, size);
            }
            return TNR_OK;
        });
    }
    return matrix_product(g, dtype);
}

int32_t run_addmm(const tnr_call* call) { return guarded(call, addmm); }

template <tnr_kernel_fn kBody>
int32_t run_guarded(const tnr_call* call) {
    try {
        return kBody(call);
    } catch (const std::bad_alloc&) {
        return fail(call, TNR_OUT_OF_MEMORY, "no memory for the buffer of a line");
    }
}

}  // namespace

void add_fused(Kernels& kernels) {
    const uint32_t flags = kAnyLayout | TNR_KERNEL_INPLACE;
    add_kernel(kernels, "softmax", run_guarded<one_input<&FusedRows::softmax>>, kFloats, flags);
    add_kernel(kernels, "log_softmax", run_guarded<one_input<&FusedRows::log_softmax>>, kFloats, flags);
    add_kernel(kernels, "softmax_backward", run_guarded<two_inputs<&FusedRows::softmax_backward>>, kFloats,
               flags);
    add_kernel(kernels, "log_softmax_backward", run_guarded<two_inputs<&FusedRows::log_softmax_backward>>,
               kFloats, flags);
    add_kernel(kernels, "linear", run_linear, TNR_MASK_REALS, kAnyLayout);
    add_kernel(kernels, "addmm", run_addmm, TNR_MASK_REALS, kAnyLayout);
}

}  // namespace tenora::cpu
