// `x[...]` and `x[...] = v`.
#pragma once

#include "python_common.h"

namespace tenora::python {

PyObject* select_first(Tensor* t, int64_t index);  // x[i], recorded

}  // namespace tenora::python
