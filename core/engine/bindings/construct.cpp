// Tensors from numbers and nested sequences.
//   - dtype is inferred as PyTorch does: bool < int64 < default float < its complex; NumPy numbers and arrays
//   keep theirs.
//   - Nesting is limited by the rank (64), so that a list which contains itself is an error and not a crash.
//   - A list may change while an item's __float__ runs: its size is asked for again at each step.

#include "construct.h"

#include <cstring>
#include <vector>

#include "arguments.h"
#include "plain_types.h"
#include "scalar_read.h"
#include "tenora/dispatch.h"
#include "tensor_object.h"

namespace tenora::python {

namespace {

struct Shape {
    int64_t dims[kMaxRank];
    int rank = 0;
};

bool is_list(PyObject* o) { return PyList_Check(o) || PyTuple_Check(o); }

// Any other sequence becomes a tuple once; text is refused.
PyRef as_list(PyObject* o) {
    if (is_list(o)) return PyRef::borrow(o);
    if (PyUnicode_Check(o) || PyBytes_Check(o) || !PySequence_Check(o) || is_tensor(o) || PyDict_Check(o))
        return PyRef();
    return own(PySequence_Tuple(o));
}

[[noreturn]] void bad_item(PyObject* o) {
    raise_kind(
        ErrorKind::Type, "type", "tensor",
        "cannot become an element: got " + type_name(o) + ", expected numbers or nested sequences of them.");
}

Shape shape_of(PyObject* object) {
    Shape shape;
    PyRef o = as_list(object);
    while (o) {
        if (shape.rank == kMaxRank)
            raise_kind(ErrorKind::Value, "shape", "tensor",
                       "nested too deeply: expected at most 64 levels. Does a list contain itself?");
        Py_ssize_t n = PySequence_Fast_GET_SIZE(o.get());
        shape.dims[shape.rank++] = n;
        if (n == 0) break;
        PyRef first = PyRef::borrow(PySequence_Fast_GET_ITEM(o.get(), 0));
        if (is_tensor(first.get())) {
            for (int64_t d : impl_of(first.get())->shape()) {
                if (shape.rank == kMaxRank)
                    raise_kind(ErrorKind::Value, "shape", "tensor",
                               "nested too deeply: expected at most 64 levels.");
                shape.dims[shape.rank++] = d;
            }
            break;
        }
        o = as_list(first.get());
    }
    return shape;
}

// NumPy's whole numbers keep width and sign; `bytes` is 0 for numbers that do not tell their width.
DType dtype_of_whole(PyObject* o, long bytes) {
    PyRef dtype = PyRef::steal(PyObject_GetAttrString(o, "dtype"));
    PyRef kind = PyRef::steal(dtype ? PyObject_GetAttrString(dtype.get(), "kind") : nullptr);
    PyErr_Clear();
    bool is_unsigned =
        kind && PyUnicode_Check(kind.get()) && PyUnicode_CompareWithASCIIString(kind.get(), "u") == 0;
    DType known = whole_dtype(bytes, is_unsigned);
    return known != DType::None ? known : is_unsigned ? DType::U64 : DType::I64;
}

DType dtype_of_number(PyObject* o, const Scalar& s) {
    if (!PyFloat_CheckExact(o) && !PyLong_Check(o) &&
        !PyComplex_CheckExact(o)) {  // NumPy's numbers keep their dtype
        PyRef itemsize = PyRef::steal(PyObject_GetAttrString(o, "itemsize"));
        PyErr_Clear();
        long bytes = itemsize && PyLong_Check(itemsize.get()) ? PyLong_AsLong(itemsize.get()) : 0;
        if (s.kind == Scalar::Kind::Float)
            return bytes == 8 ? DType::F64 : bytes == 2 ? DType::F16 : bytes == 4 ? DType::F32 : DType::F64;
        if (s.kind == Scalar::Kind::Complex) return bytes == 8 ? DType::C64 : DType::C128;
        if (s.kind == Scalar::Kind::Int) return dtype_of_whole(o, bytes);
    }
    switch (s.kind) {
        case Scalar::Kind::Bool:
            return DType::Bool;
        case Scalar::Kind::Int:
            return DType::I64;
        case Scalar::Kind::Float:
            return default_dtype();
        default:
            return to_complex(default_dtype());
    }
}

// A number for an element of `dtype`; integers of any size become floats where floats are wanted.
bool number_for(PyObject* o, DType dtype, Scalar* s) {
    if (PyLong_Check(o) && !PyBool_Check(o) && dtype != DType::None && is_differentiable(dtype)) {
        double value = PyLong_AsDouble(o);
        if (value == -1.0 && PyErr_Occurred()) throw_python();
        *s = Scalar::from_float(value);
        return true;
    }
    return named("tensor", [&] { return to_scalar(o, s); });
}

void infer(PyObject* object, int depth, DType* dtype) {
    PyRef o = as_list(object);
    if (!o) {
        DType found;
        Scalar s;
        if (is_tensor(object))
            found = impl_of(object)->dtype;
        else if (number_for(object, DType::None, &s))
            found = dtype_of_number(object, s);
        else
            bad_item(object);
        *dtype = *dtype == DType::None ? found : promote(*dtype, found);
        return;
    }
    if (depth >= kMaxRank)
        raise_kind(ErrorKind::Value, "shape", "tensor", "nested too deeply: expected at most 64 levels.");
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(o.get()); ++i) {
        PyRef item = PyRef::borrow(PySequence_Fast_GET_ITEM(o.get(), i));
        infer(item.get(), depth + 1, dtype);
    }
}

struct Filler {
    char* at;
    DType dtype;
    size_t item;
    const Shape& shape;

    [[noreturn]] void uneven(int depth, Py_ssize_t got) const {
        raise_kind(ErrorKind::Value, "shape", "tensor",
                   "nested sequences differ in length: got " + std::to_string(got) + ", expected " +
                       std::to_string(shape.dims[depth]) + " at dimension " + std::to_string(depth) + ".");
    }

    void tensor(Tensor* t, int depth) {
        bool same = t->rank() == shape.rank - depth;
        for (int d = 0; same && d < t->rank(); ++d) same = t->dl.shape[d] == shape.dims[depth + d];
        if (!same)
            raise_kind(ErrorKind::Value, "shape", "tensor",
                       "nested tensors differ in shape: got " + describe(t) + ".");
        TensorRef dense = contiguous(convert(TensorRef(t), dtype, Device{}).get(), "tensor");
        std::memcpy(at, dense->dl.data, size_t(dense->numel) * item);
        at += size_t(dense->numel) * item;
    }

    void fill(PyObject* object, int depth) {
        if (is_tensor(object)) return tensor(impl_of(object), depth);
        if (depth == shape.rank) {
            Scalar s;
            if (!number_for(object, dtype, &s)) {
                if (as_list(object)) uneven(depth - 1, -1);
                bad_item(object);
            }
            if (s.kind == Scalar::Kind::Complex && !is_complex(dtype)) {
                raise_kind(ErrorKind::Runtime, "dtype", "tensor",
                           "a complex number does not fit " + std::string(info(dtype).name) + ".");
            }
            check_range("tensor", s, dtype);
            write_element(at, dtype, s);
            at += item;
            return;
        }
        PyRef o = as_list(object);
        if (!o) uneven(depth, 0);
        Py_ssize_t n = PySequence_Fast_GET_SIZE(o.get());
        if (n != shape.dims[depth]) uneven(depth, n);
        for (Py_ssize_t i = 0; i < n; ++i) {
            if (PySequence_Fast_GET_SIZE(o.get()) != n) uneven(depth, PySequence_Fast_GET_SIZE(o.get()));
            PyRef value = PyRef::borrow(PySequence_Fast_GET_ITEM(o.get(), i));
            fill(value.get(), depth + 1);
        }
    }
};

TensorRef from_sequence(PyObject* o, DType dtype) {
    Shape shape = shape_of(o);
    if (dtype == DType::None) infer(o, 0, &dtype);
    if (dtype == DType::None) dtype = default_dtype();  // no element at all
    TensorRef t = new_tensor({shape.dims, size_t(shape.rank)}, dtype, Device{});
    if (t->numel == 0) return t;
    Filler filler{static_cast<char*>(t->dl.data), dtype, size_of(dtype), shape};
    filler.fill(o, 0);
    return t;
}

// A list of arrays: NumPy joins them much faster than a walk over their elements.
bool holds_arrays(PyObject* o) {
    PyRef level = PyRef::borrow(o);
    for (int depth = 0; depth < kMaxRank && is_list(level.get()) && PySequence_Fast_GET_SIZE(level.get()) > 0;
         ++depth) {
        level = PyRef::borrow(PySequence_Fast_GET_ITEM(level.get(), 0));
    }
    return !is_list(level.get()) && is_ndarray(level.get());
}

TensorRef through_numpy(PyObject* o, bool copy) {
    PyRef numpy = own(PyImport_ImportModule("numpy"));
    PyRef array = own(PyObject_CallMethod(numpy.get(), "asarray", "(O)", o));
    return tensor_from_ndarray(array.get(), copy || array.get() != o);
}

}  // namespace

TensorRef tensor_from_scalar(PyObject* number, DType dtype) {
    Scalar s;
    if (!number_for(number, dtype, &s)) bad_item(number);
    if (dtype == DType::None) dtype = dtype_of_number(number, s);
    check_range("tensor", s, dtype);
    if (s.kind == Scalar::Kind::Complex && !is_complex(dtype)) {
        raise_kind(ErrorKind::Runtime, "dtype", "tensor",
                   "a complex number does not fit " + std::string(info(dtype).name) + ".");
    }
    TensorRef t = new_tensor({}, dtype, Device{});
    write_element(t->dl.data, dtype, s);
    return t;
}

TensorRef convert(TensorRef t, DType dtype, Device device) {
    if (dtype != DType::None && t->dtype != dtype) t = cast(t.get(), dtype);
    if (!(t->device == device)) t = to_device(t.get(), device, false);
    return t;
}

TensorRef tensor_from_object(PyObject* o, DType dtype, Device device, bool copy) {
    TensorRef t;
    if (is_tensor(o)) {
        t = TensorRef(impl_of(o));
        if (!copy) return convert(std::move(t), dtype, device);
        TensorRef moved = convert(t, dtype, device);
        if (moved.get() != t.get()) return moved;
        TensorRef out;
        Operand in[1] = {Operand(t.get())};
        call_raw(core_ops().clone, in, {}, &out);
        return out;
    }
    if (is_number(o)) return convert(tensor_from_scalar(o, dtype), dtype, device);
    if (is_ndarray(o)) return convert(tensor_from_ndarray(o, copy), dtype, device);
    if (is_list(o) && !holds_arrays(o)) return convert(from_sequence(o, dtype), dtype, device);
    bool arrays = is_list(o) || PyObject_HasAttrString(o, "__array__") ||
                  PyObject_HasAttrString(o, "__array_interface__");
    if (!arrays && PyObject_HasAttrString(o, "__dlpack__"))
        return convert(tensor_from_dlpack(o, copy), dtype, device);
    if (arrays || (PyObject_CheckBuffer(o) && !PyBytes_Check(o)))
        return convert(through_numpy(o, copy), dtype, device);
    if (PySequence_Check(o) && !PyUnicode_Check(o)) return convert(from_sequence(o, dtype), dtype, device);
    bad_item(o);
}

}  // namespace tenora::python
