// Reading elements: item(), tolist(), truth values. Data on a device is fetched first.
#pragma once

#include "python_common.h"
#include "tenora/value.h"

namespace tenora::python {

TensorRef on_host(Tensor* t, const char* why);                 // t itself when the host can read it
PyObject* element_object(const void* data, DType dtype);       // new Python number
PyObject* item_object(Tensor* t);                              // one element; RuntimeError otherwise
PyObject* list_object(Tensor* t);                              // nested lists, a number for rank 0
void write_element(void* data, DType dtype, const Scalar& s);  // with PyTorch's conversions
uint16_t float_to_half(float f);
float half_to_float(uint16_t h);
uint16_t float_to_bfloat16(float f);

}  // namespace tenora::python
