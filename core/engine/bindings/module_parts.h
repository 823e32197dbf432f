// The parts of the module `_engine`: each file adds its own functions and types.
#pragma once

#include "python_common.h"

namespace tenora::python {

template <class F>
PyCFunction keyword_method(F* f) {
    return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(f));
}

PyObject* python_node_binding(PyObject* module, PyObject* args, PyObject* kwargs);

void add_autograd(PyObject* module);
void add_registration(PyObject* module);  // ops, OpFunctions, callbacks
void add_backends(PyObject* module);      // backends, kernels, spaces, choice
void add_programs(PyObject* module);
void add_steps(PyObject* module);
void add_creation(PyObject* module);
void add_runtime(PyObject* module);  // memory, ring, streams, counters

void install_trace_hook();    // program_binding.cpp
void install_warning_hook();  // registration.cpp

}  // namespace tenora::python
