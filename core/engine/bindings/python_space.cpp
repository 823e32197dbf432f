// A memory space whose functions are Python callables: for backends in pure Python that bring a device of
// their own.
//   - The callables get and give plain integers (addresses); an exception becomes the status of the function
//   and its text.
//   - Work is finished when a call returns (host order): a Python space has no streams.
//   - The allocator's lock is held while it asks for memory or gives it back, so no tensor may go meanwhile:
//   neither one whose release was queued, nor one in a cycle that the collector finds.

#include "python_space.h"

#include <cstring>

#include "arguments.h"
#include "held_releases.h"
#include "python_common.h"
#include "tenora/space.h"

namespace py = pybind11;

namespace tenora::python {

namespace {

struct PySpace {  // immortal, as spaces are
    std::string device_type;
    int device_count = 1;
    PyObject *alloc = nullptr, *release = nullptr, *copy = nullptr, *memory_info = nullptr,
             *synchronize = nullptr;
};

int32_t report(char* error, size_t size) {
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    bool memory = type && PyErr_GivenExceptionMatches(type, PyExc_MemoryError);
    PyRef message = value ? PyRef::steal(PyObject_Str(value)) : PyRef();
    const char* words = message ? PyUnicode_AsUTF8(message.get()) : nullptr;
    if (error && size) {
        std::strncpy(error, words ? words : "a Python function failed", size - 1);
        error[size - 1] = 0;
    }
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(traceback);
    PyErr_Clear();
    return memory ? TNR_OUT_OF_MEMORY : TNR_ERROR;
}

class UnderLock {
  public:
    UnderLock() : collects_(PyGC_Disable() != 0) {}
    ~UnderLock() {
        if (collects_) PyGC_Enable();
    }
    UnderLock(const UnderLock&) = delete;
    UnderLock& operator=(const UnderLock&) = delete;

  private:
    HeldReleases held_;
    GilGuard gil_;
    bool collects_;
};

PySpace& of(void* state) { return *static_cast<PySpace*>(state); }

int32_t device_count(void* state) { return of(state).device_count; }

int32_t alloc(void* state, int32_t device, size_t bytes, void** out, char* error, size_t size) {
    UnderLock locked;
    PyRef answer = PyRef::steal(call_python(
        [&] { return PyObject_CallFunction(of(state).alloc, "in", int(device), Py_ssize_t(bytes)); }));
    if (!answer) return report(error, size);
    *out = PyLong_AsVoidPtr(answer.get());
    if (PyErr_Occurred()) return report(error, size);
    return *out ? TNR_OK : TNR_OUT_OF_MEMORY;
}

int32_t release(void* state, int32_t device, void* data, size_t bytes) {
    if (!Py_IsInitialized()) return TNR_OK;
    UnderLock locked;
    PyRef address = PyRef::steal(PyLong_FromVoidPtr(data));
    PyRef answer = PyRef::steal(call_python([&] {
        return PyObject_CallFunction(of(state).release, "iOn", int(device), address.get(), Py_ssize_t(bytes));
    }));
    return answer ? TNR_OK : report(nullptr, 0);
}

int32_t memory_info(void* state, int32_t device, size_t* free_bytes, size_t* total_bytes) {
    GilGuard gil;
    PyRef answer = PyRef::steal(
        call_python([&] { return PyObject_CallFunction(of(state).memory_info, "i", int(device)); }));
    unsigned long long free_value = 0, total = 0;
    if (!answer || !PyArg_ParseTuple(answer.get(), "KK", &free_value, &total)) return report(nullptr, 0);
    *free_bytes = size_t(free_value);
    *total_bytes = size_t(total);
    return TNR_OK;
}

int32_t copy_bytes(void* state, void* dst, int32_t dst_device, const void* src, int32_t src_device,
                   size_t bytes, int32_t kind, void*, char* error, size_t size) {
    GilGuard gil;
    PyRef to = PyRef::steal(PyLong_FromVoidPtr(dst)),
          from = PyRef::steal(PyLong_FromVoidPtr(const_cast<void*>(src)));
    PyRef answer = PyRef::steal(call_python([&] {
        return PyObject_CallFunction(of(state).copy, "OiOiniO", to.get(), int(dst_device), from.get(),
                                     int(src_device), Py_ssize_t(bytes), int(kind), Py_None);
    }));
    return answer ? TNR_OK : report(error, size);
}

int32_t synchronize(void* state, int32_t device, char* error, size_t size) {
    UnderLock locked;
    PyRef answer = PyRef::steal(
        call_python([&] { return PyObject_CallFunction(of(state).synchronize, "i", int(device)); }));
    return answer ? TNR_OK : report(error, size);
}

PyObject* callable(const py::kwargs& fields, const char* name, bool required) {
    py::object f = fields.contains(name) ? py::object(fields[name]) : py::none();
    if (f.is_none() && !required) return nullptr;
    if (!PyCallable_Check(f.ptr())) {
        raise_kind(ErrorKind::Type, "space", "register_space",
                   std::string(name) + " must be callable: got " + type_name(f.ptr()) + ".");
    }
    return Py_NewRef(f.ptr());
}

int64_t number(const py::kwargs& fields, const char* name, int64_t fallback) {
    if (!fields.contains(name)) return fallback;
    py::object v = fields[name];
    if (PyBool_Check(v.ptr())) return v.ptr() == Py_True;
    return int64_argument(v.ptr(), name);
}

}  // namespace

int register_python_space(const std::string& device_type, const std::string& provider,
                          const py::kwargs& fields) {
    static const char* known[] = {"dlpack_type", "device_count",    "alloc",      "release",
                                  "copy",        "host_accessible", "host_order", "granule",
                                  "alignment",   "memory_info",     "synchronize"};
    for (auto item : fields) {
        std::string name = to_text(item.first.ptr());
        bool found = false;
        for (const char* k : known) found |= name == k;
        if (!found)
            raise_kind(ErrorKind::Type, "space", "register_space", "unknown field: got '" + name + "'.");
    }
    if (!number(fields, "host_order", 1)) {
        raise_kind(
            ErrorKind::Value, "space", "register_space",
            "a space written in Python is in host order: got host_order=False. Use the C ABI for streams.");
    }
    auto s = std::make_unique<PySpace>();
    s->device_type = device_type;
    s->device_count = int(number(fields, "device_count", 1));
    bool accessible = number(fields, "host_accessible", 0) != 0;
    s->alloc = callable(fields, "alloc", true);
    s->release = callable(fields, "release", true);
    s->copy = callable(fields, "copy", !accessible);
    s->memory_info = callable(fields, "memory_info", false);
    s->synchronize = callable(fields, "synchronize", false);
    tnr_space t{};
    t.struct_size = sizeof t;
    t.device_type = s->device_type.c_str();
    t.dlpack_type = int32_t(number(fields, "dlpack_type", 12));
    t.host_accessible = accessible;
    t.host_order = 1;
    t.granule = size_t(number(fields, "granule", 0));
    t.alignment = size_t(number(fields, "alignment", 0));
    t.state = s.get();
    t.device_count = device_count;
    t.alloc = alloc;
    t.release = release;
    t.memory_info = s->memory_info ? memory_info : nullptr;
    t.copy_bytes = s->copy ? copy_bytes : nullptr;
    t.synchronize = s->synchronize ? synchronize : nullptr;
    s.release();  // the space keeps it for ever
    return add_space(t, provider).id;
}

}  // namespace tenora::python
