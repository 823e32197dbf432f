// The product of two matrices and its two adjoints at once: most of what small networks compute, where rules,
// views and the launch of the general way cost more than the product.
#include "fast_path.h"

namespace tenora {

namespace {

constexpr double kFastOperations = 1 << 21;  // about 0.1 ms on one core

// A matrix as the kernel sees it: a tensor's, perhaps transposed.
struct Matrix {
    int64_t dims[4];  // sizes, then strides
    DLTensor dl;
    bool dense;

    Matrix(const Tensor* t, bool transposed) : dl(t->dl), dense(t->contiguous && !transposed) {
        dims[0] = t->dl.shape[transposed];
        dims[1] = t->dl.shape[!transposed];
        dims[2] = t->dl.strides[transposed];
        dims[3] = t->dl.strides[!transposed];
        dl.shape = dims;
        dl.strides = dims + 2;
    }
    int64_t rows() const { return dims[0]; }
    int64_t columns() const { return dims[1]; }
};

bool is_matrix(const Tensor* t) { return t && t->rank() == 2; }

// Matrices in memory of one dtype and device, no stride of which runs backwards.
bool alike(const Tensor* a, const Tensor* b) {
    return is_matrix(a) && is_matrix(b) && a->storage && b->storage && a->dtype == b->dtype &&
           a->device == b->device && a->dl.strides[0] >= 0 && a->dl.strides[1] >= 0 &&
           b->dl.strides[0] >= 0 && b->dl.strides[1] >= 0;
}

bool has_shape(const Tensor* t, int64_t rows, int64_t columns) {
    return t->rank() == 2 && t->dl.shape[0] == rows && t->dl.shape[1] == columns;
}

const KernelEntry* product_entry(const Op& op, BackendId backend, DType dtype, const Matrix& x,
                                 const Matrix& y, const Tensor* buffer) {
    const KernelEntry* entry = fast_entry(op, backend, dtype);
    if (!entry) return nullptr;
    if (!(x.dense && y.dense) && !(entry->flags & TNR_KERNEL_STRIDED)) return nullptr;
    return buffer && !(entry->flags & TNR_KERNEL_ACCUMULATE) ? nullptr : entry;
}

// x @ y, operands of `in`, with the kernel of `op`.
bool multiply(const Op& op, std::span<const Operand> in, const Matrix& x, const Matrix& y, TensorRef* out,
              Tensor* buffer, BackendId* used) {
    const Tensor* like = in[0].tensor;
    if (x.columns() != y.rows() ||
        double(x.rows()) * double(x.columns()) * double(y.columns()) > kFastOperations)
        return false;
    if (buffer && !(has_shape(buffer, x.rows(), y.columns()) && buffer->contiguous &&
                    buffer->dtype == like->dtype && buffer->device == like->device))
        return false;
    *used = current_backend(like->device.space);
    const KernelEntry* entry = product_entry(op, *used, like->dtype, x, y, buffer);
    if (!entry) return false;
    Tensor* result = buffer;
    if (!buffer) {
        int64_t shape[] = {x.rows(), y.columns()};
        *out = new_tensor(shape, like->dtype, like->device);
        result = out->get();
    }
    const DLTensor* descriptors[] = {&x.dl, &y.dl};
    tnr_call call;
    call.host_scalar_mask = 0;
    call.flat = x.dense && y.dense && x.rows() == x.columns() && y.rows() == y.columns();
    if (run_fast(entry, call, in, {}, descriptors, result, op, buffer != nullptr) == TNR_OK) return true;
    if (!buffer) *out = nullptr;
    return false;
}

const Op* product_op() {
    OpId id = core_ops().matmul;
    return id == kNoOp ? nullptr : &op(id);
}

}  // namespace

bool multiply_matrices(const Op& op, std::span<const Operand> in, TensorRef* out, Tensor* buffer,
                       BackendId* used) {
    if (in.size() != 2 || !alike(in[0].tensor, in[1].tensor)) return false;
    return multiply(op, in, {in[0].tensor, false}, {in[1].tensor, false}, out, buffer, used);
}

// Gradient for a of a @ b: g @ b^T. `a` is read for its shape and dtype.
bool multiply_left(const Op&, std::span<const Operand> in, TensorRef* out, Tensor* buffer, BackendId* used) {
    if (in.size() != 3 || !alike(in[0].tensor, in[2].tensor) || is_complex(in[0].tensor->dtype)) return false;
    const Tensor *g = in[0].tensor, *a = in[1].tensor, *b = in[2].tensor;
    const Op* product = product_op();
    if (!product || !a || a->dtype != g->dtype || !has_shape(a, g->dl.shape[0], b->dl.shape[0])) return false;
    Operand operands[] = {in[0], in[2]};
    return multiply(*product, operands, {g, false}, {b, true}, out, buffer, used);
}

// Gradient for b of a @ b: a^T @ g. `b` is read for its shape and dtype.
bool multiply_right(const Op&, std::span<const Operand> in, TensorRef* out, Tensor* buffer, BackendId* used) {
    if (in.size() != 3 || !alike(in[0].tensor, in[1].tensor) || is_complex(in[0].tensor->dtype)) return false;
    const Tensor *g = in[0].tensor, *a = in[1].tensor, *b = in[2].tensor;
    const Op* product = product_op();
    if (!product || !b || b->dtype != g->dtype || !has_shape(b, a->dl.shape[1], g->dl.shape[1])) return false;
    Operand operands[] = {in[1], in[0]};
    return multiply(*product, operands, {a, true}, {g, false}, out, buffer, used);
}

}  // namespace tenora
