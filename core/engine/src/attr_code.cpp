// Attribute instructions: arithmetic on numbers and spans, metadata of tensors.
//   - Number results: two integers give I64 (true_div and negative
//     powers: F64); a SCALAR operand gives SCALAR; else F64.
//   - Integer division and modulo round towards minus infinity, as Python's do.

#include "attr_code.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "tenora/error.h"

namespace tenora {

namespace {

constexpr AttrCodeInfo kCodes[] = {
    {"add", 0, 2},         {"sub", 0, 2},      {"mul", 0, 2},
    {"floor_div", 0, 2},   {"true_div", 0, 2}, {"mod", 0, 2},
    {"min", 0, 2},         {"max", 0, 2},      {"neg", 0, 1},
    {"pow", 0, 2},         {"shape", 1, 0},    {"size", 1, 1},
    {"numel", 1, 0},       {"ndim", 1, 0},     {"dtype_of", 1, 0},
    {"device_of", 1, 0},   {"item", 0, 2},     {"length", 0, 1},
    {"make_span", 0, -1},  {"concat", 0, -1},  {"inverse_permutation", 0, 1},
    {"normal_dims", 0, 2}, {"as_int", 0, 1},   {"as_float", 0, 1},
    {"as_scalar", 0, 1},   {"slice", 0, 3},    {"product", 0, 1},
    {"take", 0, 2},        {"replace", 0, 3},  {"range", 0, 1},
};
static_assert(std::size(kCodes) == size_t(AttrCode::Count));

[[noreturn]] void bad(std::string_view op, AttrCode code, const std::string& what) {
    fail(ErrorKind::Runtime, "program", op,
         "attribute instruction " + std::string(name_of(code)) + ": " + what + ". Check the op's formula.");
}

bool is_number(const Attr& a) {
    return a.kind == TNR_ATTR_I64 || a.kind == TNR_ATTR_F64 || a.kind == TNR_ATTR_BOOL ||
           a.kind == TNR_ATTR_SCALAR;
}
bool is_float(const Attr& a) {
    return a.kind == TNR_ATTR_F64 ||  // beyond 63 bits numbers compute as floats
           (a.kind == TNR_ATTR_SCALAR && (a.dtype == TNR_F64 || a.dtype == TNR_U64));
}
double as_double(const Attr& a) { return is_number(a) ? scalar_of(a).real() : 0; }

int64_t as_int(const Attr& a, AttrCode code, std::string_view op) {
    if (!is_number(a)) bad(op, code, "got something else, expected an integer");
    return is_float(a) ? int64_t(as_double(a)) : a.value.i64;
}

std::span<const int64_t> as_span(const Attr& a, AttrCode code, std::string_view op) {
    if (a.kind != TNR_ATTR_SPAN) bad(op, code, "got a number or None, expected a span of integers");
    return {a.value.span, a.count};
}

Attr number(bool scalar, bool floating, double f, int64_t i) {
    if (scalar) return attr_scalar(floating ? Scalar::from_float(f) : Scalar::from_int(i));
    return floating ? attr_float(f) : attr_int(i);
}

int64_t floor_div(int64_t a, int64_t b) {
    int64_t q = a / b;
    return q - ((a % b != 0) && ((a < 0) != (b < 0)));
}

int64_t int_pow(int64_t base, int64_t exponent) {
    uint64_t result = 1, b = uint64_t(base);
    for (; exponent > 0; exponent >>= 1, b *= b)
        if (exponent & 1) result *= b;
    return int64_t(result);
}

int64_t integer_result(AttrCode code, int64_t a, int64_t b, std::string_view op) {
    switch (code) {
        case AttrCode::Add:
            return int64_t(uint64_t(a) + uint64_t(b));
        case AttrCode::Sub:
            return int64_t(uint64_t(a) - uint64_t(b));
        case AttrCode::Mul:
            return int64_t(uint64_t(a) * uint64_t(b));
        case AttrCode::Min:
            return std::min(a, b);
        case AttrCode::Max:
            return std::max(a, b);
        case AttrCode::Neg:
            return int64_t(0 - uint64_t(a));
        case AttrCode::Pow:
            return int_pow(a, b);
        default:
            break;
    }
    if (b == 0) bad(op, code, "division by zero");
    if (b == -1) return code == AttrCode::Mod ? 0 : int64_t(0 - uint64_t(a));
    return code == AttrCode::Mod ? a - floor_div(a, b) * b : floor_div(a, b);
}

double float_result(AttrCode code, double a, double b) {
    switch (code) {
        case AttrCode::Add:
            return a + b;
        case AttrCode::Sub:
            return a - b;
        case AttrCode::Mul:
            return a * b;
        case AttrCode::TrueDiv:
            return a / b;
        case AttrCode::FloorDiv:
            return std::floor(a / b);
        case AttrCode::Mod:
            return a - std::floor(a / b) * b;
        case AttrCode::Min:
            return std::fmin(a, b);
        case AttrCode::Max:
            return std::fmax(a, b);
        case AttrCode::Neg:
            return -a;
        default:
            return std::pow(a, b);
    }
}

Attr arithmetic(AttrCode code, std::span<const Attr> args, std::string_view op) {
    const Attr& a = args[0];
    const Attr& b = args[args.size() - 1];
    if (!is_number(a) || !is_number(b)) bad(op, code, "got a span or None, expected numbers");
    bool scalar = a.kind == TNR_ATTR_SCALAR || b.kind == TNR_ATTR_SCALAR;
    bool floating = is_float(a) || is_float(b) || code == AttrCode::TrueDiv ||
                    (code == AttrCode::Pow && !is_float(b) && b.value.i64 < 0);
    if (floating) return number(scalar, true, float_result(code, as_double(a), as_double(b)), 0);
    return number(scalar, false, 0, integer_result(code, a.value.i64, b.value.i64, op));
}

Attr copy_span(std::span<const int64_t> values, SpanArena& arena) {
    int64_t* data = arena.take(values.size());
    std::copy(values.begin(), values.end(), data);
    return attr_span({data, values.size()});
}

int64_t checked_index(int64_t index, size_t size, AttrCode code, std::string_view op) {
    int64_t i = index < 0 ? index + int64_t(size) : index;
    if (i < 0 || i >= int64_t(size))
        bad(op, code,
            "index " + std::to_string(index) + " is out of range for " + std::to_string(size) + " values");
    return i;
}

Attr normal_dims(const Attr& dims, int64_t ndim, SpanArena& arena, std::string_view op) {
    constexpr AttrCode code = AttrCode::NormalDims;
    bool all = dims.kind == TNR_ATTR_NONE;
    int64_t one = is_number(dims) ? as_int(dims, code, op) : 0;
    std::span<const int64_t> given = all               ? std::span<const int64_t>{}
                                     : is_number(dims) ? std::span(&one, 1)
                                                       : as_span(dims, code, op);
    size_t count = all ? size_t(ndim) : given.size();
    int64_t* data = arena.take(count);
    for (size_t i = 0; i < count; ++i)
        data[i] = all ? int64_t(i) : (ndim == 0 ? 0 : checked_index(given[i], size_t(ndim), code, op));
    std::sort(data, data + count);
    return attr_span({data, count});
}

Attr of_tensor(AttrCode code, const Tensor* t, std::span<const Attr> args, SpanArena& arena,
               std::string_view op) {
    switch (code) {
        case AttrCode::Shape:  // copied: the tensor may be gone before the shape is used
            return copy_span(t->shape(), arena);
        case AttrCode::Size:
            return attr_int(
                t->dl.shape[checked_index(as_int(args[0], code, op), t->shape().size(), code, op)]);
        case AttrCode::Numel:
            return attr_int(t->numel);
        case AttrCode::Ndim:
            return attr_int(t->rank());
        case AttrCode::DTypeOf:
            return attr_dtype(t->dtype);
        default:
            return attr_int(int64_t(t->device.space) << 8 | t->device.index);
    }
}

Attr make_span(AttrCode code, std::span<const Attr> args, SpanArena& arena, std::string_view op) {
    size_t count = 0;
    for (const Attr& a : args) count += a.kind == TNR_ATTR_SPAN ? a.count : 1;
    int64_t* data = arena.take(count);
    int64_t* p = data;
    for (const Attr& a : args) {
        if (a.kind == TNR_ATTR_SPAN)
            p = std::copy_n(a.value.span, a.count, p);
        else
            *p++ = as_int(a, code, op);
    }
    return attr_span({data, count});
}

Attr slice(std::span<const int64_t> v, const Attr& start, const Attr& stop, SpanArena& arena,
           std::string_view op) {
    int64_t n = int64_t(v.size());
    auto bound = [&](const Attr& a, int64_t absent) {
        if (a.kind == TNR_ATTR_NONE) return absent;
        int64_t i = as_int(a, AttrCode::Slice, op);
        return std::clamp<int64_t>(i < 0 ? i + n : i, 0, n);
    };
    int64_t first = bound(start, 0), last = bound(stop, n);
    return copy_span(v.subspan(size_t(first), size_t(std::max<int64_t>(last - first, 0))), arena);
}

Attr of_spans(AttrCode code, std::span<const Attr> args, SpanArena& arena, std::string_view op) {
    std::span<const int64_t> v = as_span(args[0], code, op);
    switch (code) {
        case AttrCode::Item:
            return attr_int(v[size_t(checked_index(as_int(args[1], code, op), v.size(), code, op))]);
        case AttrCode::Length:
            return attr_int(int64_t(v.size()));
        case AttrCode::Slice:
            return slice(v, args[1], args[2], arena, op);
        case AttrCode::Product: {
            int64_t p = 1;
            for (int64_t x : v) p *= x;
            return attr_int(p);
        }
        case AttrCode::InversePermutation: {
            int64_t* data = arena.take(v.size());
            for (size_t i = 0; i < v.size(); ++i) data[checked_index(v[i], v.size(), code, op)] = int64_t(i);
            return attr_span({data, v.size()});
        }
        case AttrCode::Take: {
            std::span<const int64_t> indices = as_span(args[1], code, op);
            int64_t* data = arena.take(indices.size());
            for (size_t i = 0; i < indices.size(); ++i)
                data[i] = v[size_t(checked_index(indices[i], v.size(), code, op))];
            return attr_span({data, indices.size()});
        }
        default: {  // Replace
            Attr copy = copy_span(v, arena);
            const_cast<int64_t*>(
                copy.value.span)[checked_index(as_int(args[1], code, op), v.size(), code, op)] =
                as_int(args[2], code, op);
            return copy;
        }
    }
}

}  // namespace

const AttrCodeInfo& info_of(AttrCode code) { return kCodes[size_t(code)]; }
std::string_view name_of(AttrCode code) { return kCodes[size_t(code)].name; }

int find_attr_code(std::string_view name) {
    for (size_t i = 0; i < std::size(kCodes); ++i)
        if (kCodes[i].name == name) return int(i);
    return -1;
}

int64_t* SpanArena::take(size_t count) {
    if (used_ + count <= kInline) {
        used_ += count;
        return inline_ + used_ - count;
    }
    blocks_.push_back(std::make_unique<int64_t[]>(std::max<size_t>(count, 1)));
    return blocks_.back().get();
}

Scalar to_scalar(const Attr& a) {
    Scalar s;
    if (a.kind == TNR_ATTR_BOOL || (a.kind == TNR_ATTR_SCALAR && a.dtype == TNR_BOOL))
        s = Scalar::from_bool(a.value.i64 != 0);
    else if (a.kind == TNR_ATTR_SCALAR && a.dtype == TNR_U64)
        s = Scalar::from_unsigned(uint64_t(a.value.i64));
    else if (is_float(a))
        s = Scalar::from_float(a.value.f64);
    else
        s = Scalar::from_int(a.value.i64);
    if (a.kind == TNR_ATTR_SCALAR) s.weak = a.weak != 0;
    return s;
}

Attr evaluate(AttrCode code, const Tensor* tensor, std::span<const Attr> args, SpanArena& arena,
              std::string_view op) {
    if (code == AttrCode::Neg && args[0].kind == TNR_ATTR_SPAN) {
        Attr out = copy_span(as_span(args[0], code, op), arena);
        for (uint32_t i = 0; i < out.count; ++i) const_cast<int64_t*>(out.value.span)[i] *= -1;
        return out;
    }
    if (code <= AttrCode::Pow) return arithmetic(code, args, op);
    if (code <= AttrCode::DeviceOf) return of_tensor(code, tensor, args, arena, op);
    switch (code) {
        case AttrCode::MakeSpan:
        case AttrCode::Concat:
            return make_span(code, args, arena, op);
        case AttrCode::NormalDims:
            return normal_dims(args[0], as_int(args[1], code, op), arena, op);
        case AttrCode::AsInt:
            return attr_int(as_int(args[0], code, op));
        case AttrCode::AsFloat:
        case AttrCode::AsScalar:
            if (!is_number(args[0])) bad(op, code, "got a span or None, expected a number");
            return code == AttrCode::AsFloat ? attr_float(as_double(args[0]))
                                             : attr_scalar(to_scalar(args[0]));
        case AttrCode::Range: {
            int64_t n = std::max<int64_t>(as_int(args[0], code, op), 0);
            int64_t* data = arena.take(size_t(n));
            for (int64_t i = 0; i < n; ++i) data[i] = i;
            return attr_span({data, size_t(n)});
        }
        default:
            return of_spans(code, args, arena, op);
    }
}

}  // namespace tenora
