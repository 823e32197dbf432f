// Attributes of Tensor.

#include "autograd_objects.h"
#include "plain_types.h"
#include "storage_object.h"
#include "tenora/dispatch.h"
#include "tensor_object.h"

namespace tenora::python {

namespace {

PyObject* get_shape(PyObject* self, void*) {
    return guarded([&] { return size_object(impl_of(self)->shape()); });
}
PyObject* get_dtype(PyObject* self, void*) { return Py_NewRef(dtype_object(impl_of(self)->dtype)); }
PyObject* get_device(PyObject* self, void*) {
    return guarded([&] { return device_object(impl_of(self)->device); });
}
PyObject* get_ndim(PyObject* self, void*) { return PyLong_FromLong(impl_of(self)->rank()); }
PyObject* get_nbytes(PyObject* self, void*) {
    return PyLong_FromLongLong(impl_of(self)->numel * int64_t(size_of(impl_of(self)->dtype)));
}
PyObject* get_itemsize(PyObject* self, void*) { return PyLong_FromSize_t(size_of(impl_of(self)->dtype)); }
PyObject* get_requires_grad(PyObject* self, void*) {
    return guarded([&] { return new_bool(tracked(impl_of(self))); });
}
int set_requires_grad_attribute(PyObject* self, PyObject* value, void*) {
    return guarded_int([&] {
        if (!value || !PyBool_Check(value)) raise(PyExc_TypeError, "[requires_grad] expected True or False.");
        set_requires_grad(impl_of(self), value == Py_True);
        track_if_needed(self);
        return 0;
    });
}
PyObject* get_is_leaf(PyObject* self, void*) {
    return guarded([&] { return new_bool(is_leaf(impl_of(self))); });
}
PyObject* get_retains_grad(PyObject* self, void*) {
    Tensor* t = impl_of(self);
    const Extra* e = find_extra(t);
    return new_bool(e && e->retains_grad);
}
PyObject* get_grad_fn(PyObject* self, void*) {
    return guarded([&] {
        PyObject* node = node_object(history(impl_of(self)));
        track_if_needed(self);
        return node;
    });
}
PyObject* get_output_nr(PyObject* self, void*) { return PyLong_FromUnsignedLong(impl_of(self)->output_nr); }
[[gnu::noinline]] void warn_of_no_grad(Tensor* t) {
    if (is_leaf(t)) return;
    if (const Extra* e = find_extra(t); e && e->retains_grad) return;
    constexpr const char* text =
        "[grad] the tensor is the result of an op: got no gradient, expected a leaf (a parameter, an input), "
        "which "
        "backward gives one. Call retain_grad() on it before backward, or read .grad of the leaf.";
    check_status(PyErr_WarnEx(PyExc_UserWarning, text, 1));
}
PyObject* get_grad(PyObject* self, void*) {
    return guarded([&]() -> PyObject* {
        Tensor* t = impl_of(self);
        TensorRef grad = grad_of(t);
        if (grad) return wrap(std::move(grad));
        if (t->node) [[unlikely]]  // also that of a stale view, which `is_leaf` refreshes
            warn_of_no_grad(t);
        return new_none();
    });
}
int set_grad_attribute(PyObject* self, PyObject* value, void*) {
    return guarded_int([&] {
        if (value && value != Py_None && !is_tensor(value)) {
            raise_kind(ErrorKind::Type, "type", "grad",
                       "grad is wrong: got " + type_name(value) + ", expected a Tensor or None.");
        }
        if (value == self)
            raise_kind(ErrorKind::Runtime, "value", "grad", "a tensor cannot be its own gradient.");
        set_grad(impl_of(self), value && value != Py_None ? impl_of(value) : nullptr);
        track(self);
        return 0;
    });
}
PyObject* get_data(PyObject* self, void*) {
    return guarded([&] { return wrap(detach(impl_of(self))); });
}
// Another window on another storage; history, flags and the wrapper stay.
int set_data(PyObject* self, PyObject* value, void*) {
    return guarded_int([&] {
        if (!value || !is_tensor(value))
            raise_kind(ErrorKind::Type, "type", "data", "data is wrong: expected a Tensor.");
        TensorRef source(impl_of(value));
        Tensor* t = impl_of(self);
        if (source.get() == t) return 0;
        if (t->needs_grad() && !is_differentiable(source->dtype)) {
            raise_kind(ErrorKind::Runtime, "dtype", "data",
                       "a tensor that requires a gradient must be floating or complex: got " +
                           describe(source.get()) + ".");
        }
        if (!(t->device == source->device)) t->device = source->device;
        if (source->storage != t->storage) forget_view(t);
        std::vector<int64_t> shape(source->shape().begin(), source->shape().end());
        std::vector<int64_t> strides(source->strides().begin(), source->strides().end());
        set_window(t, source->storage, shape, strides, source->offset, source->dtype);
        t->dl.device = source->dl.device;
        return 0;
    });
}
PyObject* get_version(PyObject* self, void*) {
    Tensor* t = impl_of(self);
    if (t->inference) {
        PyErr_SetString(PyExc_RuntimeError, "[_version] inference tensors keep no version.");
        return nullptr;
    }
    return PyLong_FromUnsignedLong(t->version());
}
PyObject* get_base(PyObject* self, void*) {
    return guarded([&]() -> PyObject* {
        Tensor* t = impl_of(self);
        return t->is_view && t->extra && t->extra->base ? wrap(t->extra->base.get()) : new_none();
    });
}
PyObject* get_dict(PyObject* self, void* context) {
    PyObject* dict = PyObject_GenericGetDict(self, context);
    if (dict) track(self);
    return dict;
}
int set_dict(PyObject* self, PyObject* value, void* context) {
    int status = PyObject_GenericSetDict(self, value, context);
    if (status == 0) track(self);
    return status;
}

}  // namespace

PyGetSetDef tensor_getset[] = {
    {"shape", get_shape, nullptr, "Sizes of the dimensions, a `Size`.", nullptr},
    {"dtype", get_dtype, nullptr, "Type of the elements.", nullptr},
    {"device", get_device, nullptr, "Where the memory lies.", nullptr},
    {"ndim", get_ndim, nullptr, "Number of dimensions.", nullptr},
    {"nbytes", get_nbytes, nullptr, "numel() times the bytes of an element.", nullptr},
    {"itemsize", get_itemsize, nullptr, "Bytes of an element.", nullptr},
    {"requires_grad", get_requires_grad, set_requires_grad_attribute,
     "True when gradients flow through this tensor.", nullptr},
    {"is_leaf", get_is_leaf, nullptr, "True when no recorded operation made this tensor.", nullptr},
    {"retains_grad", get_retains_grad, nullptr, "True for a non-leaf whose `.grad` is kept.", nullptr},
    {"grad_fn", get_grad_fn, nullptr, "The tape node that made this tensor, or None.", nullptr},
    {"output_nr", get_output_nr, nullptr, "Which result of `grad_fn` this is.", nullptr},
    {"grad", get_grad, set_grad_attribute, "The accumulated gradient, or None.", nullptr},
    {"data", get_data, set_data, "The same memory without history; assignable.", nullptr},
    {"_version", get_version, nullptr, "How many in-place writes the storage has seen.", nullptr},
    {"_base", get_base, nullptr, "The tensor that this one is a differentiable view of, or None.", nullptr},
    {"__dict__", get_dict, set_dict, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

}  // namespace tenora::python
