// The common node of a backward: one gradient, nothing that watches, and a Program that hands the gradient on
// or makes one pointwise call with it and what was saved. The steps and checks of run_node(), without its
// tables.

#include "backward.h"
#include "tape_internal.h"

namespace tenora {

namespace {

// What the node saved: at most the two operands of the call.
struct Taken {
    Tensor* tensors[2] = {};
    TensorRef owned[2];  // empty where the node borrows from its edge
};

void take_saved(GraphTask& task, Node* n, const Tensor* gradient, Taken& taken) {
    Busy lock(n);
    if (n->flags.load(std::memory_order_relaxed) & Node::kFreed) refuse_freed(n, gradient);
    Saved* s = n->saved();
    for (int i = 0; i < n->n_saved; ++i) check_version(n, s[i]);
    for (int i = 0; i < n->n_saved; ++i) {
        taken.tensors[i] = s[i].tensor;
        bool borrowed = s[i].flags & Saved::kBorrowed;
        if (task.retain_graph) {
            if (!borrowed) taken.owned[i] = TensorRef(s[i].tensor);
            continue;
        }
        s[i].tensor = nullptr;
        if (!borrowed) taken.owned[i] = TensorRef::steal(taken.tensors[i]);
    }
    if (task.retain_graph) return;
    n->flags.store(n->flags.load(std::memory_order_relaxed) | Node::kFreed, std::memory_order_relaxed);
}

TensorRef one_call(GraphTask& task, Node* n, const Program& p, TensorRef grad) {
    Taken taken;
    if (n->n_saved) take_saved(task, n, grad.get(), taken);
    const Instruction& code = p.code[0];
    Operand operands[2];
    TensorRef* own[2] = {};
    for (size_t k = 0; k < code.n_in; ++k) {
        const TensorArg& a = p.tensor_args[code.first_in + k];
        if (a.kind == TensorArg::Kind::Scalar) {
            operands[k] = Operand(a.scalar);
        } else if (a.slot == 0) {
            operands[k] = Operand(grad.get());
            own[k] = &grad;
        } else {
            size_t place = a.slot == p.data_inputs.back() ? n->n_saved - size_t(1) : 0;
            operands[k] = Operand(taken.tensors[place]);
            own[k] = &taken.owned[place];
        }
    }
    std::span<const Operand> in{operands, code.n_in};
    const Op& callee = op(code.op);
    for (size_t k = 0; k < code.n_in; ++k) {
        bool mine = own[k] && *own[k] && (code.last_use >> k & 1);
        if (mine && overwrite_operand(callee, in, k, own[k]->get())) return std::move(*own[k]);
    }
    TensorRef out;
    call_raw(code.op, in, {}, &out);
    return out;
}

}  // namespace

bool run_simple(GraphTask& task, Node* n) {
    const Program* p = n->program;
    if (!task.plain || !p || !(p->hands_on || p->one_call) || n->n_out != 1) return false;
    if (n->side.load(std::memory_order_acquire)) return false;  // packed nodes have one
    TensorRef grad = TensorRef::steal(std::exchange(n->buffers()[0], nullptr));
    use_backend_of(task, n);
    if (grad && p->one_call) grad = one_call(task, n, *p, std::move(grad));
    Edge* edges = n->edges();
    int last = n->n_edges - 1;
    while (last >= 0 && !(edges[last] && p->outputs[size_t(last)] >= 0)) --last;
    for (int i = 0; i < n->n_edges; ++i) {
        if (!edges[i]) continue;
        if (i == last)
            deliver(task, edges[i], std::move(grad), n);
        else
            deliver(task, edges[i], p->outputs[size_t(i)] >= 0 ? grad : TensorRef(), n);
    }
    return true;
}

}  // namespace tenora
