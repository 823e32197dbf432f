// `Size`: the tuple that `tensor.shape` is.

#include "plain_types.h"

namespace tenora::python {

void ready_dtype_type(PyObject* module);
void ready_device_type(PyObject* module);

namespace {

PyObject* size_from_tuple(PyTypeObject* type, PyObject* tuple) {
    Py_ssize_t n = PyTuple_GET_SIZE(tuple);
    PyObject* size = check(type->tp_alloc(type, n));
    for (Py_ssize_t i = 0; i < n; ++i) PyTuple_SET_ITEM(size, i, Py_NewRef(PyTuple_GET_ITEM(tuple, i)));
    return size;
}

PyObject* size_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
    PyObject* values = nullptr;
    static const char* names[] = {"", nullptr};
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O:Size", const_cast<char**>(names), &values))
        return nullptr;
    return guarded([&] {
        PyRef given = own(values ? PySequence_Tuple(values) : PyTuple_New(0));
        Py_ssize_t n = PyTuple_GET_SIZE(given.get());
        PyRef numbers = own(PyTuple_New(n));
        for (Py_ssize_t i = 0; i < n; ++i)
            PyTuple_SET_ITEM(numbers.get(), i, check(PyNumber_Index(PyTuple_GET_ITEM(given.get(), i))));
        return size_from_tuple(type, numbers.get());
    });
}

PyObject* size_repr(PyObject* self) {
    PyRef list = PyRef::steal(PySequence_List(self));
    return list ? PyUnicode_FromFormat("tenora.Size(%R)", list.get()) : nullptr;
}

PyObject* as_size(PyObject* result) {
    if (!result || !PyTuple_CheckExact(result)) return result;
    PyRef tuple = PyRef::steal(result);
    return guarded([&] { return size_from_tuple(&SizeType, tuple.get()); });
}

PyObject* size_concat(PyObject* a, PyObject* b) {
    return as_size(PyTuple_Type.tp_as_sequence->sq_concat(a, b));
}
PyObject* size_repeat(PyObject* a, Py_ssize_t n) {
    return as_size(PyTuple_Type.tp_as_sequence->sq_repeat(a, n));
}
PyObject* size_subscript(PyObject* self, PyObject* key) {
    return as_size(PyTuple_Type.tp_as_mapping->mp_subscript(self, key));
}

PyObject* size_numel(PyObject* self, PyObject*) {
    PyRef product = PyRef::steal(PyLong_FromLong(1));
    for (Py_ssize_t i = 0; product && i < PyTuple_GET_SIZE(self); ++i) {
        product = PyRef::steal(PyNumber_Multiply(product.get(), PyTuple_GET_ITEM(self, i)));
    }
    return product.release();
}

PyObject* size_reduce(PyObject* self, PyObject*) {
    PyRef tuple = PyRef::steal(PyTuple_GetSlice(self, 0, PyTuple_GET_SIZE(self)));
    if (!tuple) return nullptr;
    PyRef plain = PyRef::steal(PySequence_List(tuple.get()));
    return plain ? Py_BuildValue("(O(O))", reinterpret_cast<PyObject*>(&SizeType), plain.get()) : nullptr;
}

PySequenceMethods sequence = {};
PyMappingMethods mapping = {};
PyMethodDef methods[] = {{"numel", size_numel, METH_NOARGS, "Product of the sizes."},
                         {"__reduce__", size_reduce, METH_NOARGS, nullptr},
                         {nullptr, nullptr, 0, nullptr}};

}  // namespace

PyTypeObject SizeType = {PyVarObject_HEAD_INIT(nullptr, 0) "tenora.Size", 0};

PyObject* size_object(std::span<const int64_t> shape) {
    PyObject* size = check(SizeType.tp_alloc(&SizeType, Py_ssize_t(shape.size())));
    for (size_t i = 0; i < shape.size(); ++i) {
        PyObject* item = PyLong_FromLongLong(shape[i]);
        if (!item) {
            Py_DECREF(size);
            throw_python();
        }
        PyTuple_SET_ITEM(size, Py_ssize_t(i), item);
    }
    return size;
}

PyObject* tuple_of(std::span<const int64_t> values) {
    PyRef tuple = own(PyTuple_New(Py_ssize_t(values.size())));
    for (size_t i = 0; i < values.size(); ++i)
        PyTuple_SET_ITEM(tuple.get(), Py_ssize_t(i), check(PyLong_FromLongLong(values[i])));
    return tuple.release();
}

void ready_plain_types(PyObject* module) {
    ready_dtype_type(module);
    ready_device_type(module);
    sequence.sq_concat = size_concat;
    sequence.sq_repeat = size_repeat;
    mapping.mp_subscript = size_subscript;
    SizeType.tp_doc = PyDoc_STR("Shape of a tensor: a tuple with `numel()`.");
    SizeType.tp_base = &PyTuple_Type;
    SizeType.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE;
    SizeType.tp_new = size_new;
    SizeType.tp_repr = size_repr;
    SizeType.tp_as_sequence = &sequence;
    SizeType.tp_as_mapping = &mapping;
    SizeType.tp_methods = methods;
    check_status(PyType_Ready(&SizeType));
    check_status(PyModule_AddObjectRef(module, "Size", reinterpret_cast<PyObject*>(&SizeType)));
}

}  // namespace tenora::python
