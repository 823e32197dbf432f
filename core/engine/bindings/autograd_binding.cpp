// backward, grad, and the small methods of Tensor around them.

#include <vector>

#include "autograd_objects.h"
#include "module_parts.h"
#include "tenora/dispatch.h"
#include "tenora/modes.h"
#include "tensor_object.h"

namespace tenora::python {

PyObject* set_trace_lines(PyObject*, PyObject* function);    // anomaly.cpp
PyObject* set_failure_lines(PyObject*, PyObject* function);  // anomaly.cpp

namespace {

struct TensorList {
    std::vector<TensorRef> held;
    std::vector<Tensor*> raw;

    void add(Tensor* t) {
        held.emplace_back(t);
        raw.push_back(t);
    }
};

TensorList tensor_list(PyObject* o, const char* op, const char* what, bool none_allowed) {
    TensorList list;
    if (!o || o == Py_None) return list;
    PyRef tuple = is_tensor(o) ? own(PyTuple_Pack(1, o)) : own(PySequence_Tuple(o));
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple.get()); ++i) {
        PyObject* item = PyTuple_GET_ITEM(tuple.get(), i);
        list.add(none_allowed && item == Py_None ? nullptr : as_tensor(item, op, what));
    }
    return list;
}

bool flag(PyObject* o, bool fallback) {
    if (!o || o == Py_None) return fallback;
    int truth = PyObject_IsTrue(o);
    check_status(truth);
    return truth != 0;
}

struct Call {
    TensorList roots, grads, inputs;
    BackwardRequest request;
    std::vector<TensorRef> run() {
        request.roots = roots.raw;
        request.grads = grads.raw;
        request.inputs = inputs.raw;
        try {
            std::vector<TensorRef> results = run_backward(request);
            drain_releases();
            return results;
        } catch (Error& error) {
            // What fails before the first node: a root or an input without history.
            if (error.code == "leaf" || error.code == "unused") tell_about_tensors(error, inputs.raw);
            throw;
        }
    }
};

void run_backward_call(PyObject* roots, PyObject* grads, PyObject* inputs, PyObject* retain, PyObject* create,
                       const char* op) {
    Call c;
    c.roots = tensor_list(roots, op, "a root", false);
    c.grads = tensor_list(grads, op, "a gradient", true);
    c.inputs = tensor_list(inputs, op, "an input", false);
    if (inputs && inputs != Py_None && c.inputs.raw.empty()) {
        raise_kind(ErrorKind::Runtime, "autograd", op,
                   "inputs is empty: expected at least one tensor, or None for all leaves.");
    }
    c.request.create_graph = flag(create, false);
    c.request.retain_graph = flag(retain, c.request.create_graph);
    c.request.accumulate = true;
    c.run();
}

PyObject* backward(PyObject*, PyObject* args, PyObject* kwargs) {
    PyObject *roots, *grads = nullptr, *inputs = nullptr, *retain = nullptr, *create = nullptr;
    static const char* names[] = {"roots", "grads", "inputs", "retain_graph", "create_graph", nullptr};
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|OOOO:backward", const_cast<char**>(names), &roots,
                                     &grads, &inputs, &retain, &create))
        return nullptr;
    return guarded([&] {
        run_backward_call(roots, grads, inputs, retain, create, "backward");
        return new_none();
    });
}

PyObject* grad(PyObject*, PyObject* args, PyObject* kwargs) {
    PyObject *outputs, *inputs, *grads = nullptr, *retain = nullptr, *create = nullptr, *unused = nullptr;
    static const char* names[] = {"outputs",      "inputs",       "grads", "retain_graph",
                                  "create_graph", "allow_unused", nullptr};
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO|OOOO:grad", const_cast<char**>(names), &outputs,
                                     &inputs, &grads, &retain, &create, &unused))
        return nullptr;
    return guarded([&] {
        Call c;
        c.roots = tensor_list(outputs, "grad", "an output", false);
        c.inputs = tensor_list(inputs, "grad", "an input", false);
        c.grads = tensor_list(grads, "grad", "a gradient", true);
        if (c.inputs.raw.empty())
            raise_kind(ErrorKind::Value, "autograd", "grad",
                       "inputs is empty: expected at least one tensor.");
        c.request.create_graph = flag(create, false);
        c.request.retain_graph = flag(retain, c.request.create_graph);
        c.request.allow_unused = flag(unused, false);
        c.request.accumulate = false;
        std::vector<TensorRef> results = c.run();
        PyRef tuple = own(PyTuple_New(Py_ssize_t(results.size())));
        for (size_t i = 0; i < results.size(); ++i) {
            PyTuple_SET_ITEM(tuple.get(), Py_ssize_t(i),
                             results[i] ? check(wrap(std::move(results[i]))) : new_none());
        }
        return tuple.release();
    });
}

template <bool Modes::* Member>
PyObject* get_mode(PyObject*, PyObject*) {
    return new_bool(modes().*Member);
}

template <bool Modes::* Member>
PyObject* set_mode(PyObject*, PyObject* value) {
    if (!PyBool_Check(value)) {
        PyErr_SetString(PyExc_TypeError, "expected True or False");
        return nullptr;
    }
    bool old = modes().*Member;
    modes().*Member = value == Py_True;
    return new_bool(old);
}

PyObject* set_gc_walk_binding(PyObject*, PyObject* value) {
    set_gc_walk(PyObject_IsTrue(value) == 1);
    Py_RETURN_NONE;
}

PyObject* mark_parts(PyObject*, PyObject* parts) {
    return guarded([&] {
        PyRef items = own(PySequence_Fast(parts, "[mark_parts] expected a list or tuple of tensors."));
        for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i)
            mark_part(as_tensor(PySequence_Fast_GET_ITEM(items.get(), i), "mark_parts", "part"));
        return Py_NewRef(parts);
    });
}

PyMethodDef functions[] = {
    {"backward", keyword_method(backward), METH_VARARGS | METH_KEYWORDS,
     "backward(roots, grads=None, inputs=None, retain_graph=None, create_graph=False): accumulates into the "
     "leaves."},
    {"grad", keyword_method(grad), METH_VARARGS | METH_KEYWORDS,
     "grad(outputs, inputs, grads=None, retain_graph=None, create_graph=False, allow_unused=False) -> "
     "tuple."},
    {"python_node", keyword_method(python_node_binding), METH_VARARGS | METH_KEYWORDS,
     "python_node(context, inputs, outputs, *, dirty=(), non_differentiable=(), name='Function', "
     "materialize_grads=True) -> tuple."},
    {"set_grad_enabled", set_mode<&Modes::grad>, METH_O,
     "Sets this thread's grad mode; returns the old one."},
    {"is_grad_enabled", get_mode<&Modes::grad>, METH_NOARGS,
     "True when operations are recorded on this thread."},
    {"set_inference_mode", set_mode<&Modes::inference>, METH_O,
     "Sets this thread's inference mode; returns the old one."},
    {"is_inference_mode", get_mode<&Modes::inference>, METH_NOARGS, "True in inference mode."},
    {"set_anomaly", set_mode<&Modes::anomaly>, METH_O,
     "Sets this thread's anomaly mode; returns the old one."},
    {"set_check_nan", set_mode<&Modes::check_nan>, METH_O,
     "Sets whether anomaly mode looks for NaN in this thread; returns the old answer."},
    {"is_anomaly", get_mode<&Modes::anomaly>, METH_NOARGS, "True in anomaly mode."},
    {"set_trace_lines", set_trace_lines, METH_O,
     "set_trace_lines(function): in anomaly mode function() gives the lines that say where a forward call "
     "was "
     "made."},
    {"set_failure_lines", set_failure_lines, METH_O,
     "set_failure_lines(function): function(node or None, code, text, tensors) gives what is added to the "
     "error of "
     "a failed backward."},
    {"mark_parts", mark_parts, METH_O,
     "mark_parts(views) -> views: one call gave them all, so a write into one is refused while it would be "
     "recorded."},
    {"set_gc_walk", set_gc_walk_binding, METH_O, "Whether the cycle collector looks into the tape."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

PyObject* tensor_backward(PyObject* self, PyObject* args, PyObject* kwargs) {
    PyObject *gradient = nullptr, *retain = nullptr, *create = nullptr, *inputs = nullptr;
    static const char* names[] = {"gradient", "retain_graph", "create_graph", "inputs", nullptr};
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|OOOO:backward", const_cast<char**>(names), &gradient,
                                     &retain, &create, &inputs))
        return nullptr;
    return guarded([&] {
        if (gradient && gradient != Py_None && !is_tensor(gradient)) {
            raise_kind(ErrorKind::Type, "type", "backward",
                       "gradient is wrong: got " + type_name(gradient) + ", expected a Tensor or None.");
        }
        run_backward_call(self, gradient == Py_None ? nullptr : gradient, inputs, retain, create, "backward");
        return new_none();
    });
}

PyObject* tensor_retain_grad(PyObject* self, PyObject*) {
    return guarded([&] {
        retain_grad(impl_of(self));
        track_if_needed(self);
        return new_none();
    });
}

PyObject* tensor_requires_grad_(PyObject* self, PyObject* args, PyObject* kwargs) {
    int value = 1;
    static const char* names[] = {"requires_grad", nullptr};
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|p:requires_grad_", const_cast<char**>(names), &value))
        return nullptr;
    return guarded([&] {
        set_requires_grad(impl_of(self), value != 0);
        track_if_needed(self);
        return Py_NewRef(self);
    });
}

PyObject* tensor_detach(PyObject* self, PyObject*) {
    return guarded([&] { return wrap(detach(impl_of(self))); });
}

PyObject* tensor_detach_(PyObject* self, PyObject*) {
    return guarded([&] {
        if (impl_of(self)->is_view)
            raise_kind(ErrorKind::Runtime, "autograd", "detach_",
                       "a view cannot be detached in place. Use .detach().");
        detach_inplace(impl_of(self));
        return Py_NewRef(self);
    });
}

void add_autograd(PyObject* module) {
    check_status(PyModule_AddFunctions(module, functions));
    ready_node_type(module);
    ready_saved_tensor_type(module);
    ready_grad_mode_types(module);
}

}  // namespace tenora::python
