// Anomaly mode: where a forward operation was called, as a text kept with its node.
//   - The text is what a pushed function says, or the interpreter's stack before one is pushed.

#include "autograd_objects.h"
#include "payload.h"
#include "tenora/hooks.h"

namespace tenora::python {

namespace {

PyObject* trace_lines = nullptr;  // () -> list of str

PyRef lines_of_stack() {
    if (trace_lines) return PyRef::steal(PyObject_CallNoArgs(trace_lines));
    PyRef module = PyRef::steal(PyImport_ImportModule("traceback"));
    return module ? PyRef::steal(PyObject_CallMethod(module.get(), "format_stack", nullptr)) : PyRef();
}

void* capture_trace() {
    if (!Py_IsInitialized()) return nullptr;
    GilGuard gil;
    PyRef lines = lines_of_stack();
    PyRef empty = PyRef::steal(PyUnicode_FromString(""));
    PyRef joined = lines && empty ? PyRef::steal(PyUnicode_Join(empty.get(), lines.get())) : PyRef();
    if (!joined) {
        PyErr_Clear();
        return nullptr;
    }
    auto* payload = new Payload();
    payload->object = joined.release();
    return payload;
}

std::string format_trace(void* p) {
    GilGuard gil;
    auto* payload = static_cast<Payload*>(p);
    return payload && payload->object && PyUnicode_Check(payload->object) ? to_text(payload->object)
                                                                          : std::string();
}

}  // namespace

PyObject* set_trace_lines(PyObject*, PyObject* function) {
    Py_XSETREF(trace_lines, function == Py_None ? nullptr : Py_NewRef(function));
    Py_RETURN_NONE;
}

void install_trace_hooks() {
    hooks().capture_trace = capture_trace;
    hooks().format_trace = format_trace;
}

}  // namespace tenora::python
