// Views and in-place writes: who shares memory with whom, and what a write does to histories.
//   - A view remembers its root base (never a view itself)
//     and the storage version its own history is valid for.
//   - A stale view re-derives its history as as_strided(base).
//     The node is made without a lock (tracing may need the GIL)
//     and published under view_lock(), which guards only that.
//   - Geometry is written down as it lies in memory, relative to the base's first element.
//   - Between a complex tensor and a real one `view_as_real` stands: the geometry is that of the real
//   numbers.

#include <algorithm>

#include "tape_internal.h"
#include "tenora/error.h"
#include "tenora/modes.h"

namespace tenora {

std::mutex& view_lock() {
    static auto* m = new std::mutex();
    return *m;
}

void make_view_of(Tensor* view, Tensor* base) {
    if (view->inference) return;
    Extra& e = extra(view);
    bool nested = base->is_view;
    e.base = nested ? base->extra->base : TensorRef(base);
    if (nested && base->extra->creation != Extra::kDefault)
        e.creation = base->extra->creation;
    else if (modes().inference)
        e.creation = Extra::kInference;
    else if (!modes().grad)
        e.creation = Extra::kNoGrad;
    e.view_version.store(view->version(), std::memory_order_release);
    view->is_view = true;
}

void forget_view(Tensor* t) {
    if (!t->is_view) return;
    GilFriendlyLock lock(view_lock());
    t->is_view = false;
    t->extra->base = nullptr;
    t->extra->creation = Extra::kDefault;
}

namespace {

// Attributes of as_strided and as_strided_scatter as the tape keeps them: an offset from the base's first
// element and, where the base is not row-major, its own strides behind the view's.
struct GeometryAttrs {
    int64_t strides[2 * kMaxRank];
    Attr attrs[3];
    GeometryAttrs(const Tensor* view, const Tensor* base) {
        size_t count = size_t(view->dl.ndim);
        std::copy_n(view->dl.strides, count, strides);
        if (!base->contiguous) {
            std::copy_n(base->dl.strides, base->dl.ndim, strides + count);
            count += size_t(base->dl.ndim);
        }
        attrs[0] = attr_span(view->shape());
        attrs[1] = attr_span({strides, count});
        attrs[2] = attr_int(view->offset - base->offset);
    }
};

BackendId backend_for(Tensor* t) {
    if (t->node && t->node->backend != kNoBackend) return t->node->backend;
    return current_backend(t->device.space);
}

// Whether one holds the parts of the other's complex numbers.
bool holds_parts(const Tensor* parts, const Tensor* whole) {
    return is_complex(whole->dtype) && is_floating(parts->dtype) &&
           size_of(whole->dtype) == 2 * size_of(parts->dtype);
}

void require_related(std::string_view op, const Tensor* view, const Tensor* base) {
    if (view->dtype == base->dtype || holds_parts(view, base) || holds_parts(base, view)) return;
    fail(ErrorKind::NotImplemented, "view", op,
         "write through a view of another dtype while gradients are recorded: got " + describe(view) +
             " on " + describe(base) + ", expected equal dtypes. Write into a tensor of its own instead.");
}

// A view that is recorded here, whatever the mode.
TensorRef recorded_view(OpId id, BackendId backend, Tensor* t) {
    TensorRef out;
    Operand in(t);
    call_raw(id, {&in, 1}, {}, &out);
    if (!t->needs_grad()) return out;
    Tensor* raw = out.get();
    set_history(raw, record_node(op(id), backend, 1, {&in, 1}, {}, {&raw, 1}), 0);
    return out;
}

// What `t` is when it is read through as_strided from its base.
NodeRef record_window(Tensor* t, Tensor* base) {
    BackendId backend = backend_for(base);
    TensorRef from(base), shown(t);
    if (holds_parts(t, base)) from = recorded_view(core_ops().view_as_real, backend, base);
    if (holds_parts(base, t)) {
        Operand in(t);
        call_raw(core_ops().view_as_real, {&in, 1}, {}, &shown);
    }
    Tensor* raw = shown.get();
    NodeRef node = record_strided(backend, from.get(), raw);
    if (raw == t) return node;
    TensorRef parts = alias(raw);
    set_history(parts.get(), std::move(node), 0);
    Operand in(parts.get());
    return record_node(op(core_ops().view_as_complex), backend, 1, {&in, 1}, {}, {&t, 1});
}

[[noreturn]] void refuse_view_of_function(std::string_view op) {
    fail(ErrorKind::Runtime, "view", op,
         "write into what a custom Function returned as a view of its input, or as that input: got shared "
         "memory, expected the result's own. Clone it in forward, or write out of place.");
}

}  // namespace

NodeRef record_strided(BackendId backend, Tensor* base, Tensor* view) {
    GeometryAttrs g(view, base);
    Operand operand(base);
    return record_node(op(core_ops().as_strided), backend, 1, {&operand, 1}, g.attrs, {&view, 1});
}

void refresh_view(Tensor* t) {
    Extra& e = *t->extra;
    uint32_t version = t->version();
    Tensor* base = e.base.get();
    NodeRef made;
    if (base->needs_grad()) {
        if (e.creation == Extra::kFunction) refuse_view_of_function("Function");
        require_related("as_strided", t, base);
        made = record_window(t, base);
    }
    GilFriendlyLock lock(view_lock());
    if (e.view_version.load(std::memory_order_relaxed) == version) return;
    if (!made)
        e.view_version.store(version, std::memory_order_release);
    else
        set_history(t, made.get(), 0);
}

// -------------------------------------------------------------------------------------------------
// In place
namespace {

[[noreturn]] void refuse(std::string_view op, const char* code, const std::string& text) {
    fail(ErrorKind::Runtime, code, op, text);
}

void check_view(std::string_view op, Tensor* self) {
    const Extra& e = *self->extra;
    if (e.creation == Extra::kFunction) refuse_view_of_function(op);
    if (e.creation == Extra::kPart)
        refuse(
            op, "view",
            "This view is the output of a function that returns multiple views (split, chunk, unbind, a loop "
            "over a tensor). Such functions do not allow the output views to be modified inplace while "
            "gradients are recorded: got " +
                describe(self) +
                ", expected no such part. Use the out-of-place form, or index the whole tensor.");
    if (e.creation != Extra::kDefault) {
        std::string mode = e.creation == Extra::kNoGrad ? "no_grad" : "inference";
        refuse(op, "view",
               "A view was created in " + mode +
                   " mode and is being modified inplace with grad mode enabled: got " + describe(self) +
                   ", expected a view of this mode. Make the view and the in-place call both inside the " +
                   mode + " block (not tracked) or both outside (tracked).");
    }
    // The base itself may want no gradient: `x = a.reshape(3, 4).requires_grad_()` makes a leaf of a view,
    // and a write through it, or through a view of it, would take the leaf its caller holds from under him.
    if (tracked(self) && is_leaf(e.base.get()))
        refuse(op, "leaf",
               "a view of a leaf Variable that requires grad is being used in an in-place operation: got "
               "a view of " +
                   describe(e.base.get()) +
                   ", expected one without gradient. Use the out-of-place form, or no_grad().");
}

// A view made without a record of a base with one: a write through it would change the base behind the tape.
bool hides_history(Tensor* view) {
    return view->extra->creation != Extra::kDefault && tracked(view->extra->base.get());
}

TensorRef alias_with_history(Tensor* t) {
    TensorRef old = alias(t);
    if (Node* n = t->node) {
        n->retain();
        old->node = n;
        old->output_nr = t->output_nr;
    }
    return old;
}

bool reads_old_value(const Op& op, Tensor* self, uint64_t needs, std::span<const Operand> in,
                     std::span<const Attr> attr) {
    const Program* p = vjp_program(op, make_key(op, needs, in, self, attr), needs, in, self, attr);
    for (size_t i = 0; i < in.size(); ++i)
        if (in[i].tensor == self && p->reads_data[size_t(op.spec.n_out) + i]) return true;
    return false;
}

// Whether a write leaves nothing of a view: its base's record then says already that the old elements get
// zeros.
bool covers(const Op& op, const Tensor* self) {
    if (!self->is_view || self->extra->retains_grad || !self->extra->base->needs_grad()) return false;
    return op.id == core_ops().copy || op.id == core_ops().fill;
}

}  // namespace

void check_inplace(std::string_view op, Tensor* self, bool recording) {
    if (self->inference && !modes().inference)
        refuse(op, "inference",
               "Inplace update to inference tensor outside InferenceMode is not allowed: got " +
                   describe(self) + ", expected a normal tensor. Clone it to get one.");
    if (!modes().grad) return;
    if (self->is_view && (recording || hides_history(self))) {
        check_view(op, self);
        require_related(op, self, self->extra->base.get());
    }
    if (self->requires_grad && !self->node)
        refuse(op, "leaf",
               "a leaf Variable that requires grad is being used in an in-place operation: got " +
                   describe(self) +
                   ", expected one without gradient. Use the out-of-place form, or no_grad().");
}

TensorRef begin_inplace(const Op& op, Tensor* self, uint64_t needs, std::span<const Operand> in,
                        std::span<const Attr> attr) {
    check_inplace(op.display(), self, needs != 0);
    if (!needs) return {};
    if (!op.spec.differentiable)
        fail(ErrorKind::NotImplemented, "gradient", op.display(),
             "it has no gradient, so it cannot write while gradients are recorded: got " + describe(self) +
                 ", expected a tensor without gradient. Use it under no_grad() or on a detached tensor.");
    if (!reads_old_value(op, self, needs, in, attr)) return alias_with_history(self);
    TensorRef old;
    Operand operand(self);
    call_raw(core_ops().clone, {&operand, 1}, {}, &old);
    if (Node* n = self->node) {
        n->retain();
        old->node = n;
        old->output_nr = self->output_nr;
    }
    return old;
}

void record_inplace(const Op& op, BackendId backend, Tensor* self, Tensor* old_self, uint64_t needs,
                    std::span<const Operand> in, std::span<const Attr> attr) {
    if (covers(op, self)) needs &= ~uint64_t(1);
    std::vector<Operand> operands(in.begin(), in.end());
    for (Operand& o : operands)
        if (o.tensor == self) o.tensor = old_self;
    NodeRef node;
    if (needs) node = record_node(op, backend, needs, operands, attr, {&self, 1});
    rebase_history(self, std::move(node), 0, backend);
}

void rebase_history(Tensor* self, NodeRef node, uint32_t output_nr, BackendId backend) {
    uint64_t moved = node ? 2 : 0;  // without a node a view reads its history anew from the base
    if (node) {
        cut_saved(self, node.get());
        set_history(self, std::move(node), output_nr);
    }
    if (!self->is_view) return;
    Tensor* base = self->extra->base.get();
    TensorRef old_base = alias_with_history(base), source(self), written(base);
    if (holds_parts(self, base)) {
        old_base = recorded_view(core_ops().view_as_real, backend, old_base.get());
        written = alias(old_base.get());
    }
    if (holds_parts(base, self)) source = recorded_view(core_ops().view_as_real, backend, self);
    GeometryAttrs g(source.get(), old_base.get());
    Operand pair[2] = {Operand(old_base.get()), Operand(source.get())};
    uint64_t base_needs = moved | uint64_t(old_base->needs_grad());
    Tensor* raw = written.get();
    NodeRef scatter =
        record_node(tenora::op(core_ops().as_strided_scatter), backend, base_needs, pair, g.attrs, {&raw, 1});
    set_history(raw, scatter.get(), 0);
    if (raw == base) return;
    Operand in(raw);
    NodeRef whole = record_node(tenora::op(core_ops().view_as_complex), backend, 1, {&in, 1}, {}, {&base, 1});
    set_history(base, whole.get(), 0);
}

void mark_part(Tensor* view) {
    if (!view->is_view) return;
    Extra& e = *view->extra;
    if (e.creation == Extra::kDefault) e.creation = Extra::kPart;
}

void call_view_inplace(const Op& op, Tensor* self, std::span<const Operand> in, std::span<const Attr> attr) {
    check_inplace(op.display(), self, modes().grad && !modes().inference && tracked(self));
    TensorRef old = alias_with_history(self), shown;
    std::vector<Operand> operands(in.begin(), in.end());
    operands[0] = Operand(old.get());
    call(op.id, operands, attr, &shown);
    set_window(self, self->storage, shown->shape(), shown->strides(), shown->offset, self->dtype);
    if (!self->inference) self->storage->version.fetch_add(1, std::memory_order_release);
    Node* node = shown->node;
    if (!node) return;
    cut_saved(self, node);
    set_history(self, node, shown->output_nr);
}

}  // namespace tenora
