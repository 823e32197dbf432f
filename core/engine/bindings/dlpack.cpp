// DLPack in and out, the legacy capsule ("dltensor") and the versioned one ("dltensor_versioned", with
// flags).
//   - Out: a capsule owns one count of the storage; its deleter may run on any thread, without the GIL.
//   - In: the producer's deleter runs when the last storage count goes. Read-only producers give read-only
//   storages.
//   - Negative strides are passed on as they are.

#include "dlpack.h"

#include <cstring>

#include "arguments.h"
#include "construct.h"
#include "plain_types.h"
#include "scalar_read.h"
#include "tenora/tape.h"
#include "tensor_object.h"

namespace tenora::python {

namespace {

struct Exported {
    DLManagedTensorVersioned versioned;
    DLManagedTensor legacy;
    StorageRef storage;
    int64_t dims[2 * kMaxRank];
};

void fill(Exported& e, Tensor* t, DLTensor& dl) {
    dl = t->dl;
    e.storage = StorageRef(t->storage);
    std::copy_n(t->dl.shape, t->rank(), e.dims);
    std::copy_n(t->dl.strides, t->rank(), e.dims + kMaxRank);
    dl.shape = e.dims;
    dl.strides = e.dims + kMaxRank;
}

void capsule_gone(PyObject* capsule) {  // never consumed: the name is still ours
    if (auto* v =
            static_cast<DLManagedTensorVersioned*>(PyCapsule_IsValid(capsule, "dltensor_versioned")
                                                       ? PyCapsule_GetPointer(capsule, "dltensor_versioned")
                                                       : nullptr)) {
        v->deleter(v);
    } else if (auto* m = static_cast<DLManagedTensor*>(PyCapsule_IsValid(capsule, "dltensor")
                                                           ? PyCapsule_GetPointer(capsule, "dltensor")
                                                           : nullptr)) {
        m->deleter(m);
    }
}

PyObject* export_capsule(Tensor* t, bool versioned, bool copied) {
    auto* e = new Exported();
    PyObject* capsule;
    if (versioned) {
        fill(*e, t, e->versioned.dl_tensor);
        e->versioned.version = {1, 0};
        e->versioned.manager_ctx = e;
        e->versioned.flags = (t->storage->read_only ? kDLReadOnly : 0) | (copied ? kDLCopied : 0);
        e->versioned.deleter = [](DLManagedTensorVersioned* m) {
            delete static_cast<Exported*>(m->manager_ctx);
        };
        capsule = PyCapsule_New(&e->versioned, "dltensor_versioned", capsule_gone);
    } else {
        fill(*e, t, e->legacy.dl_tensor);
        e->legacy.manager_ctx = e;
        e->legacy.deleter = [](DLManagedTensor* m) { delete static_cast<Exported*>(m->manager_ctx); };
        capsule = PyCapsule_New(&e->legacy, "dltensor", capsule_gone);
    }
    if (!capsule) {
        delete e;
        throw_python();
    }
    return capsule;
}

template <class Managed>
void run_deleter(void* owner) {
    auto* managed = static_cast<Managed*>(owner);
    if (managed->deleter) managed->deleter(managed);
}

Device device_of(const DLDevice& device) {
    for (int id = 0; id < space_count(); ++id) {
        if (space(uint8_t(id)).functions.dlpack_type == device.device_type)
            return Device{uint8_t(id), uint8_t(device.device_id)};
    }
    if (device.device_type == 1) return Device{};
    raise_kind(
        ErrorKind::Runtime, "device", "from_dlpack",
        "no backend for this device: got DLPack device type " + std::to_string(device.device_type) + ".");
}

template <class Managed>
TensorRef import(Managed* managed, bool read_only) {
    const DLTensor& dl = managed->dl_tensor;
    if (dl.ndim < 0 || dl.ndim > kMaxRank)
        raise_kind(ErrorKind::Value, "shape", "from_dlpack",
                   "rank is out of range: got " + std::to_string(dl.ndim) + ".");
    if (dl.dtype.lanes != 1)
        raise_kind(ErrorKind::Type, "dtype", "from_dlpack",
                   "vector types are not supported: got several lanes.");
    DType dtype = from_dlpack(dl.dtype);
    Device device = device_of(dl.device);
    std::span<const int64_t> shape(dl.shape, size_t(dl.ndim));
    int64_t numel = checked_numel(shape, "from_dlpack"), item = int64_t(size_of(dtype)), strides[kMaxRank];
    if (dl.strides)
        std::copy_n(dl.strides, dl.ndim, strides);
    else
        dense_strides(shape, strides);
    int64_t low = 0, high = 1;
    for (int d = 0; d < dl.ndim && numel > 0; ++d)
        (strides[d] < 0 ? low : high) += (dl.shape[d] - 1) * strides[d];
    char* first = static_cast<char*>(dl.data) + dl.byte_offset;
    if (reinterpret_cast<uintptr_t>(first) % size_t(item) != 0)
        raise_kind(ErrorKind::Value, "layout", "from_dlpack", "the memory is not aligned to its elements.");
    StorageRef storage = adopt(first + low * item, numel ? size_t((high - low) * item) : 0, device, read_only,
                               managed, run_deleter<Managed>);
    return new_window(storage.get(), shape, {strides, size_t(dl.ndim)}, -low, dtype, device);
}

// The consumer renames the capsule first, so that its destructor leaves the memory alone from then on.
TensorRef consume(PyObject* capsule) {
    if (PyCapsule_IsValid(capsule, "dltensor_versioned")) {
        auto* managed =
            static_cast<DLManagedTensorVersioned*>(PyCapsule_GetPointer(capsule, "dltensor_versioned"));
        if (managed->version.major > 1)
            raise_kind(
                ErrorKind::Runtime, "version", "from_dlpack",
                "the producer speaks DLPack " + std::to_string(managed->version.major) + ", expected 1.");
        TensorRef t = import(managed, managed->flags & kDLReadOnly);
        check_status(PyCapsule_SetName(capsule, "used_dltensor_versioned"));
        return t;
    }
    if (PyCapsule_IsValid(capsule, "dltensor")) {
        auto* managed = static_cast<DLManagedTensor*>(PyCapsule_GetPointer(capsule, "dltensor"));
        TensorRef t = import(managed, false);
        check_status(PyCapsule_SetName(capsule, "used_dltensor"));
        return t;
    }
    raise_kind(ErrorKind::Value, "value", "from_dlpack", "expected an unused DLPack capsule.");
}

// A tuple of two ints, or None: nothing is changed then.
void pair_argument(PyObject* o, const char* name, int64_t* first, int64_t* second) {
    if (!o || o == Py_None) return;
    bool fits = PyTuple_Check(o) && PyTuple_GET_SIZE(o) == 2 && to_int64(PyTuple_GET_ITEM(o, 0), first) &&
                to_int64(PyTuple_GET_ITEM(o, 1), second);
    if (!fits)
        raise_kind(ErrorKind::Type, "type", "__dlpack__",
                   std::string(name) + " is wrong: got " + type_name(o) +
                       ", expected None or a tuple of two ints. Pass such a tuple.");
}

// Host memory is ready at once, so that it has no stream to wait for: None, or -1 for "do not wait".
void stream_argument(PyObject* o, const Tensor* t) {
    if (!o || o == Py_None) return;
    int64_t stream = 0;
    if (!to_int64(o, &stream))
        raise_kind(ErrorKind::Type, "type", "__dlpack__",
                   "stream is wrong: got " + type_name(o) + ", expected None or an int. Pass such a number.");
    if (t->dl.device.device_type == 1 && stream != -1)
        raise(PyExc_BufferError, ("[__dlpack__] host memory has no streams: got " + std::to_string(stream) +
                                  ", expected None or -1. Leave stream out.")
                                     .c_str());
}

PyRef ask_producer(PyObject* o) {
    PyRef method = own(PyObject_GetAttrString(o, "__dlpack__"));
    PyRef version = own(Py_BuildValue("(ii)", 1, 0)), empty = own(PyTuple_New(0));
    PyRef kwargs = own(Py_BuildValue("{s:O}", "max_version", version.get()));
    PyRef capsule = PyRef::steal(PyObject_Call(method.get(), empty.get(), kwargs.get()));
    if (capsule) return capsule;
    if (!PyErr_ExceptionMatches(PyExc_TypeError)) throw_python();
    PyErr_Clear();  // a producer from before max_version
    return own(PyObject_CallNoArgs(method.get()));
}

}  // namespace

TensorRef tensor_from_dlpack(PyObject* o, bool copy) {
    PyRef capsule = PyCapsule_CheckExact(o) ? PyRef::borrow(o) : ask_producer(o);
    TensorRef t = consume(capsule.get());
    if (!copy) return t;
    PyRef shared = PyRef::steal(wrap(std::move(t)));
    return tensor_from_object(shared.get(), DType::None, impl_of(shared.get())->device, true);
}

PyObject* tensor_dlpack(PyObject* self, PyObject* args, PyObject* kwargs) {
    PyObject *stream = nullptr, *max_version = nullptr, *dl_device = nullptr, *copy = nullptr;
    static const char* names[] = {"stream", "max_version", "dl_device", "copy", nullptr};
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|$OOOO:__dlpack__", const_cast<char**>(names), &stream,
                                     &max_version, &dl_device, &copy))
        return nullptr;
    return guarded([&] {
        TensorRef t(impl_of(self));
        if (tracked(t.get()))
            raise(PyExc_BufferError, "[__dlpack__] the tensor takes part in gradients. Use .detach() first.");
        stream_argument(stream, t.get());
        int64_t major = 0, minor = 0;
        pair_argument(max_version, "max_version", &major, &minor);
        if (t->storage->read_only && major < 1)
            raise(PyExc_BufferError,
                  "[__dlpack__] the memory is read-only and the consumer's DLPack cannot say so. Use "
                  ".clone() first.");
        if (dl_device && dl_device != Py_None) {
            int64_t type = 0, index = 0;
            pair_argument(dl_device, "dl_device", &type, &index);
            if (type != t->dl.device.device_type) {
                if (type != 1)
                    raise(PyExc_BufferError,
                          "[__dlpack__] the tensor lies on another device than asked for.");
                t = to_device(t.get(), Device{}, false);
            }
        }
        if (copy && copy != Py_None && !PyBool_Check(copy))
            raise_kind(ErrorKind::Type, "type", "__dlpack__",
                       "copy is wrong: got " + type_name(copy) + ", expected None, True or False.");
        bool copied = copy == Py_True;
        if (copied) t = tensor_from_object(self, DType::None, t->device, true);
        return export_capsule(t.get(), major >= 1, copied);
    });
}

PyObject* tensor_dlpack_device(PyObject* self, PyObject*) {
    const DLDevice& device = impl_of(self)->dl.device;
    return Py_BuildValue("(ii)", device.device_type, device.device_id);
}

}  // namespace tenora::python
