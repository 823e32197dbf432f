// Kernels written in Python.
#pragma once

#include "python_common.h"
#include "tenora/op.h"

namespace tenora::python {

// Makes the table entry of a Python kernel; immortal. `wrap` may be null or None (the host's memory becomes
// ndarrays).
KernelEntry python_kernel(const std::string& op, PyObject* function, PyObject* supports, PyObject* wrap,
                          const std::string& backend);

}  // namespace tenora::python
