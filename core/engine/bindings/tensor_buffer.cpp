// The buffer protocol: memoryview(x), numpy.asarray(x), anything that reads buffers. Shares host memory.
//   - The view keeps the storage alive, whatever becomes of the tensor.
//   - Read-only memory gives read-only views; a tensor that takes part in gradients gives none.

#include "scalar_read.h"
#include "tenora/tape.h"
#include "tensor_object.h"

namespace tenora::python {

namespace {

struct Exported {
    StorageRef storage;
    Py_ssize_t dims[2 * kMaxRank];
};

const char* format_of(DType dtype) {
    switch (dtype) {
        case DType::Bool:
            return "?";
        case DType::U8:
            return "B";
        case DType::U16:
            return "H";
        case DType::U32:
            return "I";
        case DType::U64:
            return "Q";
        case DType::I8:
            return "b";
        case DType::I16:
            return "h";
        case DType::I32:
            return "i";
        case DType::I64:
            return "q";
        case DType::F16:
            return "e";
        case DType::F32:
            return "f";
        case DType::F64:
            return "d";
        case DType::C64:
            return "Zf";
        case DType::C128:
            return "Zd";
        default:
            return nullptr;
    }
}

bool dense_columns(Tensor* t) {
    int64_t step = 1;
    for (int d = 0; d < t->rank(); ++d) {
        if (t->dl.shape[d] != 1 && t->dl.strides[d] != step) return false;
        step *= t->dl.shape[d];
    }
    return true;
}

const char* refusal(Tensor* t, int flags) {
    if (tracked(t)) return "the tensor takes part in gradients. Use .detach() first.";
    if (!space(t->device).host_accessible()) return "the memory lies on a device. Use .cpu() first.";
    if (!format_of(t->dtype)) return "bfloat16 has no buffer format. Use .numpy() or .float() first.";
    if ((flags & PyBUF_WRITABLE) == PyBUF_WRITABLE && t->storage->read_only)
        return "the memory is read-only.";
    bool strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES;
    if (!strides && !t->contiguous) return "the tensor is not contiguous. Use .contiguous() first.";
    if ((flags & PyBUF_C_CONTIGUOUS) == PyBUF_C_CONTIGUOUS && !t->contiguous)
        return "the tensor is not contiguous. Use .contiguous() first.";
    if ((flags & PyBUF_F_CONTIGUOUS) == PyBUF_F_CONTIGUOUS && !dense_columns(t))
        return "the tensor is not contiguous by columns.";
    if ((flags & PyBUF_ANY_CONTIGUOUS) == PyBUF_ANY_CONTIGUOUS && !t->contiguous && !dense_columns(t))
        return "the tensor is not contiguous.";
    return nullptr;
}

int get_buffer(PyObject* self, Py_buffer* view, int flags) {
    view->obj = nullptr;
    return guarded_int([&] {
        Tensor* t = impl_of(self);
        if (const char* why = refusal(t, flags)) raise(PyExc_BufferError, std::string("[buffer] ") + why);
        on_host(t, "buffer");
        auto exported = std::make_unique<Exported>();
        exported->storage = StorageRef(t->storage);
        int64_t item = int64_t(size_of(t->dtype));
        for (int d = 0; d < t->rank(); ++d) {
            exported->dims[d] = Py_ssize_t(t->dl.shape[d]);
            exported->dims[kMaxRank + d] = Py_ssize_t(t->dl.strides[d] * item);
        }
        view->buf = t->dl.data;
        view->len = Py_ssize_t(t->numel * item);
        view->itemsize = Py_ssize_t(item);
        view->readonly = t->storage->read_only;
        view->ndim = t->rank();
        view->format = (flags & PyBUF_FORMAT) ? const_cast<char*>(format_of(t->dtype)) : nullptr;
        view->shape = (flags & PyBUF_ND) == PyBUF_ND ? exported->dims : nullptr;
        view->strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? exported->dims + kMaxRank : nullptr;
        view->suboffsets = nullptr;
        view->internal = exported.release();
        view->obj = Py_NewRef(self);
        return 0;
    });
}

void release_buffer(PyObject*, Py_buffer* view) { delete static_cast<Exported*>(view->internal); }

}  // namespace

PyBufferProcs tensor_buffer = {get_buffer, release_buffer};

}  // namespace tenora::python
