// Structural plans for gradients: adjoints of views add into a buffer of the
// base's shape, sum_to undoes broadcasting, matmul_left and matmul_right are the
// two adjoints of matmul. `like` operands are read for shape and dtype only.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>

#include "internal.h"
#include "tenora/ring.h"

namespace tenora {
namespace {

Launch launch_of(const Call& c, OpId id, std::span<const Operand> in, std::span<const Attr> attr,
                 std::span<Tensor* const> out) {
    return {.op = op(id), .backend = c.backend, .in = in, .attr = attr, .out = out, .device = c.infer.device};
}

// Whether elements of the window may lie on each other: false only where every dimension steps over all
// smaller ones.
bool may_overlap(const Tensor* t) {
    if (t->contiguous || t->numel < 2) return false;
    std::array<std::pair<int64_t, int64_t>, kMaxRank> dims;  // (stride, size)
    size_t n = 0;
    for (size_t i = 0; i < t->shape().size(); ++i)
        if (int64_t size = t->shape()[i]; size > 1) dims[n++] = {std::abs(t->strides()[i]), size};
    std::sort(dims.begin(), dims.begin() + n);
    int64_t reach = 0;
    for (size_t i = 0; i < n; ++i) {
        if (dims[i].first <= reach) return true;
        reach += (dims[i].second - 1) * dims[i].first;
    }
    return false;
}

// window += g, element by element where elements of the window may lie on each other.
void add_window(Call& c, Tensor* window, Tensor* g) {
    if (!g->numel) return;
    if (may_overlap(window)) {
        LocalView w, part;
        size_t rest = size_t(window->rank()) - 1;
        for (int64_t k = 0; k < window->shape()[0]; ++k) {
            w.reset(window, window->shape().last(rest), window->strides().last(rest),
                    k * window->strides()[0]);
            part.reset(g, g->shape().last(rest), g->strides().last(rest), k * g->strides()[0]);
            add_window(c, w.get(), part.get());
        }
        return;
    }
    Operand in[] = {window, g};
    Tensor* out[] = {window};
    launch(launch_of(c, need_core(core_ops().add, "add", c.op.display()), in, {}, out));
}

// The window of `buffer` that the view op named after `embed_` shows.
void view_window(Call& c, Tensor* buffer, LocalView& window) {
    std::string_view name =
        c.op.spec.structural.empty() ? c.op.spec.name : std::string_view(c.op.spec.structural);
    name.remove_prefix(std::string_view("embed_").size());
    ShapeRule rule = find_shape_rule(name == "strided" ? "as_strided" : name);
    OutMeta m;
    Operand in[] = {buffer};
    Infer view{.op = c.op,
               .in = in,
               .attr = c.infer.attr,
               .out = &m,
               .device = buffer->device,
               .scratch_blocks = {}};
    rule(view);
    window.reset(buffer, {m.shape, size_t(m.rank)}, {m.strides, size_t(m.rank)}, m.offset - buffer->offset);
}

void check_fits(Call& c, const Tensor* g, const Tensor* window) {
    if (g->rank() == window->rank() && std::equal(g->shape().begin(), g->shape().end(), window->dl.shape))
        return;
    refuse(c.infer, ErrorKind::Runtime, "shape", "gradient does not fit the view: got ", describe(g),
           ", expected ", window->shape(), ". Check the view's attributes.");
}

// A window on the memory of a tensor, as the tape writes it down: `size`, `stride` and an offset from the
// tensor's first element; behind the window's strides those of the tensor where it is not row-major.
// Where both lie in a row-major tensor that is its memory, else a buffer as long as both reach.
class Memory {
  public:
    Memory(Call& c, const Tensor* owner) : c_(c), shape_(owner->shape()), numel_(owner->numel) {
        size_ = span_attr(c.infer, 0, "size");
        stride_ = span_attr(c.infer, 1, "stride");
        offset_ = int_attr(c.infer, 2, "storage_offset");
        own_ = stride_.subspan(std::min(stride_.size(), size_.size()));
        if (stride_.size() < size_.size() || (!own_.empty() && own_.size() != shape_.size()))
            refuse(c.infer, ErrorKind::Runtime, "shape", "sizes and strides differ in number: got ", size_,
                   " and ", stride_,
                   ", expected as many of one as of the other. Give a stride for every size.");
        stride_ = stride_.first(size_.size());
        row_major_ = own_.empty();
        if (row_major_) {
            dense_strides(shape_, dense_);
            own_ = {dense_, shape_.size()};
        }
        for (int64_t n : size_) empty_ = empty_ || n == 0;
        if (numel_) reach(shape_, own_, 0);
        if (!empty_) reach(size_, stride_, offset_);
        if (high_ >= int64_t(1) << 46 || low_ <= -(int64_t(1) << 46))
            refuse(c.infer, ErrorKind::Runtime, "shape", "window leaves the storage: got elements ", low_,
                   " to ", high_, ". Correct size, stride or storage_offset.");
    }
    bool simple() const {
        return row_major_ && (empty_ || (low_ == 0 && high_ < std::max<int64_t>(numel_, 1)));
    }
    TensorRef buffer(DType dtype, Device device) const {
        int64_t length[] = {high_ - low_ + 1};
        TensorRef made = new_tensor(length, dtype, device);
        fill(made.get(), Scalar::from_int(0));
        return made;
    }
    void window(Tensor* buffer, LocalView& view) const {
        view.reset(buffer, size_, stride_, empty_ ? 0 : offset_ - low_);
    }
    void owner(Tensor* buffer, LocalView& view) const { view.reset(buffer, shape_, own_, -low_); }
    void need_separate(const Tensor* like) const {
        LocalView own;
        own.reset(like, shape_, own_);
        if (may_overlap(own.get()))
            refuse(c_.infer, ErrorKind::Runtime, "overlap",
                   "a window on a tensor whose elements share memory cannot be written: got strides ", own_,
                   ", expected separate elements. Clone the tensor first.");
    }
    // x by how many elements of the owner lie at each place: PyTorch's rule for what expanded elements get.
    TensorRef shared(Tensor* x) const {
        TensorRef places = buffer(x->dtype, x->device), ones = new_tensor(shape_, x->dtype, x->device);
        LocalView own;
        owner(places.get(), own);
        fill(ones.get(), Scalar::from_int(1));
        add_window(c_, own.get(), ones.get());
        TensorRef counts = dense_copy(own.get(), c_.backend), result;
        Operand in[] = {x, counts.get()};
        call_raw(need_core(core_ops().div, "div", c_.op.display()), in, {}, &result);
        return result;
    }

  private:
    void reach(std::span<const int64_t> shape, std::span<const int64_t> strides, int64_t start) {
        int64_t low = start, high = start, span;
        for (size_t i = 0; i < shape.size(); ++i) {
            int64_t& end = strides[i] < 0 ? low : high;
            if (shape[i] < 0 || __builtin_mul_overflow(shape[i] - 1, strides[i], &span) ||
                __builtin_add_overflow(end, span, &end))
                refuse(c_.infer, ErrorKind::Runtime, "shape", "window is too large: got size ", shape,
                       " and strides ", strides, ", expected elements that 64 bits count. Correct them.");
        }
        low_ = std::min(low_, low);
        high_ = std::max(high_, high);
    }

    Call& c_;
    std::span<const int64_t> shape_, size_, stride_, own_;
    int64_t numel_, offset_ = 0, low_ = 0, high_ = 0, dense_[kMaxRank];
    bool row_major_ = true, empty_ = false;
};

bool is_strided(const Call& c) { return c.op.spec.name == "embed_strided"; }

void add_or_copy(Call& c, Tensor* window, Tensor* g) {
    check_fits(c, g, window);
    if (may_overlap(window))
        add_window(c, window, g);
    else
        copy_into(window, g, c.backend);
}

void embed(Call& c) {
    Tensor *g = tensor_in(c.infer, 0, "g"), *like = tensor_in(c.infer, 1, "like");
    c.infer.device = g->device;
    LocalView window, own;
    if (is_strided(c)) {
        if (Memory memory(c, like); !memory.simple()) {
            TensorRef buffer = memory.buffer(g->dtype, g->device);
            memory.window(buffer.get(), window);
            add_or_copy(c, window.get(), g);
            memory.owner(buffer.get(), own);
            c.result[0] = dense_copy(own.get(), c.backend);
            if (may_overlap(own.get())) c.result[0] = memory.shared(c.result[0].get());
            return;
        }
    }
    c.result[0] = new_tensor(like->shape(), g->dtype, g->device);
    Tensor* buffer = c.result[0].get();
    fill(buffer, Scalar::from_int(0));
    view_window(c, buffer, window);
    add_or_copy(c, window.get(), g);
}

// x in its place in memory.
TensorRef laid_out(Call& c, const Memory& memory, Tensor* x) {
    TensorRef buffer = memory.buffer(x->dtype, x->device);
    LocalView own;
    memory.owner(buffer.get(), own);
    if (may_overlap(own.get()))
        add_window(c, own.get(), memory.shared(x).get());
    else
        copy_into(own.get(), x, c.backend);
    return buffer;
}

// The adjoint of embed_strided: what lies in the window.
void window_of(Call& c) {
    Tensor* x = tensor_in(c.infer, 0, "input");
    c.infer.device = x->device;
    Memory memory(c, x);
    TensorRef buffer = !memory.simple() ? laid_out(c, memory, x)
                       : x->contiguous  ? TensorRef(x)
                                        : dense_copy(x, c.backend);
    LocalView window;
    memory.window(buffer.get(), window);
    c.result[0] = dense_copy(window.get(), c.backend);
}

void write_window(Call& c) {
    Tensor *x = tensor_in(c.infer, 0, "input"), *src = tensor_in(c.infer, 1, "src");
    Memory memory(c, x);
    bool simple = memory.simple();
    if (!simple) memory.need_separate(x);
    LocalView window, own;
    TensorRef buffer = simple ? dense_copy(x, c.backend) : laid_out(c, memory, x);
    memory.window(buffer.get(), window);
    check_fits(c, src, window.get());
    copy_into(window.get(), src, c.backend);
    if (!simple) memory.owner(buffer.get(), own);
    c.result[0] = simple ? std::move(buffer) : dense_copy(own.get(), c.backend);
}

// Sums dimensions that broadcasting added or stretched;
// casts to like's dtype. `out` is dense with like's shape.
void sum_into(Call& c, Tensor* g, Tensor* out) {
    int lead = g->rank() - out->rank();
    int64_t dims[kMaxRank], shape[kMaxRank], strides[kMaxRank];
    size_t n = 0;
    for (int i = 0; i < g->rank(); ++i) {
        int64_t size = g->shape()[size_t(i)], want = i < lead ? 1 : out->shape()[size_t(i - lead)];
        bool reduced = i < lead || (want == 1 && size != 1);
        if (lead < 0 || (!reduced && want != size))
            refuse(c.infer, ErrorKind::Runtime, "shape", "cannot be summed to the shape: got ", describe(g),
                   ", expected one that ", out->shape(), " broadcasts to. Check the formula.");
        if (reduced) dims[n++] = i;
        shape[i] = want;
        strides[i] = i < lead ? 1 : out->strides()[size_t(i - lead)];
    }
    LocalView result;
    result.reset(out, {shape, size_t(g->rank())}, {strides, size_t(g->rank())});
    Operand in[] = {g};
    Attr attr[] = {attr_span({dims, n}), attr_bool(true), attr_none()};
    Tensor* outs[] = {result.get()};
    Launch l = launch_of(c, need_core(core_ops().sum, "sum", c.op.display()), in, attr, outs);
    l.fresh = true;
    launch(l);
}

TensorRef sum_like(Call& c, Tensor* g, Tensor* like) {
    TensorRef r;
    if (same_shape(g, like)) {
        r = g->dtype == like->dtype ? alias(g) : nullptr;
        if (!r) {
            r = new_tensor(g->shape(), like->dtype, g->device);
            copy_into(r.get(), g, c.backend);
        }
        return r;
    }
    r = new_tensor(like->shape(), g->dtype, g->device);
    sum_into(c, g, r.get());
    if (g->dtype == like->dtype) return r;
    TensorRef casted = new_tensor(like->shape(), like->dtype, g->device);
    copy_into(casted.get(), r.get(), c.backend);
    return casted;
}

void sum_to(Call& c) {
    Tensor* g = tensor_in(c.infer, 0, "g");
    c.infer.device = g->device;
    c.result[0] = sum_like(c, g, tensor_in(c.infer, 1, "like"));
}

// -------------------------------------------------------------------------------------------------
// Adjoints of matmul

// Conjugate of a complex tensor, itself when real.
Tensor* conjugate(Call& c, Tensor* t) {
    if (!is_complex(t->dtype)) return t;
    Operand in[] = {t};
    TensorRef r;
    call_raw(need_core(core_ops().conj, "conj", c.op.display()), in, {}, &r);
    return c.keep(std::move(r));
}

// t as a stack of matrices: `row` puts a vector's missing dimension first, else last.
struct Matrices {
    LocalView view;
    void reset(Call& c, Tensor* t, bool needs_row, bool needs_column, bool transposed) {
        int64_t shape[kMaxRank], strides[kMaxRank];
        if (t->rank() + needs_row + needs_column > kMaxRank)
            refuse(c.infer, ErrorKind::Runtime, "shape", "too many dimensions: got ", describe(t),
                   ", expected fewer than ", kMaxRank, ". Flatten the batch.");
        int n = 0, rank = t->rank(), real = 2 - needs_row - needs_column;
        for (int i = 0; i < rank - real; ++i) {
            shape[n] = t->shape()[size_t(i)];
            strides[n++] = t->strides()[size_t(i)];
        }
        int at = rank - real;
        for (bool missing : {needs_row, needs_column}) {
            shape[n] = missing ? 1 : t->shape()[size_t(at)];
            strides[n++] = missing ? 1 : t->strides()[size_t(at++)];
        }
        if (transposed) {
            std::swap(shape[n - 1], shape[n - 2]);
            std::swap(strides[n - 1], strides[n - 2]);
        }
        view.reset(t, {shape, size_t(n)}, {strides, size_t(n)});
    }
    // All but the last (after transposition: the second last) dimension as one; the memory is dense.
    void fold(Tensor* t, int64_t columns, bool transposed) {
        int64_t rows = columns ? t->numel / columns : 0;
        int64_t shape[] = {transposed ? columns : rows, transposed ? rows : columns};
        int64_t strides[] = {transposed ? 1 : columns, transposed ? columns : 1};
        view.reset(t, shape, strides);
    }
};

// x @ y for stacks of matrices with broadcast batches.
TensorRef product(Call& c, Tensor* x, Tensor* y) {
    Operand in[] = {x, y};
    TensorRef r;
    call_raw(need_core(core_ops().matmul, "matmul", c.op.display()), in, {}, &r);
    return r;
}

Tensor* dense(Call& c, Tensor* t) { return t->contiguous ? t : c.keep(contiguous(t, nullptr)); }

TensorRef reshaped(TensorRef t, std::span<const int64_t> shape) {
    int64_t strides[kMaxRank];
    if (!view_strides(t->shape(), t->strides(), shape, strides)) t = contiguous(t.get(), nullptr);
    if (!t->contiguous) dense_strides(shape, strides);
    return new_window(t->storage, shape, {strides, shape.size()}, t->offset, t->dtype, t->device);
}

// p is (B..., M, K) for `like` of shape (..., M, K), (M,
// K) or (K): sums the batch, drops the missing dimension.
void finish_adjoint(Call& c, TensorRef p, Tensor* like, bool like_is_row, bool vector) {
    if (vector) {
        int64_t shape[kMaxRank];
        int n = 0, drop = p->rank() - (like_is_row ? 2 : 1);
        for (int i = 0; i < p->rank(); ++i)
            if (i != drop) shape[n++] = p->shape()[size_t(i)];
        p = reshaped(std::move(p), {shape, size_t(n)});
    }
    c.result[0] =
        same_shape(p.get(), like) && p->dtype == like->dtype ? std::move(p) : sum_like(c, p.get(), like);
}

// Gradient for a of a @ b: g @ b^H.
void matmul_left(Call& c) {
    Tensor *g = tensor_in(c.infer, 0, "g"), *a = tensor_in(c.infer, 1, "a"),
           *b = conjugate(c, tensor_in(c.infer, 2, "b"));
    bool row = a->rank() == 1, column = b->rank() == 1;
    Matrices x, y;
    x.reset(c, g, row, column, false);
    y.reset(c, b, false, column, true);
    finish_adjoint(c, product(c, x.view.get(), y.view.get()), a, true, row);
}

// Gradient for b of a @ b: a^H @ g. A batch that b lacks is folded into the inner dimension: a dense copy of
// an operand is smaller than one product per matrix of the batch.
void matmul_right(Call& c) {
    Tensor *g = tensor_in(c.infer, 0, "g"), *a = conjugate(c, tensor_in(c.infer, 1, "a")),
           *b = tensor_in(c.infer, 2, "b");
    bool row = a->rank() == 1, column = b->rank() == 1;
    Matrices x, y;
    if (a->rank() > 2 && b->rank() <= 2 && a->numel && g->numel) {
        x.fold(dense(c, a), a->shape().back(), true);
        y.fold(dense(c, g), column ? 1 : g->shape().back(), false);
    } else {
        x.reset(c, a, row, false, true);
        y.reset(c, g, row, column, false);
    }
    finish_adjoint(c, product(c, x.view.get(), y.view.get()), b, false, column);
}

const StructuralPlan table[] = {
    {"embed_select", embed},
    {"embed_slice", embed},
    {"embed_narrow", embed},
    {"embed_diagonal", embed},
    {"embed_basic_index", embed},
    {"embed_strided", embed},
    {"embed_as_strided", embed},
    {"window", window_of},
    {"write_window", write_window},
    {"sum_to", sum_to},
    {"matmul_left", matmul_left, multiply_left},
    {"matmul_right", matmul_right, multiply_right},
};

}  // namespace

std::span<const StructuralPlan> adjoint_plans() { return table; }

bool accumulate_embed(Call& c, Tensor* buffer) {
    if (c.op.plan != embed) return false;
    Tensor *g = tensor_in(c.infer, 0, "g"), *like = tensor_in(c.infer, 1, "like");
    if (!buffer->contiguous || !same_shape(buffer, like) || buffer->dtype != g->dtype ||
        !(buffer->device == g->device))
        return false;
    c.backend = current_backend(g->device.space);
    c.infer.device = g->device;
    if (is_strided(c) && !Memory(c, like).simple()) return false;
    LocalView window;
    view_window(c, buffer, window);
    check_fits(c, g, window.get());
    try {
        add_window(c, window.get(), g);
    } catch (const Declined&) {
        return false;  // nothing was written: a kernel declines before it starts
    }
    return true;
}

}  // namespace tenora
