// Functions that make tensors from data, and the raw conversions. Creation ops (zeros, arange, ...) are
// records in tenora_ops.

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <cstring>

#include "arguments.h"
#include "construct.h"
#include "module_parts.h"
#include "plain_types.h"
#include "storage_object.h"
#include "tenora/dispatch.h"
#include "tenora/tape.h"
#include "tensor_object.h"
#include "tensor_pickle.h"

namespace py = pybind11;

namespace tenora::python {

namespace {

py::object give(TensorRef t) { return py::reinterpret_steal<py::object>(check(wrap(std::move(t)))); }

py::object empty(const py::object& shape, const py::object& dtype, const py::object& device) {
    std::vector<int64_t> sizes = ints_argument(shape.ptr(), "empty", "shape");
    DType d = dtype_argument(dtype.ptr(), "empty");
    return give(
        new_tensor(sizes, d == DType::None ? default_dtype() : d, device_argument(device.ptr(), "empty")));
}

py::object from_numpy(const py::object& array, bool copy) {
    return give(tensor_from_ndarray(array.ptr(), copy));
}

py::object from_dlpack(const py::object& o, const py::object& copy) {
    return give(tensor_from_dlpack(o.ptr(), copy.ptr() == Py_True));
}

py::object as_tensor_data(const py::object& o, const py::object& dtype, const py::object& device, bool copy) {
    bool keep = is_tensor(o.ptr()) && device.is_none();
    Device d = keep ? impl_of(o.ptr())->device : device_argument(device.ptr(), "tensor");
    return give(tensor_from_object(o.ptr(), dtype_argument(dtype.ptr(), "tensor"), d, copy));
}

void release_view(void* owner) {
    auto* view = static_cast<Py_buffer*>(owner);
    if (Py_IsInitialized()) {
        GilGuard gil;
        PyBuffer_Release(view);
    }
    delete view;
}

}  // namespace

TensorRef tensor_from_buffer(PyObject* o, DType dtype, int64_t count, int64_t offset) {
    auto view = std::make_unique<Py_buffer>();
    check_status(PyObject_GetBuffer(o, view.get(), PyBUF_SIMPLE));
    int64_t item = int64_t(size_of(dtype)), bytes = int64_t(view->len);
    bool good = offset >= 0 && offset <= bytes &&
                (count >= 0 ? count <= (bytes - offset) / item : (bytes - offset) % item == 0);
    good = good && (reinterpret_cast<uintptr_t>(view->buf) + size_t(offset)) % size_t(item) == 0;
    if (!good) {
        PyBuffer_Release(view.get());
        raise_kind(ErrorKind::Value, "layout", "from_buffer",
                   "count and offset do not fit the buffer: got count " + std::to_string(count) +
                       ", offset " + std::to_string(offset) + " for " + std::to_string(bytes) +
                       " bytes of elements of " + std::to_string(item) + ", aligned.");
    }
    int64_t shape[1] = {count >= 0 ? count : (bytes - offset) / item}, strides[1] = {1};
    char* data = static_cast<char*>(view->buf) + offset;
    bool read_only = view->readonly;
    StorageRef storage =
        adopt(data, size_t(shape[0] * item), Device{}, read_only, view.release(), release_view);
    return new_window(storage.get(), shape, strides, 0, dtype, Device{});
}

namespace {

py::object from_buffer(const py::object& o, const py::object& dtype, int64_t count, int64_t offset) {
    DType d = dtype_argument(dtype.ptr(), "from_buffer");
    return give(tensor_from_buffer(o.ptr(), d == DType::None ? default_dtype() : d, count, offset));
}

Tensor* tensor(const py::object& o, const char* op) { return as_tensor(o.ptr(), op, "argument"); }

py::object to_device_binding(const py::object& t, const py::object& device, bool non_blocking) {
    return give(to_device(tensor(t, "to_device"), resolve_device(device.ptr(), "to"), non_blocking));
}

DType dtype_given(const py::object& o) {
    DType d = dtype_argument(o.ptr(), "dtype");
    if (d == DType::None) raise_kind(ErrorKind::Type, "type", "dtype", "expected a dtype: got None.");
    return d;
}

py::object empty_pinned(const std::vector<int64_t>& shape, const py::object& dtype,
                        const py::object& device) {
    return give(new_pinned(shape, dtype_given(dtype), resolve_device(device.ptr(), "pin_memory")));
}

// The device type that reads the tensor's memory by itself, or None.
py::object pinned_for(const py::object& t) {
    const Storage* storage = tensor(t, "is_pinned")->storage;
    if (!storage || !storage->pinned_for) return py::none();
    return py::str(space(storage->pinned_for).name);
}

py::object assign_binding(const py::object& target, const py::object& value) {
    Tensor* t = tensor(target, "copy_");
    Scalar s;
    if (is_tensor(value.ptr())) {
        assign(t, Operand(impl_of(value.ptr())));
    } else if (to_scalar(value.ptr(), &s)) {
        assign(t, Operand(s));
    } else {
        TensorRef source = tensor_from_object(value.ptr(), DType::None, Device{}, false);
        assign(t, Operand(source.get()));
    }
    track_if_needed(target.ptr());
    return target;
}

py::object as_strided_raw(const py::object& t, const std::vector<int64_t>& shape,
                          const std::vector<int64_t>& strides, int64_t offset) {
    Tensor* base = tensor(t, "as_strided");
    return give(new_window(base->storage, shape, strides, offset, base->dtype, base->device));
}

py::object dtype_result(DType d) { return py::reinterpret_borrow<py::object>(dtype_object(d)); }

void set_default(const py::object& o) {
    DType d = dtype_given(o);
    if (!is_floating(d))
        raise_kind(ErrorKind::Type, "dtype", "set_default_dtype",
                   "only floating dtypes can be the default: got " + std::string(info(d).name) + ".");
    set_default_dtype(d);
}

PyMethodDef functions[] = {
    {"_rebuild_tensor", rebuild_tensor, METH_VARARGS, "What pickles of tensors call."},
    {"_storage_from_bytes", storage_from_bytes, METH_O, "What pickles of storages call."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

void add_creation(PyObject* module) {
    PyRef name = text("tenora_engine._engine");  // pickle finds functions by this
    check_status(PyModule_AddFunctions(module, functions));
    py::module_ m = py::reinterpret_borrow<py::module_>(module);
    using py::arg;
    m.def("empty", empty, arg("shape"), py::kw_only(), arg("dtype") = py::none(), arg("device") = py::none());
    m.def("from_numpy", from_numpy, arg("array"), arg("copy") = false);
    m.def("from_dlpack", from_dlpack, arg("obj"), py::kw_only(), arg("copy") = py::none());
    m.def("from_buffer", from_buffer, arg("obj"), arg("dtype") = py::none(), arg("count") = -1,
          arg("offset") = 0);
    m.def("as_tensor_data", as_tensor_data, arg("obj"), py::kw_only(), arg("dtype") = py::none(),
          arg("device") = py::none(), arg("copy") = false);
    m.def("empty_pinned", empty_pinned, arg("shape"), arg("dtype"), arg("device"));
    m.def("pinned_for", pinned_for, arg("tensor"));
    m.def(
        "can_pin", [](const py::object& d) { return can_pin(resolve_device(d.ptr(), "pin_memory")); },
        arg("device"));
    m.def("to_device", to_device_binding, arg("tensor"), arg("device"), arg("non_blocking") = false);
    m.def("assign", assign_binding, arg("target"), arg("value"));
    m.def(
        "contiguous",
        [](const py::object& t) { return give(contiguous(tensor(t, "contiguous"), "contiguous")); },
        arg("tensor"));
    m.def(
        "cast",
        [](const py::object& t, const py::object& d) {
            return give(cast(tensor(t, "cast"), dtype_given(d)));
        },
        arg("tensor"), arg("dtype"));
    m.def("window", as_strided_raw, arg("tensor"), arg("shape"), arg("strides"), arg("offset"));
    m.def("default_dtype", [] { return dtype_result(default_dtype()); });
    m.def("set_default_dtype", set_default, arg("dtype"));
    m.def(
        "promote_types",
        [](const py::object& a, const py::object& b) {
            return dtype_result(promote(dtype_given(a), dtype_given(b)));
        },
        arg("a"), arg("b"));
    m.def(
        "numpy_dtype",
        [](const py::object& d) { return py::reinterpret_steal<py::object>(numpy_dtype(dtype_given(d))); },
        arg("dtype"));
    m.def(
        "space_of_device", [](const py::object& d) { return space(resolve_device(d.ptr(), "device")).name; },
        arg("device"));
}

}  // namespace tenora::python
