// Pickling and copying.
//   - A pickle holds the storage and the window on it; tensors that share a storage share it again
//   afterwards.
//   - Memory of a device is written from a host copy and brought back to a device of that name when it is
//   read.
//   - Only leaves are deep-copied, as in PyTorch; gradient, flags, attributes and sharing within one deepcopy
//   are kept. Pickles and plain copies of other tensors are leaves: the history stays behind.

#include "tensor_pickle.h"

#include "arguments.h"
#include "plain_types.h"
#include "storage_object.h"
#include "tenora/dispatch.h"
#include "tenora/tape.h"
#include "tensor_object.h"

namespace tenora::python {

namespace {

PyObject* rebuild = nullptr;

PyRef rebuild_function() {
    if (rebuild) return PyRef::borrow(rebuild);
    PyRef module = own(PyImport_ImportModule("tenora_engine"));
    return own(PyObject_GetAttrString(module.get(), "_rebuild_tensor"));
}

PyRef attributes_of(PyObject* self) {
    PyObject* dict = reinterpret_cast<TensorObject*>(self)->dict;
    return dict && PyDict_GET_SIZE(dict) ? PyRef::borrow(dict) : PyRef::borrow(Py_None);
}

struct Geometry {
    PyRef storage, shape, strides;
    int64_t offset;
};

// Foreign memory may be much larger than the window; a window of its own bytes is written then.
Geometry geometry_of(Tensor* t) {
    return {own(storage_object(t->storage)), PyRef::steal(tuple_of(t->shape())),
            PyRef::steal(tuple_of(t->strides())), t->offset};
}

void not_a_leaf(Tensor* t) {
    if (is_leaf(t)) return;
    raise_kind(
        ErrorKind::Runtime, "autograd", "deepcopy",
        "only leaf tensors can be copied deeply: got a result of a recorded operation. Use .detach() first.");
}

PyRef memo_get(PyObject* memo, const void* key) {
    PyRef id = own(PyLong_FromVoidPtr(const_cast<void*>(key)));
    PyObject* found = PyDict_GetItemWithError(memo, id.get());
    if (!found && PyErr_Occurred()) throw_python();
    return found ? PyRef::borrow(found) : PyRef();
}

void memo_set(PyObject* memo, const void* key, PyObject* value) {
    PyRef id = own(PyLong_FromVoidPtr(const_cast<void*>(key)));
    check_status(PyDict_SetItem(memo, id.get(), value));
}

// A copy of the whole storage, once per deepcopy: tensors that shared go on sharing.
StorageRef copied_storage(Tensor* t, PyObject* memo) {
    if (PyRef known = memo_get(memo, t->storage)) {
        if (is_storage(known.get())) return StorageRef(reinterpret_cast<StorageObject*>(known.get())->impl);
    }
    int64_t shape[1] = {int64_t(t->storage->bytes)}, strides[1] = {1};
    TensorRef all = new_window(t->storage, shape, strides, 0, DType::U8, t->device);
    TensorRef copy;
    Operand in[1] = {Operand(all.get())};
    call_raw(core_ops().clone, in, {}, &copy);
    PyRef object = own(storage_object(copy->storage));
    memo_set(memo, t->storage, object.get());
    return StorageRef(copy->storage);
}

PyRef deep_copied(PyObject* object, PyObject* memo) {
    PyRef module = own(PyImport_ImportModule("copy"));
    return own(PyObject_CallMethod(module.get(), "deepcopy", "OO", object, memo));
}

PyObject* window_like(PyTypeObject* type, Tensor* t, Storage* storage) {
    TensorRef fresh = new_window(storage, t->shape(), t->strides(), t->offset, t->dtype, t->device);
    return wrap_as(type, std::move(fresh));
}

void copy_attributes(PyObject* from, PyObject* to, PyObject* memo) {
    PyRef dict = attributes_of(from);
    if (dict.get() == Py_None) return;
    PyRef copy = memo ? deep_copied(dict.get(), memo) : own(PyDict_Copy(dict.get()));
    check_status(PyObject_SetAttrString(to, "__dict__", copy.get()));
}

}  // namespace

void set_rebuild(PyObject* callable) {
    PyObject* value = callable == Py_None ? nullptr : Py_NewRef(callable);
    Py_XSETREF(rebuild, value);
}

PyObject* tensor_reduce_ex(PyObject* self, PyObject*) {
    return guarded([&] {
        Tensor* t = impl_of(self);
        Geometry g = geometry_of(t);
        PyRef device = own(device_object(t->device)), attributes = attributes_of(self),
              function = rebuild_function();
        PyRef args = own(Py_BuildValue("(OOOOLOOOO)", reinterpret_cast<PyObject*>(Py_TYPE(self)),
                                       g.storage.get(), g.shape.get(), g.strides.get(),
                                       static_cast<long long>(g.offset), dtype_object(t->dtype), device.get(),
                                       tracked(t) ? Py_True : Py_False, attributes.get()));
        return check(PyTuple_Pack(2, function.get(), args.get()));
    });
}

PyObject* rebuild_tensor(PyObject*, PyObject* args) {
    PyObject *type, *storage, *shape, *strides, *dtype, *device, *requires_grad, *attributes;
    long long offset;
    if (!PyArg_ParseTuple(args, "OO!OOLO!OOO:_rebuild_tensor", &type, &StorageType, &storage, &shape,
                          &strides, &offset, &DTypeType, &dtype, &device, &requires_grad, &attributes)) {
        return nullptr;
    }
    return guarded([&] {
        if (!PyType_Check(type) || !PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(type), &TensorType)) {
            raise(PyExc_TypeError, "[_rebuild_tensor] expected a Tensor type");
        }
        std::vector<int64_t> sizes = ints_argument(shape, "_rebuild_tensor", "shape");
        std::vector<int64_t> steps = ints_argument(strides, "_rebuild_tensor", "strides");
        if (sizes.size() != steps.size())
            raise(PyExc_ValueError, "[_rebuild_tensor] shape and strides differ in length");
        Storage* bytes = reinterpret_cast<StorageObject*>(storage)->impl;
        TensorRef t = new_window(bytes, sizes, steps, offset, dtype_of(dtype), bytes->device);
        Device target = device_argument(device, "_rebuild_tensor");
        if (!(target == t->device)) t = to_device(t.get(), target, false);
        if (requires_grad == Py_True) set_requires_grad(t.get(), true);
        PyRef result = own(wrap_as(reinterpret_cast<PyTypeObject*>(type), std::move(t)));
        if (attributes != Py_None) check_status(PyObject_SetAttrString(result.get(), "__dict__", attributes));
        return result.release();
    });
}

PyObject* tensor_deepcopy(PyObject* self, PyObject* memo) {
    return guarded([&] {
        PyRef own_memo = PyDict_Check(memo) ? PyRef::borrow(memo) : own(PyDict_New());
        memo = own_memo.get();
        if (PyRef known = memo_get(memo, self)) return known.release();
        TensorRef t(impl_of(self));
        not_a_leaf(t.get());
        StorageRef storage = copied_storage(t.get(), memo);
        PyRef copy = own(window_like(Py_TYPE(self), t.get(), storage.get()));
        memo_set(memo, self, copy.get());
        if (t->requires_grad) set_requires_grad(impl_of(copy.get()), true);
        if (TensorRef grad = grad_of(t.get())) {
            PyRef wrapped = own(wrap(std::move(grad)));
            PyRef grad_copy = deep_copied(wrapped.get(), memo);
            set_grad(impl_of(copy.get()), as_tensor(grad_copy.get(), "deepcopy", "grad"));
        }
        copy_attributes(self, copy.get(), memo);
        track_if_needed(copy.get());
        return copy.release();
    });
}

// Shares the memory, as PyTorch's does; a leaf again.
PyObject* tensor_copy(PyObject* self, PyObject*) {
    return guarded([&] {
        TensorRef t(impl_of(self));
        PyRef copy = own(window_like(Py_TYPE(self), t.get(), t->storage));
        if (tracked(t.get())) set_requires_grad(impl_of(copy.get()), true);
        copy_attributes(self, copy.get(), nullptr);
        track_if_needed(copy.get());
        return copy.release();
    });
}

}  // namespace tenora::python
