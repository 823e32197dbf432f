// Hooks: kept in payloads, removed by number. A handle may outlive its payload, so it finds it through a
// table.

#include "payload.h"

#include <unordered_map>

#include "autograd_objects.h"
#include "tenora/hooks.h"
#include "tenora/tape.h"
#include "tensor_object.h"

namespace tenora::python {

namespace {

uint64_t next_hook_id = 1;
std::unordered_map<uint64_t, Payload*>& hook_table() {  // guarded by the GIL
    static auto* table = new std::unordered_map<uint64_t, Payload*>();
    return *table;
}

struct HandleObject {
    PyObject_HEAD uint64_t id;
};

PyObject* handle_remove(PyObject* self, PyObject*) {
    uint64_t id = reinterpret_cast<HandleObject*>(self)->id;
    auto found = hook_table().find(id);
    if (found != hook_table().end()) {
        auto& hooks = found->second->hooks;
        hook_table().erase(found);
        for (size_t i = 0; i < hooks.size(); ++i) {
            if (hooks[i].id != id) continue;
            PyObject* callable = hooks[i].callable;
            hooks.erase(hooks.begin() + long(i));
            Py_DECREF(callable);  // last: it may run Python code
            break;
        }
    }
    Py_RETURN_NONE;
}

PyObject* handle_enter(PyObject* self, PyObject*) { return Py_NewRef(self); }
PyObject* handle_exit(PyObject* self, PyObject* const*, Py_ssize_t) { return handle_remove(self, nullptr); }
PyObject* handle_id(PyObject* self, void*) {
    return PyLong_FromUnsignedLongLong(reinterpret_cast<HandleObject*>(self)->id);
}

PyMethodDef handle_methods[] = {
    {"remove", handle_remove, METH_NOARGS, "Takes the hook away; a second call does nothing."},
    {"__enter__", handle_enter, METH_NOARGS, nullptr},
    {"__exit__", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(handle_exit)), METH_FASTCALL,
     nullptr},
    {nullptr, nullptr, 0, nullptr}};
PyGetSetDef handle_getset[] = {{"id", handle_id, nullptr, "Number of the hook.", nullptr},
                               {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyTypeObject HandleType = {PyVarObject_HEAD_INIT(nullptr, 0) "tenora.HookHandle", sizeof(HandleObject)};

std::vector<PyRef> callables(const Payload& payload) {  // a hook may add or remove hooks
    std::vector<PyRef> list;
    for (const Payload::Hook& hook : payload.hooks) list.push_back(PyRef::borrow(hook.callable));
    return list;
}

void run_hooks(void* p, int kind, Tensor* owner, TensorRef& grad) {
    GilGuard gil;
    std::vector<PyRef> list = callables(*static_cast<Payload*>(p));
    for (const PyRef& hook : list) {
        if (HookKind(kind) == HookKind::PostAccumulate) {
            if (!owner) continue;
            PyRef leaf = own(wrap(owner));
            own(call_python([&] { return PyObject_CallOneArg(hook.get(), leaf.get()); }));
            continue;
        }
        PyRef given = own(wrap_or_none(grad.get()));
        PyRef answer = own(call_python([&] { return PyObject_CallOneArg(hook.get(), given.get()); }));
        if (answer.get() == Py_None) continue;
        if (!is_tensor(answer.get())) {
            raise_kind(ErrorKind::Type, "hook", "register_hook",
                       "a hook must return a Tensor or None: got " + type_name(answer.get()) + ".");
        }
        grad = TensorRef(impl_of(answer.get()));
    }
}

PyRef tuple_of_tensors(std::span<TensorRef> tensors) {
    PyRef tuple = own(PyTuple_New(Py_ssize_t(tensors.size())));
    for (size_t i = 0; i < tensors.size(); ++i)
        PyTuple_SET_ITEM(tuple.get(), Py_ssize_t(i), check(wrap_or_none(tensors[i].get())));
    return tuple;
}

void take_answer(PyObject* answer, std::span<TensorRef> into) {
    if (answer == Py_None) return;
    PyRef tuple = is_tensor(answer) ? own(PyTuple_Pack(1, answer)) : own(PySequence_Tuple(answer));
    if (size_t(PyTuple_GET_SIZE(tuple.get())) != into.size()) {
        raise_kind(ErrorKind::Runtime, "hook", "register_hook",
                   "a node hook returned the wrong number of gradients: got " +
                       std::to_string(PyTuple_GET_SIZE(tuple.get())) + ", expected " +
                       std::to_string(into.size()) + ".");
    }
    for (size_t i = 0; i < into.size(); ++i) {
        PyObject* item = PyTuple_GET_ITEM(tuple.get(), Py_ssize_t(i));
        into[i] = item == Py_None ? TensorRef() : TensorRef(as_tensor(item, "register_hook", "a gradient"));
    }
}

void run_node_hooks(void* p, NodeHookKind kind, Node*, std::span<TensorRef> grad_inputs,
                    std::span<TensorRef> grad_outputs) {
    GilGuard gil;
    std::vector<PyRef> list = callables(*static_cast<Payload*>(p));
    for (const PyRef& hook : list) {
        PyRef outputs = tuple_of_tensors(grad_outputs);
        if (kind == NodeHookKind::Pre) {
            take_answer(
                own(call_python([&] { return PyObject_CallOneArg(hook.get(), outputs.get()); })).get(),
                grad_outputs);
        } else {
            PyRef inputs = tuple_of_tensors(grad_inputs);
            take_answer(own(call_python([&] {
                            return PyObject_CallFunctionObjArgs(hook.get(), inputs.get(), outputs.get(),
                                                                nullptr);
                        })).get(),
                        grad_inputs);
        }
    }
}

void release_payload(void* p) {
    if (!p || !Py_IsInitialized()) return;
    GilGuard gil;
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    delete static_cast<Payload*>(p);
    PyErr_Restore(type, value, traceback);
}

PyObject* hook_method(PyObject* self, PyObject* callable, void** (*slot)(Tensor*), const char* op) {
    return guarded([&] {
        Tensor* t = impl_of(self);
        if (!tracked(t))
            raise_kind(ErrorKind::Runtime, "autograd", op,
                       "the tensor takes no part in gradients: no hook would ever be called.");
        PyObject* handle = add_hook(slot(t), callable, self);
        track(self);
        return handle;
    });
}

}  // namespace

Payload::~Payload() {
    for (const Hook& hook : hooks) hook_table().erase(hook.id);
    std::vector<Hook> gone = std::move(hooks);
    for (const Hook& hook : gone) Py_DECREF(hook.callable);
    Py_XDECREF(object);
}

int traverse_payload(void* p, visitproc visit, void* arg) {
    auto* payload = static_cast<Payload*>(p);
    for (const Payload::Hook& hook : payload->hooks) Py_VISIT(hook.callable);
    Py_VISIT(payload->object);
    return 0;
}

Payload& payload_in(void** slot) {
    if (!*slot) set_payload(slot, new Payload());
    return *static_cast<Payload*>(*slot);
}

PyObject* add_hook(void** slot, PyObject* callable, PyObject*) {
    if (!PyCallable_Check(callable))
        raise_kind(ErrorKind::Type, "type", "register_hook",
                   "a hook must be callable: got " + type_name(callable) + ".");
    auto* handle = PyObject_New(HandleObject, &HandleType);
    check(reinterpret_cast<PyObject*>(handle));
    handle->id = next_hook_id++;
    Payload& payload = payload_in(slot);
    payload.hooks.push_back({handle->id, Py_NewRef(callable)});
    hook_table()[handle->id] = &payload;
    return reinterpret_cast<PyObject*>(handle);
}

PyObject* tensor_register_hook(PyObject* self, PyObject* callable) {
    return hook_method(self, callable, tensor_hooks, "register_hook");
}

PyObject* tensor_register_post_accumulate_grad_hook(PyObject* self, PyObject* callable) {
    return guarded([&] {
        if (!is_leaf(impl_of(self))) {
            raise_kind(ErrorKind::Runtime, "autograd", "register_post_accumulate_grad_hook",
                       "only leaves accumulate: got a result of a recorded operation.");
        }
        return check(
            hook_method(self, callable, post_accumulate_hooks, "register_post_accumulate_grad_hook"));
    });
}

void install_payload_hooks() {
    hooks().run_hooks = run_hooks;
    hooks().run_node_hooks = run_node_hooks;
    hooks().release_payload = release_payload;
}

void ready_hook_types(PyObject* module) {
    HandleType.tp_doc = PyDoc_STR("Takes a hook away again: `.remove()`, or as a context manager.");
    HandleType.tp_flags = Py_TPFLAGS_DEFAULT;
    HandleType.tp_methods = handle_methods;
    HandleType.tp_getset = handle_getset;
    check_status(PyType_Ready(&HandleType));
    check_status(PyModule_AddObjectRef(module, "HookHandle", reinterpret_cast<PyObject*>(&HandleType)));
}

}  // namespace tenora::python
