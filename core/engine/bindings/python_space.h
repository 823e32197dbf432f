// Memory spaces written in Python.
#pragma once

#include <pybind11/pybind11.h>

#include <string>

namespace tenora::python {

// Fields: dlpack_type, device_count, alloc, release, copy, host_accessible, host_order, granule, alignment,
// memory_info, synchronize. Returns the number of the space.
int register_python_space(const std::string& device_type, const std::string& provider,
                          const pybind11::kwargs& fields);

}  // namespace tenora::python
