#include "rules.h"

#include <limits>

namespace tenora {

static const Attr& attr_at(const Infer& c, size_t i, const char* name) {
    if (i >= c.attr.size())
        refuse(c, ErrorKind::Type, "argument", "missing argument `", name, "`: got ", c.attr.size(),
               " attributes, expected more than ", i, ". Register the op with its full signature.");
    return c.attr[i];
}

static const char* kind_name(uint8_t kind) {
    static const char* const names[] = {"None",  "int",          "float", "bool",
                                        "dtype", "list of ints", "str",   "number"};
    return kind < 8 ? names[kind] : "unknown";
}

bool has_attr(const Infer& c, size_t i) { return i < c.attr.size() && c.attr[i].kind != TNR_ATTR_NONE; }

int64_t int_attr(const Infer& c, size_t i, const char* name) {
    const Attr& a = attr_at(c, i, name);
    if (a.kind == TNR_ATTR_I64 || a.kind == TNR_ATTR_BOOL) return a.value.i64;
    if (a.kind == TNR_ATTR_SPAN && a.count == 1) return a.value.span[0];
    if (a.kind == TNR_ATTR_SCALAR && a.dtype == TNR_I64) return a.value.i64;
    refuse(c, ErrorKind::Type, "argument", "wrong type of `", name, "`: got ", kind_name(a.kind),
           ", expected int. Pass an integer.");
}

bool bool_attr(const Infer& c, size_t i, bool fallback) {
    if (!has_attr(c, i)) return fallback;
    const Attr& a = c.attr[i];
    if (a.kind == TNR_ATTR_BOOL || a.kind == TNR_ATTR_I64) return a.value.i64 != 0;
    refuse(c, ErrorKind::Type, "argument", "wrong type of argument ", i, ": got ", kind_name(a.kind),
           ", expected bool. Pass True or False.");
}

std::span<const int64_t> span_attr(const Infer& c, size_t i, const char* name) {
    const Attr& a = attr_at(c, i, name);
    if (a.kind == TNR_ATTR_SPAN) return {a.value.span, a.count};
    if (a.kind == TNR_ATTR_I64) return {&a.value.i64, 1};
    refuse(c, ErrorKind::Type, "argument", "wrong type of `", name, "`: got ", kind_name(a.kind),
           ", expected a list of ints. Pass a tuple or list of integers.");
}

DType dtype_attr(const Infer& c) {
    for (const Attr& a : c.attr)
        if (a.kind == TNR_ATTR_DTYPE) return DType(a.value.i64);
    return DType::None;
}

std::string_view string_attr(const Infer& c) {
    for (const Attr& a : c.attr)
        if (a.kind == TNR_ATTR_STRING) return {a.value.string, a.count};
    return {};
}

Tensor* tensor_in(const Infer& c, size_t i, const char* name) {
    if (i < c.in.size() && c.in[i].tensor) return c.in[i].tensor;
    refuse(c, ErrorKind::Type, "argument", "wrong argument `", name, "`: got ",
           i >= c.in.size()     ? "nothing"
           : c.in[i].has_scalar ? "a number"
                                : "None",
           ", expected a tensor. Wrap numbers with tenora.tensor(...).");
}

Tensor* first_tensor(const Infer& c) {
    for (const Operand& o : c.in)
        if (o.tensor) return o.tensor;
    refuse(c, ErrorKind::Type, "argument",
           "no tensor among the operands: got numbers only, expected at least one tensor. "
           "Wrap one with tenora.tensor(...).");
}

int64_t wrap_dim(const Infer& c, int64_t dim, int64_t rank) {
    int64_t n = rank ? rank : 1;
    if (dim < -n || dim >= n)
        refuse(c, ErrorKind::Index, "dim", "dimension out of range: got ", dim, ", expected ", -n, " to ",
               n - 1, " for a tensor of rank ", rank, ". Pass a dimension the tensor has.");
    return dim < 0 ? dim + n : dim;
}

int64_t add_checked(const Infer& c, int64_t a, int64_t b) {
    int64_t r;
    if (__builtin_add_overflow(a, b, &r))
        refuse(c, ErrorKind::Runtime, "overflow", "size overflows 64 bits: got ", a, " + ", b,
               ", expected at most 2^63 - 1. Use smaller sizes.");
    return r;
}

int64_t mul_checked(const Infer& c, int64_t a, int64_t b) {
    int64_t r;
    if (__builtin_mul_overflow(a, b, &r))
        refuse(c, ErrorKind::Runtime, "overflow", "size overflows 64 bits: got ", a, " * ", b,
               ", expected at most 2^63 - 1. Use smaller sizes.");
    return r;
}

void set_shape(OutMeta& m, std::span<const int64_t> shape) {
    m.rank = int(shape.size());
    for (size_t i = 0; i < shape.size(); ++i) m.shape[i] = shape[i];
}

void check_shape(const Infer& c, std::span<const int64_t> shape) { checked_numel(shape, c.op.display()); }

void broadcast_into(const Infer& c, OutMeta& m, std::span<const int64_t> shape) {
    int rank = int(shape.size());
    if (rank > m.rank) {
        int shift = rank - m.rank;
        for (int i = m.rank - 1; i >= 0; --i) m.shape[i + shift] = m.shape[i];
        for (int i = 0; i < shift; ++i) m.shape[i] = 1;
        m.rank = rank;
    }
    for (int i = 0; i < rank; ++i) {
        int64_t& size = m.shape[m.rank - rank + i];
        if (size == shape[i] || shape[i] == 1) continue;
        if (size != 1)
            refuse(c, ErrorKind::Runtime, "shape", "shapes do not broadcast: got ", shape, " against ",
                   std::span<const int64_t>(m.shape, size_t(m.rank)),
                   ", expected equal sizes or 1 in dimension ", m.rank - rank + i,
                   ". Reshape or expand one operand.");
        size = shape[i];
    }
}

int64_t* new_span(Infer& c, size_t i, size_t count) {
    int64_t* p = c.scratch(count ? count : 1);
    c.attr[i] = attr_span({p, count});
    return p;
}

int64_t* Infer::scratch(size_t count) {
    if (scratch_used + count <= std::size(scratch_inline)) {
        int64_t* p = scratch_inline + scratch_used;
        scratch_used += count;
        return p;
    }
    scratch_blocks.push_back(std::make_unique<int64_t[]>(count));
    return scratch_blocks.back().get();
}

DTypeRule find_dtype_rule(std::string_view name) {
    for (const RuleName& r : dtype_rules())
        if (r.name == name) return r.rule;
    return nullptr;
}

ShapeRule find_shape_rule(std::string_view name) {
    for (auto table : {basic_shape_rules(), view_shape_rules(), matmul_shape_rules(), index_shape_rules(),
                       window_shape_rules()})
        for (const RuleName& r : table)
            if (r.name == name) return r.rule;
    return nullptr;
}

}  // namespace tenora
