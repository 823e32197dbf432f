// Single values: numbers, attributes, and back. Binding of whole calls is in bind.cpp.

#include "arguments.h"

#include "generator_object.h"
#include "plain_types.h"
#include "tenora/hooks.h"
#include "tensor_object.h"

namespace tenora::python {

namespace {

PyObject* tenora_op_name() {
    static PyObject* name = PyUnicode_InternFromString("__tenora_op__");
    return name;
}

// NumPy's scalar types, recognised without importing NumPy.
bool is_numpy_scalar(PyObject* o) {
    const char* name = Py_TYPE(o)->tp_name;
    if (std::string_view(name).substr(0, 6) != "numpy.") return false;
    return std::string_view(name) != "numpy.ndarray" && Py_TYPE(o)->tp_as_number != nullptr;
}

bool is_index_like(PyObject* o) {
    PyNumberMethods* number = Py_TYPE(o)->tp_as_number;
    return number && number->nb_index && !PyBool_Check(o);
}

[[noreturn]] void too_large(const char* most) {
    PyErr_Clear();
    raise_kind(
        ErrorKind::Runtime, "value", "",
        "integer is out of range: got one of more bits, expected -2**63 <= i < " + std::string(most) + ".");
}

int64_t long_value(PyObject* o) {
    int overflow = 0;
    long long v = PyLong_AsLongLongAndOverflow(o, &overflow);
    if (overflow) too_large("2**63");
    if (v == -1 && PyErr_Occurred()) throw_python();
    return v;
}

// As a number an integer may have 64 bits without a sign.
Scalar long_scalar(PyObject* o) {
    int overflow = 0;
    long long v = PyLong_AsLongLongAndOverflow(o, &overflow);
    if (v == -1 && PyErr_Occurred()) throw_python();
    if (!overflow) return Scalar::from_int(v);
    unsigned long long bits = overflow > 0 ? PyLong_AsUnsignedLongLong(o) : 0;
    if (overflow < 0 || PyErr_Occurred()) too_large("2**64");
    return Scalar::from_unsigned(bits);
}

bool numpy_scalar(PyObject* o, Scalar* out) {
    std::string_view name = std::string_view(Py_TYPE(o)->tp_name).substr(6);
    if (name.substr(0, 4) == "bool") {
        int truth = PyObject_IsTrue(o);
        check_status(truth);
        *out = Scalar::from_bool(truth != 0);
        return true;
    }
    if (name.substr(0, 7) == "complex" || name == "clongdouble") {
        PyRef c = own(PyObject_CallOneArg(reinterpret_cast<PyObject*>(&PyComplex_Type), o));
        Py_complex v = PyComplex_AsCComplex(c.get());
        *out = Scalar::from_complex(v.real, v.imag);
        return true;
    }
    if (is_index_like(o)) {
        PyRef i = own(PyNumber_Index(o));
        *out = long_scalar(i.get());
        return true;
    }
    if (!Py_TYPE(o)->tp_as_number->nb_float || name.substr(0, 5) != "float") return false;
    PyRef f = own(PyNumber_Float(o));
    *out = Scalar::from_float(PyFloat_AS_DOUBLE(f.get()));
    return true;
}

Fit foreign(Arguments& a, PyObject* o) {
    a.foreign = o;
    return Fit::Foreign;
}

Fit span_attribute(PyObject* o, Arguments& a, Attr* out) {
    int64_t single;
    if (to_int64(o, &single)) {
        int64_t* data = a.ints(1);
        *data = single;
        *out = attr_span({data, 1});
        return Fit::Yes;
    }
    if (!PyList_Check(o) && !PyTuple_Check(o)) return has_tenora_op(o) ? foreign(a, o) : Fit::No;
    // A list may change while an item's __index__ runs: size and items are asked for again each time.
    Py_ssize_t n = PySequence_Fast_GET_SIZE(o);
    int64_t* data = a.ints(size_t(n));
    for (Py_ssize_t i = 0; i < n; ++i) {
        if (i >= PySequence_Fast_GET_SIZE(o))
            raise(PyExc_RuntimeError, "a list changed its size while it was read");
        PyRef item = PyRef::borrow(PySequence_Fast_GET_ITEM(o, i));
        if (!to_int64(item.get(), &data[i]))
            return has_tenora_op(item.get()) ? foreign(a, item.get()) : Fit::No;
    }
    *out = attr_span({data, size_t(n)});
    return Fit::Yes;
}

bool to_double(PyObject* o, bool real, double* out) {
    if (PyFloat_Check(o)) {
        *out = PyFloat_AS_DOUBLE(o);
        return true;
    }
    if (PyLong_Check(o)) {  // True is 1.0, as in PyTorch
        *out = PyLong_AsDouble(o);
        if (*out == -1.0 && PyErr_Occurred()) throw_python();
        return true;
    }
    Scalar s;
    if (!to_scalar(o, &s)) return false;
    if (real) drop_zero_imaginary(s);
    if (s.kind == Scalar::Kind::Complex) return false;
    *out = s.real();
    return true;
}

Fit scalar_attribute(PyObject* o, Attr* out) {
    Scalar s;
    if (!to_scalar(o, &s)) return Fit::No;
    if (s.kind == Scalar::Kind::Complex) return Fit::No;  // attributes hold none; another overload may
    *out = attr_scalar(s);
    return Fit::Yes;
}

// A tensor without dims is a number, unless reading it would cut its history.
bool is_number_tensor(PyObject* o) {
    return is_tensor(o) && impl_of(o)->shape().empty() && !impl_of(o)->needs_grad();
}

Fit tensor_attribute(const Param& param, PyObject* o, Attr* out) {
    PyRef item = own(PyObject_CallMethod(o, "item", nullptr));
    if (param.type == ParamType::Scalar) return scalar_attribute(item.get(), out);
    double number;
    if (!to_double(item.get(), true, &number))
        raise_kind(ErrorKind::Runtime, "value", "",
                   param.name + " is wrong: got a tensor whose imaginary part is not 0, expected a float.");
    *out = attr_float(number);
    return Fit::Yes;
}

Fit bool_attribute(PyObject* o, Attr* out) {
    bool numpy_bool =
        is_numpy_scalar(o) && std::string_view(Py_TYPE(o)->tp_name).substr(0, 10) == "numpy.bool";
    if (!PyBool_Check(o) && !numpy_bool) return Fit::No;
    *out = attr_bool(numpy_bool ? PyObject_IsTrue(o) == 1 : o == Py_True);
    return Fit::Yes;
}

Fit device_attribute(PyObject* o, Attr* out) {
    if (!is_device(o) && !PyUnicode_Check(o)) return Fit::No;
    Device device = resolve_device(o, "");
    *out = attr_int(int64_t(device.space) << 8 | device.index);
    return Fit::Yes;
}

Fit text_attribute(PyObject* o, Attr* out) {
    if (!PyUnicode_Check(o)) return Fit::No;
    Py_ssize_t size = 0;
    const char* data = PyUnicode_AsUTF8AndSize(o, &size);  // cached in the str, which the caller holds
    if (!data) {
        PyErr_Clear();
        raise(PyExc_ValueError, "[argument] text: got a lone surrogate, expected text that UTF-8 can spell.");
    }
    *out = attr_string({data, size_t(size)});
    return Fit::Yes;
}

Fit typed_attribute(const Param& param, PyObject* o, Arguments& a, Attr* out) {
    int64_t i;
    double f;
    DType dtype;
    switch (param.type) {
        case ParamType::Int:
            if (!to_int64(o, &i)) return Fit::No;
            *out = attr_int(i);
            return Fit::Yes;
        case ParamType::Float:
            if (!to_double(o, param.real, &f)) return Fit::No;
            *out = attr_float(f);
            return Fit::Yes;
        case ParamType::DType:
            if (!to_dtype(o, &dtype)) return Fit::No;
            *out = attr_dtype(dtype);
            return Fit::Yes;
        case ParamType::Generator:
            if (!is_generator(o)) return Fit::No;
            *out = attr_int(reinterpret_cast<int64_t>(generator_of(o)));
            return Fit::Yes;
        case ParamType::Bool:
            return bool_attribute(o, out);
        case ParamType::Scalar:
            return scalar_attribute(o, out);
        case ParamType::IntList:
            return span_attribute(o, a, out);
        case ParamType::String:
            return text_attribute(o, out);
        case ParamType::Device:
            return device_attribute(o, out);
        default:
            return Fit::No;
    }
}

}  // namespace

bool has_tenora_op(PyObject* o) {
    if (is_exact_tensor(o) || PyLong_CheckExact(o) || PyFloat_CheckExact(o) || PyTuple_CheckExact(o) ||
        PyList_CheckExact(o))
        return false;
    return _PyType_Lookup(Py_TYPE(o), tenora_op_name()) != nullptr;
}

void drop_zero_imaginary(Scalar& s) {
    if (s.kind == Scalar::Kind::Complex && s.imag == 0) s = Scalar::from_float(s.f);
}

bool is_number(PyObject* o) {
    return PyFloat_Check(o) || PyLong_Check(o) || PyComplex_Check(o) || is_numpy_scalar(o);
}

bool to_scalar(PyObject* o, Scalar* out) {
    if (PyFloat_Check(o))
        *out = Scalar::from_float(PyFloat_AS_DOUBLE(o));
    else if (PyBool_Check(o))
        *out = Scalar::from_bool(o == Py_True);
    else if (PyLong_Check(o))
        *out = long_scalar(o);
    else if (PyComplex_Check(o))
        *out = Scalar::from_complex(PyComplex_RealAsDouble(o), PyComplex_ImagAsDouble(o));
    else if (is_numpy_scalar(o))
        return numpy_scalar(o, out);
    else
        return false;
    return true;
}

bool to_int64(PyObject* o, int64_t* out) {
    if (PyLong_CheckExact(o)) {
        *out = long_value(o);
        return true;
    }
    if (!is_index_like(o) || has_tenora_op(o)) return false;
    PyRef i = PyRef::steal(PyNumber_Index(o));
    if (!i) {
        if (!PyErr_ExceptionMatches(PyExc_TypeError)) throw_python();
        PyErr_Clear();  // an array of several numbers, say: the caller tells what it expected
        return false;
    }
    *out = long_value(i.get());
    return true;
}

int64_t int64_argument(PyObject* o, const char* what) {
    int64_t v;
    if (!named(what, [&] { return to_int64(o, &v); }))
        raise(PyExc_TypeError, std::string(what) + " is not an integer: got " + type_name(o) + ".");
    return v;
}

std::vector<int64_t> ints_argument(PyObject* o, const char* op, const char* what) {
    Arguments a;
    Attr attr{};
    PyRef sequence = PyList_Check(o) || PyTuple_Check(o) || !PySequence_Check(o) || is_tensor(o)
                         ? PyRef::borrow(o)
                         : own(PySequence_Tuple(o));
    if (span_attribute(sequence.get(), a, &attr) != Fit::Yes) {
        raise_kind(ErrorKind::Type, "type", op,
                   std::string(what) + " is wrong: got " + type_name(o) + ", expected ints.");
    }
    return {attr.value.span, attr.value.span + attr.count};
}

int64_t* Arguments::ints(size_t count) {
    if (size_t(ints_used) + count <= size_t(kInts)) {
        int64_t* data = ints_inline + ints_used;
        ints_used += int(count);
        return data;
    }
    ints_long.push_back(std::make_unique<int64_t[]>(count));
    return ints_long.back().get();
}

Fit to_attribute(const Param& param, PyObject* o, Arguments& a, Attr* out) {
    if (o == Py_None) {
        *out = attr_none();
        return param.optional ? Fit::Yes : Fit::No;
    }
    Fit fit = typed_attribute(param, o, a, out);
    if (fit == Fit::No && has_tenora_op(o)) return foreign(a, o);
    if (fit != Fit::No || !a.tensors_as_numbers || !is_number_tensor(o)) return fit;
    bool number = param.type == ParamType::Scalar || param.type == ParamType::Float;
    return number ? tensor_attribute(param, o, out) : fit;
}

std::string wrong_type(const Param& param, PyObject* given) {
    if (param.type == ParamType::IntList && (PyList_Check(given) || PyTuple_Check(given))) {
        for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(given); ++i) {
            PyObject* item = PySequence_Fast_GET_ITEM(given, i);
            if (is_index_like(item)) continue;
            return "item " + std::to_string(i) + " of " + param.name + " is wrong: got " + type_name(item) +
                   ", expected int";
        }
    }
    return param.name + " is wrong: got " + type_name(given) + ", expected " + type_text(param.type) +
           (param.optional ? " or None" : "");
}

Attr attribute_argument(const Param& param, PyObject* o, Arguments& a, const char* op) {
    Attr attr{};
    if (to_attribute(param, o, a, &attr) == Fit::Yes) return attr;
    raise_kind(ErrorKind::Type, "type", op, wrong_type(param, o) + ".");
}

PyObject* scalar_object(const Scalar& s) {
    switch (s.kind) {
        case Scalar::Kind::Bool:
            return new_bool(s.i != 0);
        case Scalar::Kind::Int:
            return check(s.wide ? PyLong_FromUnsignedLongLong(uint64_t(s.i)) : PyLong_FromLongLong(s.i));
        case Scalar::Kind::Float:
            return check(PyFloat_FromDouble(s.f));
        default:
            return check(PyComplex_FromDoubles(s.f, s.imag));
    }
}

PyObject* attribute_object(const Attr& attr) {
    switch (attr.kind) {
        case TNR_ATTR_NONE:
            return new_none();
        case TNR_ATTR_I64:
            return check(PyLong_FromLongLong(attr.value.i64));
        case TNR_ATTR_F64:
            return check(PyFloat_FromDouble(attr.value.f64));
        case TNR_ATTR_BOOL:
            return new_bool(attr.value.i64 != 0);
        case TNR_ATTR_DTYPE:
            return Py_NewRef(dtype_object(DType(attr.value.i64)));
        case TNR_ATTR_SPAN:
            return tuple_of({attr.value.span, attr.count});
        case TNR_ATTR_STRING:
            return text({attr.value.string, attr.count}).release();
        case TNR_ATTR_SCALAR:
            if (attr.dtype == TNR_BOOL) return new_bool(attr.value.i64 != 0);
            if (attr.dtype == TNR_U64) return check(PyLong_FromUnsignedLongLong(uint64_t(attr.value.i64)));
            if (attr.dtype == TNR_I64) return check(PyLong_FromLongLong(attr.value.i64));
            return check(PyFloat_FromDouble(attr.value.f64));
        default:
            raise(PyExc_SystemError, "unknown attribute kind");
    }
}

PyObject* attribute_object(const Attr& attr, ParamType type) {
    if (type == ParamType::Device && attr.kind == TNR_ATTR_I64) {
        return device_object(Device{uint8_t(attr.value.i64 >> 8), uint8_t(attr.value.i64 & 0xff)});
    }
    if (type == ParamType::Generator && attr.kind == TNR_ATTR_I64) {
        return generator_object(reinterpret_cast<Generator*>(attr.value.i64));
    }
    return attribute_object(attr);
}

}  // namespace tenora::python
