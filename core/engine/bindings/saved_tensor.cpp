// What is saved for backward, as Python sees it.
//   - SavedTensor: a tensor that the context of an autograd.Function keeps. A saved output is an alias
//   without history (else node -> output -> node would never go); while its node runs, `unpack` gives it its
//   history back. The node knows the slot (FunctionSaved), so that cut_saved() finds it; the object owns its
//   content.
//   - saved_tensors_hooks: a stack per thread of (pack, unpack). What is saved inside goes through `pack`,
//   here and in the engine's own nodes; the pair of that moment gives it back. Off, it costs one flag test
//   per save.

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

struct HookPair {
    PyRef pack, unpack;
};
thread_local std::vector<HookPair>* hook_stack = nullptr;

// Nothing is recorded, and so nothing saved, while a pack function runs.
struct NoGrad {
    bool old = modes().grad;
    NoGrad() { modes().grad = false; }
    ~NoGrad() { modes().grad = old; }
};

// (unpack, packed) of a tensor without history.
PyRef pack(Tensor* bare) {
    HookPair pair = hook_stack->back();
    NoGrad quiet;
    uint32_t version = bare->version();
    PyRef wrapper = own(wrap(bare));
    PyRef packed = own(call_python([&] { return PyObject_CallOneArg(pair.pack.get(), wrapper.get()); }));
    if (bare->version() != version)
        raise_kind(ErrorKind::Runtime, "version", "saved_tensors_hooks",
                   "the pack hook modified its input in place: got another version, expected the same. Clone "
                   "it first.");
    return own(PyTuple_Pack(2, pair.unpack.get(), packed.get()));
}

TensorRef unpack(PyObject* pair) {
    PyRef held = PyRef::borrow(pair);
    PyRef made = own(call_python(
        [&] { return PyObject_CallOneArg(PyTuple_GET_ITEM(pair, 0), PyTuple_GET_ITEM(pair, 1)); }));
    if (!is_tensor(made.get()))
        raise_kind(ErrorKind::Type, "type", "saved_tensors_hooks",
                   "the unpack hook returned something else: got " + type_name(made.get()) +
                       ", expected a Tensor. Return the tensor that was packed.");
    return TensorRef(impl_of(made.get()));
}

void* pack_saved(Tensor* t) {
    GilGuard gil;
    auto payload = std::make_unique<Payload>();
    payload->object = pack(t).release();
    return payload.release();
}

TensorRef unpack_saved(void* payload) {
    GilGuard gil;
    return unpack(static_cast<Payload*>(payload)->object);
}

// ---- SavedTensor

struct SavedTensorObject {
    PyObject_HEAD FunctionSaved* slot;  // one count, and its content is this object's
    PyObject* packed;                   // (unpack, packed), or null
    int64_t place;  // as the node's slots are numbered: outputs, inputs, results; -1: an intermediate value
    bool is_result;
};

SavedTensorObject* fields(PyObject* o) { return reinterpret_cast<SavedTensorObject*>(o); }
PyTypeObject SavedTensorType = {PyVarObject_HEAD_INIT(nullptr, 0) "tenora.SavedTensor",
                                sizeof(SavedTensorObject)};

TensorRef content(FunctionSaved* slot) {
    std::lock_guard lock(slot->lock);
    return slot->tensor;
}

int64_t index_in(const std::vector<TensorRef>& list, const Tensor* t) {
    auto found = std::find_if(list.begin(), list.end(), [t](const TensorRef& r) { return r.get() == t; });
    return found == list.end() ? -1 : found - list.begin();
}

PyObject* saved_tensor(Node* node, Tensor* t, const std::vector<TensorRef>& inputs,
                       const std::vector<TensorRef>& outputs) {
    if (t->inference)
        raise_kind(ErrorKind::Runtime, "autograd", "save_for_backward",
                   "inference tensors cannot be saved for backward. Clone them outside inference_mode.");
    PyRef self = own(SavedTensorType.tp_alloc(&SavedTensorType, 0));
    SavedTensorObject* o = fields(self.get());
    int64_t output = index_in(outputs, t), input = index_in(inputs, t);
    o->is_result = output >= 0;
    o->place = o->is_result ? node->n_out + node->n_edges + output : input >= 0 ? node->n_out + input : -1;
    o->slot = new FunctionSaved();
    o->slot->version = t->version();
    if (modes().saved_hooks) {
        o->packed = pack(detach(t).get()).release();
    } else {
        o->slot->tensor = o->is_result ? detach(t) : TensorRef(t);
        if (!o->is_result) t->storage->saved.store(true, std::memory_order_relaxed);
        side(node).saved.emplace_back(o->slot);
    }
    return self.release();
}

int saved_clear(PyObject* self) {
    SavedTensorObject* o = fields(self);
    TensorRef gone;
    if (o->slot) {
        std::lock_guard lock(o->slot->lock);
        gone = std::exchange(o->slot->tensor, {});
    }
    Py_CLEAR(o->packed);
    return 0;
}

// The wrapper that the engine keeps for this object alone.
int saved_traverse(PyObject* self, visitproc visit, void* arg) {
    SavedTensorObject* o = fields(self);
    Py_VISIT(o->packed);
    Tensor* t = o->slot ? o->slot->tensor.get() : nullptr;
    if (!t) return 0;
    uint32_t word = t->word.load(std::memory_order_acquire);
    auto* wrapper = static_cast<PyObject*>(t->wrapper.load(std::memory_order_acquire));
    if (wrapper && (word & Tensor::KEEP) && word >> 1 == 2) Py_VISIT(wrapper);
    return 0;
}

void saved_dealloc(PyObject* self) {
    PyObject_GC_UnTrack(self);
    saved_clear(self);
    if (FunctionSaved* slot = fields(self)->slot) slot->release();
    Py_TYPE(self)->tp_free(self);
}

TensorRef unpacked_with_history(SavedTensorObject* o, Node* node) {
    TensorRef t = unpack(o->packed);
    bool known = node && o->place >= 0 && o->place < int64_t(node->n_out) * 2 + node->n_edges;
    return known && is_differentiable(t->dtype) ? restore_saved(node, t.get(), size_t(o->place)) : t;
}

PyObject* saved_unpack(PyObject* self, PyObject*) {
    return guarded([&] {
        SavedTensorObject* o = fields(self);
        Node* node = running_node();
        if (o->packed) return wrap(unpacked_with_history(o, node));
        TensorRef t = content(o->slot);
        std::string_view name = node ? node->name() : "Function";
        if (!t) raise_kind(ErrorKind::Runtime, "freed", name, "a saved tensor is gone already.");
        if (t->version() != o->slot->version) {
            raise_kind(ErrorKind::Runtime, "version", name,
                       "a tensor saved for backward was modified in place: got version " +
                           std::to_string(t->version()) + ", expected " + std::to_string(o->slot->version) +
                           ". Clone it before the write.");
        }
        if (!o->is_result) return wrap(std::move(t));
        TensorRef out = alias(t.get());
        size_t number = node ? size_t(o->place) - node->n_out - node->n_edges : 0;
        if (node && number < node->n_out && is_differentiable(out->dtype))
            set_history(out.get(), node, uint32_t(number));
        return wrap(std::move(out));
    });
}

PyMethodDef saved_methods[] = {
    {"unpack", saved_unpack, METH_NOARGS, "The tensor; RuntimeError when it was modified since."},
    {nullptr, nullptr, 0, nullptr}};

// ---- the stack of hooks

PyObject* push_saved_hooks(PyObject*, PyObject* args) {
    PyObject *pack_hook, *unpack_hook;
    if (!PyArg_ParseTuple(args, "OO:push_saved_hooks", &pack_hook, &unpack_hook)) return nullptr;
    return guarded([&] {
        if (!PyCallable_Check(pack_hook) || !PyCallable_Check(unpack_hook))
            raise_kind(ErrorKind::Type, "type", "saved_tensors_hooks",
                       "hooks must be callable: got " + type_name(pack_hook) + " and " +
                           type_name(unpack_hook) + ", expected two functions.");
        if (!hook_stack) hook_stack = new std::vector<HookPair>();
        hook_stack->push_back({PyRef::borrow(pack_hook), PyRef::borrow(unpack_hook)});
        modes().saved_hooks = true;
        return new_none();
    });
}

PyObject* pop_saved_hooks(PyObject*, PyObject*) {
    if (!hook_stack) Py_RETURN_NONE;
    HookPair gone = std::move(hook_stack->back());
    hook_stack->pop_back();
    if (hook_stack->empty()) {
        delete std::exchange(hook_stack, nullptr);
        modes().saved_hooks = false;
    }
    Py_RETURN_NONE;
}

PyMethodDef functions[] = {
    {"push_saved_hooks", push_saved_hooks, METH_VARARGS,
     "push_saved_hooks(pack, unpack): what this thread saves for backward goes through them."},
    {"pop_saved_hooks", pop_saved_hooks, METH_NOARGS, "Takes the innermost pair away."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

PyObject* save_for_node(Node* node, PyObject* tensors, const std::vector<TensorRef>& inputs,
                        const std::vector<TensorRef>& outputs) {
    PyRef given = own(PySequence_Tuple(tensors));
    Py_ssize_t n = PyTuple_GET_SIZE(given.get());
    PyRef saved = own(PyTuple_New(n));
    for (Py_ssize_t i = 0; i < n; ++i) {
        PyObject* item = PyTuple_GET_ITEM(given.get(), i);
        Tensor* t = item == Py_None ? nullptr : as_tensor(item, "save_for_backward", "tensor");
        PyTuple_SET_ITEM(saved.get(), i, t ? saved_tensor(node, t, inputs, outputs) : new_none());
    }
    return saved.release();
}

void install_saved_hooks() {
    hooks().pack_saved = pack_saved;
    hooks().unpack_saved = unpack_saved;
}

void ready_saved_tensor_type(PyObject* module) {
    SavedTensorType.tp_doc =
        PyDoc_STR("A tensor that the context of an autograd.Function keeps for backward.");
    SavedTensorType.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION;
    SavedTensorType.tp_dealloc = saved_dealloc;
    SavedTensorType.tp_traverse = saved_traverse;
    SavedTensorType.tp_clear = saved_clear;
    SavedTensorType.tp_methods = saved_methods;
    check_status(PyType_Ready(&SavedTensorType));
    check_status(PyModule_AddObjectRef(module, "SavedTensor", reinterpret_cast<PyObject*>(&SavedTensorType)));
    check_status(PyModule_AddFunctions(module, functions));
}

}  // namespace tenora::python
