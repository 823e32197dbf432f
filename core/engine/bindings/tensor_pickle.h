// Pickling and copying of tensors.
#pragma once

#include "python_common.h"

namespace tenora::python {

PyObject* tensor_reduce_ex(PyObject* self, PyObject* protocol);
PyObject* tensor_deepcopy(PyObject* self, PyObject* memo);
PyObject* tensor_copy(PyObject* self, PyObject*);
PyObject* rebuild_tensor(PyObject* module, PyObject* args);  // _rebuild_tensor
void set_rebuild(PyObject* callable);

}  // namespace tenora::python
