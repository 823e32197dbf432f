// Structural plans that make tensors from sizes and numbers.
#include <cmath>

#include "internal.h"

namespace tenora {
namespace {

Device device_at(const Call& c, size_t i, Device fallback) {
    if (i < c.infer.attr.size() && c.infer.attr[i].kind == TNR_ATTR_I64)
        return Device{uint8_t(c.infer.attr[i].value.i64 >> 8), uint8_t(c.infer.attr[i].value.i64)};
    return fallback;
}

void make(Call& c, std::span<const int64_t> size, DType dtype, Device device) {
    checked_numel(size, c.op.display());
    c.infer.device = device;
    c.result[0] = new_tensor(size, dtype, device);
}

DType or_default(Call& c) {
    DType dtype = dtype_attr(c.infer);
    return dtype == DType::None ? default_dtype() : dtype;
}

void empty(Call& c) { make(c, span_attr(c.infer, 0, "size"), or_default(c), device_at(c, 2, Device{})); }

void zeros(Call& c) {
    empty(c);
    fill(c.result[0].get(), Scalar::from_int(0));
}

void ones(Call& c) {
    empty(c);
    fill(c.result[0].get(), Scalar::from_int(1));
}

DType dtype_of_number(const Scalar& s) {
    return s.kind == Scalar::Kind::Bool  ? DType::Bool
           : s.kind == Scalar::Kind::Int ? DType::I64
                                         : default_dtype();
}

void full(Call& c) {
    Scalar value = scalar_of(c.infer.attr[1]);
    DType dtype = dtype_attr(c.infer);
    make(c, span_attr(c.infer, 0, "size"), dtype == DType::None ? dtype_of_number(value) : dtype,
         device_at(c, 3, Device{}));
    check_range(c.op.display(), value, c.result[0]->dtype);
    fill(c.result[0].get(), value);
}

void like(Call& c, size_t device_index) {
    Tensor* x = tensor_in(c.infer, 0, "input");
    DType dtype = dtype_attr(c.infer);
    make(c, x->shape(), dtype == DType::None ? x->dtype : dtype, device_at(c, device_index, x->device));
}

void empty_like(Call& c) { like(c, 1); }

void zeros_like(Call& c) {
    like(c, 1);
    fill(c.result[0].get(), Scalar::from_int(0));
}

void ones_like(Call& c) {
    like(c, 1);
    fill(c.result[0].get(), Scalar::from_int(1));
}

void full_like(Call& c) {
    like(c, 2);
    Scalar value = scalar_of(c.infer.attr[0]);
    check_range(c.op.display(), value, c.result[0]->dtype);
    fill(c.result[0].get(), value);
}

bool whole(const Scalar& s) { return s.kind != Scalar::Kind::Float; }

__extension__ using Int128 = __int128;
Int128 exact(const Scalar& s) { return s.wide ? Int128(uint64_t(s.i)) : Int128(s.i); }

// Elements of [start, end) in steps, rounded up; exact for integers.
int64_t steps_between(Call& c, const Scalar& start, const Scalar& end, const Scalar& step) {
    bool integral = whole(start) && whole(end) && whole(step);
    double a = start.real(), b = end.real(), s = step.real();
    if (s == 0 || s != s)
        refuse(c.infer, ErrorKind::Runtime, "value",
               "step is zero: got 0, expected a non-zero step. Pass another step.");
    bool finite = a - a == 0 && b - b == 0;
    if (!finite || (s > 0 && a > b) || (s < 0 && a < b))
        refuse(c.infer, ErrorKind::Runtime, "value", "bounds do not fit the step: got start ", a, ", end ", b,
               " and step ", s, ", expected finite bounds in the step's direction. Swap them.");
    auto too_many = [&](double count) {
        if (count < 9.2e18) return;
        refuse(c.infer, ErrorKind::Runtime, "overflow", "too many elements: got ", count,
               ", expected fewer than 2^63. Use a larger step.");
    };
    if (integral) {
        Int128 span = exact(end) - exact(start), size = exact(step);
        Int128 count = span / size + (span % size != 0);
        too_many(double(count));
        return int64_t(count);
    }
    double count = (b - a) / s;
    too_many(count);
    int64_t whole = int64_t(count);
    return whole + (double(whole) < count);
}

// Integers of 2**63 and more as kernels know them: 64 bits that wrap as uint64 does, or a float.
Scalar as_number_of(Call& c, const Scalar& s, DType dtype) {
    if (!s.wide) return s;
    check_range(c.op.display(), s, dtype);
    return is_integral(dtype) ? Scalar::from_int(s.i) : Scalar::from_float(s.real());
}

// A number of a range of whole numbers, which PyTorch cuts off before it counts.
Scalar cut_off(const Scalar& s) {
    double v = s.real();
    return !whole(s) && std::abs(v) < 9.2e18 ? Scalar::from_int(int64_t(v)) : s;
}

void arange(Call& c) {
    if (c.infer.attr.size() < 3) int_attr(c.infer, 3, "step");
    Scalar start = scalar_of(c.infer.attr[0]), end = scalar_of(c.infer.attr[1]),
           step = scalar_of(c.infer.attr[2]);
    bool integral = whole(start) && whole(end) && whole(step);
    DType dtype = dtype_attr(c.infer);
    if (dtype == DType::None) dtype = integral ? DType::I64 : default_dtype();
    if (dtype == DType::I64) start = cut_off(start), end = cut_off(end), step = cut_off(step);
    int64_t size = steps_between(c, start, end, step);
    if (is_integral(dtype)) start = cut_off(start), step = cut_off(step);
    start = as_number_of(c, start, dtype);
    step = as_number_of(c, step, dtype);
    make(c, {&size, 1}, dtype, device_at(c, 4, Device{}));
    if (!size) return;
    Attr attr[] = {attr_scalar(start), attr_scalar(step)};
    Tensor* out[] = {c.result[0].get()};
    c.backend = current_backend(c.infer.device.space);
    launch({.op = op(need_core(core_ops().iota, "iota", c.op.display())),
            .backend = c.backend,
            .in = {},
            .attr = attr,
            .out = out,
            .device = c.infer.device,
            .fresh = true});
}

const StructuralPlan table[] = {
    {"empty", empty},         {"zeros", zeros},           {"ones", ones},
    {"full", full},           {"empty_like", empty_like}, {"zeros_like", zeros_like},
    {"ones_like", ones_like}, {"full_like", full_like},   {"arange", arange}};

}  // namespace

std::span<const StructuralPlan> creation_plans() { return table; }

}  // namespace tenora
