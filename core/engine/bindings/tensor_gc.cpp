// What the cycle collector sees of a tensor: its dict, and, through the engine's walk, every Python object
// that hangs on history, gradient and hooks which this tensor alone keeps alive.
//   - While no Python object hangs in C++ the walk is skipped.
//   - For young generations the walk may be switched off (set_gc_walk): conservative, hence always safe.

#include "payload.h"
#include "tenora/gc_walk.h"
#include "tensor_object.h"

namespace tenora::python {

namespace {

bool walk_enabled = true;

struct Visitor final : GcVisitor {
    visitproc visit;
    void* arg;
    Visitor(visitproc visit, void* arg) : visit(visit), arg(arg) {}
    int payload(void* object) override { return traverse_payload(object, visit, arg); }
    int wrapper(void* object) override { return visit(static_cast<PyObject*>(object), arg); }
};

}  // namespace

int tensor_traverse(PyObject* self, visitproc visit, void* arg) {
    Py_VISIT(reinterpret_cast<TensorObject*>(self)->dict);
    if (Py_TYPE(self)->tp_flags & Py_TPFLAGS_HEAPTYPE) Py_VISIT(Py_TYPE(self));
    if (!walk_enabled || payload_count() == 0) return 0;
    Visitor visitor(visit, arg);
    return walk_owned(impl_of(self), visitor);
}

int tensor_clear(PyObject* self) {
    Py_CLEAR(reinterpret_cast<TensorObject*>(self)->dict);
    clear_autograd(impl_of(self));
    return 0;
}

void set_gc_walk(bool enabled) { walk_enabled = enabled; }

}  // namespace tenora::python
