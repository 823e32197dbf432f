// Length, iteration, containment, representation.

#include "operators.h"
#include "scalar_read.h"
#include "tenora/dispatch.h"
#include "tenora/tape.h"
#include "tensor_index.h"
#include "tensor_object.h"

namespace tenora::python {

namespace {

PyObject* formatter = nullptr;

Py_ssize_t tensor_length(PyObject* self) {
    Tensor* t = impl_of(self);
    if (t->rank() == 0) {
        PyErr_SetString(PyExc_TypeError, "[len] a 0-d tensor has no length.");
        return -1;
    }
    return Py_ssize_t(t->dl.shape[0]);
}

PyObject* tensor_item_at(PyObject* self, Py_ssize_t i) {
    Tensor* t = impl_of(self);
    if (t->rank() > 0 && (i < 0 || i >= t->dl.shape[0])) {  // the end of an iteration: no long message
        PyErr_SetString(PyExc_IndexError, "index out of range");
        return nullptr;
    }
    return guarded([&] {
        PyObject* item = select_first(t, i);
        if (item) mark_part(impl_of(item));
        return item;
    });
}

int tensor_contains(PyObject* self, PyObject* value) {
    return guarded_int([&] {
        static NamedOp any{"any"};
        if (!is_tensor(value) && !is_number(value)) {
            raise_kind(ErrorKind::Type, "type", "contains",
                       "only tensors and numbers can be looked for: got " + type_name(value) + ".");
        }
        PyRef equal = own(PyObject_RichCompare(self, value, Py_EQ));
        Operand in[1] = {Operand(as_tensor(equal.get(), "contains", "comparison"))};
        TensorRef out;
        call(any.get().id, in, any.get().signature->defaults, &out);
        PyRef found = PyRef::steal(item_object(out.get()));
        return PyObject_IsTrue(found.get());
    });
}

}  // namespace

PySequenceMethods tensor_sequence = {
    .sq_length = tensor_length, .sq_item = tensor_item_at, .sq_contains = tensor_contains};

PyObject* tensor_iter(PyObject* self) {
    if (impl_of(self)->rank() == 0) {
        PyErr_SetString(PyExc_TypeError, "[iter] a 0-d tensor cannot be iterated over.");
        return nullptr;
    }
    return PySeqIter_New(self);
}

void set_formatter(PyObject* callable) {
    PyObject* value = callable == Py_None ? nullptr : Py_NewRef(callable);
    Py_XSETREF(formatter, value);
}

PyObject* tensor_repr(PyObject* self) {
    return guarded([&] {
        if (formatter) return check(PyObject_CallOneArg(formatter, self));
        Tensor* t = impl_of(self);
        return text("Tensor(" + describe(t) + ", device='" + to_string(t->device) + "')").release();
    });
}

}  // namespace tenora::python
