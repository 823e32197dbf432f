// Native methods of Tensor. Ops come as OpFunctions from tenora_ops; here stands what is no op.

#include "arguments.h"
#include "autograd_objects.h"
#include "construct.h"
#include "dlpack.h"
#include "plain_types.h"
#include "scalar_read.h"
#include "storage_object.h"
#include "tenora/dispatch.h"
#include "tensor_object.h"
#include "tensor_pickle.h"

namespace tenora::python {

namespace {

int checked_dim(Tensor* t, PyObject* o, const char* op) {
    int64_t dim = int64_argument(o, "dim"), rank = t->rank();
    if (dim < -rank || dim >= rank) {
        raise_kind(ErrorKind::Index, "index", op,
                   "dim is out of range: got " + std::to_string(dim) + " for " + describe(t) + ", expected " +
                       std::to_string(-rank) + " to " + std::to_string(rank - 1) +
                       ". Ask for a dimension that the tensor has.");
    }
    return int(dim < 0 ? dim + rank : dim);
}

// What is given as `dim`, by position or keyword; None where nothing is.
PyObject* given_dim(const char* op, PyObject* const* args, Py_ssize_t count, PyObject* names) {
    Py_ssize_t named = names ? PyTuple_GET_SIZE(names) : 0;
    if (count + named > 1)
        raise_kind(ErrorKind::Type, "type", op,
                   "too many arguments: got " + std::to_string(count + named) +
                       ", expected at most one, dim. Ask for one dimension.");
    if (named && PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names, 0), "dim") != 0)
        raise_kind(ErrorKind::Type, "type", op,
                   "unknown keyword: got '" + to_text(PyTuple_GET_ITEM(names, 0)) +
                       "', expected 'dim'. Correct the name.");
    return count + named ? args[0] : Py_None;
}

PyObject* size(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* names) {
    return guarded([&] {
        Tensor* t = impl_of(self);
        PyObject* dim = given_dim("size", args, count, names);
        if (dim == Py_None) return size_object(t->shape());
        return check(PyLong_FromLongLong(t->dl.shape[checked_dim(t, dim, "size")]));
    });
}

PyObject* stride(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* names) {
    return guarded([&] {
        Tensor* t = impl_of(self);
        PyObject* dim = given_dim("stride", args, count, names);
        if (dim == Py_None) return tuple_of(t->strides());
        return check(PyLong_FromLongLong(t->dl.strides[checked_dim(t, dim, "stride")]));
    });
}

PyObject* numel(PyObject* self, PyObject*) { return PyLong_FromLongLong(impl_of(self)->numel); }
PyObject* dim(PyObject* self, PyObject*) { return PyLong_FromLong(impl_of(self)->rank()); }
PyObject* element_size(PyObject* self, PyObject*) { return PyLong_FromSize_t(size_of(impl_of(self)->dtype)); }
PyObject* storage_offset(PyObject* self, PyObject*) { return PyLong_FromLongLong(impl_of(self)->offset); }
PyObject* data_ptr(PyObject* self, PyObject*) { return PyLong_FromVoidPtr(impl_of(self)->dl.data); }
PyObject* is_contiguous(PyObject* self, PyObject*) { return new_bool(impl_of(self)->contiguous); }
PyObject* is_floating_point(PyObject* self, PyObject*) { return new_bool(is_floating(impl_of(self)->dtype)); }
PyObject* is_complex_method(PyObject* self, PyObject*) { return new_bool(is_complex(impl_of(self)->dtype)); }
PyObject* is_inference(PyObject* self, PyObject*) { return new_bool(impl_of(self)->inference); }
PyObject* untyped_storage(PyObject* self, PyObject*) {
    return guarded([&] { return storage_object(impl_of(self)->storage); });
}
PyObject* item(PyObject* self, PyObject*) {
    return guarded([&] { return item_object(impl_of(self)); });
}
PyObject* tolist(PyObject* self, PyObject*) {
    return guarded([&] { return list_object(impl_of(self)); });
}

void refuse_tracked(Tensor* t, const char* op) {
    if (!tracked(t)) return;
    raise_kind(ErrorKind::Runtime, "autograd", op,
               "the tensor requires grad, which NumPy would lose: got " + describe(t) +
                   ", expected a tensor without history. Use .detach().numpy().");
}

PyObject* numpy(PyObject* self, PyObject* args, PyObject* kwargs) {
    int force = 0;
    static const char* names[] = {"force", nullptr};
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|$p:numpy", const_cast<char**>(names), &force))
        return nullptr;
    return guarded([&] {
        TensorRef t(impl_of(self));
        if (!force) refuse_tracked(t.get(), "numpy");
        if (force && !space(t->device).host_accessible()) t = to_device(t.get(), Device{}, false);
        return ndarray_of(t.get(), true);
    });
}

// NumPy's protocol: `dtype` converts, `copy` True must copy, False must not, None may.
// Libraries that ask know NumPy's own dtypes: bfloat16 comes as float32, and as it is only from numpy().
PyObject* array(PyObject* self, PyObject* args, PyObject* kwargs) {
    PyObject *dtype = Py_None, *copy = Py_None;
    static const char* names[] = {"dtype", "copy", nullptr};
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O$O:__array__", const_cast<char**>(names), &dtype,
                                     &copy))
        return nullptr;
    return guarded([&] {
        refuse_tracked(impl_of(self), "__array__");
        PyRef shared = own(ndarray_of(impl_of(self), true));
        const bool foreign = dtype == Py_None && impl_of(self)->dtype == DType::BF16;
        if (dtype == Py_None && copy != Py_True && !foreign) return shared.release();
        PyRef method = own(PyObject_GetAttrString(shared.get(), "astype"));
        PyRef own_dtype =
            own(foreign ? PyUnicode_FromString("float32") : PyObject_GetAttrString(shared.get(), "dtype"));
        PyRef wanted = dtype == Py_None ? own_dtype : PyRef::borrow(dtype);
        PyRef positional = own(PyTuple_Pack(1, wanted.get()));
        PyRef kw = own(Py_BuildValue("{s:O}", "copy", copy == Py_True ? Py_True : Py_False));
        PyRef result = own(PyObject_Call(method.get(), positional.get(), kw.get()));
        if (copy == Py_False && result.get() != shared.get()) {
            raise(
                PyExc_ValueError,
                "[__array__] this conversion needs a copy: got copy=False, expected None or True. Leave copy "
                "out, or take .numpy(), which shares the memory.");
        }
        return result.release();
    });
}

// What NumPy makes of a tensor comes back as a tensor.
PyObject* array_wrap(PyObject*, PyObject* args, PyObject* kwargs) {
    PyObject *result, *context = nullptr;
    int scalar = 0;
    static const char* names[] = {"array", "context", "return_scalar", nullptr};
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|Op:__array_wrap__", const_cast<char**>(names), &result,
                                     &context, &scalar))
        return nullptr;
    return guarded([&] { return wrap(tensor_from_ndarray(result, false)); });
}

PyTypeObject* subclass_argument(PyObject* cls, const char* op) {
    if (!PyType_Check(cls) || !PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(cls), &TensorType)) {
        raise_kind(ErrorKind::Type, "type", op, "expected a subclass of Tensor: got " + type_name(cls) + ".");
    }
    return reinterpret_cast<PyTypeObject*>(cls);
}

// The same memory under another Python type; recorded as an alias when there is history.
PyObject* as_subclass(PyObject* self, PyObject* cls) {
    return guarded([&] {
        PyTypeObject* type = subclass_argument(cls, "as_subclass");
        Tensor* t = impl_of(self);
        TensorRef out = detach(t);
        if (const Op* op = find_op("alias"); op && tracked(t)) {
            Operand in[1] = {Operand(t)};
            call(op->id, in, {}, &out);
        }
        return wrap_as(type, std::move(out));
    });
}

PyObject* make_subclass(PyObject*, PyObject* args) {
    PyObject *cls, *data;
    int requires_grad = 0;
    if (!PyArg_ParseTuple(args, "OO|p:_make_subclass", &cls, &data, &requires_grad)) return nullptr;
    return guarded([&] {
        PyTypeObject* type = subclass_argument(cls, "_make_subclass");
        TensorRef t = detach(as_tensor(data, "_make_subclass", "data"));
        if (requires_grad) set_requires_grad(t.get(), true);
        PyObject* result = wrap_as(type, std::move(t));
        track_if_needed(result);
        return result;
    });
}

PyObject* to_complex_number(PyObject* self, PyObject*) {
    return guarded([&] {
        PyRef value = PyRef::steal(item_object(impl_of(self)));
        return check(PyObject_CallOneArg(reinterpret_cast<PyObject*>(&PyComplex_Type), value.get()));
    });
}

PyObject* format(PyObject* self, PyObject* spec) {
    return guarded([&] {
        if (!PyUnicode_Check(spec))
            raise(PyExc_TypeError, "[format] format is wrong: got " + type_name(spec) + ", expected str.");
        Tensor* t = impl_of(self);
        if (t->rank() != 0) return check(PyObject_Format(own(PyObject_Str(self)).get(), spec));
        PyRef value = PyRef::steal(item_object(t));
        return check(PyObject_Format(value.get(), spec));
    });
}

template <class F>
PyCFunction method(F* f) {
    return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(f));
}

}  // namespace

PyMethodDef tensor_methods[] = {
    {"size", method(size), METH_FASTCALL | METH_KEYWORDS,
     "size(dim=None): the shape, or the size of one dimension."},
    {"stride", method(stride), METH_FASTCALL | METH_KEYWORDS,
     "stride(dim=None): steps between elements, in elements."},
    {"numel", numel, METH_NOARGS, "Number of elements."},
    {"nelement", numel, METH_NOARGS, "Number of elements."},
    {"dim", dim, METH_NOARGS, "Number of dimensions."},
    {"ndimension", dim, METH_NOARGS, "Number of dimensions."},
    {"element_size", element_size, METH_NOARGS, "Bytes of an element."},
    {"storage_offset", storage_offset, METH_NOARGS, "First element's place in the storage, in elements."},
    {"data_ptr", data_ptr, METH_NOARGS, "Address of the first element."},
    {"is_contiguous", is_contiguous, METH_NOARGS, "True when the elements lie row by row without gaps."},
    {"is_floating_point", is_floating_point, METH_NOARGS, "True for a floating dtype."},
    {"is_complex", is_complex_method, METH_NOARGS, "True for a complex dtype."},
    {"is_inference", is_inference, METH_NOARGS, "True when made in inference mode."},
    {"untyped_storage", untyped_storage, METH_NOARGS, "The bytes behind this tensor."},
    {"item", item, METH_NOARGS, "The only element as a Python number."},
    {"tolist", tolist, METH_NOARGS, "Nested lists of Python numbers."},
    {"numpy", method(numpy), METH_VARARGS | METH_KEYWORDS,
     "numpy(*, force=False): an ndarray over the same memory."},
    {"__array__", method(array), METH_VARARGS | METH_KEYWORDS, "NumPy's conversion protocol."},
    {"__array_wrap__", method(array_wrap), METH_VARARGS | METH_KEYWORDS, nullptr},
    {"__dlpack__", method(tensor_dlpack), METH_VARARGS | METH_KEYWORDS,
     "A DLPack capsule over the same memory."},
    {"__dlpack_device__", tensor_dlpack_device, METH_NOARGS, "(device type, device number) of DLPack."},
    {"as_subclass", as_subclass, METH_O, "as_subclass(cls): the same memory as an instance of cls."},
    {"_make_subclass", make_subclass, METH_VARARGS | METH_STATIC,
     "_make_subclass(cls, data, requires_grad=False)."},
    {"__complex__", to_complex_number, METH_NOARGS, nullptr},
    {"__format__", format, METH_O, nullptr},
    {"__reduce_ex__", tensor_reduce_ex, METH_O, nullptr},
    {"__deepcopy__", tensor_deepcopy, METH_O, nullptr},
    {"__copy__", tensor_copy, METH_NOARGS, nullptr},
    {"backward", method(tensor_backward), METH_VARARGS | METH_KEYWORDS,
     "backward(gradient=None, retain_graph=None, create_graph=False, inputs=None): accumulates gradients "
     "into the leaves."},
    {"register_hook", tensor_register_hook, METH_O,
     "register_hook(f): f(grad) -> grad or None, called in backward. Returns a handle."},
    {"register_post_accumulate_grad_hook", tensor_register_post_accumulate_grad_hook, METH_O,
     "f(tensor) is called after a leaf's gradient was accumulated. Returns a handle."},
    {"retain_grad", tensor_retain_grad, METH_NOARGS, "Keeps `.grad` of a non-leaf."},
    {"requires_grad_", method(tensor_requires_grad_), METH_VARARGS | METH_KEYWORDS,
     "requires_grad_(requires_grad=True) -> self."},
    {"detach", tensor_detach, METH_NOARGS, "The same memory without history."},
    {"detach_", tensor_detach_, METH_NOARGS, "Cuts the history of this tensor."},
    {nullptr, nullptr, 0, nullptr}};

namespace {

bool is_whole(PyObject* o) { return PyIndex_Check(o) && !PyBool_Check(o) && !is_ndarray(o); }

// Whether the arguments are sizes as PyTorch's first constructor takes them: whole numbers, or one Size.
// Those of a subclass may mean more than the data.
bool are_sizes(PyTypeObject* type, PyObject* args) {
    Py_ssize_t n = PyTuple_GET_SIZE(args);
    if (n == 0) return false;
    PyObject* first = PyTuple_GET_ITEM(args, 0);
    if (n == 1) return PyObject_TypeCheck(first, &SizeType) || (is_whole(first) && !is_tensor(first));
    for (Py_ssize_t i = 0; i < n; ++i) {
        if (!is_whole(PyTuple_GET_ITEM(args, i))) return false;
    }
    return type == &TensorType || !is_tensor(first);
}

TensorRef tensor_of_size(PyObject* sizes) {
    if (PyTuple_GET_SIZE(sizes) == 1 && PyObject_TypeCheck(PyTuple_GET_ITEM(sizes, 0), &SizeType))
        sizes = PyTuple_GET_ITEM(sizes, 0);
    std::vector<int64_t> shape = ints_argument(sizes, "Tensor", "size");
    return new_tensor(shape, default_dtype(), Device{});
}

[[noreturn]] void bad_constructor_arguments(PyObject* args, PyObject* kwargs) {
    std::string given;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args); ++i)
        given += (i ? ", " : "") + type_name(PyTuple_GET_ITEM(args, i));
    PyObject *key = nullptr, *value = nullptr;
    for (Py_ssize_t at = 0; kwargs && PyDict_Next(kwargs, &at, &key, &value);)
        given += (given.empty() ? "" : ", ") + to_text(key) + "=" + type_name(value);
    raise_kind(ErrorKind::Type, "type", "Tensor",
               "no such constructor: got (" + given +
                   "), expected Tensor(), Tensor(data) or sizes, Tensor(2, 3). Write tenora.tensor(data, "
                   "dtype=...), "
                   "or tenora.empty(2, 3, dtype=...).");
}

}  // namespace

// Tensor() is empty; Tensor(2, 3) and Tensor(Size) have that size, elements not set; Tensor(data) has the
// default dtype; a subclass made from a tensor shares its memory.
PyObject* tensor_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
    return guarded([&] {
        Py_ssize_t n = PyTuple_GET_SIZE(args), named = kwargs ? PyDict_GET_SIZE(kwargs) : 0;
        PyObject* data = n        ? PyTuple_GET_ITEM(args, 0)
                         : kwargs ? PyDict_GetItemString(kwargs, "data")
                                  : nullptr;
        bool sizes = !named && are_sizes(type, args);
        if (type == &TensorType && !sizes && (n > 1 || (named && !(n == 0 && data && named == 1))))
            bad_constructor_arguments(args, kwargs);
        int64_t none[1] = {0};
        TensorRef t;
        if (sizes)
            t = tensor_of_size(args);
        else if (!data)
            t = new_tensor(none, default_dtype(), Device{});
        else if (is_tensor(data))
            t = detach(impl_of(data));
        else if (is_number(data))
            raise_kind(ErrorKind::Type, "type", "Tensor",
                       "data is a number: got " + type_name(data) +
                           ", expected a sequence, or whole numbers as the size. Write tenora.tensor(...).");
        else
            t = tensor_from_object(data, type == &TensorType ? default_dtype() : DType::None, Device{}, true);
        if (t->wrapper.load()) t = alias(t.get());
        return wrap_as(type, std::move(t));
    });
}

}  // namespace tenora::python
