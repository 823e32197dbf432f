// The Python type `Tensor`: a wrapper {impl, dict, weakrefs} around the engine's tensor.
//   - A wrapper owns one count of its impl; the impl points back. `wrap` finds the wrapper that is there.
//   - Bit KEEP in the impl's count word: while it is set and the count is at least 2, the engine holds one
//   Python reference
//     to the wrapper. Subclasses have it from birth (their deallocation cannot be taken back); an exact
//     Tensor gets it in tp_dealloc when it has a dict or weak references and the impl lives on. Others die
//     and are made again when asked for.
//   - Tracked by the collector only once there is autograd data or a dict.
#pragma once

#include "python_common.h"

namespace tenora::python {

struct TensorObject {
    PyObject_HEAD Tensor* impl;  // never null
    PyObject* dict;
    PyObject* weakrefs;
};

extern PyTypeObject TensorType;

inline bool is_exact_tensor(PyObject* o) { return Py_IS_TYPE(o, &TensorType); }
inline bool is_tensor(PyObject* o) { return is_exact_tensor(o) || PyType_IsSubtype(Py_TYPE(o), &TensorType); }
inline Tensor* impl_of(PyObject* o) { return reinterpret_cast<TensorObject*>(o)->impl; }
Tensor* as_tensor(PyObject* o, const char* op, const char* argument);  // borrowed; TypeError otherwise

PyObject* wrap_new(TensorRef&& t);  // t has no wrapper yet and nobody else can give it one
PyObject* wrap(Tensor* t);          // new reference to the wrapper of t
inline PyObject* wrap(TensorRef&& t) {
    return t->wrapper.load(std::memory_order_relaxed) ? wrap(t.get()) : wrap_new(std::move(t));
}
PyObject* wrap_or_none(Tensor* t);
PyObject* wrap_as(PyTypeObject* type, TensorRef&& t);  // subclass instance; t must have no wrapper

void track(PyObject* wrapper);
inline void track_if_needed(PyObject* wrapper) {
    Tensor* t = impl_of(wrapper);
    if (t->node || find_extra(t) || t->requires_grad) track(wrapper);
}

int tensor_traverse(PyObject* self, visitproc visit, void* arg);  // tensor_gc.cpp
int tensor_clear(PyObject* self);
void install_keep_hooks();
void set_gc_walk(bool enabled);

// Parts of the type, one file each.
extern PyNumberMethods tensor_number;
extern PyMappingMethods tensor_mapping;
extern PySequenceMethods tensor_sequence;
extern PyBufferProcs tensor_buffer;
extern PyMethodDef tensor_methods[];
extern PyGetSetDef tensor_getset[];
PyObject* tensor_richcompare(PyObject* a, PyObject* b, int op);
PyObject* tensor_iter(PyObject* self);
PyObject* tensor_repr(PyObject* self);
PyObject* tensor_new(PyTypeObject* type, PyObject* args, PyObject* kwargs);
void ready_tensor_type(PyObject* module);

}  // namespace tenora::python
