// `Storage` objects. One object stands for one storage while it lives, so that pickle's memo sees that two
// tensors share.

#include "storage_object.h"

#include <cstring>
#include <unordered_map>

#include "plain_types.h"
#include "scalar_read.h"
#include "tenora/dispatch.h"

namespace tenora::python {

namespace {

std::unordered_map<Storage*, PyObject*>& known() {  // borrowed objects; guarded by the GIL
    static auto* map = new std::unordered_map<Storage*, PyObject*>();
    return *map;
}

Storage* impl(PyObject* o) { return reinterpret_cast<StorageObject*>(o)->impl; }

void storage_dealloc(PyObject* self) {
    known().erase(impl(self));
    impl(self)->release();
    PyObject_Free(self);
}

PyObject* storage_repr(PyObject* self) {
    return PyUnicode_FromFormat("<tenora.Storage of %zu bytes on %s>", impl(self)->bytes,
                                to_string(impl(self)->device).c_str());
}

Py_ssize_t storage_length(PyObject* self) { return Py_ssize_t(impl(self)->bytes); }
PyObject* nbytes(PyObject* self, PyObject*) { return PyLong_FromSize_t(impl(self)->bytes); }
PyObject* get_device(PyObject* self, void*) {
    return guarded([&] { return device_object(impl(self)->device); });
}
PyObject* get_read_only(PyObject* self, void*) { return new_bool(impl(self)->read_only); }
PyObject* data_ptr(PyObject* self, PyObject*) { return PyLong_FromVoidPtr(impl(self)->data); }
PyObject* use_count(PyObject* self, PyObject*) { return PyLong_FromUnsignedLong(impl(self)->count.load()); }

// The bytes, fetched to the host.
PyObject* to_bytes(PyObject* self, PyObject*) {
    return guarded([&] {
        Storage* s = impl(self);
        int64_t shape[1] = {int64_t(s->bytes)}, strides[1] = {1};
        TensorRef window = new_window(s, shape, strides, 0, DType::U8, s->device);
        TensorRef host = on_host(window.get(), "pickle");
        return check(
            PyBytes_FromStringAndSize(static_cast<const char*>(host->dl.data), Py_ssize_t(s->bytes)));
    });
}

}  // namespace

PyObject* storage_from_bytes(PyObject*, PyObject* data) {
    return guarded([&] {
        Py_buffer view;
        check_status(PyObject_GetBuffer(data, &view, PyBUF_SIMPLE));
        StorageRef storage;
        try {
            storage = allocate(size_t(view.len), Device{});
        } catch (...) {
            PyBuffer_Release(&view);
            throw;
        }
        if (view.len) std::memcpy(storage->data, view.buf, size_t(view.len));
        PyBuffer_Release(&view);
        return storage_object(storage.get());
    });
}

namespace {

PyObject* storage_reduce(PyObject* self, PyObject*) {
    return guarded([&] {
        PyRef bytes = own(to_bytes(self, nullptr));
        PyRef module = own(PyImport_ImportModule("tenora_engine._engine"));
        PyRef maker = own(PyObject_GetAttrString(module.get(), "_storage_from_bytes"));
        return check(Py_BuildValue("(O(O))", maker.get(), bytes.get()));
    });
}

PyGetSetDef getset[] = {
    {"device", get_device, nullptr, "Where the bytes lie.", nullptr},
    {"read_only", get_read_only, nullptr, "True for foreign memory that must not be written.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyMethodDef methods[] = {{"nbytes", nbytes, METH_NOARGS, "Bytes."},
                         {"size", nbytes, METH_NOARGS, "Bytes: an element is one."},
                         {"data_ptr", data_ptr, METH_NOARGS, "Address of the first byte."},
                         {"use_count", use_count, METH_NOARGS, "Owners, this object included."},
                         {"to_bytes", to_bytes, METH_NOARGS, "A copy of the bytes."},
                         {"__reduce__", storage_reduce, METH_NOARGS, nullptr},
                         {nullptr, nullptr, 0, nullptr}};
PySequenceMethods sequence = {.sq_length = storage_length};

}  // namespace

PyTypeObject StorageType = {PyVarObject_HEAD_INIT(nullptr, 0) "tenora.Storage", sizeof(StorageObject)};

PyObject* storage_object(Storage* storage) {
    auto found = known().find(storage);
    if (found != known().end()) return Py_NewRef(found->second);
    auto* o = PyObject_New(StorageObject, &StorageType);
    check(reinterpret_cast<PyObject*>(o));
    storage->retain();
    o->impl = storage;
    known()[storage] = reinterpret_cast<PyObject*>(o);
    return reinterpret_cast<PyObject*>(o);
}

void ready_storage_type(PyObject* module) {
    StorageType.tp_doc = PyDoc_STR("The bytes behind one or several tensors.");
    StorageType.tp_flags = Py_TPFLAGS_DEFAULT;
    StorageType.tp_dealloc = storage_dealloc;
    StorageType.tp_repr = storage_repr;
    StorageType.tp_getset = getset;
    StorageType.tp_methods = methods;
    StorageType.tp_as_sequence = &sequence;
    check_status(PyType_Ready(&StorageType));
    check_status(PyModule_AddObjectRef(module, "Storage", reinterpret_cast<PyObject*>(&StorageType)));
}

}  // namespace tenora::python
