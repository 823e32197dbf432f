// no_grad() and its kin: context managers and decorators over the thread's modes, native because they stand
// in hot loops.
//   - One object may be entered again while it is entered; what it replaced is kept as two bits per level.
//   - Decoration (functions, generators) is done by a Python helper that tenora_engine pushes in.

#include "autograd_objects.h"
#include "tenora/modes.h"

namespace tenora::python {

namespace {

enum class Kind : uint8_t { NoGrad, EnableGrad, GradMode, Inference, Anomaly };

struct ContextObject {
    PyObject_HEAD Kind kind;
    bool value;
    uint8_t depth;
    uint64_t saved;  // two bits per level: the mode, and grad mode for inference
};

PyObject* decorator = nullptr;
PyTypeObject types[5] = {{PyVarObject_HEAD_INIT(nullptr, 0) "tenora.no_grad", sizeof(ContextObject)},
                         {PyVarObject_HEAD_INIT(nullptr, 0) "tenora.enable_grad", sizeof(ContextObject)},
                         {PyVarObject_HEAD_INIT(nullptr, 0) "tenora.grad_mode", sizeof(ContextObject)},
                         {PyVarObject_HEAD_INIT(nullptr, 0) "tenora.inference_mode", sizeof(ContextObject)},
                         {PyVarObject_HEAD_INIT(nullptr, 0) "tenora.anomaly_mode", sizeof(ContextObject)}};

ContextObject* fields(PyObject* o) { return reinterpret_cast<ContextObject*>(o); }

bool& mode_of(Kind kind) {
    if (kind == Kind::Inference) return modes().inference;
    return kind == Kind::Anomaly ? modes().anomaly : modes().grad;
}

PyObject* decorate(PyObject* context, PyObject* function) {
    if (!decorator) {
        PyErr_SetString(PyExc_RuntimeError,
                        "[no_grad] decoration is not available: tenora_engine was not imported.");
        return nullptr;
    }
    return PyObject_CallFunctionObjArgs(decorator, context, function, nullptr);
}

PyObject* context_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
    Kind kind = Kind(type - types);
    PyObject *first = nullptr, *given = nullptr;
    static const char* names[] = {"", nullptr};
    static const char* enabled[] = {"enabled", nullptr};
    static const char* mode[] = {"mode", nullptr};
    const char** keywords = kind == Kind::Inference                           ? mode
                            : kind == Kind::GradMode || kind == Kind::Anomaly ? enabled
                                                                              : names;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, kind == Kind::GradMode ? "O" : "|O",
                                     const_cast<char**>(keywords), &first))
        return nullptr;
    if (first && PyCallable_Check(first)) given = first;  // @no_grad without parentheses
    if (first && !given && !PyBool_Check(first))
        return PyErr_Format(PyExc_TypeError, "[%s] expected True or False", type->tp_name);
    PyRef self = PyRef::steal(type->tp_alloc(type, 0));
    if (!self) return nullptr;
    ContextObject* o = fields(self.get());
    o->kind = kind;
    bool switchable = kind == Kind::GradMode || kind == Kind::Inference || kind == Kind::Anomaly;
    o->value = switchable ? given || !first || first == Py_True : kind == Kind::EnableGrad;
    return given ? decorate(self.get(), given) : self.release();
}

PyObject* context_enter(PyObject* self, PyObject*) {
    ContextObject* o = fields(self);
    if (o->depth >= 32) {
        PyErr_SetString(PyExc_RuntimeError,
                        "[no_grad] one context object was entered more than 32 times at once.");
        return nullptr;
    }
    bool& mode = mode_of(o->kind);
    o->saved = o->saved << 2 | uint64_t(mode) << 1 | uint64_t(modes().grad);
    ++o->depth;
    mode = o->value;
    if (o->kind == Kind::Inference && o->value) modes().grad = false;
    return Py_NewRef(self);
}

PyObject* context_exit(PyObject* self, PyObject* const*, Py_ssize_t) {
    ContextObject* o = fields(self);
    if (o->depth > 0) {
        --o->depth;
        if (o->kind == Kind::Inference) modes().grad = o->saved & 1;
        mode_of(o->kind) = (o->saved >> 1) & 1;
        o->saved >>= 2;
    }
    Py_RETURN_NONE;
}

PyObject* context_call(PyObject* self, PyObject* args, PyObject* kwargs) {
    PyObject* function;
    static const char* names[] = {"", nullptr};
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O:decorator", const_cast<char**>(names), &function))
        return nullptr;
    return decorate(self, function);
}

// A context of the same kind and value: each call of a decorated function enters its own.
PyObject* context_clone(PyObject* self, PyObject*) {
    PyObject* copy = Py_TYPE(self)->tp_alloc(Py_TYPE(self), 0);
    if (copy) {
        fields(copy)->kind = fields(self)->kind;
        fields(copy)->value = fields(self)->value;
    }
    return copy;
}

void context_dealloc(PyObject* self) { Py_TYPE(self)->tp_free(self); }

PyMethodDef methods[] = {
    {"__enter__", context_enter, METH_NOARGS, nullptr},
    {"__exit__", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(context_exit)), METH_FASTCALL,
     nullptr},
    {"clone", context_clone, METH_NOARGS, "A fresh context of the same kind."},
    {nullptr, nullptr, 0, nullptr}};

PyObject* set_decorator(PyObject*, PyObject* callable) {
    Py_INCREF(callable);
    Py_XSETREF(decorator, callable);
    Py_RETURN_NONE;
}
PyMethodDef functions[] = {
    {"set_decorator", set_decorator, METH_O, "f(context, function) -> decorated function."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

void ready_grad_mode_types(PyObject* module) {
    const char* docs[] = {
        "Operations are not recorded.", "Operations are recorded.", "grad_mode(enabled)",
        "inference_mode(mode=True): no recording, no versions; results may not enter recorded operations.",
        "anomaly_mode(enabled=True): backward names the line of the forward call that failed."};
    const char* names[] = {"no_grad", "enable_grad", "grad_mode", "inference_mode", "anomaly_mode"};
    for (int i = 0; i < 5; ++i) {
        types[i].tp_doc = docs[i];
        types[i].tp_flags = Py_TPFLAGS_DEFAULT;
        types[i].tp_new = context_new;
        types[i].tp_dealloc = context_dealloc;
        types[i].tp_call = context_call;
        types[i].tp_methods = methods;
        check_status(PyType_Ready(&types[i]));
        check_status(PyModule_AddObjectRef(module, names[i], reinterpret_cast<PyObject*>(&types[i])));
    }
    check_status(PyModule_AddFunctions(module, functions));
}

}  // namespace tenora::python
