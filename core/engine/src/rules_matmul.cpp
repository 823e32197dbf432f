// Shape rules of the matmul family, with PyTorch's treatment of 1-d operands in `matmul`.
#include <algorithm>

#include "rules.h"

namespace tenora {
namespace {

void expect_rank(Infer& c, Tensor* t, int rank, const char* name) {
    if (t->rank() != rank)
        refuse(c, ErrorKind::Runtime, "shape", "wrong rank of `", name, "`: got ", describe(t), ", expected ",
               rank, " dimensions. Use matmul for other ranks.");
}

[[noreturn]] void refuse_inner(Infer& c, Tensor* a, Tensor* b) {
    refuse(c, ErrorKind::Runtime, "shape", "inner sizes differ: got ", describe(a), " and ", describe(b),
           ", expected the last size of the first to equal the ", b->rank() > 1 ? "second last" : "last",
           " of the second. Transpose or reshape one operand.");
}

void estimate(Infer& c, int64_t inner) {
    double outputs = 1;
    for (int i = 0; i < c.out[0].rank; ++i) outputs *= double(c.out[0].shape[i]);
    c.work = outputs * double(inner) * 2 / 20;  // about 20 operations per nanosecond on one core
}

void mm(Infer& c) {
    Tensor *a = tensor_in(c, 0, "input"), *b = tensor_in(c, 1, "mat2");
    expect_rank(c, a, 2, "input");
    expect_rank(c, b, 2, "mat2");
    if (a->shape()[1] != b->shape()[0]) refuse_inner(c, a, b);
    int64_t shape[] = {a->shape()[0], b->shape()[1]};
    set_shape(c.out[0], shape);
    estimate(c, a->shape()[1]);
}

void check_stacks(Infer& c, Tensor* a, Tensor* b, const char* first, const char* second) {
    expect_rank(c, a, 3, first);
    expect_rank(c, b, 3, second);
    if (a->shape()[0] != b->shape()[0])
        refuse(c, ErrorKind::Runtime, "shape", "batch sizes differ: got ", describe(a), " and ", describe(b),
               ", expected equal first sizes. Use matmul to broadcast.");
    if (a->shape()[2] != b->shape()[1]) refuse_inner(c, a, b);
}

void bmm(Infer& c) {
    Tensor *a = tensor_in(c, 0, "input"), *b = tensor_in(c, 1, "mat2");
    check_stacks(c, a, b, "input", "mat2");
    int64_t shape[] = {a->shape()[0], a->shape()[1], b->shape()[2]};
    set_shape(c.out[0], shape);
    estimate(c, a->shape()[2]);
}

void mv(Infer& c) {
    Tensor *a = tensor_in(c, 0, "input"), *b = tensor_in(c, 1, "vec");
    expect_rank(c, a, 2, "input");
    expect_rank(c, b, 1, "vec");
    if (a->shape()[1] != b->shape()[0]) refuse_inner(c, a, b);
    set_shape(c.out[0], a->shape().first(1));
    estimate(c, a->shape()[1]);
}

void dot(Infer& c) {
    Tensor *a = tensor_in(c, 0, "input"), *b = tensor_in(c, 1, "tensor");
    expect_rank(c, a, 1, "input");
    expect_rank(c, b, 1, "tensor");
    if (a->shape()[0] != b->shape()[0]) refuse_inner(c, a, b);
    c.out[0].rank = 0;
    estimate(c, a->shape()[0]);
}

void matmul(Infer& c) {
    Tensor *a = tensor_in(c, 0, "input"), *b = tensor_in(c, 1, "other");
    auto x = a->shape(), y = b->shape();
    if (x.empty() || y.empty())
        refuse(c, ErrorKind::Runtime, "shape", "0-d operand: got ", describe(a), " and ", describe(b),
               ", expected at least one dimension each. Use mul for numbers.");
    int64_t inner = x.back();
    if (inner != (y.size() > 1 ? y[y.size() - 2] : y[0])) refuse_inner(c, a, b);
    OutMeta& m = c.out[0];
    m.rank = 0;
    if (x.size() > 2) broadcast_into(c, m, x.first(x.size() - 2));
    if (y.size() > 2) broadcast_into(c, m, y.first(y.size() - 2));
    if (x.size() > 1) m.shape[m.rank++] = x[x.size() - 2];
    if (y.size() > 1) m.shape[m.rank++] = y.back();
    check_shape(c, {m.shape, size_t(m.rank)});
    estimate(c, inner);
}

// input broadcasts to the product of the other two.
void check_addend(Infer& c, std::span<const int64_t> shape) {
    OutMeta& m = c.out[0];
    set_shape(m, shape);
    Tensor* addend = tensor_in(c, 0, "input");
    broadcast_into(c, m, addend->shape());
    if (size_t(m.rank) != shape.size() || !std::equal(shape.begin(), shape.end(), m.shape))
        refuse(c, ErrorKind::Runtime, "shape", "input does not broadcast to the product: got ",
               describe(addend), ", expected ", shape, ". Reshape input.");
}

void addmm(Infer& c) {
    Tensor *a = tensor_in(c, 1, "mat1"), *b = tensor_in(c, 2, "mat2");
    expect_rank(c, a, 2, "mat1");
    expect_rank(c, b, 2, "mat2");
    if (a->shape()[1] != b->shape()[0]) refuse_inner(c, a, b);
    int64_t shape[] = {a->shape()[0], b->shape()[1]};
    check_addend(c, shape);
    estimate(c, a->shape()[1]);
}

void baddbmm(Infer& c) {
    Tensor *a = tensor_in(c, 1, "batch1"), *b = tensor_in(c, 2, "batch2");
    check_stacks(c, a, b, "batch1", "batch2");
    int64_t shape[] = {a->shape()[0], a->shape()[1], b->shape()[2]};
    check_addend(c, shape);
    estimate(c, a->shape()[2]);
}

void linear(Infer& c) {
    Tensor *x = tensor_in(c, 0, "input"), *w = tensor_in(c, 1, "weight");
    if (x->rank() < 1) expect_rank(c, x, 1, "input");
    expect_rank(c, w, 2, "weight");
    if (x->shape().back() != w->shape().back())
        refuse(c, ErrorKind::Runtime, "shape", "feature sizes differ: got input ", describe(x),
               " and weight ", describe(w), ", expected equal last sizes. Check in_features.");
    OutMeta& m = c.out[0];
    set_shape(m, x->shape().first(size_t(x->rank() - 1)));
    m.shape[m.rank++] = w->shape()[0];
    if (c.in.size() > 2 && c.in[2].tensor) {
        Tensor* bias = c.in[2].tensor;
        bool fits = bias->rank() == 0 ||
                    (bias->rank() == 1 && (bias->shape()[0] == w->shape()[0] || bias->shape()[0] == 1));
        if (!fits)
            refuse(c, ErrorKind::Runtime, "shape", "bias does not fit: got ", describe(bias), " for weight ",
                   describe(w), ", expected [out_features]. Check out_features.");
    }
    estimate(c, x->shape().back());
}

const RuleName table[] = {{"mm", mm},         {"bmm", bmm},     {"mv", mv},         {"dot", dot},
                          {"matmul", matmul}, {"addmm", addmm}, {"linear", linear}, {"baddbmm", baddbmm}};

}  // namespace

std::span<const RuleName> matmul_shape_rules() { return table; }

}  // namespace tenora
