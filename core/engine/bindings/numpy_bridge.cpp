// NumPy arrays in and out, sharing memory. bfloat16 is ml_dtypes' type, loaded when it is met.

#define TENORA_NUMPY_API_OWNER
#include "numpy_api.h"

#include <string_view>

#include "construct.h"
#include "scalar_read.h"
#include "tenora/dispatch.h"
#include "tensor_object.h"

namespace tenora::python {

namespace {

bool api_ready = false;
PyArray_Descr* descrs[TNR_DTYPE_COUNT];

int type_number(DType dtype) {
    switch (dtype) {
        case DType::Bool:
            return NPY_BOOL;
        case DType::U8:
            return NPY_UINT8;
        case DType::U16:
            return NPY_UINT16;
        case DType::U32:
            return NPY_UINT32;
        case DType::U64:
            return NPY_UINT64;
        case DType::I8:
            return NPY_INT8;
        case DType::I16:
            return NPY_INT16;
        case DType::I32:
            return NPY_INT32;
        case DType::I64:
            return NPY_INT64;
        case DType::F16:
            return NPY_FLOAT16;
        case DType::F32:
            return NPY_FLOAT32;
        case DType::F64:
            return NPY_FLOAT64;
        case DType::C64:
            return NPY_COMPLEX64;
        case DType::C128:
            return NPY_COMPLEX128;
        default:
            return -1;
    }
}

PyArray_Descr* bfloat16_descr() {
    PyRef module = PyRef::steal(PyImport_ImportModule("ml_dtypes"));
    if (!module) {
        PyErr_Clear();
        raise_kind(ErrorKind::Runtime, "dtype", "numpy",
                   "bfloat16 arrays need the package ml_dtypes, which is not installed.");
    }
    PyRef type = own(PyObject_GetAttrString(module.get(), "bfloat16"));
    PyArray_Descr* descr = nullptr;
    if (PyArray_DescrConverter(type.get(), &descr) != NPY_SUCCEED) throw_python();
    return descr;
}

void release_array(void* owner) {
    if (!Py_IsInitialized()) return;
    if (PyGILState_Check())
        Py_DECREF(static_cast<PyObject*>(owner));
    else
        queue_release(static_cast<PyObject*>(owner));
}

// Lowest byte that a strided array touches, relative to its first element.
int64_t lowest_byte(PyArrayObject* array, int64_t* extent) {
    int64_t low = 0, high = PyArray_ITEMSIZE(array);
    for (int d = 0; d < PyArray_NDIM(array); ++d) {
        int64_t reach = (PyArray_DIM(array, d) - 1) * PyArray_STRIDE(array, d);
        if (reach < 0)
            low += reach;
        else
            high += reach;
    }
    *extent = high - low;
    return low;
}

PyRef usable_array(PyObject* o, bool copy, DType* dtype) {
    auto* array = reinterpret_cast<PyArrayObject*>(o);
    *dtype = dtype_from_descr(PyArray_DESCR(array));
    if (*dtype == DType::None) {
        PyRef name = own(PyObject_Str(reinterpret_cast<PyObject*>(PyArray_DESCR(array))));
        raise_kind(ErrorKind::Type, "dtype", "from_numpy",
                   "no tenora dtype for this array: got dtype " + to_text(name.get()) +
                       ", expected bool, ints, floats or complex. Convert it, for example with "
                       "array.astype('float32').");
    }
    bool swapped = !PyArray_ISNOTSWAPPED(array);
    bool uneven = reinterpret_cast<uintptr_t>(PyArray_DATA(array)) % size_of(*dtype) != 0;
    for (int d = 0; d < PyArray_NDIM(array); ++d)
        uneven |= PyArray_STRIDE(array, d) % int64_t(size_of(*dtype)) != 0;
    if (!copy && !swapped && !uneven) return PyRef::borrow(o);
    if (!copy)
        raise_kind(ErrorKind::Value, "layout", "from_numpy",
                   "the array's memory cannot be shared: got a foreign byte order or alignment, expected the "
                   "machine's own. Pass a copy, array.astype(array.dtype.newbyteorder('=')).");
    PyArray_Descr* native = numpy_descr(*dtype);
    Py_INCREF(native);
    return own(PyArray_FromArray(array, native, NPY_ARRAY_CARRAY | NPY_ARRAY_ENSURECOPY));
}

}  // namespace

void need_numpy() {
    if (api_ready) return;
    if (_import_array() < 0) throw_python();
    api_ready = true;
}

PyArray_Descr* numpy_descr(DType dtype) {
    PyArray_Descr*& slot = descrs[size_t(dtype)];
    if (!slot) {
        need_numpy();
        slot = dtype == DType::BF16 ? bfloat16_descr() : PyArray_DescrFromType(type_number(dtype));
    }
    return slot;
}

DType dtype_from_descr(PyArray_Descr* descr) {
    switch (descr->type_num) {
        case NPY_BOOL:
            return DType::Bool;
        case NPY_FLOAT16:
            return DType::F16;
        case NPY_FLOAT32:
            return DType::F32;
        case NPY_FLOAT64:
            return DType::F64;
        case NPY_COMPLEX64:
            return DType::C64;
        case NPY_COMPLEX128:
            return DType::C128;
        default:
            break;
    }
    if (PyTypeNum_ISINTEGER(descr->type_num))
        return whole_dtype(PyDataType_ELSIZE(descr), PyTypeNum_ISUNSIGNED(descr->type_num));
    if (descr->type_num >= NPY_USERDEF &&
        std::string_view(descr->typeobj->tp_name).find("bfloat16") != std::string_view::npos)
        return DType::BF16;
    return DType::None;
}

DType whole_dtype(int64_t bytes, bool is_unsigned) {
    switch (bytes) {
        case 1:
            return is_unsigned ? DType::U8 : DType::I8;
        case 2:
            return is_unsigned ? DType::U16 : DType::I16;
        case 4:
            return is_unsigned ? DType::U32 : DType::I32;
        case 8:
            return is_unsigned ? DType::U64 : DType::I64;
        default:
            return DType::None;
    }
}

bool is_ndarray(PyObject* o) {
    if (!api_ready) {
        if (std::string_view(Py_TYPE(o)->tp_name).substr(0, 6) != "numpy." &&
            !PyObject_HasAttrString(reinterpret_cast<PyObject*>(Py_TYPE(o)), "__array_finalize__"))
            return false;
        need_numpy();
    }
    return PyArray_Check(o);
}

TensorRef tensor_from_ndarray(PyObject* o, bool copy) {
    need_numpy();
    if (!PyArray_Check(o))
        raise_kind(ErrorKind::Type, "type", "from_numpy",
                   "array is wrong: got " + type_name(o) +
                       ", expected a numpy.ndarray. Use tenora.tensor for other data.");
    DType dtype;
    PyRef held = usable_array(o, copy, &dtype);
    auto* array = reinterpret_cast<PyArrayObject*>(held.get());
    int rank = PyArray_NDIM(array);
    int64_t item = int64_t(size_of(dtype)), strides[kMaxRank];
    for (int d = 0; d < rank; ++d) strides[d] = PyArray_STRIDE(array, d) / item;
    std::span<const int64_t> shape(reinterpret_cast<const int64_t*>(PyArray_DIMS(array)), size_t(rank));
    if (PyArray_SIZE(array) == 0) return new_tensor(shape, dtype, Device{});
    int64_t extent = 0, low = lowest_byte(array, &extent);
    bool read_only = !PyArray_ISWRITEABLE(array);
    StorageRef storage =
        adopt(PyArray_BYTES(array) + low, size_t(extent), Device{}, read_only, array, release_array);
    held.release();
    return new_window(storage.get(), shape, {strides, size_t(rank)}, -low / item, dtype, Device{});
}

PyObject* numpy_dtype(DType dtype) { return Py_NewRef(reinterpret_cast<PyObject*>(numpy_descr(dtype))); }

namespace {

void release_storage(PyObject* capsule) {
    static_cast<Storage*>(PyCapsule_GetPointer(capsule, "tenora.storage"))->release();
}

}  // namespace

PyObject* ndarray_of(Tensor* t, bool writable) {
    need_numpy();
    if (!space(t->device).host_accessible()) {
        raise_kind(ErrorKind::Type, "device", "numpy",
                   "memory of " + to_string(t->device) + " cannot be read by NumPy. Use .cpu() first.");
    }
    TensorRef host = on_host(t, "numpy");
    npy_intp strides[kMaxRank];
    for (int d = 0; d < t->rank(); ++d) strides[d] = npy_intp(t->dl.strides[d] * int64_t(size_of(t->dtype)));
    PyArray_Descr* descr = numpy_descr(t->dtype);
    Py_INCREF(descr);
    int flags = writable && !t->storage->read_only ? NPY_ARRAY_WRITEABLE : 0;
    PyRef array =
        own(PyArray_NewFromDescr(&PyArray_Type, descr, t->rank(), reinterpret_cast<npy_intp*>(t->dl.shape),
                                 strides, t->dl.data, flags, nullptr));
    t->storage->retain();
    PyObject* base = PyCapsule_New(t->storage, "tenora.storage", release_storage);
    if (!base) {
        t->storage->release();
        throw_python();
    }
    check_status(PyArray_SetBaseObject(reinterpret_cast<PyArrayObject*>(array.get()), base));
    return array.release();
}

}  // namespace tenora::python
