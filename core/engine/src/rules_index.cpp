// Shape rules of gather, scatter and indexing with tensors.
#include <algorithm>

#include "index_plan.h"
#include "rules.h"

namespace tenora {
namespace {

// index fits x in every dimension but `dim`. A 0-d tensor counts as one element of one dimension.
void check_gather_like(Infer& c, Tensor* x, Tensor* index, int64_t dim, const char* what, bool skip_dim) {
    int rank = std::max(x->rank(), 1);
    bool fits = std::max(index->rank(), 1) == rank;
    auto size = [](Tensor* t, int i) { return t->rank() ? t->shape()[size_t(i)] : 1; };
    for (int i = 0; fits && i < rank; ++i)
        if ((i != dim || !skip_dim) && size(index, i) > size(x, i)) fits = false;
    if (!fits && index->numel)
        refuse(c, ErrorKind::Runtime, "shape", "index does not fit ", what, ": got index ", describe(index),
               " for ", describe(x), ", expected the same rank and no larger sizes",
               skip_dim ? " outside dim " : "", skip_dim ? text(dim) : std::string(), ". Slice the index.");
}

void gather(Infer& c) {
    Tensor *x = tensor_in(c, 0, "input"), *index = tensor_in(c, 1, "index");
    int64_t dim = wrap_dim(c, int_attr(c, 0, "dim"), x->rank());
    c.attr[0] = attr_int(dim);
    check_gather_like(c, x, index, dim, "input", true);
    set_shape(c.out[0], index->shape());
}

void scatter(Infer& c) {
    Tensor *x = tensor_in(c, 0, "input"), *index = tensor_in(c, 1, "index");
    int64_t dim = wrap_dim(c, int_attr(c, 0, "dim"), x->rank());
    c.attr[0] = attr_int(dim);
    check_gather_like(c, x, index, dim, "input", true);
    if (c.in.size() > 2 && c.in[2].tensor) check_gather_like(c, c.in[2].tensor, index, dim, "src", false);
    set_shape(c.out[0], x->shape());
}

void index_select(Infer& c) {
    Tensor *x = tensor_in(c, 0, "input"), *index = tensor_in(c, 1, "index");
    int64_t dim = wrap_dim(c, int_attr(c, 0, "dim"), x->rank());
    c.attr[0] = attr_int(dim);
    if (index->rank() > 1)
        refuse(c, ErrorKind::Index, "shape", "index must be a vector: got ", describe(index),
               ", expected at most one dimension. Use x[index] for more.");
    if (x->rank() == 0 && index->numel != 1)
        refuse(c, ErrorKind::Index, "shape", "index of a 0-d tensor must be one number: got ",
               describe(index), ", expected one element. Use x.expand or x.reshape(1) for more.");
    set_shape(c.out[0], x->shape());
    if (x->rank()) c.out[0].shape[dim] = index->numel;
}

void index(Infer& c) {
    IndexPlan plan;
    plan_index(c, 1, plan);
    set_shape(c.out[0], {plan.result_shape, size_t(plan.result_rank)});
}

void index_put(Infer& c) {
    IndexPlan plan;
    plan_index(c, 2, plan);
    std::span<const int64_t> result{plan.result_shape, size_t(plan.result_rank)};
    if (c.in[1].tensor) {
        OutMeta m;
        set_shape(m, result);
        broadcast_into(c, m, c.in[1].tensor->shape());
        if (size_t(m.rank) != result.size() || !std::equal(result.begin(), result.end(), m.shape))
            refuse(c, ErrorKind::Runtime, "shape", "values do not broadcast to the indexed part: got ",
                   describe(c.in[1].tensor), ", expected a shape that broadcasts to ", result,
                   ". Reshape the values.");
    }
    set_shape(c.out[0], tensor_in(c, 0, "input")->shape());
}

const RuleName table[] = {{"gather", gather},
                          {"scatter", scatter},
                          {"index_select", index_select},
                          {"index", index},
                          {"index_put", index_put}};

}  // namespace

std::span<const RuleName> index_shape_rules() { return table; }

namespace {

// As broadcast_into, with the error that PyTorch and NumPy raise for indices.
void broadcast_indices(const Infer& c, OutMeta& m, std::span<const int64_t> shape) {
    for (int i = 1; i <= std::min(m.rank, int(shape.size())); ++i) {
        int64_t a = m.shape[m.rank - i], b = shape[shape.size() - size_t(i)];
        if (a != b && a != 1 && b != 1)
            refuse(c, ErrorKind::Index, "shape", "index tensors do not broadcast: got ", shape, " against ",
                   std::span<const int64_t>(m.shape, size_t(m.rank)),
                   ", expected equal sizes or 1. Reshape one of them.");
    }
    broadcast_into(c, m, shape);
}

}  // namespace

void plan_index(const Infer& c, size_t first, IndexPlan& p) {
    Tensor* x = tensor_in(c, 0, "input");
    size_t given = c.in.size() - std::min(first, c.in.size());
    if (given > size_t(x->rank()))
        refuse(c, ErrorKind::Index, "index", "too many indices: got ", given, ", expected at most ",
               x->rank(), " for ", describe(x), ". Remove some.");
    OutMeta index_shape;
    p.count = 0;
    bool adjacent = true;
    for (size_t i = 0; i < given; ++i) {
        Tensor* t = c.in[first + i].tensor;
        if (!t) continue;
        if (p.count && p.dims[p.count - 1] != int(i) - 1) adjacent = false;
        p.dims[p.count++] = int(i);
        broadcast_indices(c, index_shape, t->shape());
    }
    if (!p.count)
        refuse(c, ErrorKind::Index, "index", "no index tensor: got only None, expected at least one tensor. ",
               "Use basic indexing.");
    p.index_rank = index_shape.rank;
    std::copy(index_shape.shape, index_shape.shape + index_shape.rank, p.index_shape);
    p.lead = adjacent ? p.dims[0] : 0;
    if (p.index_rank + x->rank() - p.count > kMaxRank)
        refuse(c, ErrorKind::Runtime, "shape", "too many dimensions in the result: got ",
               p.index_rank + x->rank() - p.count, ", expected at most ", kMaxRank, ". Use smaller indices.");
    int r = 0;
    auto place_index_shape = [&] {
        r = int(std::copy_n(p.index_shape, p.index_rank, p.result_shape + r) - p.result_shape);
    };
    if (p.lead == 0) place_index_shape();
    for (int dim = 0, kept = 0; dim < x->rank(); ++dim) {
        if (std::find(p.dims, p.dims + p.count, dim) != p.dims + p.count) continue;
        p.result_shape[r++] = x->shape()[size_t(dim)];
        if (++kept == p.lead) place_index_shape();
    }
    p.result_rank = r;
    check_shape(c, {p.result_shape, size_t(r)});
}

}  // namespace tenora
