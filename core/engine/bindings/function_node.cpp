// Nodes whose backward is Python: the primitive under autograd.Function, and its saved tensors.
//   - The node owns a payload with the context; the evaluator calls `context._run_backward(grads)` with one
//   gradient per
//     output and wants one gradient or None per input.
//   - Undefined gradients become zeros, unless the context asked for None (set_materialize_grads(False)).
//   - What it saves for backward lies in SavedTensor objects (saved_tensor.cpp), which the node knows of too.

#include <algorithm>
#include <vector>

#include "autograd_objects.h"
#include "payload.h"
#include "tenora/dispatch.h"
#include "tenora/hooks.h"
#include "tenora/modes.h"
#include "tensor_object.h"

namespace tenora::python {

namespace {

thread_local Node* current_node = nullptr;

struct RunningNode {
    Node* before = current_node;
    explicit RunningNode(Node* node) { current_node = node; }
    ~RunningNode() { current_node = before; }
};

TensorRef zeros_of(const ResultMeta& meta) {
    TensorRef t = new_tensor(meta.shape, meta.dtype, meta.device);
    fill(t.get(), Scalar::from_int(0));
    return t;
}

void run_python_node(Node* node, std::span<Tensor* const> grads, bool, std::span<TensorRef> out) {
    GilGuard gil;
    auto* payload = static_cast<Payload*>(*python_payload(node));
    if (!payload || !payload->object) {
        raise_kind(ErrorKind::Runtime, "autograd", node->name(),
                   "the graph was freed by an earlier backward. Use retain_graph=True there.");
    }
    PyRef context = PyRef::borrow(payload->object);
    PyRef tuple = own(PyTuple_New(Py_ssize_t(grads.size())));
    for (size_t i = 0; i < grads.size(); ++i) {
        PyObject* grad;
        if (grads[i])
            grad = wrap(grads[i]);
        else if (payload->materialize_grads && i < payload->result_meta.size())
            grad = wrap(zeros_of(payload->result_meta[i]));
        else
            grad = new_none();
        PyTuple_SET_ITEM(tuple.get(), Py_ssize_t(i), check(grad));
    }
    RunningNode running(node);
    PyRef answer = own(
        call_python([&] { return PyObject_CallMethod(context.get(), "_run_backward", "(O)", tuple.get()); }));
    PyRef results = answer.get() == Py_None || is_tensor(answer.get()) ? own(PyTuple_Pack(1, answer.get()))
                                                                       : own(PySequence_Tuple(answer.get()));
    size_t n = size_t(PyTuple_GET_SIZE(results.get()));
    bool trailing_none = n > out.size();
    for (size_t i = out.size(); i < n; ++i)
        trailing_none &= PyTuple_GET_ITEM(results.get(), Py_ssize_t(i)) == Py_None;
    if (n < out.size() || (n > out.size() && !trailing_none)) {
        raise_kind(ErrorKind::Runtime, "autograd", node->name(),
                   "backward returned the wrong number of gradients: got " + std::to_string(n) +
                       ", expected " + std::to_string(out.size()) + ".");
    }
    for (size_t i = 0; i < out.size(); ++i) {
        PyObject* item = PyTuple_GET_ITEM(results.get(), Py_ssize_t(i));
        if (item != Py_None)
            out[i] = TensorRef(as_tensor(item, std::string(node->name()).c_str(), "a returned gradient"));
    }
}

void free_python_node(Node* node) {
    if (!Py_IsInitialized()) return;
    GilGuard gil;
    auto* payload = static_cast<Payload*>(*python_payload(node));
    if (!payload || !payload->object) return;
    PyRef context = PyRef::borrow(payload->object);
    PyRef method = PyRef::steal(PyObject_GetAttrString(context.get(), "_free"));
    PyRef done =
        method ? PyRef::steal(call_python([&] { return PyObject_CallNoArgs(method.get()); })) : PyRef();
    if (!done) PyErr_Clear();  // a context without _free keeps what it saved
}

std::vector<TensorRef> tensors_of(PyObject* sequence, const char* what) {
    PyRef tuple = own(PySequence_Tuple(sequence));
    std::vector<TensorRef> list;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple.get()); ++i) {
        list.emplace_back(as_tensor(PyTuple_GET_ITEM(tuple.get(), i), "python_node", what));
    }
    return list;
}

bool contains(const std::vector<TensorRef>& list, Tensor* t) {
    return std::any_of(list.begin(), list.end(), [t](const TensorRef& r) { return r.get() == t; });
}

struct FunctionCall {
    std::vector<TensorRef> inputs, outputs, dirty, constant;
    const char* name;

    void check_dirty() const {
        for (const TensorRef& t : dirty) {
            if (!contains(inputs, t.get()))
                raise_kind(ErrorKind::Runtime, "autograd", name,
                           "mark_dirty was given a tensor that is not an input.");
            if (!contains(outputs, t.get()))
                raise_kind(ErrorKind::Runtime, "autograd", name, "a tensor marked dirty must be returned.");
            check_inplace(name, t.get(), true);
        }
    }

    // What the user gets for output k.
    TensorRef result(size_t k, Node* node) const {
        Tensor* t = outputs[k].get();
        bool is_input = contains(inputs, t), is_dirty = contains(dirty, t);
        TensorRef out = (is_input && !is_dirty) || (!is_dirty && t->needs_grad()) ? detach(t) : TensorRef(t);
        if (contains(constant, t) || !is_differentiable(t->dtype)) return out;
        if (!is_dirty) {
            if (is_input) make_view_of(out.get(), t);
            if (out->is_view) out->extra->creation = Extra::kFunction;
            set_history(out.get(), node, uint32_t(k));
            return out;
        }
        rebase_history(out.get(), NodeRef(node), uint32_t(k), current_backend(out->device.space));
        Tensor* base = out->is_view ? out->extra->base.get() : nullptr;
        if (void* wrapper = base ? base->wrapper.load(std::memory_order_acquire) : nullptr)
            track(static_cast<PyObject*>(wrapper));
        return out;
    }
};

}  // namespace

Node* running_node() { return current_node; }

PyObject* python_node_binding(PyObject*, PyObject* args, PyObject* kwargs) {
    PyObject *context, *inputs, *outputs, *dirty = nullptr, *constant = nullptr, *to_save = nullptr;
    const char* name = "Function";
    int materialize = 1;
    static const char* names[] = {
        "context",           "inputs", "outputs", "dirty", "non_differentiable", "name",
        "materialize_grads", "save",   nullptr};
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OOO|$OOspO:python_node", const_cast<char**>(names),
                                     &context, &inputs, &outputs, &dirty, &constant, &name, &materialize,
                                     &to_save)) {
        return nullptr;
    }
    return guarded([&] {
        FunctionCall f{tensors_of(inputs, "an input"), tensors_of(outputs, "an output"), {}, {}, name};
        if (dirty) f.dirty = tensors_of(dirty, "a dirty tensor");
        if (constant) f.constant = tensors_of(constant, "a non-differentiable tensor");
        f.check_dirty();
        std::vector<Tensor*> raw;
        for (const TensorRef& t : f.inputs) raw.push_back(t.get());
        auto payload = std::make_unique<Payload>();
        payload->object = Py_NewRef(context);
        payload->materialize_grads = materialize;
        for (const TensorRef& t : f.outputs)
            payload->result_meta.push_back({{t->shape().begin(), t->shape().end()}, t->dtype, t->device});
        NodeRef node = python_node(payload.release(), raw, int(f.outputs.size()), name);
        if (to_save) {
            PyRef saved = PyRef::steal(save_for_node(node.get(), to_save, f.inputs, f.outputs));
            check_status(PyObject_SetAttrString(context, "_saved", saved.get()));
        }
        PyRef tuple = own(PyTuple_New(Py_ssize_t(f.outputs.size())));
        for (size_t k = 0; k < f.outputs.size(); ++k) {
            PyObject* wrapper = wrap(f.result(k, node.get()));
            PyTuple_SET_ITEM(tuple.get(), Py_ssize_t(k), check(wrapper));
            track_if_needed(wrapper);
        }
        return tuple.release();
    });
}

void install_function_hooks() {
    hooks().run_python_node = run_python_node;
    hooks().free_python_node = free_python_node;
    install_saved_hooks();
}

}  // namespace tenora::python
