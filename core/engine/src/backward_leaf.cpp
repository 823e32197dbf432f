// Where gradients end: leaves, `.grad`, captured inputs; sums of gradients.
//   - `.grad` takes a gradient over when nobody else sees its memory, else gets a
//     dense copy; later ones are added in place (as PyTorch does: whoever holds
//     `.grad` sees it), or recorded when gradients of gradients are wanted.
//   - Two backwards may add into one leaf: a lock from a small table, by the leaf's address.

#include <algorithm>
#include <array>

#include "backward.h"
#include "tape_internal.h"
#include "tenora/hooks.h"

namespace tenora {

namespace {

std::mutex& leaf_lock(const Tensor* t) {
    static auto* locks = new std::array<std::mutex, 64>();
    return (*locks)[(reinterpret_cast<uintptr_t>(t) >> 6) % locks->size()];
}

bool same_kind(const Tensor* a, const Tensor* b) {
    return a->dtype == b->dtype && a->device == b->device && std::ranges::equal(a->shape(), b->shape());
}

TensorRef call_one(OpId id, std::span<const Operand> in, bool recording, std::span<const Attr> attr = {}) {
    TensorRef out;
    if (recording)
        call(id, in, attr, &out);
    else
        call_raw(id, in, attr, &out);
    return out;
}

// On the device and in the dtype of another.
TensorRef sent(Tensor* t, Tensor* like, bool recording) {
    static const OpId to = find_op("to")->id;
    Operand operand(t);
    Attr attr[] = {attr_dtype(like->dtype), attr_int(like->device.space << 8 | like->device.index),
                   attr_bool(false)};
    return call_one(to, {&operand, 1}, recording, attr);
}

TensorRef dense_copy(Tensor* t, bool recording) {
    Operand operand(t);
    return call_one(core_ops().clone, {&operand, 1}, recording);
}

}  // namespace

bool owned_alone(Tensor* t) {
    return t->use_count() == 1 && t->contiguous && !t->needs_grad() && t->storage && t->storage->unique() &&
           !t->storage->read_only && !t->storage->foreign_release;
}

TensorRef add_gradients(TensorRef a, TensorRef b, bool create_graph) {
    Operand pair[2] = {Operand(a.get()), Operand(b.get())}, swapped[2] = {pair[1], pair[0]};
    if (!create_graph) {
        const Op& add = op(core_ops().add);
        if (overwrite_operand(add, pair, 0, a.get())) return a;
        if (overwrite_operand(add, swapped, 0, b.get())) return b;
    }
    return call_one(core_ops().add, pair, create_graph);
}

TensorRef match(TensorRef grad, Tensor* like, bool create_graph, std::string_view who) {
    if (same_kind(grad.get(), like)) [[likely]]
        return grad;
    if (grad->device != like->device && !grad->rank() && !like->rank() && is_differentiable(grad->dtype))
        return sent(grad.get(), like, create_graph);  // a number goes with tensors of any device
    std::string text = "returned an invalid gradient: got " + describe(grad.get()) + " on " +
                       to_string(grad->device) + ", expected " + describe(like) + " on " +
                       to_string(like->device) +
                       " or a shape that broadcasts from it. Return a gradient of "
                       "the input's shape.";
    if (grad->device != like->device || !is_differentiable(grad->dtype) || grad->rank() < like->rank())
        fail(ErrorKind::Runtime, "gradient", who, text);
    int extra_dims = grad->rank() - like->rank();
    for (int i = 0; i < like->rank(); ++i)
        if (like->dl.shape[i] != 1 && like->dl.shape[i] != grad->dl.shape[extra_dims + i])
            fail(ErrorKind::Runtime, "gradient", who, text);
    Operand pair[2] = {Operand(grad.get()), Operand(like)};
    return call_one(core_ops().sum_to, pair, create_graph);
}

TensorRef match_given(TensorRef grad, Tensor* like, bool create_graph, std::string_view who) {
    if (is_complex(grad->dtype) && !is_complex(like->dtype))
        fail(ErrorKind::Runtime, "gradient", who,
             "returned a complex gradient for a real tensor: got " + describe(grad.get()) + ", expected " +
                 describe(like) + ". Return its real part.");
    return match(std::move(grad), like, create_graph, who);
}

void accumulate_grad(Tensor* leaf, TensorRef grad, bool create_graph) {
    Extra& e = extra(leaf);
    GilFriendlyLock lock(leaf_lock(leaf));
    Tensor* old = e.grad.load(std::memory_order_acquire);
    if (old && !create_graph && !old->needs_grad()) {
        Operand pair[2] = {Operand(old), Operand(grad.get())};
        call_inplace(core_ops().add, old, pair, {});
        return;
    }
    TensorRef value;
    if (old) {
        Operand pair[2] = {Operand(old), Operand(grad.get())};
        value = call_one(core_ops().add, pair, create_graph);
    } else {
        bool take = create_graph ? grad->use_count() == 1 : owned_alone(grad.get());
        value = take ? std::move(grad) : dense_copy(grad.get(), create_graph);
    }
    TensorRef previous = TensorRef::steal(e.grad.exchange(value.take(), std::memory_order_acq_rel));
}

void capture(GraphTask& task, void* target, uint32_t output_nr, const TensorRef& grad) {
    auto before = [](const Capture& a, const Capture& b) {
        return a.target != b.target ? std::less<void*>()(a.target, b.target) : a.output_nr < b.output_nr;
    };
    auto it =
        std::lower_bound(task.captures.begin(), task.captures.end(), Capture{target, output_nr, 0}, before);
    for (; it != task.captures.end() && it->target == target && it->output_nr == output_nr; ++it) {
        std::lock_guard lock(task.lock);
        task.captured[it->index] = grad;
    }
}

namespace {

// The tensor that a stand-in passes its gradient on to; null when that is gone.
TensorRef stood_for(Tensor* stand_in) {
    GilFriendlyLock lock(side_lock());
    Tensor* t = stand_in->extra->stands_for.load(std::memory_order_acquire);
    return t && try_retain(t) ? TensorRef::steal(t) : TensorRef();
}

}  // namespace

void finish_leaf(GraphTask& task, Tensor* leaf, TensorRef grad) {
    if (!grad) return;
    TensorRef real;
    if (Extra* known = find_extra(leaf); known && known->stand_in_only) [[unlikely]] {
        real = stood_for(leaf);
        if (!real) return;
        leaf = real.get();
    }
    grad = match(std::move(grad), leaf, task.create_graph, "backward");
    Extra& e = extra(leaf);
    if (e.hooks && hooks().run_hooks) {
        TensorRef before = grad;
        hooks().run_hooks(e.hooks, int(HookKind::Tensor), leaf, grad);
        if (!grad) return;
        if (grad.get() != before.get()) grad = match_given(std::move(grad), leaf, task.create_graph, "hook");
    }
    if (task.selective) return capture(task, leaf, 0, grad);  // run_backward() adds it into .grad, if wanted
    accumulate_grad(leaf, std::move(grad), task.create_graph);
    if (e.post_accumulate && hooks().run_hooks) {
        TensorRef now = grad_of(leaf);
        hooks().run_hooks(e.post_accumulate, int(HookKind::PostAccumulate), leaf, now);
    }
}

}  // namespace tenora
