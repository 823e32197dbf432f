// One node of a backward: hooks, capture, unpacking of what was saved, replay of its Program, delivery.

#include <algorithm>
#include <optional>
#include <vector>

#include "backward.h"
#include "meta_tensor.h"
#include "tape_internal.h"
#include "tenora/hooks.h"
#include "text.h"
#include "values.h"

namespace tenora {

TensorRef restore_saved(Node* n, Tensor* unpacked, size_t slot) {
    TensorRef t = detach(unpacked);
    if (slot >= size_t(n->n_out) + n->n_edges) {
        set_history(t.get(), n, uint32_t(slot - n->n_out - n->n_edges));
        return t;
    }
    const Edge& e = n->edges()[slot - n->n_out];
    if (Node* from = e.node()) {
        set_history(t.get(), from, e.output_nr);
    } else if (Tensor* leaf = e.leaf()) {
        Operand operand(leaf);
        Tensor* out = t.get();
        set_history(out, record_node(op(core_ops().alias), n->backend, 1, {&operand, 1}, {}, {&out, 1}), 0);
    }
    return t;
}

void refuse_freed(Node* n, const Tensor* gradient) {
    std::string got = gradient ? ": got the gradient of its result " + describe(gradient) : "";
    fail(ErrorKind::Runtime, "freed", n->name(),
         "Trying to backward through the graph a second time (or directly access saved tensors "
         "after they have already been freed)" +
             got +
             ". Saved intermediate values of the graph are freed when you call .backward() or "
             "autograd.grad(). Specify retain_graph=True if you need to backward through the graph a second "
             "time.");
}

void check_version(Node* n, const Saved& s) {
    if (s.tensor->version() == s.version) [[likely]]
        return;
    fail(ErrorKind::Runtime, "version", n->name(),
         "one of the variables needed for gradient computation has been modified by an inplace "
         "operation: got " +
             describe(s.tensor) + (s.flags & Saved::kResult ? " (its result)" : "") + " at version " +
             std::to_string(s.tensor->version()) + ", expected version " + std::to_string(s.version) +
             ". Clone it before the in-place call, or find the call with anomaly mode.");
}

namespace {

// The inputs of a node's Program, numbered as the Program does.
struct Inputs {
    Values<Tensor*, 16> tensors;
    Values<TensorRef, 16> owned;  // what this backward may give away or overwrite
    Values<std::optional<MetaTensor>, 3> metas;
    Inputs(size_t n_tensors, size_t n_metas) : tensors(n_tensors), owned(n_tensors), metas(n_metas) {}
    void own(size_t slot, TensorRef t) {
        tensors[slot] = t.get();
        owned[slot] = std::move(t);
    }
};

// A saved result gets its history back when gradients of gradients are recorded.
TensorRef with_history(Node* n, Tensor* result, size_t output_nr) {
    TensorRef t = alias(result);
    set_history(t.get(), n, uint32_t(output_nr));
    return t;
}

// The user's tensor in place of a saved one: kernels trust that it is of the same kind.
TensorRef unpack(Node* n, const Packed& packed) {
    TensorRef t = hooks().unpack_saved(packed.payload);
    if (t->dtype == packed.dtype && t->device == packed.device &&
        std::ranges::equal(t->shape(), packed.shape))
        return t;
    fail(ErrorKind::Runtime, "saved", n->name(),
         text("the unpack hook of saved_tensors_hooks returned a tensor of another kind: got ",
              describe(t.get()), " on ", t->device, ", expected ", packed.dtype,
              std::span<const int64_t>(packed.shape), " on ", packed.device,
              ". Return one of the shape, dtype and device that were packed."));
}

// Packed tensors of a node, counted under its lock, unpacked and freed without it: that runs Python.
struct TakenPacked {
    struct Item {
        uint16_t slot;
        PackedRef packed;
    };
    std::vector<Item> read;
    std::vector<PackedRef> freed;
};

// `recorded` says which slots were saved, `p` (the same, or for fewer gradients) which are read now.
void take_saved(GraphTask& task, Node* n, const Program& recorded, const Program& p, Inputs& in,
                TakenPacked& taken) {
    size_t n_out = n->n_out, first_result = n_out + n->n_edges;
    Values<TensorRef, 8> dropped(
        task.retain_graph ? 0 : n->n_saved);  // released after the lock: that may run Python
    Busy lock(n);
    if (n->flags.load(std::memory_order_relaxed) & Node::kFreed) {
        size_t i = 0;
        while (i + 1 < n_out && !in.tensors[i]) ++i;
        refuse_freed(n, in.tensors[i]);
    }
    Saved* s = n->saved();
    size_t count = 0;
    for (uint16_t slot : recorded.data_inputs) {
        if (slot < n_out) continue;
        Saved& item = *s++;
        if (!item.tensor) continue;
        bool read = p.reads_data[slot] || p.reads_meta[slot], borrowed = item.flags & Saved::kBorrowed;
        if (item.flags & Saved::kPacked) [[unlikely]] {
            if (read) taken.read.push_back({slot, PackedRef(item.packed)});
            continue;
        }
        if (p.reads_data[slot]) check_version(n, item);
        if (read && borrowed)
            in.tensors[slot] = item.tensor;
        else if (read && task.create_graph && (item.flags & Saved::kResult))
            in.own(slot, with_history(n, item.tensor, slot - first_result));
        else if (read)
            in.own(slot, TensorRef(item.tensor));
    }
    if (task.retain_graph) return;
    for (s = n->saved(); s != n->saved() + n->n_saved; ++s) {
        if (s->flags & Saved::kPacked)
            taken.freed.push_back(PackedRef::steal(std::exchange(s->packed, nullptr)));
        else if (Tensor* t = std::exchange(s->tensor, nullptr); t && !(s->flags & Saved::kBorrowed))
            dropped[count++] = TensorRef::steal(t);
    }
    n->flags.fetch_or(Node::kFreed, std::memory_order_relaxed);
}

void unpack_saved(GraphTask& task, Node* n, const Program& recorded, const Program& p, Inputs& in) {
    if (!n->n_saved) return;
    TakenPacked taken;
    take_saved(task, n, recorded, p, in, taken);
    for (const auto& [slot, packed] : taken.read) {
        TensorRef made = unpack(n, *packed);
        in.own(slot, task.create_graph ? restore_saved(n, made.get(), slot) : detach(made.get()));
    }
}

TensorRef zeros(const SavedMeta& m) {
    TensorRef t = new_tensor({m.shape(), m.rank}, m.dtype, m.device);
    fill(t.get(), Scalar::from_int(0));
    return t;
}

// Of the shape of a metadata-only operand and with its history: what gradients of gradients lead back to.
TensorRef linked(Node* n, const SavedMeta& m, size_t slot) {
    TensorRef one = new_tensor({}, m.dtype, m.device);
    Values<int64_t, 8> strides(size_t(m.rank));
    TensorRef t = new_window(one->storage, {m.shape(), m.rank}, strides.span(), 0, m.dtype, m.device);
    return restore_saved(n, t.get(), slot);
}

// Metadata-only operands; undefined gradients of a node with several outputs become zeros.
void unpack_meta(GraphTask& task, Node* n, const Program& recorded, const Program& p, Inputs& in) {
    SavedMeta* m = n->metas();
    size_t next = 0;
    for (uint16_t slot : recorded.meta_inputs) {
        if (slot < n->n_out) continue;
        if (task.create_graph && !p.dynamic && p.links[slot])
            in.own(slot, linked(n, *m, slot));
        else if (p.reads_meta[slot])
            in.tensors[slot] = in.metas[next].emplace().set(*m);
        next++;
        m = m->next();
    }
    if (n->n_out < 2) return;
    for (size_t i = 0; i < n->n_out; ++i, m = m->next())
        if (!in.tensors[i] && (p.reads_data[i] || p.reads_meta[i])) in.own(i, zeros(*m));
}

// Buffers of the edges that an instruction of the Program may add into.
class Accumulation {
  public:
    Accumulation(GraphTask& task, Node* n, const Program& p)
        : task_(task), n_(n), p_(p), buffers_(n->n_edges) {
        if (task.create_graph || task.multi || p.accumulable.empty()) return;
        for (uint16_t i : p.accumulable) {
            Tensor** slot = place(i);
            if (slot && *slot && owned_alone(*slot))
                buffers_[i] = TensorRef::steal(std::exchange(*slot, nullptr)), any_ = true;
        }
    }
    TensorRef* data() { return any_ ? buffers_.span().data() : nullptr; }
    void give_back() {
        if (!any_) return;
        for (uint16_t i : p_.accumulable)
            if (buffers_[i]) *place(i) = buffers_[i].take();
    }

  private:
    Tensor** place(uint16_t i) {
        const Edge& e = n_->edges()[i];
        return e ? &task_.state(e).buffers[e.output_nr] : nullptr;
    }
    GraphTask& task_;
    Node* n_;
    const Program& p_;
    Values<TensorRef, 4> buffers_;
    bool any_ = false;
};

// A Program that only hands its gradient on (add of equal
// shapes, clone): nothing to unpack, nothing to replay.
void hand_on(const Program& p, TensorRef grad, std::span<TensorRef> results) {
    TensorRef* last = nullptr;
    for (size_t i = 0; i < results.size(); ++i) {
        if (p.outputs[i] < 0) continue;
        if (last) *last = grad;
        last = &results[i];
    }
    if (last) *last = std::move(grad);
}

void run_program(GraphTask& task, Node* n, uint64_t mask, std::span<TensorRef> grads,
                 std::span<TensorRef> results) {
    const Program& recorded = *n->program;
    const Program& p = *recorded.restricted(mask);
    if (p.hands_on && grads.size() == 1) return hand_on(p, std::move(grads[0]), results);
    Inputs in(size_t(recorded.n_tensors), n->n_meta);
    for (size_t i = 0; i < grads.size(); ++i)
        if (grads[i] && (p.reads_data[i] || p.reads_meta[i])) in.own(i, std::move(grads[i]));
    unpack_saved(task, n, recorded, p, in);
    if (n->n_meta || n->n_out > 1) unpack_meta(task, n, recorded, p, in);
    Values<Attr, 8> attrs(size_t(recorded.n_attrs));
    for (size_t i = 0; i < recorded.attr_inputs.size(); ++i) attrs[recorded.attr_inputs[i]] = n->attrs()[i];
    if (p.dynamic) {
        if (!hooks().call_formula)
            fail(ErrorKind::Runtime, "tracer", n->name(),
                 "its gradient is a Python function and no caller is installed. Import tenora_autograd.");
        hooks().call_formula(op(n->op), p.needs & mask, in.tensors.span(), attrs.span(), results);
        return;
    }
    Accumulation accumulation(task, n, p);
    ReplayOptions options{task.create_graph, accumulation.data(),
                          task.create_graph ? nullptr : in.owned.span().data()};
    replay(p, in.tensors.span(), attrs.span(), results, options);
    accumulation.give_back();
}

void run_python(GraphTask& task, Node* n, std::span<TensorRef> grads, std::span<TensorRef> results) {
    if (!hooks().run_python_node)
        fail(ErrorKind::Runtime, "python", n->name(),
             "its backward is a Python function and no caller is installed.");
    Values<Tensor*, 8> pointers(grads.size());
    for (size_t i = 0; i < grads.size(); ++i) pointers[i] = grads[i].get();
    hooks().run_python_node(n, pointers.span(), task.create_graph, results);
    SavedMeta* m = n->metas();
    for (size_t i = 0; i < results.size(); ++i, m = m->next()) {
        MetaTensor like;
        if (results[i] && n->edges()[i])
            results[i] = match_given(std::move(results[i]), like.set(*m), task.create_graph, n->name());
    }
    if (!task.retain_graph && hooks().free_python_node) hooks().free_python_node(n);
}

void keep_gradient(GraphTask& task, NodeSide::PerOutput& o, const TensorRef& grad) {
    TensorRef t;
    {
        GilFriendlyLock lock(side_lock());
        if (o.retains && try_retain(o.retains)) t = TensorRef::steal(o.retains);
    }
    if (t) accumulate_grad(t.get(), grad, task.create_graph);
}

// Gradients that a hook of the node replaced must be of the kind of those it was given.
void run_node_hooks(GraphTask& task, Node* n, NodeSide& s, NodeHookKind kind, std::span<TensorRef> inputs,
                    std::span<TensorRef> outputs) {
    bool pre = kind == NodeHookKind::Pre;
    std::span<TensorRef> replaced = pre ? outputs : inputs;
    std::vector<TensorRef> before(replaced.begin(), replaced.end());
    hooks().run_node_hooks(pre ? s.pre_hooks : s.post_hooks, kind, n, inputs, outputs);
    for (size_t i = 0; i < replaced.size(); ++i)
        if (before[i] && replaced[i] && before[i].get() != replaced[i].get())
            replaced[i] = match_given(std::move(replaced[i]), before[i].get(), task.create_graph, n->name());
}

// Hooks on the tensors that this node made, then retained gradients, then hooks of the node itself.
void run_pre_hooks(GraphTask& task, Node* n, NodeSide& s, std::span<TensorRef> grads) {
    for (size_t i = 0; i < grads.size(); ++i) {
        NodeSide::PerOutput found{uint32_t(i), nullptr, nullptr};
        {
            GilFriendlyLock lock(side_lock());
            for (auto& o : s.outputs)
                if (o.output_nr == i) found = o;
        }
        if (!grads[i]) continue;
        if (found.hooks && hooks().run_hooks) {
            TensorRef before = grads[i];
            hooks().run_hooks(found.hooks, int(HookKind::Tensor), nullptr, grads[i]);
            if (grads[i] && grads[i].get() != before.get())
                grads[i] = match_given(std::move(grads[i]), before.get(), task.create_graph, n->name());
        }
    }
    for (auto& o : s.outputs)
        if (o.retains && o.output_nr < grads.size() && grads[o.output_nr]) {
            caller_waits(task, n);
            keep_gradient(task, o, grads[o.output_nr]);
        }
    if (s.pre_hooks && hooks().run_node_hooks) run_node_hooks(task, n, s, NodeHookKind::Pre, {}, grads);
}

uint64_t wanted_mask(GraphTask& task, Node* n) {
    uint64_t mask = 0;
    for (size_t i = 0; i < n->n_edges; ++i) {
        const Edge& e = n->edges()[i];
        if (e && (*task.state(e).marks & (kNeeded | kCaptured))) mask |= operand_bit(i);
    }
    return mask;
}

// Takes the gradients out of the node's buffers; returns its marks.
uint32_t take_gradients(GraphTask& task, Node* n, std::span<TensorRef> grads, uint64_t* mask) {
    std::unique_lock<std::mutex> lock;
    if (task.multi) lock = std::unique_lock(task.lock);
    TaskState s = task.state(n);
    for (size_t i = 0; i < grads.size(); ++i)
        grads[i] = TensorRef::steal(std::exchange(s.buffers[i], nullptr));
    *mask = task.selective ? wanted_mask(task, n) : ~uint64_t(0);
    return *s.marks;
}

}  // namespace

void run_node(GraphTask& task, Node* n) {
    if (run_simple(task, n)) return;
    Values<TensorRef, 4> grads(n->n_out);
    uint64_t mask;
    uint32_t marks = take_gradients(task, n, grads.span(), &mask);
    use_backend_of(task, n);
    NodeSide* s = n->side.load(std::memory_order_acquire);
    if (s) run_pre_hooks(task, n, *s, grads.span());
    if (marks & kCaptured) [[unlikely]] {
        caller_waits(task, n);
        for (size_t i = 0; i < n->n_out; ++i) capture(task, n, uint32_t(i), grads[i]);
    }
    if (task.selective && !(marks & kNeeded)) return;

    bool defined = n->is_python();
    for (TensorRef& g : grads.span()) defined = defined || g;
    Values<TensorRef, 4> results(n->n_edges);
    Values<TensorRef, 4> kept(s && s->post_hooks ? n->n_out : 0);
    for (size_t i = 0; i < kept.size(); ++i) kept[i] = grads[i];
    if (defined) {
        if (n->is_python())
            run_python(task, n, grads.span(), results.span());
        else
            run_program(task, n, mask, grads.span(), results.span());
        if (task.anomaly && task.modes.check_nan) check_finite(n, results.span());
    }
    if (s && s->post_hooks && hooks().run_node_hooks)
        run_node_hooks(task, n, *s, NodeHookKind::Post, results.span(), kept.span());
    for (size_t i = 0; i < n->n_edges; ++i)
        if (const Edge& e = n->edges()[i]) deliver(task, e, std::move(results[i]), n);
}

}  // namespace tenora
