// Tensors from what Python has: numbers, nested sequences, NumPy arrays, buffers, DLPack.
#pragma once

#include "python_common.h"

namespace tenora::python {

// Numbers, nested sequences, arrays, buffers, tensors. dtype None: inferred as PyTorch does. `copy` false:
// memory is shared where it can be (a tensor or array of the right dtype and device).
TensorRef tensor_from_object(PyObject* o, DType dtype, Device device, bool copy);
TensorRef tensor_from_scalar(PyObject* number, DType dtype);  // 0-d on the host
TensorRef tensor_from_buffer(PyObject* o, DType dtype, int64_t count, int64_t offset);
TensorRef convert(TensorRef t, DType dtype, Device device);  // cast and move, raw

// numpy_bridge.cpp
DType whole_dtype(int64_t bytes, bool is_unsigned);         // None for what no dtype has
bool is_ndarray(PyObject* o);                               // without importing NumPy when nobody has
TensorRef tensor_from_ndarray(PyObject* array, bool copy);  // any strides, negative ones included
PyObject* ndarray_of(Tensor* t, bool writable);             // shares host memory, keeps the storage alive
PyObject* numpy_dtype(DType dtype);                         // new reference

// dlpack.cpp
TensorRef tensor_from_dlpack(PyObject* o, bool copy);

}  // namespace tenora::python
