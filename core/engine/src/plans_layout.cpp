// Structural plans that move elements: cat, stack, pad, clone,
// contiguous, to, reshape, flatten. Copies and windows only.
#include <algorithm>
#include <cmath>
#include <limits>

#include "internal.h"
#include "tenora/ring.h"

namespace tenora {
namespace {

TensorRef fresh(Call& c, std::span<const int64_t> shape, DType dtype) {
    return new_tensor(shape, dtype, c.infer.device);
}

// Copies src into the part of dst that begins at `start` along
// `dim` (rank of dst, src seen with an extra dim for stack).
void copy_part(Tensor* dst, Tensor* src, int dim, int64_t start, bool extra_dim, BackendId id) {
    LocalView part;
    int64_t shape[kMaxRank], strides[kMaxRank];
    int n = 0;
    for (int i = 0; i < dst->rank(); ++i) {
        if (i == dim && extra_dim) continue;
        shape[n] = src->shape()[size_t(n)];
        strides[n++] = dst->strides()[size_t(i)];
    }
    part.reset(dst, {shape, size_t(n)}, {strides, size_t(n)}, start * dst->strides()[size_t(dim)]);
    copy_into(part.get(), src, id);
}

// Operands of any dtype; an int64 [0] vector is skipped as in PyTorch.
bool skipped(const Tensor* t) { return t->rank() == 1 && t->shape()[0] == 0; }

void require_tensors(Call& c) {
    if (c.in.empty())
        refuse(c.infer, ErrorKind::Runtime, "argument",
               "no tensors: got an empty list, expected at least one. Pass tensors.");
    for (size_t i = 0; i < c.in.size(); ++i) tensor_in(c.infer, i, "tensors");
}

void cat(Call& c) {
    require_tensors(c);
    Tensor* model = nullptr;
    for (const Operand& o : c.in)
        if (!skipped(o.tensor) && !model) model = o.tensor;
    DType dtype = promote_operands(c.in);
    if (!model) model = c.in[0].tensor;
    if (!model->rank())
        refuse(c.infer, ErrorKind::Runtime, "shape", "0-d tensors cannot be concatenated: got ",
               describe(model), ", expected at least one dimension. Use stack.");
    int dim = int(wrap_dim(c.infer, int_attr(c.infer, 0, "dim"), model->rank()));
    int64_t shape[kMaxRank], total = 0;
    std::copy(model->dl.shape, model->dl.shape + model->rank(), shape);
    for (const Operand& o : c.in) {
        Tensor* t = o.tensor;
        if (skipped(t) && t != model) continue;
        bool fits = t->rank() == model->rank();
        for (int i = 0; fits && i < t->rank(); ++i) fits = i == dim || t->shape()[size_t(i)] == shape[i];
        if (!fits)
            refuse(c.infer, ErrorKind::Runtime, "shape", "sizes differ: got ", describe(t), " beside ",
                   describe(model), ", expected equal sizes except in dimension ", dim,
                   ". Reshape or pad the tensors.");
        total = add_checked(c.infer, total, t->shape()[size_t(dim)]);
    }
    shape[dim] = total;
    std::span<const int64_t> result{shape, size_t(model->rank())};
    checked_numel(result, c.op.display());
    c.result[0] = fresh(c, result, dtype);
    int64_t at = 0;
    for (const Operand& o : c.in) {
        if (skipped(o.tensor)) continue;
        copy_part(c.result[0].get(), o.tensor, dim, at, false, c.backend);
        at += o.tensor->shape()[size_t(dim)];
    }
}

void stack(Call& c) {
    require_tensors(c);
    Tensor* model = c.in[0].tensor;
    if (model->rank() == kMaxRank)
        refuse(c.infer, ErrorKind::Runtime, "shape", "too many dimensions: got ", kMaxRank + 1,
               ", expected at most ", kMaxRank, ". Use cat.");
    int dim = int(wrap_dim(c.infer, int_attr(c.infer, 0, "dim"), model->rank() + 1));
    for (const Operand& o : c.in)
        if (o.tensor->rank() != model->rank() ||
            !std::equal(model->shape().begin(), model->shape().end(), o.tensor->dl.shape))
            refuse(c.infer, ErrorKind::Runtime, "shape", "shapes differ: got ", describe(o.tensor),
                   " beside ", describe(model), ", expected equal shapes. Reshape the tensors.");
    int64_t shape[kMaxRank];
    for (int i = 0, from = 0; i <= model->rank(); ++i)
        shape[i] = i == dim ? int64_t(c.in.size()) : model->shape()[size_t(from++)];
    std::span<const int64_t> result{shape, size_t(model->rank()) + 1};
    checked_numel(result, c.op.display());
    c.result[0] = fresh(c, result, promote_operands(c.in));
    for (size_t k = 0; k < c.in.size(); ++k)
        copy_part(c.result[0].get(), c.in[k].tensor, dim, int64_t(k), true, c.backend);
}

// The amounts of pad: for some of the last dimensions a pair.
std::span<const int64_t> pad_amounts(Call& c, Tensor* x) {
    auto amounts = span_attr(c.infer, 0, "pad");
    std::string_view mode = string_attr(c.infer);
    if (!mode.empty() && mode != "constant")
        refuse(c.infer, ErrorKind::NotImplemented, "argument", "unknown mode: got '", mode,
               "', expected 'constant'. Use another padding function.");
    if (amounts.size() % 2 || amounts.size() / 2 > size_t(x->rank()))
        refuse(c.infer, ErrorKind::Runtime, "shape", "wrong number of pad amounts: got ", amounts,
               ", expected pairs for at most ", x->rank(),
               " dimensions. Give (before, after) from the last dimension on.");
    return amounts;
}

// The first number among the attributes; zero where none is given.
Scalar pad_value(Call& c) {
    for (size_t i = 1; i < c.infer.attr.size(); ++i)
        if (uint8_t kind = c.infer.attr[i].kind;
            kind == TNR_ATTR_SCALAR || kind == TNR_ATTR_F64 || kind == TNR_ATTR_I64)
            return scalar_of(c.infer.attr[i]);
    return Scalar::from_float(0);
}

// As PyTorch, to which the value is always a float: an unsigned dtype takes no negative one, and a finite one
// stays finite. The exact value is written all the same.
void check_pad_value(std::string_view op, const Scalar& value, DType dtype) {
    Scalar told = value;
    if (value.kind == Scalar::Kind::Int && !value.wide && value.i < 0 && info(dtype).dl.code == 1)
        told = Scalar::from_float(double(value.i));
    check_range(op, told, dtype);
    double largest = dtype == DType::F16                          ? 65504.0
                     : dtype == DType::BF16                       ? 0x1.fep127
                     : dtype == DType::F32 || dtype == DType::C64 ? double(std::numeric_limits<float>::max())
                                                                  : std::numeric_limits<double>::infinity();
    if (std::isfinite(value.real()) && std::abs(value.real()) > largest && !is_integral(dtype) &&
        dtype != DType::Bool)
        fail(ErrorKind::Runtime, "value", op,
             text("value cannot be converted to ", dtype, " without overflow: got ", value.real(),
                  ", expected at most ", largest, ". Use a wider dtype."));
}

// Pairs from the last dimension backwards, (before, after); negative amounts crop.
void pad(Call& c) {
    Tensor* x = tensor_in(c.infer, 0, "input");
    std::span<const int64_t> amounts = pad_amounts(c, x);
    int64_t shape[kMaxRank], from[kMaxRank], inner[kMaxRank], to_shift = 0, from_shift = 0;
    size_t rank = size_t(x->rank());
    bool covers = true;
    for (size_t i = 0; i < rank; ++i) {
        size_t pair = rank - 1 - i;
        int64_t before = pair < amounts.size() / 2 ? amounts[2 * pair] : 0,
                after = pair < amounts.size() / 2 ? amounts[2 * pair + 1] : 0;
        shape[i] = add_checked(c.infer, x->shape()[i], add_checked(c.infer, before, after));
        if (shape[i] < 0)
            refuse(c.infer, ErrorKind::Runtime, "shape", "negative size after cropping: got ", amounts,
                   " for ", describe(x), ", expected sizes of 0 or more. Crop less.");
        int64_t cut_before = before < 0 ? -before : 0, cut_after = after < 0 ? -after : 0;
        from[i] = cut_before;
        inner[i] = std::max<int64_t>(0, x->shape()[i] - cut_before - cut_after);
        covers = covers && before <= 0 && after <= 0;
    }
    checked_numel({shape, rank}, c.op.display());
    c.result[0] = fresh(c, {shape, rank}, x->dtype);
    Tensor* out = c.result[0].get();
    for (size_t i = 0; i < rank; ++i) {
        size_t pair = rank - 1 - i;
        int64_t before = pair < amounts.size() / 2 ? std::max<int64_t>(amounts[2 * pair], 0) : 0;
        inner[i] = std::min(inner[i], std::max<int64_t>(0, shape[i] - before));
        to_shift += before * out->strides()[i];
        from_shift += from[i] * x->strides()[i];
    }
    if (!covers) {
        Scalar value = pad_value(c);
        check_pad_value(c.op.display(), value, out->dtype);
        fill(out, value);
    }
    LocalView source, target;
    source.reset(x, {inner, rank}, x->strides(), from_shift);
    target.reset(out, {inner, rank}, out->strides(), to_shift);
    copy_into(target.get(), source.get(), c.backend);
}

void clone(Call& c) { c.result[0] = dense_copy(tensor_in(c.infer, 0, "input"), c.backend); }

void conj(Call& c) {
    Tensor* x = tensor_in(c.infer, 0, "input");
    if (!is_complex(x->dtype)) {
        c.result[0] = alias(x);
        return;
    }
    c.result[0] = dense_copy(x, c.backend);
    Tensor* out = c.result[0].get();
    if (!out->numel) return;
    int64_t strides[kMaxRank];
    for (int i = 0; i < out->rank(); ++i) strides[i] = 2 * out->strides()[size_t(i)];
    TensorRef imaginary = new_window(out->storage, out->shape(), {strides, size_t(out->rank())},
                                     2 * out->offset + 1, to_real(out->dtype), out->device);
    Operand in[] = {imaginary.get()};
    Tensor* target[] = {imaginary.get()};
    launch({.op = op(need_core(core_ops().neg, "neg", c.op.display())),
            .backend = c.backend,
            .in = in,
            .attr = {},
            .out = target,
            .device = c.infer.device});
}

void contiguous_plan(Call& c) {
    Tensor* x = tensor_in(c.infer, 0, "input");
    c.result[0] = x->contiguous ? alias(x) : dense_copy(x, c.backend);
}

void to(Call& c) {
    Tensor* x = tensor_in(c.infer, 0, "input");
    DType dtype = dtype_attr(c.infer);
    if (dtype == DType::None) dtype = x->dtype;
    Device device = x->device;
    for (const Attr& a : c.infer.attr)
        if (a.kind == TNR_ATTR_I64) {
            device = Device{uint8_t(a.value.i64 >> 8), uint8_t(a.value.i64)};
            break;
        }
    if (device == x->device) {
        c.result[0] = new_tensor(x->shape(), dtype, device);
        return copy_into(c.result[0].get(), x, c.backend);
    }
    if (dtype != x->dtype) {
        TensorRef r = new_tensor(x->shape(), dtype, x->device);
        copy_into(r.get(), x, current_backend(x->device.space));
        x = c.keep(std::move(r));
    }
    bool non_blocking = c.infer.attr.back().kind == TNR_ATTR_BOOL && c.infer.attr.back().value.i64;
    c.result[0] = to_device(x, device, non_blocking);
}

void reshape_to(Call& c, Tensor* x, std::span<const int64_t> size) {
    int64_t shape[kMaxRank], strides[kMaxRank];
    size_t rank = size_t(infer_size(c.infer, size, x->numel, shape));
    TensorRef copied;
    if (!view_strides(x->shape(), x->strides(), {shape, rank}, strides)) {
        copied = dense_copy(x, c.backend);
        x = copied.get();
        dense_strides({shape, rank}, strides);
    }
    if (!x->storage)
        c.result[0] = new_tensor({shape, rank}, x->dtype, x->device);
    else
        c.result[0] = new_window(x->storage, {shape, rank}, {strides, rank}, x->offset, x->dtype, x->device);
}

void reshape(Call& c) { reshape_to(c, tensor_in(c.infer, 0, "input"), span_attr(c.infer, 0, "shape")); }

void flatten(Call& c) {
    Tensor* x = tensor_in(c.infer, 0, "input");
    int64_t start = wrap_dim(c.infer, int_attr(c.infer, 0, "start_dim"), x->rank());
    int64_t end = wrap_dim(c.infer, int_attr(c.infer, 1, "end_dim"), x->rank());
    if (start > end)
        refuse(c.infer, ErrorKind::Runtime, "dim", "start_dim comes after end_dim: got ", start, " and ", end,
               ", expected start_dim <= end_dim. Swap them.");
    int64_t shape[kMaxRank], one = 1;
    size_t n = 0;
    if (!x->rank()) return reshape_to(c, x, {&one, 1});
    for (int64_t i = 0; i < x->rank(); ++i) {
        if (i > start && i <= end)
            shape[n - 1] *= x->shape()[size_t(i)];
        else
            shape[n++] = x->shape()[size_t(i)];
    }
    reshape_to(c, x, {shape, n});
}

const StructuralPlan table[] = {{"cat", cat},        {"stack", stack}, {"pad", pad},
                                {"clone", clone},    {"conj", conj},   {"contiguous", contiguous_plan},
                                {"to", to},          {"cast", to},     {"reshape", reshape},
                                {"flatten", flatten}};

}  // namespace

std::span<const StructuralPlan> layout_plans() { return table; }

}  // namespace tenora
