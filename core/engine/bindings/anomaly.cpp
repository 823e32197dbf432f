// Anomaly mode: where a forward operation was called, as a text kept with its node.

#include "autograd_objects.h"
#include "payload.h"
#include "tenora/hooks.h"

namespace tenora::python {

namespace {

void* capture_trace() {
    if (!Py_IsInitialized()) return nullptr;
    GilGuard gil;
    PyRef module = PyRef::steal(PyImport_ImportModule("traceback"));
    PyRef lines = module ? PyRef::steal(PyObject_CallMethod(module.get(), "format_stack", nullptr)) : PyRef();
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

void install_trace_hooks() {
    hooks().capture_trace = capture_trace;
    hooks().format_trace = format_trace;
}

}  // namespace tenora::python
