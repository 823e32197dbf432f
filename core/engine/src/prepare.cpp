// Prepare functions: from operands and what the rules said to what a kernel sees. Conventions:
// tenora_backend.h and docs.
#include <algorithm>
#include <limits>

#include "internal.h"
#include "tenora/random.h"
#include "tenora/ring.h"

namespace tenora {

Tensor* Call::output(int i) {
    if (!result[i]) {
        if (size_t(i) < target.size() && target[size_t(i)]) {
            result[i] = TensorRef(target[size_t(i)]);
        } else {
            result[i] = new_tensor(shape(i), meta[i].dtype, infer.device);
        }
    }
    return result[i].get();
}

void cast_operands(Call& c, std::span<Operand> out) {
    DType compute = c.infer.compute;
    for (size_t i = 0; i < c.in.size(); ++i) {
        out[i] = c.in[i];
        Tensor* t = c.in[i].tensor;
        if (!t) continue;
        bool cast_it = compute != DType::None && (c.infer.cast_mask & operand_bit(i));
        if (cast_it && t->dtype != compute) {
            TensorRef r = new_tensor(t->shape(), compute, t->device);
            BackendId id = t->device == c.infer.device ? c.backend : current_backend(t->device.space);
            hidden_event(int(RingKind::Cast), &c.op, id, uint64_t(t->numel) * size_of(compute), "promotion");
            copy_into(r.get(), t, id);
            out[i] = c.keep(std::move(r));
        }
    }
}

namespace {

using Operands = SmallArray<Operand, 8>;

void run(Call& c, std::span<const Operand> in, std::span<Tensor* const> out, std::span<const Attr> attr,
         bool preloaded = false) {
    launch({.op = c.op,
            .backend = c.backend,
            .in = in,
            .attr = attr,
            .out = out,
            .device = c.infer.device,
            .scalar_dtype = c.infer.compute != DType::None ? c.infer.compute : c.infer.result,
            .work = c.infer.work,
            .fresh = c.target.empty(),
            .preloaded = preloaded,
            .accumulate = c.accumulate});
}

void run_all(Call& c, std::span<const Operand> in, bool preloaded = false) {
    Tensor* out[kMaxOutputs];
    int n = c.op.spec.n_out;
    for (int i = 0; i < n; ++i) out[i] = c.output(i);
    run(c, in, {out, size_t(n)}, c.infer.attr, preloaded);
}

void plain(Call& c) {
    Operands in(c.in.size());
    cast_operands(c, in);
    run_all(c, in);
}

// Kernels choose by a bool; a uint8 condition holds where it is not 0.
void choose(Call& c) {
    Operands in(c.in.size());
    cast_operands(c, in);
    if (in[0].tensor->dtype != DType::Bool) in[0] = c.keep(cast(in[0].tensor, DType::Bool));
    run_all(c, in);
}

// Kernels of gather and scatter walk all operands by one rank: a 0-d tensor beside vectors is seen as a
// vector.
class Lifted {
  public:
    explicit Lifted(std::span<Tensor* const> tensors) {
        for (Tensor* t : tensors) any_ = any_ || t->rank() == 1;
    }
    Tensor* operator()(Tensor* t) {
        if (!any_ || t->rank() != 0) return t;
        static constexpr int64_t one = 1;
        views_[used_].reset(t, {&one, 1}, {&one, 1});
        return views_[used_++].get();
    }

  private:
    bool any_ = false;
    int used_ = 0;
    LocalView views_[4];
};

// Kernels read places as int64.
void cast_places(Call& c, Operands& in) {
    if (in[1].tensor->dtype != DType::I64) in[1] = c.keep(cast(in[1].tensor, DType::I64));
}

void gather(Call& c) {
    Operands in(c.in.size());
    cast_operands(c, in);
    cast_places(c, in);
    Tensor* o = c.output(0);
    Tensor* all[] = {in[0].tensor, in[1].tensor, o};
    Lifted lifted(all);
    for (size_t i = 0; i < 2; ++i) in[i] = lifted(in[i].tensor);
    Tensor* out[] = {lifted(o)};
    run(c, in, out, c.infer.attr);
}

// Outputs seen with size 1 in the reduced dimensions.
void reduce(Call& c) {
    Operands in(c.in.size());
    cast_operands(c, in);
    Tensor* x = in[0].tensor;
    const Attr& dims = c.infer.attr[0];
    int64_t shape[kMaxRank], strides[kMaxRank];
    std::copy(x->dl.shape, x->dl.shape + x->rank(), shape);
    for (uint32_t i = 0; i < dims.count; ++i) shape[dims.value.span[i]] = 1;
    std::span<const int64_t> kept{shape, size_t(x->rank())};
    int n = c.op.spec.n_out;
    std::vector<LocalView> many(n > 1 ? size_t(n) : 0);
    LocalView one;
    Tensor* out[kMaxOutputs];
    for (int i = 0; i < n; ++i) {
        LocalView& v = n > 1 ? many[size_t(i)] : one;
        Tensor* o = c.output(i);
        int at = 0;
        bool keepdim = o->rank() == x->rank();
        for (int k = 0; k < x->rank(); ++k) {
            bool reduced =
                std::find(dims.value.span, dims.value.span + dims.count, k) != dims.value.span + dims.count;
            strides[k] = reduced && !keepdim ? 1 : o->strides()[size_t(at++)];
        }
        v.reset(o, kept, {strides, size_t(x->rank())});
        out[i] = v.get();
    }
    run(c, in, {out, size_t(n)}, c.infer.attr);
}

// amax where nothing to choose from is -inf: kernels need not know it.
void reduce_lowest(Call& c) {
    if (c.in[0].tensor->numel) return reduce(c);
    fill(c.output(0), Scalar::from_float(-std::numeric_limits<double>::infinity()));
}

// Exactly one dimension: none given means the flattened input.
void argreduce(Call& c) {
    Operands in(c.in.size());
    cast_operands(c, in);
    Tensor* x = in[0].tensor;
    LocalView flat, result;
    int64_t one = 1;
    Attr attr[4];
    size_t n = std::min<size_t>(c.infer.attr.size(), 4);
    std::copy(c.infer.attr.begin(), c.infer.attr.begin() + long(n), attr);
    Tensor* o = c.output(0);
    int64_t dim = attr[0].kind == TNR_ATTR_NONE ? 0 : attr[0].value.i64;
    if (attr[0].kind == TNR_ATTR_NONE || x->rank() == 0) {
        Tensor* dense =
            x->contiguous ? x : c.keep(contiguous(x, "flattened for a reduction over everything"));
        flat.reset(dense, {&x->numel, 1}, {&one, 1});
        in[0] = flat.get();
        x = flat.get();
    }
    attr[0] = attr_span({&dim, 1});
    int64_t shape[kMaxRank], strides[kMaxRank];
    std::copy(x->dl.shape, x->dl.shape + x->rank(), shape);
    shape[dim] = 1;
    bool keepdim = o->rank() == x->rank();
    for (int k = 0, at = 0; k < x->rank(); ++k)
        strides[k] = o->numel == 1 ? 1 : k == dim && !keepdim ? 1 : o->strides()[size_t(at++)];
    result.reset(o, {shape, size_t(x->rank())}, {strides, size_t(x->rank())});
    Tensor* out[] = {result.get()};
    run(c, in, out, {attr, n});
}

void preload(Call& c) {
    Operands in(c.in.size());
    cast_operands(c, in);
    cast_places(c, in);
    Tensor* o = c.output(0);
    if (o != in[0].tensor) copy_into(o, in[0].tensor, c.backend);
    for (size_t i = 1; i < in.size(); ++i) {  // a number as src: seen with the index's shape
        if (!in[i].has_scalar) continue;
        TensorRef number = new_tensor(in[1].tensor->shape(), o->dtype, o->device);
        fill(number.get(), in[i].scalar);
        in[i] = c.keep(std::move(number));
    }
    Tensor* all[] = {in[0].tensor, in[1].tensor, in[2].tensor, o};
    Lifted lifted(all);
    for (size_t i = 0; i < 3; ++i) in[i] = lifted(in[i].tensor);
    Tensor* out[] = {lifted(o)};
    run(c, in, out, c.infer.attr, true);
}

void fill_prepare(Call& c) {
    Scalar value = scalar_of(c.infer.attr[0]);
    check_range(c.op.display(), value, c.output(0)->dtype);
    fill(c.output(0), value);
}

void copy_prepare(Call& c) {
    Tensor* o = c.output(0);
    if (!c.in[1].tensor) {
        check_range(c.op.display(), c.in[1].scalar, o->dtype);
        return fill(o, c.in[1].scalar);
    }
    Tensor* src = c.in[1].tensor;
    if (src->device != o->device) src = c.keep(to_device(src, o->device, bool_attr(c.infer, 0, false)));
    int64_t strides[kMaxRank];
    if (!broadcast_strides(src, o->shape(), strides))
        fail(ErrorKind::Runtime, "shape", c.op.display(),
             text("source does not broadcast: got ", describe(src), ", expected a shape that broadcasts to ",
                  o->shape(), ". Reshape or expand the source."));
    LocalView v;
    v.reset(src, o->shape(), {strides, size_t(o->rank())});
    copy_into(o, v.get(), c.backend);
}

void random_prepare(Call& c) {
    Tensor* o = c.output(0);
    Generator* g = nullptr;
    for (size_t i = 1; i + 1 < c.infer.attr.size() && !g; ++i)
        if (c.infer.attr[i].kind == TNR_ATTR_I64) g = reinterpret_cast<Generator*>(c.infer.attr[i].value.i64);
    if (!g) g = &default_generator(c.infer.device);
    Generator::State s = g->take(uint64_t(o->numel + 3) / 4);
    Attr attr[] = {attr_int(int64_t(s.seed)), attr_int(int64_t(s.offset))};
    Tensor* out[] = {o};
    run(c, {}, out, attr);
}

void iota(Call& c) {
    Tensor* out[] = {c.output(0)};
    run(c, {}, out, c.infer.attr.first(2));
}

// a (B..., M, K), b (B..., K, N), out (B..., M, N) from whatever ranks the op takes.
void matmul(Call& c) {
    Tensor *a = c.in[0].tensor, *b = c.in[1].tensor, *o = c.output(0);
    if (a->rank() == 2 && b->rank() == 2) {
        Operand matrices[] = {a, b};
        return run(c, matrices, {&o, 1}, {});
    }
    // (B..., M, K) x (K, N): one large product when the rows of a lie together
    bool fold = a->rank() > 2 && b->rank() <= 2 && a->contiguous && o->contiguous && a->numel;
    int64_t shape[kMaxRank], strides[kMaxRank];
    LocalView x, y, z;
    int batch = fold ? 0 : std::max({a->rank(), b->rank(), 2}) - 2;
    auto view = [&](LocalView& v, Tensor* t, bool column, bool output) {
        int vector = output ? 0 : t->rank() == 1;
        int own = output ? o->rank() - (a->rank() > 1) - (b->rank() > 1) : std::max(t->rank() - 2, 0);
        if (fold && !(column && !output)) own = 0;
        for (int k = 0; k < batch; ++k) {
            int at = k - (batch - own);
            int64_t want = c.meta[0].shape[k];
            shape[k] = want;
            strides[k] = at >= 0 && t->shape()[size_t(at)] == want ? t->strides()[size_t(at)] : 0;
        }
        int64_t rows = 1, columns = 1, row_stride = 1, column_stride = 1;
        int last = t->rank() - 1;
        if (output) {
            int at = last;
            if (b->rank() > 1) columns = t->shape()[size_t(at)], column_stride = t->strides()[size_t(at--)];
            if (a->rank() > 1) rows = t->shape()[size_t(at)], row_stride = t->strides()[size_t(at)];
        } else if (vector) {
            (column ? rows : columns) = t->shape()[0];
            (column ? row_stride : column_stride) = t->strides()[0];
        } else {
            rows = t->shape()[size_t(last - 1)], row_stride = t->strides()[size_t(last - 1)];
            columns = t->shape()[size_t(last)], column_stride = t->strides()[size_t(last)];
        }
        if (fold && (output || !column)) {
            columns = output && b->rank() == 1 ? 1 : t->shape()[size_t(last)];
            column_stride = 1;
            rows = columns ? t->numel / columns : a->numel / a->shape().back();
            row_stride = columns;
        }
        shape[batch] = rows, strides[batch] = row_stride;
        shape[batch + 1] = columns, strides[batch + 1] = column_stride;
        v.reset(t, {shape, size_t(batch) + 2}, {strides, size_t(batch) + 2});
    };
    view(x, a, false, false);
    view(y, b, true, false);
    view(z, o, false, true);
    Operand in[] = {x.get(), y.get()};
    Tensor* out[] = {z.get()};
    run(c, in, out, {});
}

}  // namespace

// prepare_index.cpp
void prepare_index(Call& c);
void prepare_index_put(Call& c);
void prepare_index_select(Call& c);

static const Prepare table[] = {
    {.name = "pointwise", .run = plain, .shape_rules = "broadcast same", .pointwise = true},
    {.name = "choose", .run = choose, .pointwise = true},
    {.name = "plain", .run = plain},
    {.name = "scan", .run = plain},
    {.name = "gather", .run = gather, .shape_rules = "gather"},
    {.name = "reduce", .run = reduce, .shape_rules = "reduce reduce_named reduce_nonempty"},
    {.name = "reduce_lowest", .run = reduce_lowest},
    {.name = "argreduce", .run = argreduce, .shape_rules = "argreduce"},
    {.name = "matmul",
     .run = matmul,
     .shape_rules = "mm bmm mv dot matmul",
     .attributes = "",
     .accumulates = true},
    {.name = "preload", .run = preload, .shape_rules = "scatter", .preloads = true},
    {.name = "fill", .run = fill_prepare, .inputs = ""},
    {.name = "copy", .run = copy_prepare, .inputs = "input", .attributes = "", .copies = true},
    {.name = "random", .run = random_prepare, .inputs = "", .attributes = "seed offset"},
    {.name = "iota", .run = iota, .shape_rules = "iota", .inputs = "", .attributes = "start step"},
    {.name = "index", .run = prepare_index, .shape_rules = "index", .attributes = "", .first_index = 1},
    {.name = "index_put",
     .run = prepare_index_put,
     .shape_rules = "index_put",
     .preloads = true,
     .first_index = 2},
    {.name = "index_select", .run = prepare_index_select, .shape_rules = "index_select", .attributes = ""},
};

std::span<const Prepare> prepares() { return table; }

}  // namespace tenora
