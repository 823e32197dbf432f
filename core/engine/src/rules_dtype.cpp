// dtype rules: what operands are computed in, and what the result is.
//   - Promotion is PyTorch's: operands with dimensions decide;
//     0-d tensors and then numbers matter only when their
//     category (bool < integral < floating < complex) is higher.
//   - A rule sets `compute` (what operands in cast_mask are cast to), `result` and out[i].dtype.
#include "rules.h"
#include "tenora/dispatch.h"

namespace tenora {

DType dtype_of(const Scalar& s) {
    switch (s.kind) {
        case Scalar::Kind::Bool:
            return DType::Bool;
        case Scalar::Kind::Int:
            return DType::I64;
        case Scalar::Kind::Float:
            return s.weak ? default_dtype() : DType::F64;
        case Scalar::Kind::Complex:
            return s.weak ? to_complex(default_dtype()) : DType::C128;
    }
    return DType::None;
}

static DType promote_or(DType a, DType b) {
    if (a == DType::None) return b;
    if (b == DType::None || a == b) return a;
    return promote(a, b);
}

// `higher` has priority; `lower` only raises the category.
static DType combine(DType higher, DType lower) {
    if (higher == DType::None) return lower;
    if (lower == DType::None || is_complex(higher)) return higher;
    if (is_floating(higher)) return is_complex(lower) ? to_complex(higher) : higher;
    if (is_differentiable(lower)) return lower;  // of uint16, too, which meets complex tensors nowhere
    return higher == DType::Bool ? promote_or(higher, lower) : higher;
}

DType promote_operands(std::span<const Operand> in, size_t first) {
    DType dimensioned = DType::None, zero = DType::None, weak = DType::None;
    for (size_t i = first; i < in.size(); ++i) {
        if (in[i].tensor) {
            DType& slot = in[i].tensor->rank() ? dimensioned : zero;
            slot = promote_or(slot, in[i].tensor->dtype);
        } else if (in[i].has_scalar) {
            DType& slot = in[i].scalar.weak ? weak : zero;
            slot = promote_or(slot, dtype_of(in[i].scalar));
        }
    }
    return combine(dimensioned, combine(zero, weak));
}

namespace {

void finish(Infer& c, DType compute, DType result) {
    c.compute = compute;
    c.result = result;
    for (int i = 0; i < c.op.spec.n_out; ++i) c.out[i].dtype = result;
}

DType promoted(Infer& c) {
    DType d = promote_operands(c.in);
    if (d == DType::None) first_tensor(c);  // throws
    return d;
}

[[noreturn]] void refuse_dtype(Infer& c, DType got, const char* expected, const char* what_to_do) {
    refuse(c, ErrorKind::NotImplemented, "dtype", "dtype not supported: got ", got, ", expected ", expected,
           ". ", what_to_do);
}

// A number that does not fit: elements are to be chosen from it or bounded by it, and none of the dtype would
// be. (Sums, products and bits of whole numbers wrap, and their numbers with them.)
void check_numbers(Infer& c, DType dtype, size_t first) {
    for (size_t i = first; i < c.in.size(); ++i)
        if (!c.in[i].tensor && c.in[i].has_scalar) check_range(c.op.display(), c.in[i].scalar, dtype);
}

// A float `alpha` with an integral result would silently round; a whole one has to fit;
// of it only whether it is 0 counts for bool.
void check_scalar_attrs(Infer& c, DType result) {
    for (Attr& a : c.attr) {
        if (a.kind != TNR_ATTR_SCALAR) continue;
        if (a.dtype == TNR_F64 && !is_differentiable(result))
            refuse(c, ErrorKind::Runtime, "dtype",
                   "a float factor needs a floating result: got a float with ", result,
                   ", expected an integer. Cast the tensor first or pass an integer.");
        check_range(c.op.display(), scalar_of(a), result);
        if (a.dtype == TNR_I64 && result == DType::Bool) a = attr_scalar(Scalar::from_bool(a.value.i64 != 0));
    }
}

void promote_rule(Infer& c) {
    DType d = promoted(c);
    if (!c.attr.empty()) check_scalar_attrs(c, d);
    finish(c, d, d);
}

DType promoted_real(Infer& c) {
    DType d = promoted(c);
    if (is_complex(d))
        refuse_dtype(c, d, "a real type", "Complex numbers have no order; use abs() or real first.");
    return d;
}

// Of a loss that stays whole: a sum of whole numbers is an int64, as everywhere.
void loss_rule(Infer& c) {
    DType d = promoted(c);
    if (!is_differentiable(d) && string_attr(c) == "sum") return finish(c, d, DType::I64);
    finish(c, d, d);
}

// Distances of complex numbers are real.
void loss_modulus(Infer& c) {
    loss_rule(c);
    finish(c, c.compute, to_real(c.result));
}

// Squares of differences: those of complex numbers are no distance.
void loss_real(Infer& c) {
    promoted_real(c);
    loss_rule(c);
}

// Of a loss that only compares its target.
void loss_first(Infer& c) {
    DType d = first_tensor(c)->dtype;
    bool whole = !is_differentiable(d) && string_attr(c) == "sum";
    finish(c, DType::None, whole ? DType::I64 : d);
}

void promote_no_bool(Infer& c) {
    DType d = promoted(c);
    for (const Operand& o : c.in)
        if (o.tensor ? o.tensor->dtype == DType::Bool : o.has_scalar && o.scalar.kind == Scalar::Kind::Bool)
            refuse_dtype(c, DType::Bool, "a number type", "Use logical_xor or logical_not on bool tensors.");
    if (!c.attr.empty()) check_scalar_attrs(c, d);
    finish(c, d, d);
}

DType floated(DType d) { return is_differentiable(d) ? d : default_dtype(); }

void promote_float(Infer& c) {
    DType d = floated(promoted(c));
    finish(c, d, d);
}

// addcdiv: what integers would give is left open, as in PyTorch.
void promote_quotient(Infer& c) {
    for (size_t i : {size_t(1), size_t(2)})
        if (Tensor* t = c.in[i].tensor; !t || is_differentiable(t->dtype)) return promote_float(c);
    refuse_dtype(c, c.in[2].tensor->dtype, "a floating or complex type in one of tensor1 and tensor2",
                 "Cast one with .to(tenora.float32).");
}

// lerp: tensors alone are promoted, into whose dtype a number must go.
void promote_tensors(Infer& c) {
    DType d = DType::None;
    for (const Operand& o : c.in)
        if (o.tensor) d = promote_or(d, o.tensor->dtype);
    for (const Operand& o : c.in)
        if (!o.tensor && o.has_scalar && o.scalar.kind == Scalar::Kind::Complex)
            check_range(c.op.display(), o.scalar, d);
    promote_rule(c);
}

// A distance or a loss: real, of real and of complex numbers.
void promote_modulus(Infer& c) {
    DType d = floated(promoted(c));
    finish(c, d, to_real(d));
}

void promote_bool(Infer& c) { finish(c, promoted(c), DType::Bool); }

// isclose: its first two attributes are how far apart elements may be.
void closeness(Infer& c) {
    for (size_t i : {size_t(0), size_t(1)})
        if (double given = c.attr[i].value.f64; !(given >= 0))
            refuse(c, ErrorKind::Runtime, "value", i ? "atol" : "rtol", ": got ", given,
                   ", expected 0 or more. Pass a distance that is not below 0.");
    promote_bool(c);
}

void promote_real(Infer& c) {
    DType d = promoted_real(c);
    finish(c, d, d);
}

// Of real numbers; bool is none here, as in PyTorch.
void promote_real_number(Infer& c) {
    promote_real(c);
    if (c.result == DType::Bool)
        refuse_dtype(c, DType::Bool, "a number type", "Cast with .to(tenora.float32).");
}

// The larger, the smaller, what lies between: one of the operands.
void promote_bounds(Infer& c) {
    promote_real(c);
    check_numbers(c, c.result, 0);
}

void promote_float_real(Infer& c) {
    DType d = floated(promoted_real(c));
    finish(c, d, d);
}

// A loss that is computed promoted and kept in the floating dtype of operand i, where it has one.
void keep_dtype_of(Infer& c, size_t i) {
    Tensor* t = c.in[i].tensor;
    if (t && is_floating(t->dtype)) finish(c, promote_or(c.compute, t->dtype), t->dtype);
}

void loss_like_input(Infer& c) {
    promote_float_real(c);
    keep_dtype_of(c, 0);
}

void loss_like_target(Infer& c) {
    promote_float(c);
    keep_dtype_of(c, 1);
}

// exp and log of whole numbers have the default dtype, which a half type of the target does not lower.
void loss_poisson(Infer& c) {
    promote_float(c);
    Tensor *x = first_tensor(c), *y = c.in[1].tensor;
    if (!y || is_differentiable(x->dtype) || (y->rank() && !x->rank())) return;
    DType d = promote_or(default_dtype(), y->dtype);
    finish(c, d, d);
}

// Each vector's length is a floating number of its own; the target is only compared.
void loss_cosine(Infer& c) {
    promote_float(c);
    DType d =
        promote_or(floated(tensor_in(c, 0, "input1")->dtype), floated(tensor_in(c, 1, "input2")->dtype));
    finish(c, d, d);
}

// Each distance is a floating number of its own; the last attribute but one says whether there is a third.
void loss_triplet(Infer& c) {
    auto distance = [&c](size_t i, size_t j) {
        return floated(promote_or(tensor_in(c, i, "anchor")->dtype, tensor_in(c, j, "positive")->dtype));
    };
    DType d = promote_or(distance(0, 1), distance(0, 2));
    if (bool_attr(c, c.attr.size() - 2, false)) d = promote_or(d, distance(1, 2));
    finish(c, d, to_real(d));
}

void promote_bool_real(Infer& c) { finish(c, promoted_real(c), DType::Bool); }

void promote_integral(Infer& c) {
    DType d = promoted(c);
    if (is_differentiable(d)) refuse_dtype(c, d, "bool or an integer type", "Cast with .to(tenora.int64).");
    finish(c, d, d);
}

void promote_whole(Infer& c) {
    promote_integral(c);
    if (c.result == DType::Bool)
        refuse_dtype(c, DType::Bool, "an integer type", "Cast with .to(tenora.int64).");
}

void div_rule(Infer& c) {
    if (has_attr(c, 0)) return promote_real(c);
    promote_float(c);
}

void pow_rule(Infer& c) {
    DType d = promoted(c);
    if (c.in.size() > 1 && c.in[1].has_scalar && c.in[1].scalar.kind == Scalar::Kind::Int &&
        c.in[1].scalar.i < 0 && !c.in[1].scalar.wide && !is_differentiable(d))
        refuse(c, ErrorKind::Runtime, "value", "integers to negative integer powers are not integers: got ",
               c.in[1].scalar.i, ", expected 0 or more. Cast the tensor to a floating type.");
    check_numbers(c, d, 1);
    finish(c, d, d);
}

void abs_rule(Infer& c) {
    DType d = promoted(c);
    finish(c, d, to_real(d));
}

void same_rule(Infer& c) { finish(c, DType::None, first_tensor(c)->dtype); }

void same_all(Infer& c) {
    DType d = first_tensor(c)->dtype;
    for (size_t i = 0; i < c.in.size(); ++i)
        if (c.in[i].tensor && c.in[i].tensor->dtype != d)
            refuse(c, ErrorKind::Runtime, "dtype", "operands have different dtypes: got ", d, " and ",
                   c.in[i].tensor->dtype, ", expected one dtype. Cast one of them with .to(...).");
    finish(c, d, d);
}

void float_same(Infer& c) {
    same_all(c);
    if (!is_differentiable(c.result))
        refuse_dtype(c, c.result, "a floating or complex type", "Cast with .to(tenora.float32).");
}

void float_same_real(Infer& c) {
    float_same(c);
    if (is_complex(c.result))
        refuse_dtype(c, c.result, "a floating type",
                     "Complex numbers have no order; use abs() or real first.");
}

// The weights of a layer in a half type may all stay in float32, as PyTorch's; the result has the input's
// dtype.
void layer_rule(Infer& c) {
    DType d = first_tensor(c)->dtype;
    bool half = d == DType::F16 || d == DType::BF16, wide = false, narrow = false;
    for (size_t i = 0; i < c.in.size(); ++i) {
        if (!c.in[i].tensor || c.in[i].tensor == first_tensor(c)) continue;
        (c.in[i].tensor->dtype == DType::F32 ? wide : narrow) = true;
    }
    if (!half || !wide || narrow) return float_same_real(c);
    finish(c, DType::F32, d);
}

void gelu(Infer& c) {
    float_same_real(c);
    std::string_view name = string_attr(c);
    if (name != "none" && name != "tanh")
        refuse(c, ErrorKind::Runtime, "argument", "unknown approximate: got '", name,
               "', expected 'none' or 'tanh'. Pass one of these.");
}

// A statistic of floating or complex numbers that is real: variance, norm.
void float_real(Infer& c) {
    DType d = first_tensor(c)->dtype;
    if (!is_differentiable(d))
        refuse_dtype(c, d, "a floating or complex type", "Cast with .to(tenora.float32).");
    finish(c, d, to_real(d));
}

void like_first(Infer& c) {
    DType d = first_tensor(c)->dtype;
    finish(c, d, d);
    for (size_t i = 1; i < c.in.size(); ++i) {
        Tensor* t = c.in[i].tensor;
        if (t && t->dtype != d && (t->dtype == DType::Bool || t->dtype == DType::I64))
            c.cast_mask &= ~operand_bit(i);
    }
}

// The same for a floating first operand.
void float_like_first(Infer& c) {
    like_first(c);
    if (!is_differentiable(c.result) || is_complex(c.result))
        refuse_dtype(c, c.result, "a floating type", "Cast with .to(tenora.float32).");
}

// The first operand's, beside class numbers.
void float_first(Infer& c) {
    same_rule(c);
    if (!is_differentiable(c.result) || is_complex(c.result))
        refuse_dtype(c, c.result, "a floating type", "Cast with .to(tenora.float32).");
}

void bool_rule(Infer& c) {
    first_tensor(c);
    finish(c, DType::None, DType::Bool);
}

void index_rule(Infer& c) {
    first_tensor(c);
    finish(c, DType::None, DType::I64);
}

void value_index(Infer& c) {
    finish(c, DType::None, first_tensor(c)->dtype);
    for (int i = 1; i < c.op.spec.n_out; ++i) c.out[i].dtype = DType::I64;
}

void uint32_rule(Infer& c) { finish(c, DType::None, DType::U32); }

void sum_rule(Infer& c) {
    DType d = dtype_attr(c);
    if (d == DType::None) {
        d = first_tensor(c)->dtype;
        if (!is_differentiable(d)) d = DType::I64;
    }
    finish(c, d, d);
}

// nansum: what is no number is left out before anything is cast.
void sum_as_given(Infer& c) {
    sum_rule(c);
    c.compute = DType::None;
}

void mean_rule(Infer& c) {
    DType d = dtype_attr(c);
    if (d == DType::None) d = first_tensor(c)->dtype;
    if (!is_differentiable(d))
        refuse_dtype(c, d, "a floating or complex type", "Cast with .to(tenora.float32) or pass dtype=.");
    finish(c, d, d);
}

void attr_rule(Infer& c) {
    DType d = dtype_attr(c);
    if (d == DType::None) d = default_dtype();
    finish(c, d, d);
}

void attr_or_same(Infer& c) {
    DType d = dtype_attr(c);
    if (d == DType::None) d = first_tensor(c)->dtype;
    finish(c, DType::None, d);
}

void creation_rule(Infer& c) {
    DType d = dtype_attr(c);
    if (d == DType::None) {
        bool any_float = false, any = false, all_bool = true;
        for (const Attr& a : c.attr) {
            bool number = a.kind == TNR_ATTR_SCALAR || a.kind == TNR_ATTR_F64;
            if (!number) continue;
            any = true;
            any_float |= a.kind == TNR_ATTR_F64 || a.dtype == TNR_F64;
            all_bool &= a.kind == TNR_ATTR_SCALAR && a.dtype == TNR_BOOL;
        }
        d = !any || any_float ? default_dtype() : all_bool ? DType::Bool : DType::I64;
    }
    finish(c, d, d);
}

void where_rule(Infer& c) {
    Tensor* condition = tensor_in(c, 0, "condition");
    if (condition->dtype != DType::Bool && condition->dtype != DType::U8)  // the bool of old programs
        refuse(c, ErrorKind::Runtime, "dtype", "wrong dtype of the condition: got ", condition->dtype,
               ", expected bool. Compare it with something, e.g. `condition != 0`.");
    if (condition->dtype == DType::U8) warn_of_byte_mask(c.op.display());
    DType d = promote_operands(c.in, 1);
    c.cast_mask &= ~1ull;
    check_numbers(c, d, 1);
    finish(c, d, d);
}

// Without elements there is nothing to read, and no dtype is wrong, as in PyTorch.
void check_places(Infer& c, size_t i) {
    Tensor* t = tensor_in(c, i, "index");
    if (t->dtype != DType::I64 && t->dtype != DType::I32 && t->numel)
        refuse(c, ErrorKind::Runtime, "dtype", "wrong dtype of the index: got ", t->dtype,
               ", expected int64 or int32. Cast it with .to(tenora.int64).");
}

void gather_rule(Infer& c) {
    check_places(c, 1);
    finish(c, DType::None, tensor_in(c, 0, "input")->dtype);
}

void scatter_rule(Infer& c) {
    check_places(c, 1);
    DType d = tensor_in(c, 0, "input")->dtype;
    if (c.in.size() > 2 && c.in[2].tensor && c.in[2].tensor->dtype != d)
        refuse(c, ErrorKind::Runtime, "dtype", "wrong dtype of src: got ", c.in[2].tensor->dtype,
               ", expected ", d, " like input. Cast it with .to(...).");
    c.cast_mask = ~2ull;
    finish(c, d, d);
}

void check_indices(Infer& c, size_t first) {
    for (size_t i = first; i < c.in.size(); ++i) {
        Tensor* t = c.in[i].tensor;
        if (!t) continue;
        bool fine = t->dtype == DType::I64 || t->dtype == DType::I32 || t->dtype == DType::Bool ||
                    t->dtype == DType::U8;
        if (!fine)
            refuse(c, ErrorKind::Index, "dtype", "wrong dtype of an index tensor: got ", t->dtype,
                   ", expected int64, int32, uint8 or bool. Cast it with .to(tenora.int64).");
    }
}

void indexing_rule(Infer& c) {
    check_indices(c, 1);
    finish(c, DType::None, tensor_in(c, 0, "input")->dtype);
}

void index_select_rule(Infer& c) {
    DType d = tensor_in(c, 1, "index")->dtype;
    if (d != DType::I64 && d != DType::I32)
        refuse(c, ErrorKind::Runtime, "dtype", "wrong dtype of the index: got ", d,
               ", expected int64 or int32. ",
               d == DType::Bool || d == DType::U8 ? "Use x[mask] for a mask."
                                                  : "Cast it with .to(tenora.int64).");
    finish(c, DType::None, tensor_in(c, 0, "input")->dtype);
}

void index_put_rule(Infer& c) {
    check_indices(c, 2);
    DType d = tensor_in(c, 0, "input")->dtype;
    if (c.in[1].tensor && c.in[1].tensor->dtype != d)
        refuse(c, ErrorKind::Runtime, "dtype", "wrong dtype of the values: got ", c.in[1].tensor->dtype,
               ", expected ", d, " like the indexed tensor. Cast them with .to(...).");
    finish(c, DType::None, d);
}

const RuleName table[] = {
    {"promote", promote_rule},
    {"loss", loss_rule},
    {"loss_real", loss_real},
    {"loss_modulus", loss_modulus},
    {"loss_first", loss_first},
    {"loss_like_input", loss_like_input},
    {"loss_like_target", loss_like_target},
    {"loss_poisson", loss_poisson},
    {"loss_cosine", loss_cosine},
    {"loss_triplet", loss_triplet},
    {"promote_no_bool", promote_no_bool},
    {"promote_float", promote_float},
    {"promote_tensors", promote_tensors},
    {"promote_quotient", promote_quotient},
    {"promote_bool", promote_bool},
    {"closeness", closeness},
    {"promote_integral", promote_integral},
    {"promote_whole", promote_whole},
    {"promote_float_real", promote_float_real},
    {"promote_real", promote_real},
    {"promote_real_number", promote_real_number},
    {"promote_bounds", promote_bounds},
    {"promote_bool_real", promote_bool_real},
    {"div", div_rule},
    {"pow", pow_rule},
    {"abs", abs_rule},
    {"same", same_rule},
    {"first", same_rule},
    {"same_all", same_all},
    {"float_same", float_same},
    {"float_same_real", float_same_real},
    {"gelu", gelu},
    {"promote_modulus", promote_modulus},
    {"float_real", float_real},
    {"like_first", like_first},
    {"float_like_first", float_like_first},
    {"float_first", float_first},
    {"layer", layer_rule},
    {"bool", bool_rule},
    {"index", index_rule},
    {"value_index", value_index},
    {"uint32", uint32_rule},
    {"sum", sum_rule},
    {"sum_as_given", sum_as_given},
    {"mean", mean_rule},
    {"attr", attr_rule},
    {"attr_or_same", attr_or_same},
    {"creation", creation_rule},
    {"where", where_rule},
    {"gather", gather_rule},
    {"scatter", scatter_rule},
    {"indexing", indexing_rule},
    {"index_select", index_select_rule},
    {"index_put", index_put_rule},
};

}  // namespace

std::span<const RuleName> dtype_rules() { return table; }

}  // namespace tenora
