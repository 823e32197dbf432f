// Shape rules of pointwise ops, reductions, scans and creation.
#include <algorithm>

#include "rules.h"

namespace tenora {
namespace {

void all_outputs_like_first(Infer& c) {
    for (int i = 1; i < c.op.spec.n_out; ++i) set_shape(c.out[i], {c.out[0].shape, size_t(c.out[0].rank)});
}

void same(Infer& c) {
    set_shape(c.out[0], first_tensor(c)->shape());
    all_outputs_like_first(c);
}

// One number for all elements, or one per channel, which are dim 1 (a vector has one).
void prelu(Infer& c) {
    Tensor *x = first_tensor(c), *w = tensor_in(c, 1, "weight");
    int64_t channels = x->rank() > 1 ? x->shape()[1] : 1;
    if (w->rank() > 1 || (w->numel != 1 && w->numel != channels))
        refuse(c, ErrorKind::Runtime, "shape", "weight does not fit: got ", describe(w), " for input ",
               describe(x), ", expected one number, or one for each of ", channels,
               " channels. Check num_parameters.");
    same(c);
}

void matrices(Infer& c) {
    Tensor* x = first_tensor(c);
    if (x->rank() < 2)
        refuse(c, ErrorKind::Runtime, "shape", "too few dimensions: got ", describe(x),
               ", expected at least 2. Reshape it to a matrix.");
    same(c);
}

void broadcast(Infer& c) {
    OutMeta& m = c.out[0];
    m.rank = 0;
    for (const Operand& o : c.in)
        if (o.tensor) broadcast_into(c, m, o.tensor->shape());
    check_shape(c, {m.shape, size_t(m.rank)});
    all_outputs_like_first(c);
}

void dim_same(Infer& c) {
    Tensor* x = first_tensor(c);
    c.attr[0] = attr_int(wrap_dim(c, int_attr(c, 0, "dim"), x->rank()));
    for (const Operand& o : c.in)
        if (o.tensor && !std::ranges::equal(o.tensor->shape(), x->shape()))
            refuse(c, ErrorKind::Runtime, "shape", "operands differ in shape: got ", describe(x), " and ",
                   describe(o.tensor), ", expected equal shapes. Expand one of them.");
    same(c);
}

// Attribute `at` becomes the ascending span of reduced dimensions; a bit per reduced dimension comes back.
uint64_t normal_dims(Infer& c, int rank, bool empty_means_all, size_t at = 0) {
    uint64_t reduced = 0;
    bool number_seen = false;  // a tensor of rank 0 has one dim to name
    std::span<const int64_t> dims;
    if (has_attr(c, at)) dims = span_attr(c, at, "dim");
    if (!has_attr(c, at) || (empty_means_all && dims.empty())) {
        reduced = rank == 64 ? ~0ull : (1ull << rank) - 1;
    } else {
        for (int64_t d : dims) {
            int64_t dim = wrap_dim(c, d, rank);
            if (rank ? reduced >> dim & 1 : number_seen)
                refuse(c, ErrorKind::Runtime, "dim", "dimension appears twice: got ", dims,
                       ", expected distinct dimensions. Name each dimension once.");
            if (rank) reduced |= 1ull << dim;
            number_seen = true;
        }
    }
    int64_t* p = new_span(c, at, size_t(__builtin_popcountll(reduced)));
    for (int i = 0; i < rank; ++i)
        if (reduced >> i & 1) *p++ = i;
    return reduced;
}

void reduced_shape(Infer& c, std::span<const int64_t> shape, uint64_t reduced, bool keepdim) {
    OutMeta& m = c.out[0];
    m.rank = 0;
    for (size_t i = 0; i < shape.size(); ++i) {
        if (!(reduced >> i & 1))
            m.shape[m.rank++] = shape[i];
        else if (keepdim)
            m.shape[m.rank++] = 1;
    }
}

template <bool kEmptyMeansAll>
void reduce(Infer& c) {
    Tensor* x = first_tensor(c);
    uint64_t reduced = normal_dims(c, x->rank(), kEmptyMeansAll);
    reduced_shape(c, x->shape(), reduced, bool_attr(c, 1, false));
    all_outputs_like_first(c);
}

// (dim, correction, keepdim)
void moments(Infer& c) {
    Tensor* x = first_tensor(c);
    uint64_t reduced = normal_dims(c, x->rank(), true);
    reduced_shape(c, x->shape(), reduced, bool_attr(c, 2, false));
}

// (p, dim, keepdim)
void norm(Infer& c) {
    Tensor* x = first_tensor(c);
    uint64_t reduced = normal_dims(c, x->rank(), true, 1);
    reduced_shape(c, x->shape(), reduced, bool_attr(c, 2, false));
}

// Weight and bias have the shape of the trailing dimensions that are normalised.
void layer_norm(Infer& c) {
    Tensor* x = tensor_in(c, 0, "input");
    auto trailing = span_attr(c, 0, "normalized_shape");
    bool fits = !trailing.empty() && trailing.size() <= x->shape().size() &&
                std::equal(trailing.begin(), trailing.end(), x->shape().end() - long(trailing.size()));
    if (!fits)
        refuse(c, ErrorKind::Runtime, "shape", "normalized_shape does not fit: got ", trailing, " for ",
               describe(x), ", expected its last sizes. Check the layer's sizes.");
    for (size_t i = 1; i < c.in.size(); ++i) {
        Tensor* t = c.in[i].tensor;
        if (t && !std::equal(t->shape().begin(), t->shape().end(), trailing.begin(), trailing.end()))
            refuse(c, ErrorKind::Runtime, "shape", i == 1 ? "weight" : "bias", " does not fit: got ",
                   describe(t), ", expected the normalized shape ", trailing, ". Check the layer's sizes.");
    }
    set_shape(c.out[0], x->shape());
}

void refuse_empty(Infer& c, Tensor* x, int64_t dim, ErrorKind whole = ErrorKind::Runtime) {
    refuse(c, dim < 0 ? whole : ErrorKind::Index, "shape", "no element to choose from: got ", describe(x),
           ", expected at least one element", dim < 0 ? "" : " along the dimension",
           ". Check for empty input first.");
}

// amax and the like: nothing to choose from is an error unless the result is empty too.
void reduce_nonempty(Infer& c) {
    Tensor* x = first_tensor(c);
    bool everything = !has_attr(c, 0);
    reduce<true>(c);
    for (uint32_t i = 0; i < c.attr[0].count; ++i) {
        int64_t dim = c.attr[0].value.span[i];
        if (x->shape()[size_t(dim)] == 0) refuse_empty(c, x, everything ? -1 : dim);
    }
}

void argreduce(Infer& c) {
    Tensor* x = first_tensor(c);
    if (!has_attr(c, 0)) {
        if (x->numel == 0) refuse_empty(c, x, -1, ErrorKind::Index);
        uint64_t all = x->rank() == 64 ? ~0ull : (1ull << x->rank()) - 1;
        reduced_shape(c, x->shape(), all, bool_attr(c, 1, false));
    } else {
        int64_t dim = wrap_dim(c, int_attr(c, 0, "dim"), x->rank());
        if (x->rank() && x->shape()[size_t(dim)] == 0) refuse_empty(c, x, dim);
        c.attr[0] = attr_int(dim);
        reduced_shape(c, x->shape(), x->rank() ? 1ull << dim : 0, bool_attr(c, 1, false));
    }
    all_outputs_like_first(c);
}

void scan(Infer& c) { dim_same(c); }

void topk(Infer& c) {
    Tensor* x = first_tensor(c);
    int64_t k = int_attr(c, 0, "k"), dim = wrap_dim(c, int_attr(c, 1, "dim"), x->rank());
    int64_t size = x->rank() ? x->shape()[size_t(dim)] : 1;
    if (k < 0 || k > size)
        refuse(c, ErrorKind::Runtime, "shape", "k out of range: got ", k, ", expected 0 to ", size,
               " along dimension ", dim, ". Choose a smaller k.");
    c.attr[1] = attr_int(dim);
    set_shape(c.out[0], x->shape());
    if (x->rank()) c.out[0].shape[dim] = k;
    all_outputs_like_first(c);
}

void device_attr(Infer& c, size_t i) {
    if (i < c.attr.size() && c.attr[i].kind == TNR_ATTR_I64)
        c.device = Device{uint8_t(c.attr[i].value.i64 >> 8), uint8_t(c.attr[i].value.i64)};
}

void full(Infer& c) {
    auto size = span_attr(c, 0, "size");
    check_shape(c, size);
    set_shape(c.out[0], size);
    if (c.attr.size() > 1) device_attr(c, c.attr.size() - 1);
    all_outputs_like_first(c);
}

void iota(Infer& c) {
    int64_t size = int_attr(c, 2, "size");
    check_shape(c, {&size, 1});
    set_shape(c.out[0], {&size, 1});
    device_attr(c, 4);
}

std::string_view loss_reduction(Infer& c) {
    std::string_view r = string_attr(c);
    if (r != "none" && r != "mean" && r != "sum")
        refuse(c, ErrorKind::Value, "argument", "unknown reduction: got '", r,
               "', expected 'none', 'mean' or 'sum'. Pass one of these.");
    return r;
}

void loss(Infer& c) {
    std::string_view r = loss_reduction(c);
    c.out[0].rank = 0;
    broadcast(c);
    if (r != "none") c.out[0].rank = 0;
}

// Kernels read targets as int64 and one weight per class, without looking again.
void check_classes(Infer& c, int64_t classes, size_t first) {
    Tensor *input = tensor_in(c, first, "input"), *target = tensor_in(c, first + 1, "target");
    if (target->dtype != DType::I64)
        refuse(c, ErrorKind::Runtime, "dtype", "wrong dtype of target: got ", target->dtype,
               ", expected int64 class numbers. Cast it with .to(tenora.int64).");
    Tensor* weight = c.in.size() > first + 2 ? c.in[first + 2].tensor : nullptr;
    if (!weight) return;
    if (weight->rank() != 1 || weight->shape()[0] != classes)
        refuse(c, ErrorKind::Runtime, "shape", "weight does not fit: got ", describe(weight), " for ",
               classes, " classes, expected one weight per class. Check the number of classes.");
    if (weight->dtype != input->dtype)
        refuse(c, ErrorKind::Runtime, "dtype", "wrong dtype of weight: got ", weight->dtype, ", expected ",
               input->dtype, " like input. Cast it with .to(...).");
}

// Operands `first` (input), then target and weight.
void check_targets(Infer& c, size_t first) {
    auto input = tensor_in(c, first, "input")->shape(), target = tensor_in(c, first + 1, "target")->shape();
    bool fits = !input.empty() && target.size() + 1 == input.size();
    if (fits && input.size() > 1) {
        fits = input[0] == target[0];
        for (size_t i = 2; i < input.size(); ++i) fits = fits && input[i] == target[i - 1];
    }
    if (!fits)
        refuse(c, ErrorKind::Value, "shape", "target does not fit input: got ", target, " for input ", input,
               ", expected input (N, C, d...) and target (N, d...). Check the batch sizes.");
    check_classes(c, input[input.size() > 1 ? 1 : 0], first);
}

void nll_loss(Infer& c) {
    std::string_view r = loss_reduction(c);
    check_targets(c, 0);
    set_shape(c.out[0], r == "none" ? c.in[1].tensor->shape() : std::span<const int64_t>{});
    for (int i = 1; i < c.op.spec.n_out; ++i) c.out[i].rank = 0;
}

// (grad, input, target, weight) -> the gradient of input; kernels read grad by the shape of target.
void nll_loss_backward(Infer& c) {
    std::string_view r = loss_reduction(c);
    check_targets(c, 1);
    Tensor* grad = tensor_in(c, 0, "grad");
    auto wanted = r == "none" ? c.in[2].tensor->shape() : std::span<const int64_t>{};
    if (!std::equal(grad->shape().begin(), grad->shape().end(), wanted.begin(), wanted.end()))
        refuse(c, ErrorKind::Runtime, "shape", "grad does not fit: got ", describe(grad), ", expected ",
               wanted, ". Pass a gradient of the loss's shape.");
    if (grad->dtype != c.in[1].tensor->dtype)
        refuse(c, ErrorKind::Runtime, "dtype", "wrong dtype of grad: got ", grad->dtype, ", expected ",
               c.in[1].tensor->dtype, " like input. Cast it with .to(...).");
    set_shape(c.out[0], c.in[1].tensor->shape());
}

// Targets are probabilities of all classes.
void class_probabilities(Infer& c) {
    std::string_view r = loss_reduction(c);
    Tensor *input = tensor_in(c, 0, "input"), *target = tensor_in(c, 1, "target");
    auto x = input->shape(), y = target->shape();
    if (x.empty() || !std::equal(x.begin(), x.end(), y.begin(), y.end()))
        refuse(c, ErrorKind::Runtime, "shape", "target does not fit input: got ", describe(target), " for ",
               describe(input),
               ", expected probabilities of the input's shape (N, C, d...), or whole class numbers: .long(). "
               "Check both.");
    size_t classes = x.size() > 1 ? 1 : 0;
    Tensor* weight = c.in.size() > 2 ? c.in[2].tensor : nullptr;
    if (weight && (weight->rank() != 1 || weight->shape()[0] != x[classes]))
        refuse(c, ErrorKind::Runtime, "shape", "weight does not fit: got ", describe(weight), " for ",
               x[classes], " classes, expected one weight per class. Check the number of classes.");
    OutMeta& m = c.out[0];
    m.rank = 0;
    for (size_t i = 0; r == "none" && i < x.size(); ++i)
        if (i != classes) m.shape[m.rank++] = x[i];
}

const RuleName table[] = {
    {"same", same},
    {"like", same},
    {"broadcast", broadcast},
    {"dim_same", dim_same},
    {"reduce", reduce<true>},
    {"reduce_named", reduce<false>},  // dim=() names none
    {"scan", scan},
    {"argreduce", argreduce},
    {"sort", dim_same},
    {"topk", topk},
    {"full", full},
    {"iota", iota},
    {"loss", loss},
    {"nll_loss", nll_loss},
    {"reduce_nonempty", reduce_nonempty},
    {"matrices", matrices},
    {"prelu", prelu},
    {"moments", moments},
    {"norm", norm},
    {"layer_norm", layer_norm},
    {"nll_loss_backward", nll_loss_backward},
    {"class_probabilities", class_probabilities},
};

}  // namespace

std::span<const RuleName> basic_shape_rules() { return table; }

}  // namespace tenora
