// Anomaly mode: where a forward operation was called, as a text kept with its node.
//   - The text is what a pushed function says, or the interpreter's stack before one is pushed.
// And what a pushed function adds to the error of any backward: which modules and parameters it is about.

#include "autograd_objects.h"
#include "payload.h"
#include "tenora/failure.h"
#include "tenora/hooks.h"
#include "tensor_object.h"

namespace tenora::python {

namespace {

PyObject* trace_lines = nullptr;    // () -> list of str
PyObject* failure_lines = nullptr;  // (node or None, code, text, tensors) -> str

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

// What the function says, or nothing: an error must not be replaced by that of its explanation.
PyRef lines_about(PyObject* node, const Error& error, PyObject* tensors) {
    PyRef said = PyRef::steal(PyObject_CallFunction(failure_lines, "OssO", node, error.code.c_str(),
                                                    error.message.c_str(), tensors));
    if (said && PyUnicode_Check(said.get()) && PyUnicode_GET_LENGTH(said.get()) > 0) return said;
    PyErr_Clear();
    return {};
}

// An exception that went through an inner backward or a module on its way has been told where it happened.
bool told(PyObject* exception) { return PyObject_HasAttrString(exception, "__notes__") != 0; }

void tell(Error& error, PyObject* node, PyObject* tensors) {
    auto* raised = dynamic_cast<PythonError*>(&error);  // by a hook, a Function or a Python kernel
    PyRef exception = raised ? PyRef::steal(raised->exception()) : PyRef();
    if (exception && told(exception.get())) return;
    PyRef said = lines_about(node, error, tensors);
    if (!said) return;
    if (!raised) {
        error.message += "\n" + to_text(said.get());
        return;
    }
    if (!exception || !PyRef::steal(PyObject_CallMethod(exception.get(), "add_note", "O", said.get())))
        PyErr_Clear();
}

void tell_about_node(Error& error, Node* n) {
    if (!failure_lines || !Py_IsInitialized()) return;
    GilGuard gil;
    PyRef node = PyRef::steal(node_object(n));
    PyRef none = PyRef::steal(PyTuple_New(0));
    if (node && none)
        tell(error, node.get(), none.get());
    else
        PyErr_Clear();
}

}  // namespace

void tell_about_tensors(Error& error, std::span<Tensor* const> tensors) {
    if (!failure_lines) return;
    PyRef items = PyRef::steal(PyTuple_New(Py_ssize_t(tensors.size())));
    for (size_t i = 0; items && i < tensors.size(); ++i)
        PyTuple_SET_ITEM(items.get(), Py_ssize_t(i), check(wrap(TensorRef(tensors[i]))));
    if (items) tell(error, Py_None, items.get());
}

PyObject* set_failure_lines(PyObject*, PyObject* function) {
    Py_XSETREF(failure_lines, function == Py_None ? nullptr : Py_NewRef(function));
    Py_RETURN_NONE;
}

PyObject* set_trace_lines(PyObject*, PyObject* function) {
    Py_XSETREF(trace_lines, function == Py_None ? nullptr : Py_NewRef(function));
    Py_RETURN_NONE;
}

void install_trace_hooks() {
    hooks().capture_trace = capture_trace;
    hooks().format_trace = format_trace;
    set_tell_more(tell_about_node);
}

}  // namespace tenora::python
