// `dtype`: fifteen interned objects, attributes of the module under PyTorch's names.

#include <array>

#include "plain_types.h"

namespace tenora::python {

namespace {

std::array<DTypeObject*, TNR_DTYPE_COUNT> interned{};

PyObject* dtype_repr(PyObject* self) {
    return PyUnicode_FromFormat("tenora.%s", std::string(info(dtype_of(self)).name).c_str());
}
PyObject* get_name(PyObject* self, void*) {
    return guarded([&] { return text(info(dtype_of(self)).name).release(); });
}
PyObject* get_itemsize(PyObject* self, void*) { return PyLong_FromSize_t(size_of(dtype_of(self))); }
PyObject* get_floating(PyObject* self, void*) { return new_bool(is_floating(dtype_of(self))); }
PyObject* get_complex(PyObject* self, void*) { return new_bool(is_complex(dtype_of(self))); }
PyObject* get_signed(PyObject* self, void*) {
    uint8_t code = info(dtype_of(self)).dl.code;
    return new_bool(code != 1 && code != 6);
}
PyObject* get_number(PyObject* self, void*) { return PyLong_FromLong(long(dtype_of(self))); }
PyObject* get_mask(PyObject* self, void*) { return PyLong_FromLong(1L << int(dtype_of(self))); }
PyObject* to_complex_method(PyObject* self, PyObject*) {
    return Py_NewRef(dtype_object(to_complex(dtype_of(self))));
}
PyObject* to_real_method(PyObject* self, PyObject*) {
    return Py_NewRef(dtype_object(to_real(dtype_of(self))));
}
PyObject* dtype_reduce(PyObject* self, PyObject*) {
    return guarded([&] {
        PyRef name = text(info(dtype_of(self)).name);
        return check(Py_BuildValue("(O(O))", reinterpret_cast<PyObject*>(&DTypeType), name.get()));
    });
}
PyObject* dtype_copy(PyObject* self, PyObject*) { return Py_NewRef(self); }

PyObject* dtype_new(PyTypeObject*, PyObject* args, PyObject* kwargs) {
    const char* name = nullptr;
    static const char* names[] = {"name", nullptr};
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "s:dtype", const_cast<char**>(names), &name))
        return nullptr;
    for (DTypeObject* o : interned) {
        if (info(o->dtype).name == name) return Py_NewRef(reinterpret_cast<PyObject*>(o));
    }
    return PyErr_Format(PyExc_ValueError,
                        "[dtype] unknown dtype: got '%s', expected a name such as 'float32'.", name);
}

PyGetSetDef getset[] = {
    {"name", get_name, nullptr, "Name without the module.", nullptr},
    {"itemsize", get_itemsize, nullptr, "Bytes of one element.", nullptr},
    {"is_floating_point", get_floating, nullptr, "True for float16, bfloat16, float32, float64.", nullptr},
    {"is_complex", get_complex, nullptr, "True for complex64, complex128.", nullptr},
    {"is_signed", get_signed, nullptr, "False for bool and the unsigned integers.", nullptr},
    {"number", get_number, nullptr, "Number in the C ABI (`tnr_dtype`).", nullptr},
    {"mask", get_mask, nullptr, "Bit of this dtype in a mask of the C ABI.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyMethodDef methods[] = {
    {"to_complex", to_complex_method, METH_NOARGS, "The complex dtype of this precision."},
    {"to_real", to_real_method, METH_NOARGS, "The dtype of this one's real part."},
    {"__reduce__", dtype_reduce, METH_NOARGS, "Pickles by name."},
    {"__copy__", dtype_copy, METH_NOARGS, nullptr},
    {"__deepcopy__", dtype_copy, METH_O, nullptr},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

PyTypeObject DTypeType = {PyVarObject_HEAD_INIT(nullptr, 0) "tenora.dtype", sizeof(DTypeObject)};

PyObject* dtype_object(DType dtype) { return reinterpret_cast<PyObject*>(interned[size_t(dtype)]); }

bool to_dtype(PyObject* o, DType* out) {
    if (is_dtype(o)) {
        *out = dtype_of(o);
    } else if (o == reinterpret_cast<PyObject*>(&PyFloat_Type)) {
        *out = DType::F64;
    } else if (o == reinterpret_cast<PyObject*>(&PyLong_Type)) {
        *out = DType::I64;
    } else if (o == reinterpret_cast<PyObject*>(&PyBool_Type)) {
        *out = DType::Bool;
    } else if (o == reinterpret_cast<PyObject*>(&PyComplex_Type)) {
        *out = DType::C128;
    } else {
        return false;
    }
    return true;
}

DType dtype_argument(PyObject* o, const char* op) {
    DType dtype = DType::None;
    if (!o || o == Py_None || to_dtype(o, &dtype)) return dtype;
    raise_kind(ErrorKind::Type, "type", op,
               "dtype is wrong: got " + type_name(o) + ", expected a tenora.dtype.");
}

void ready_dtype_type(PyObject* module) {
    DTypeType.tp_doc = PyDoc_STR("Element type of a tensor.");
    DTypeType.tp_flags = Py_TPFLAGS_DEFAULT;
    DTypeType.tp_repr = dtype_repr;
    DTypeType.tp_new = dtype_new;
    DTypeType.tp_getset = getset;
    DTypeType.tp_methods = methods;
    check_status(PyType_Ready(&DTypeType));
    check_status(PyModule_AddObjectRef(module, "dtype", reinterpret_cast<PyObject*>(&DTypeType)));
    for (int i = 0; i < TNR_DTYPE_COUNT; ++i) {
        auto* o = PyObject_New(DTypeObject, &DTypeType);
        check(reinterpret_cast<PyObject*>(o));
        o->dtype = DType(i);
        interned[size_t(i)] = o;
        std::string name(info(DType(i)).name);
        check_status(PyModule_AddObjectRef(module, name.c_str(), reinterpret_cast<PyObject*>(o)));
    }
}

}  // namespace tenora::python
