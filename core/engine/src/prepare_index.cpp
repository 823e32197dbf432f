// Indexing with tensors: bool masks become indices, indexed dimensions are permuted to the front, index
// tensors are broadcast to one shape.
#include <algorithm>

#include "index_plan.h"
#include "internal.h"
#include "tenora/hooks.h"

namespace tenora {

namespace {

TensorRef call_one(OpId id, std::span<const Operand> in, std::span<const Attr> attr) {
    TensorRef out[kMaxOutputs];
    call_raw(id, in, attr, out);
    return std::move(out[0]);
}

// The columns of nonzero(mask), one index vector per dimension of the mask.
void push_mask(const Op& op, Tensor* mask, Tensor* x, int dim, std::vector<Operand>& storage,
               std::vector<TensorRef>& kept) {
    for (int i = 0; i < mask->rank(); ++i) {
        int at = dim + i;
        if (at >= x->rank() || mask->shape()[size_t(i)] != x->shape()[size_t(at)])
            fail(ErrorKind::Index, "shape", op.display(),
                 text("mask does not fit: got mask ", describe(mask), " at dimension ", dim, " of ",
                      describe(x), ", expected the same sizes. Correct the mask's shape."));
    }
    Operand in[] = {mask};
    TensorRef where = call_one(need_core(core_ops().nonzero, "nonzero", op.display()), in, {});
    int64_t shape[] = {where->shape()[0]}, strides[] = {where->strides()[0]};
    for (int i = 0; i < mask->rank(); ++i) {
        kept.push_back(new_window(where->storage, shape, strides, where->offset + i * where->strides()[1],
                                  where->dtype, where->device));
        storage.emplace_back(kept.back().get());
    }
}

}  // namespace

void warn_of_byte_mask(std::string_view what) {
    if (!hooks().warn || modes().in_backward) return;
    hooks().warn("UserWarning",
                 text(what, " with dtype uint8 is deprecated: use a mask of dtype bool instead."));
}

std::span<const Operand> resolve_masks(const Op& op, std::span<const Operand> in, size_t first,
                                       std::vector<Operand>& storage, std::vector<TensorRef>& kept) {
    if (in.empty() || !in[0].tensor) return in;
    Tensor* x = in[0].tensor;
    bool fine = true;
    for (size_t i = first; i < in.size(); ++i)
        if (Tensor* t = in[i].tensor) fine = fine && t->dtype == DType::I64 && t->device == x->device;
    if (fine) return in;
    storage.assign(in.begin(), in.begin() + long(std::min(first, in.size())));
    for (size_t i = first; i < in.size(); ++i) {
        Tensor* t = in[i].tensor;
        if (!t) {
            storage.push_back(in[i]);
            continue;
        }
        if (t->device != x->device) {
            kept.push_back(to_device(t, x->device, false));
            t = kept.back().get();
        }
        if (t->dtype == DType::U8) {  // a mask of before there were booleans
            warn_of_byte_mask("indexing");
            kept.push_back(cast(t, DType::Bool));
            t = kept.back().get();
        }
        if (t->dtype == DType::Bool) {
            if (t->rank() == 0)
                fail(ErrorKind::Index, "index", op.display(),
                     "0-d mask: got bool[], expected a mask with dimensions. Use mask.unsqueeze(0) on "
                     "x.unsqueeze(0).");
            push_mask(op, t, x, int(storage.size() - first), storage, kept);
            continue;
        }
        if (t->dtype == DType::I32) {
            kept.push_back(cast(t, DType::I64));
            t = kept.back().get();
        }
        storage.emplace_back(t);
    }
    return storage;
}

namespace {

// x seen with the indexed dimensions first.
void indexed_first(LocalView& v, Tensor* x, const IndexPlan& p) {
    int64_t shape[kMaxRank], strides[kMaxRank];
    int n = 0;
    auto take = [&](int dim) {
        shape[n] = x->shape()[size_t(dim)];
        strides[n++] = x->strides()[size_t(dim)];
    };
    for (int k = 0; k < p.count; ++k) take(p.dims[k]);
    for (int dim = 0; dim < x->rank(); ++dim)
        if (std::find(p.dims, p.dims + p.count, dim) == p.dims + p.count) take(dim);
    v.reset(x, {shape, size_t(n)}, {strides, size_t(n)});
}

// A result-shaped tensor seen as I + rest: the index shape comes first.
void index_shape_first(LocalView& v, Tensor* t, std::span<const int64_t> strides, const IndexPlan& p) {
    int64_t shape[kMaxRank], moved[kMaxRank];
    int n = 0;
    auto take = [&](int from, int to) {
        for (int i = from; i < to; ++i) {
            shape[n] = p.result_shape[i];
            moved[n++] = strides[size_t(i)];
        }
    };
    take(p.lead, p.lead + p.index_rank);
    take(0, p.lead);
    take(p.lead + p.index_rank, p.result_rank);
    v.reset(t, {shape, size_t(n)}, {moved, size_t(n)});
}

struct Indices {
    Indices(Call& c, size_t first, const IndexPlan& p) : views(new LocalView[size_t(p.count)]) {
        int64_t strides[kMaxRank];
        std::span<const int64_t> shape{p.index_shape, size_t(p.index_rank)};
        int n = 0;
        for (size_t i = first; i < c.in.size(); ++i) {
            if (!c.in[i].tensor) continue;
            broadcast_strides(c.in[i].tensor, shape, strides);
            views[size_t(n++)].reset(c.in[i].tensor, shape, {strides, size_t(p.index_rank)});
        }
    }
    std::unique_ptr<LocalView[]> views;
};

void run_index(Call& c, std::span<const Operand> in, Tensor* out, bool preloaded) {
    Tensor* outs[] = {out};
    std::span<const Attr> attr = preloaded ? std::span<const Attr>(c.infer.attr) : std::span<const Attr>();
    launch({.op = c.op,
            .backend = c.backend,
            .in = in,
            .attr = attr,
            .out = outs,
            .device = c.infer.device,
            .fresh = !preloaded && c.target.empty(),
            .preloaded = preloaded});
}

}  // namespace

void prepare_index(Call& c) {
    IndexPlan p;
    plan_index(c.infer, 1, p);
    Indices indices(c, 1, p);
    LocalView x, out;
    indexed_first(x, c.in[0].tensor, p);
    Tensor* o = c.output(0);
    index_shape_first(out, o, o->strides(), p);
    std::vector<Operand> in{x.get()};
    for (int k = 0; k < p.count; ++k) in.emplace_back(indices.views[size_t(k)].get());
    run_index(c, in, out.get(), false);
}

void prepare_index_put(Call& c) {
    IndexPlan p;
    plan_index(c.infer, 2, p);
    Indices indices(c, 2, p);
    Tensor* o = c.output(0);
    if (o != c.in[0].tensor) copy_into(o, c.in[0].tensor, c.backend);
    Tensor* given = c.in[1].tensor;
    if (!given) {
        given = c.keep(new_tensor({}, o->dtype, o->device));
        fill(given, c.in[1].scalar);
    }
    if (given->device != o->device) given = c.keep(to_device(given, o->device, false));  // a number
    int64_t strides[kMaxRank];
    broadcast_strides(given, {p.result_shape, size_t(p.result_rank)}, strides);
    LocalView old, out, values;
    indexed_first(old, o, p);
    indexed_first(out, o, p);
    index_shape_first(values, given, {strides, size_t(p.result_rank)}, p);
    std::vector<Operand> in{old.get(), values.get()};
    for (int k = 0; k < p.count; ++k) in.emplace_back(indices.views[size_t(k)].get());
    run_index(c, in, out.get(), true);
}

// x[:, index] along one dimension.
void prepare_index_select(Call& c) {
    Tensor *x = c.in[0].tensor, *index = c.in[1].tensor, *o = c.output(0);
    if (index->device != x->device)
        fail(ErrorKind::Runtime, "device", c.op.display(),
             text("operands on different devices: got ", x->device, " and ", index->device,
                  ", expected one device. Move one of them with .to(...)."));
    if (index->dtype != DType::I64) index = c.keep(cast(index, DType::I64));
    int64_t dim = c.infer.attr[0].value.i64, one = 1;
    LocalView from, to, indices;
    auto first = [&](LocalView& v, Tensor* t) {
        int64_t shape[kMaxRank], strides[kMaxRank];
        if (t->rank() == 0) return v.reset(t, {&one, 1}, {&one, 1});
        int n = 0;
        auto take = [&](int k) {
            shape[n] = t->shape()[size_t(k)];
            strides[n++] = t->strides()[size_t(k)];
        };
        take(int(dim));
        for (int k = 0; k < t->rank(); ++k)
            if (k != dim) take(k);
        v.reset(t, {shape, size_t(n)}, {strides, size_t(n)});
    };
    first(from, x);
    first(to, o);
    int64_t stride = index->rank() ? index->strides()[0] : 1;
    indices.reset(index, {&index->numel, 1}, {&stride, 1});
    std::vector<Operand> in{from.get(), indices.get()};
    run_index(c, in, to.get(), false);
}

}  // namespace tenora
