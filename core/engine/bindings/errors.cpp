// C++ exceptions become Python exceptions here, with their fields (code, op, backend, dtype) attached.
//   - tenora_dispatch pushes its classes in; before that the builtin classes are used.
//   - A Python exception that passed through C++ comes back as the very same object.

#include <array>
#include <new>
#include <stdexcept>
#include <utility>

#include "python_common.h"
#include "tensor_object.h"

namespace tenora::python {

namespace {

constexpr std::array<const char*, 9> kKindNames = {"Runtime",      "Type",           "Value",
                                                   "Index",        "NotImplemented", "OutOfMemory",
                                                   "NotSupported", "DeviceLost",     "HiddenCopy"};
std::array<PyObject*, kKindNames.size()> pushed_classes{};

PyObject* builtin_class(ErrorKind kind) {
    switch (kind) {
        case ErrorKind::Type:
            return PyExc_TypeError;
        case ErrorKind::Value:
            return PyExc_ValueError;
        case ErrorKind::Index:
            return PyExc_IndexError;
        case ErrorKind::NotImplemented:
        case ErrorKind::NotSupported:
            return PyExc_NotImplementedError;
        case ErrorKind::OutOfMemory:
            return PyExc_MemoryError;
        default:
            return PyExc_RuntimeError;
    }
}

PyObject* class_of(ErrorKind kind) {
    size_t number = size_t(kind);
    if (number < pushed_classes.size() && pushed_classes[number]) return pushed_classes[number];
    return builtin_class(kind);
}

// The class of tenora that is this built-in one too.
PyObject* own_class(PyObject* builtin) {
    for (ErrorKind kind :
         {ErrorKind::Runtime, ErrorKind::Type, ErrorKind::Value, ErrorKind::Index, ErrorKind::NotImplemented})
        if (builtin == builtin_class(kind)) return class_of(kind);
    return builtin;
}

void set_field(PyObject* exception, const char* name, const std::string& value) {
    PyRef text = PyRef::steal(PyUnicode_DecodeUTF8(value.data(), Py_ssize_t(value.size()), "replace"));
    if (!text || PyObject_SetAttrString(exception, name, text.get()) < 0)
        PyErr_Clear();  // a class with slots
}

std::shared_ptr<PyObject> shared(PyObject* object) {
    return {object, [](PyObject* p) {
                if (!p || !Py_IsInitialized()) return;
                GilGuard gil;
                Py_DECREF(p);
            }};
}

// The exception of a Python kernel that became a status: its text, and the exception.
struct Cause {
    std::string text;
    std::shared_ptr<PyObject> exception;
};
thread_local Cause kept_cause;

void set_cause(PyObject* exception, const Error& error) {
    Cause cause = std::exchange(kept_cause, {});
    if (cause.exception && error.message.find(cause.text) != std::string::npos)
        PyException_SetCause(exception, Py_NewRef(cause.exception.get()));
}

void set_engine_error(const Error& error) {
    PyRef message =
        PyRef::steal(PyUnicode_DecodeUTF8(error.message.data(), Py_ssize_t(error.message.size()), "replace"));
    if (!message) return;
    PyObject* type = class_of(error.kind);
    PyRef exception = PyRef::steal(PyObject_CallOneArg(type, message.get()));
    if (!exception) return;  // the error of the class itself stays set
    set_field(exception.get(), "code", error.code);
    set_field(exception.get(), "op", error.op);
    // The class says None where there is none.
    if (!error.backend.empty()) set_field(exception.get(), "backend", error.backend);
    if (!error.dtype.empty()) set_field(exception.get(), "dtype", error.dtype);
    if (kept_cause.exception) set_cause(exception.get(), error);
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(exception.get())), exception.get());
}

}  // namespace

PythonError::PythonError() : Error(ErrorKind::Python, "python", "", "") {
    PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
    PyErr_Fetch(&type, &value, &traceback);
    if (!type) {
        type = Py_NewRef(PyExc_SystemError);
        value = PyUnicode_FromString("an error was reported but no exception was set");
    }
    type_ = shared(type);
    value_ = shared(value);
    traceback_ = shared(traceback);
}

void PythonError::restore() const {
    PyErr_Restore(Py_XNewRef(type_.get()), Py_XNewRef(value_.get()), Py_XNewRef(traceback_.get()));
}

bool PythonError::is_a(PyObject* type) const { return PyErr_GivenExceptionMatches(type_.get(), type); }

PyObject* PythonError::exception() const {
    PyObject *type = Py_XNewRef(type_.get()), *value = Py_XNewRef(value_.get()),
             *traceback = Py_XNewRef(traceback_.get());
    PyErr_NormalizeException(&type, &value, &traceback);
    if (value && traceback) PyException_SetTraceback(value, traceback);
    Py_XDECREF(type);
    Py_XDECREF(traceback);
    return value;
}

std::string PythonError::text() const {
    PyRef value = PyRef::steal(exception());
    PyRef shown = PyRef::steal(value ? PyObject_Str(value.get()) : nullptr);
    const char* utf8 = shown ? PyUnicode_AsUTF8(shown.get()) : nullptr;
    if (!utf8) PyErr_Clear();
    return utf8 ? utf8 : "";
}

void PythonError::tell_op(std::string_view op) const {
    PyRef told = PyRef::steal(
        value_ ? PyObject_CallMethod(value_.get(), "name_op", "s#", op.data(), Py_ssize_t(op.size()))
               : nullptr);
    if (!told) PyErr_Clear();  // an exception without such a method
}

void keep_cause(const PythonError& error) { kept_cause = {error.text(), shared(error.exception())}; }

void throw_python() { throw PythonError(); }

void raise(PyObject* type, std::string_view text) {
    PyErr_SetString(own_class(type), std::string(text).c_str());
    throw PythonError();
}

void raise_kind(ErrorKind kind, const char* code, std::string_view op, std::string text) {
    fail(kind, code, op, std::move(text));
}

void set_python_error(const std::exception& error) noexcept {
    try {
        if (auto* python = dynamic_cast<const PythonError*>(&error)) {
            python->restore();
            // The engine may have put words on it: which forward op the failing backward belongs to.
            if (!python->message.empty()) {
                PyObject *type, *value, *traceback;
                PyErr_Fetch(&type, &value, &traceback);
                PyErr_NormalizeException(&type, &value, &traceback);
                PyRef note =
                    PyRef::steal(PyObject_CallMethod(value, "add_note", "s", python->message.c_str()));
                if (!note) PyErr_Clear();
                PyErr_Restore(type, value, traceback);
            }
            return;
        }
        if (auto* engine = dynamic_cast<const Error*>(&error)) {
            if (engine->kind == ErrorKind::Python && PyErr_Occurred()) return;
            set_engine_error(*engine);
            return;
        }
        if (dynamic_cast<const std::bad_alloc*>(&error)) {
            PyErr_NoMemory();
            return;
        }
        PyErr_SetString(class_of(ErrorKind::Runtime), error.what());
    } catch (...) {
        PyErr_SetString(PyExc_SystemError, "an error could not be reported");
    }
}

void set_error_classes(PyObject* mapping) {
    if (!PyDict_Check(mapping))
        raise(PyExc_TypeError, "[set_error_classes] expected a dict of exception classes");
    for (size_t i = 0; i < kKindNames.size(); ++i) {
        PyObject* cls = PyDict_GetItemString(mapping, kKindNames[i]);
        if (!cls) continue;
        if (!PyExceptionClass_Check(cls)) {
            raise(PyExc_TypeError,
                  std::string("[set_error_classes] ") + kKindNames[i] + " is not an exception class");
        }
        Py_INCREF(cls);
        Py_XSETREF(pushed_classes[i], cls);
    }
}

PyRef text(std::string_view v) {
    return own(PyUnicode_DecodeUTF8(v.data(), Py_ssize_t(v.size()), "replace"));
}

std::string to_text(PyObject* unicode) {
    if (!PyUnicode_Check(unicode)) raise(PyExc_TypeError, "expected a str: got " + type_name(unicode));
    Py_ssize_t size = 0;
    const char* data = PyUnicode_AsUTF8AndSize(unicode, &size);
    if (data) return {data, size_t(size)};
    PyErr_Clear();  // a lone surrogate
    PyRef shown = own(PyUnicode_AsEncodedString(unicode, "utf-8", "backslashreplace"));
    return {PyBytes_AS_STRING(shown.get()), size_t(PyBytes_GET_SIZE(shown.get()))};
}

namespace {

std::string_view short_name(PyObject* object) {
    std::string_view name = Py_TYPE(object)->tp_name;
    return name.substr(name.rfind('.') + 1);
}

bool is_foreign_tensor(PyObject* object) {
    std::string_view name = short_name(object);
    return (name == "Tensor" || name == "Parameter") && !is_tensor(object);
}

}  // namespace

std::string type_name(PyObject* object) {
    std::string name(short_name(object));
    if (!is_foreign_tensor(object)) return name;
    PyRef module =
        PyRef::steal(PyObject_GetAttrString(reinterpret_cast<PyObject*>(Py_TYPE(object)), "__module__"));
    if (!module) PyErr_Clear();
    return module && PyUnicode_Check(module.get()) ? to_text(module.get()) + "." + name : name;
}

std::string foreign_advice(PyObject* object) {
    if (!object || !is_foreign_tensor(object)) return "";
    return " Convert it first: tenora.from_dlpack(x), or tenora.from_numpy(x.numpy()).";
}

}  // namespace tenora::python
