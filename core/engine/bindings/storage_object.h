// `Storage`: the bytes behind a tensor.
#pragma once

#include "python_common.h"

namespace tenora::python {

struct StorageObject {
    PyObject_HEAD Storage* impl;  // one count
};
extern PyTypeObject StorageType;
inline bool is_storage(PyObject* o) { return Py_IS_TYPE(o, &StorageType); }
PyObject* storage_object(Storage* storage);  // new reference; one object for one storage while it lives
PyObject* storage_from_bytes(PyObject* module,
                             PyObject* data);  // _storage_from_bytes: a host storage with these bytes
void ready_storage_type(PyObject* module);

}  // namespace tenora::python
