// NumPy's C API, loaded when it is first needed: a program that uses no array never imports NumPy through us.
#pragma once

#include "python_common.h"

#define PY_ARRAY_UNIQUE_SYMBOL tenora_engine_numpy_api
#ifndef TENORA_NUMPY_API_OWNER
#define NO_IMPORT_ARRAY
#endif
#include <numpy/arrayobject.h>

namespace tenora::python {

void need_numpy();                             // imports NumPy; throws when it is not there
PyArray_Descr* numpy_descr(DType dtype);       // borrowed, cached
DType dtype_from_descr(PyArray_Descr* descr);  // None when tenora has no such type

}  // namespace tenora::python
