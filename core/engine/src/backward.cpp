// run_backward(): checks of roots, gradients and inputs, then plan, run, collect.

#include "backward.h"

#include <algorithm>

#include "stack_left.h"
#include "tenora/dispatch.h"
#include "tenora/hooks.h"
#include "tenora/ring.h"

namespace tenora {

namespace {

const char* called(const BackwardRequest& r) { return r.accumulate ? "backward" : "grad"; }

[[noreturn]] void refuse(const BackwardRequest& r, const char* code, const std::string& text) {
    fail(ErrorKind::Runtime, code, called(r), text);
}

TensorRef ones_like(const BackwardRequest& r, Tensor* root) {
    if (root->numel != 1)
        refuse(r, "gradient",
               "grad can be implicitly created only for scalar outputs: got " + describe(root) +
                   ", expected one element. Pass a gradient of the output's shape.");
    if (!is_floating(root->dtype))
        refuse(r, "gradient",
               "grad can be implicitly created only for real scalar outputs: got " +
                   std::string(info(root->dtype).name) + ", expected a floating dtype. Pass a gradient.");
    TensorRef t = new_tensor(root->shape(), root->dtype, root->device);
    fill(t.get(), Scalar::from_int(1));
    return t;
}

// A backend may serve a few ops only.
bool can_fill(BackendId id) {
    return id != kNoBackend && core_ops().fill != kNoOp && kernel_entry(op(core_ops().fill), id);
}

// Made by the backend that made the root.
TensorRef root_gradient(GraphTask& task, const BackwardRequest& r, size_t i) {
    Tensor* root = r.roots[i];
    if (!tracked(root))
        refuse(r, "leaf",
               "element " + std::to_string(i) +
                   " of tensors does not require grad and does not have a grad_fn: got " + describe(root) +
                   ". Compute it from tensors with requires_grad=True, outside no_grad().");
    modes().override_backend[root->device.space] = task.modes.override_backend[root->device.space];
    if (root->node && can_fill(root->node->backend)) use_backend_of(task, root->node);
    Tensor* given = r.grads.empty() ? nullptr : r.grads[i];
    if (!given) return ones_like(r, root);
    if (!std::ranges::equal(given->shape(), root->shape()))
        refuse(r, "shape",
               "Mismatch in shape: grad_output[" + std::to_string(i) + "] has a shape of " + describe(given) +
                   " and output[" + std::to_string(i) + "] has a shape of " + describe(root) +
                   ". Pass a gradient of the output's shape.");
    if (is_complex(given->dtype) != is_complex(root->dtype))
        refuse(r, "dtype",
               "For complex tensors, both grad_output and output are required to have the same dtype: got " +
                   describe(given) + " for " + describe(root) + ". Convert the gradient.");
    return match(TensorRef(given), root, r.create_graph, called(r));
}

void add_captures(GraphTask& task, const BackwardRequest& r) {
    task.selective = !r.inputs.empty();
    task.inputs = r.inputs;
    task.captured.resize(r.inputs.size());
    for (size_t i = 0; i < r.inputs.size(); ++i) {
        Tensor* t = r.inputs[i];
        if (!tracked(t))
            refuse(r, "leaf",
                   "One of the differentiated Tensors does not require grad: input " + std::to_string(i) +
                       " is " + describe(t) + ". Call requires_grad_() on it before the forward call.");
        void* target = t->node ? static_cast<void*>(t->node) : t;
        task.captures.push_back({target, t->node ? t->output_nr : 0, uint32_t(i)});
    }
    std::sort(task.captures.begin(), task.captures.end(), [](const Capture& a, const Capture& b) {
        return a.target != b.target ? std::less<void*>()(a.target, b.target) : a.output_nr < b.output_nr;
    });
}

// Modes of the thread during a backward, and what they were.
class ModesGuard {
  public:
    explicit ModesGuard(bool create_graph) : old_(modes()) {
        modes().grad = create_graph;
        modes().in_backward = true;
    }
    ~ModesGuard() {
        Modes& m = modes();
        m.grad = old_.grad;
        m.in_backward = old_.in_backward;
        std::copy(std::begin(old_.override_backend), std::end(old_.override_backend), m.override_backend);
    }
    const Modes& old() const { return old_; }

  private:
    Modes old_;
};

std::vector<TensorRef> collect(GraphTask& task, const BackwardRequest& r) {
    if (!task.selective) return {};
    if (r.accumulate) {
        for (size_t i = 0; i < r.inputs.size(); ++i) {
            if (!task.captured[i]) continue;
            accumulate_grad(r.inputs[i], std::move(task.captured[i]), r.create_graph);
            Extra& e = extra(r.inputs[i]);
            TensorRef now = e.post_accumulate ? grad_of(r.inputs[i]) : TensorRef();
            if (now && hooks().run_hooks)
                hooks().run_hooks(e.post_accumulate, int(HookKind::PostAccumulate), r.inputs[i], now);
        }
        return {};
    }
    for (size_t i = 0; i < r.inputs.size(); ++i)
        if (!task.captured[i] && !r.allow_unused)
            refuse(r, "unused",
                   "One of the differentiated Tensors appears to not have been used in the graph: input " +
                       std::to_string(i) + " is " + describe(r.inputs[i]) +
                       ". Set allow_unused=True if this is the desired behavior.");
    return std::move(task.captured);
}

}  // namespace

// A backward inside a backward (from a hook or a Function) lies on the same stack.
static void check_depth(const BackwardRequest& r) {
    if (!modes().in_backward || stack_left() > kStackReserve) return;
    refuse(r, "depth",
           "backward() calls are nested too deeply: got " + std::to_string(stack_left() >> 10) +
               " KiB of stack left, expected more than " + std::to_string(kStackReserve >> 10) +
               ". Call backward() less deep in hooks and Functions, or run in a thread with a larger stack.");
}

std::vector<TensorRef> run_backward(const BackwardRequest& r) {
    check_depth(r);
    ModesGuard guard(r.create_graph);
    GraphTask task;
    task.retain_graph = r.retain_graph;
    task.create_graph = r.create_graph;
    task.accumulate = r.accumulate;
    task.anomaly = guard.old().anomaly;
    task.modes = guard.old();
    task.home = worker_device();
    std::vector<TensorRef> grads;
    for (size_t i = 0; i < r.roots.size(); ++i) {
        grads.push_back(root_gradient(task, r, i));
        task.roots.push_back(edge_of(r.roots[i]));
    }
    add_captures(task, r);
    plan(task);
    task.plain = task.scratch && !task.streams && !task.selective && !task.create_graph && !task.anomaly;
    run(task, grads);
    return collect(task, r);
}

}  // namespace tenora
