// A tensor's place in the tape: edges, histories, leaf rules, `.grad`.

#include "tape_internal.h"
#include "tenora/error.h"
#include "tenora/gc_walk.h"
#include "tenora/hooks.h"
#include "tenora/modes.h"

namespace tenora {

Node* history(Tensor* t) { return tracked(t) ? t->node : nullptr; }

Edge edge_of(Tensor* t) {
    Edge edge;
    if (!tracked(t)) return edge;
    if (Node* n = t->node) {
        n->retain();
        edge.set(n, t->output_nr);
    } else {
        t->retain();
        edge.set(t);
    }
    return edge;
}

void set_history(Tensor* t, NodeRef node, uint32_t output_nr) {
    if (Extra* e = find_extra(t); e && e->retains_grad) [[unlikely]]
        move_retained_grad(t, node.get(), output_nr);
    Node* old = std::exchange(t->node, node.take());
    t->output_nr = output_nr;
    t->requires_grad = false;
    if (t->is_view) t->extra->view_version.store(t->version(), std::memory_order_release);
    if (old) [[unlikely]]
        old->release();
}

void set_history(Tensor* t, Node* node, uint32_t output_nr) { set_history(t, NodeRef(node), output_nr); }

TensorRef detach(Tensor* t) {
    TensorRef out = alias(t);
    out->inference = t->inference;
    return out;
}

void detach_inplace(Tensor* t) {
    if (t->is_view)
        fail(ErrorKind::Runtime, "view", "detach_",
             "Can't detach views in-place: got a view of " + describe(t->extra->base.get()) +
                 ", expected a tensor that is no view. Use detach() instead.");
    if (Extra* e = find_extra(t); e && e->retains_grad) forget_retained_grad(t);
    if (Node* old = std::exchange(t->node, nullptr)) old->release();
    t->output_nr = 0;
    t->requires_grad = false;
    if (t->storage) t->storage->saved.store(true, std::memory_order_relaxed);  // as above
}

void set_requires_grad(Tensor* t, bool value) {
    if (value == tracked(t)) return;
    if (!value && t->node)
        fail(ErrorKind::Runtime, "leaf", "requires_grad_",
             "you can only change requires_grad flags of leaf variables: got " + describe(t) +
                 ", a result of " + std::string(t->node->name()) +
                 ", expected a leaf. To use a computed tensor where it needs no gradient, use x.detach().");
    if (value && !is_differentiable(t->dtype))
        fail(ErrorKind::Runtime, "dtype", "requires_grad_",
             "only Tensors of floating point and complex dtype can require gradients: got " +
                 std::string(info(t->dtype).name) +
                 ", expected a floating or complex dtype. Convert the tensor first.");
    if (value && t->inference && !modes().inference)
        fail(ErrorKind::Runtime, "inference", "requires_grad_",
             "Setting requires_grad=True on inference tensor outside InferenceMode is "
             "not allowed. Clone it to get a normal tensor.");
    // What was recorded with this leaf may meet it again as a result: cut_saved() must look.
    if (t->storage && (!value || t->is_view)) t->storage->saved.store(true, std::memory_order_relaxed);
    t->requires_grad = value;
}

TensorRef grad_of(Tensor* t) {
    Extra* e = find_extra(t);
    return e ? TensorRef(e->grad.load(std::memory_order_acquire)) : TensorRef();
}

void set_grad(Tensor* t, Tensor* grad) {
    if (!grad) {
        if (Extra* e = find_extra(t))
            if (Tensor* old = e->grad.exchange(nullptr)) old->release();
        return;
    }
    if (grad == t)
        fail(ErrorKind::Runtime, "grad", "grad",
             "can't assign a tensor as its own grad: got the tensor itself. Assign a clone.");
    bool same_shape = std::ranges::equal(t->shape(), grad->shape());
    if (!same_shape || t->dtype != grad->dtype || t->device != grad->device)
        fail(ErrorKind::Runtime, "grad", "grad",
             std::string("assigned grad has data of a different ") +
                 (!same_shape               ? "size"
                  : t->dtype != grad->dtype ? "type"
                                            : "device") +
                 ": got " + describe(grad) + " on " + to_string(grad->device) + ", expected " + describe(t) +
                 " on " + to_string(t->device) + ". Convert it first.");
    grad->retain();
    if (Tensor* old = extra(t).grad.exchange(grad)) old->release();
}

// -------------------------------------------------------------------------------------------------
// Retain_grad
void retain_grad(Tensor* t) {
    if (!tracked(t))
        fail(ErrorKind::Runtime, "grad", "retain_grad",
             "can't retain_grad on Tensor that has requires_grad=False. Call requires_grad_() first.");
    if (!t->node || extra(t).retains_grad) return;
    GilFriendlyLock lock(side_lock());
    per_output(t->node, t->output_nr).retains = t;
    t->extra->retains_grad = true;
}

namespace {
void unlink(Tensor* t) {  // under side_lock()
    NodeSide* s = t->node ? t->node->side.load() : nullptr;
    if (!s) return;
    for (auto& o : s->outputs)
        if (o.retains == t) o.retains = nullptr;
}
}  // namespace

void move_retained_grad(Tensor* t, Node* node, uint32_t output_nr) {
    GilFriendlyLock lock(side_lock());
    unlink(t);
    if (node)
        per_output(node, output_nr).retains = t;
    else
        t->extra->retains_grad = false;
}

void forget_retained_grad(Tensor* t) {
    GilFriendlyLock lock(side_lock());
    unlink(t);
    if (Extra* e = find_extra(t)) e->retains_grad = false;
}

bool try_retain(Tensor* t) {
    uint32_t old = t->word.load(std::memory_order_relaxed);
    while ((old >> 1) != 0) {
        if (!t->word.compare_exchange_weak(old, old + 2, std::memory_order_acq_rel)) continue;
        if ((old & Tensor::KEEP) && (old >> 1) == 1) Tensor::keep_retain(t);
        return true;
    }
    return false;
}

// -------------------------------------------------------------------------------------------------
// Payload slots
void set_payload(void** slot, void* payload) {
    void* old = std::exchange(*slot, payload);
    if (payload && !old) count_payload(1);
    if (!payload && old) count_payload(-1);
    if (old && old != payload && hooks().release_payload) hooks().release_payload(old);
}

void** leaf_hooks(Tensor* t) { return &extra(t).hooks; }

void** tensor_hooks(Tensor* t) {
    if (!tracked(t))
        fail(ErrorKind::Runtime, "grad", "register_hook",
             "cannot register a hook on a tensor that doesn't require gradient. "
             "Call requires_grad_() first.");
    if (!t->node) return leaf_hooks(t);
    GilFriendlyLock lock(side_lock());
    return &per_output(t->node, t->output_nr).hooks;
}

void** post_accumulate_hooks(Tensor* t) {
    if (!tracked(t) || t->node)
        fail(ErrorKind::Runtime, "leaf", "register_post_accumulate_grad_hook",
             "post accumulate grad hooks cannot be registered on "
             "non-leaf tensors. Use register_hook().");
    return &extra(t).post_accumulate;
}

void** node_pre_hooks(Node* n) { return &side(n).pre_hooks; }
void** node_post_hooks(Node* n) { return &side(n).post_hooks; }
void** python_payload(Node* n) { return &side(n).python; }

}  // namespace tenora
