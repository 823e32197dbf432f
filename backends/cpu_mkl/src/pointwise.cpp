// Drivers of the pointwise ops: the flat path first, then rows of a plan.
//
//   - `state` of a kernel is its row of the table, so finding the code is one load.
//   - Strided rows go through stack buffers of kChunk elements; nothing is allocated.
#include "kernels.h"
#include "plan.h"

namespace tenora::cpu {

using namespace TENORA_ISA;

namespace {

const char* const kZeroDivision = "integer division by zero";

int32_t finish(const tnr_call* call, int32_t status) {
    return status == TNR_ZERO_DIVISION ? fail(call, status, kZeroDivision) : status;
}

int32_t unary_strided(const tnr_call* call, UnaryRow row, tnr_dtype dtype) {
    const size_t out_size = kSizes[dtype_of(*call->out[0])], in_size = kSizes[dtype];
    const Plan<2> plan = plan_of<2>(*call->out[0], call->in, {out_size, in_size});
    const int64_t n = plan.row(), out_stride = plan.row_stride(0), in_stride = plan.row_stride(1);
    const bool dense =
        out_stride == static_cast<int64_t>(out_size) && in_stride == static_cast<int64_t>(in_size);
    return plan.walk([&](char* const* at) -> int32_t {
        if (dense || n == 1) return row(at[0], at[1], n);
        alignas(64) char in[kChunk * 16], out[kChunk * 16];
        for (int64_t i = 0; i < n; i += kChunk) {
            const int64_t m = n - i < kChunk ? n - i : kChunk;
            pack(in, at[1] + i * in_stride, in_stride, m, in_size);
            const int32_t status = row(out, in, m);
            if (status != TNR_OK) return status;
            unpack(at[0] + i * out_stride, out_stride, out, m, out_size);
        }
        return TNR_OK;
    });
}

int32_t run_unary(const tnr_call* call) {
    const DLTensor& in = *call->in[0];
    const tnr_dtype dtype = dtype_of(in);
    const UnaryRow row = static_cast<const UnaryRow*>(call->state)[dtype];
    if (!row) return unsupported(call);
    if (call->flat && !is_host_scalar(call, 0)) return row(call->out[0]->data, in.data, count_of(in));
    return unary_strided(call, row, dtype);
}

// One operand of a strided binary row: contiguous runs and single elements are used where they lie.
struct Side {
    int64_t stride;
    size_t size;
    bool direct() const { return stride == static_cast<int64_t>(size) || stride == 0; }
    const char* chunk(char* buffer, const char* at, int64_t i, int64_t m) const {
        if (direct()) return at + i * stride;
        pack(buffer, at + i * stride, stride, m, size);
        return buffer;
    }
};

int32_t binary_strided(const tnr_call* call, BinaryRow row, size_t in_size) {
    const size_t out_size = kSizes[dtype_of(*call->out[0])];
    const Plan<3> plan = plan_of<3>(*call->out[0], call->in, {out_size, in_size, in_size});
    const int64_t n = plan.row(), out_stride = plan.row_stride(0);
    const Side left{plan.row_stride(1), in_size}, right{plan.row_stride(2), in_size};
    const bool out_direct = n == 1 || out_stride == static_cast<int64_t>(out_size);
    if (n > 1 && left.stride == 0 && right.stride == 0) {
        // Both are one element: a row of equal results.
        return plan.walk([&](char* const* at) -> int32_t {
            alignas(16) char value[16];
            const int32_t status = row(value, at[1], at[2], 1, kBothRows);
            for (int64_t i = 0; status == TNR_OK && i < n; ++i)
                std::memcpy(at[0] + i * out_stride, value, out_size);
            return status;
        });
    }
    const int sides = n == 1              ? kBothRows
                      : left.stride == 0  ? kLeftScalar
                      : right.stride == 0 ? kRightScalar
                                          : kBothRows;
    const int64_t chunk = out_direct && left.direct() && right.direct() ? n : kChunk;
    return plan.walk([&](char* const* at) -> int32_t {
        alignas(64) char a[kChunk * 16], b[kChunk * 16], out[kChunk * 16];
        for (int64_t i = 0; i < n; i += chunk) {
            const int64_t m = n - i < chunk ? n - i : chunk;
            char* target = out_direct ? at[0] + i * out_stride : out;
            const int32_t status =
                row(target, left.chunk(a, at[1], i, m), right.chunk(b, at[2], i, m), m, sides);
            if (status != TNR_OK) return status;
            if (!out_direct) unpack(at[0] + i * out_stride, out_stride, out, m, out_size);
        }
        return TNR_OK;
    });
}

int32_t binary_with(const tnr_call* call, const BinaryRow* rows) {
    const DLTensor &a = *call->in[0], &b = *call->in[1];
    const tnr_dtype dtype = dtype_of(a);
    const BinaryRow row = rows[dtype];
    if (!row) return unsupported(call);
    if (call->flat) {
        const uint64_t scalars = call->host_scalar_mask & 3;
        const int sides = scalars == 0 ? kBothRows : scalars == 2 ? kRightScalar : kLeftScalar;
        if (scalars != 3) {
            return finish(call, row(call->out[0]->data, a.data, b.data, count_of(*call->out[0]), sides));
        }
    }
    return finish(call, binary_strided(call, row, kSizes[dtype]));
}

int32_t run_binary(const tnr_call* call) {
    return binary_with(call, static_cast<const BinaryRow*>(call->state));
}

const BinaryRow* rows_of(Binary op) { return tables.binary[static_cast<int>(op)]; }

template <Unary kPlain, Unary kTanh>
int32_t run_gelu(const tnr_call* call) {
    tnr_call with_rows = *call;
    with_rows.state = tables.unary[static_cast<int>(string_attr_is(call, 0, "tanh") ? kTanh : kPlain)];
    return run_unary(&with_rows);
}

int32_t run_gelu_backward(const tnr_call* call) {
    return binary_with(
        call, rows_of(string_attr_is(call, 0, "tanh") ? Binary::gelu_tanh_backward : Binary::gelu_backward));
}

// threshold_backward has a threshold; zero is what relu needs and what the rows know.
int32_t run_threshold_backward(const tnr_call* call) {
    if (number_attr(call, 0, 0) != 0)
        return fail(call, TNR_NOT_SUPPORTED, "only the threshold 0 has a kernel");
    return run_binary(call);
}

template <class Row>
uint32_t mask_of(const Row* rows) {
    uint32_t mask = 0;
    for (int d = 0; d < TNR_DTYPE_COUNT; ++d) mask |= rows[d] ? TNR_MASK(d) : 0;
    return mask;
}

constexpr uint32_t kFlags = kAnyLayout | TNR_KERNEL_BROADCAST | TNR_KERNEL_INPLACE;

void add_unary(Kernels& kernels, const char* name, Unary op) {
    UnaryRow* rows = tables.unary[static_cast<int>(op)];
    if (op == Unary::gelu_tanh || mask_of(rows) == 0) return;
    add_kernel(kernels, name, op == Unary::gelu ? run_gelu<Unary::gelu, Unary::gelu_tanh> : run_unary,
               mask_of(rows), kFlags, rows);
}

void add_binary(Kernels& kernels, const char* name, Binary op) {
    BinaryRow* rows = tables.binary[static_cast<int>(op)];
    tnr_kernel_fn run = run_binary;
    switch (op) {
        case Binary::gelu_tanh_backward:
            return;
        case Binary::gelu_backward:
            run = run_gelu_backward;
            break;
        case Binary::threshold_backward:
            run = run_threshold_backward;
            break;
        default:
            break;
    }
    add_kernel(kernels, name, run, mask_of(rows), kFlags, rows);
}

}  // namespace

void add_pointwise(Kernels& kernels) {
#define TENORA_ADD(name) add_unary(kernels, #name, Unary::name);
    TENORA_UNARY_OPS(TENORA_ADD)
#undef TENORA_ADD
#define TENORA_ADD(name) add_binary(kernels, #name, Binary::name);
    TENORA_BINARY_OPS(TENORA_ADD)
#undef TENORA_ADD
}

}  // namespace tenora::cpu
