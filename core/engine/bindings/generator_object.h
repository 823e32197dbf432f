// `Generator`: the engine's counter-based state, seen from Python.
#pragma once

#include "python_common.h"
#include "tenora/random.h"

namespace tenora::python {

struct GeneratorObject {
    PyObject_HEAD Generator* impl;  // one count
};
extern PyTypeObject GeneratorType;
inline bool is_generator(PyObject* o) { return PyObject_TypeCheck(o, &GeneratorType); }
inline Generator* generator_of(PyObject* o) { return reinterpret_cast<GeneratorObject*>(o)->impl; }
PyObject* generator_object(Generator* impl);          // new reference, shares the state
uint64_t seed_argument(PyObject* o, const char* op);  // -2**63 to 2**64 - 1; negative ones wrap, as PyTorch's
void ready_generator_type(PyObject* module);

}  // namespace tenora::python
