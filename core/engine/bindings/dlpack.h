// The managed structs of DLPack 1.0 (DLTensor itself is in tenora_backend.h), and what hands them out.
#pragma once

#include "python_common.h"
#include "tenora/dispatch.h"

namespace tenora::python {

struct DLManagedTensor {
    DLTensor dl_tensor;
    void* manager_ctx;
    void (*deleter)(DLManagedTensor* self);
};

struct DLPackVersion {
    uint32_t major, minor;
};

struct DLManagedTensorVersioned {
    DLPackVersion version;
    void* manager_ctx;
    void (*deleter)(DLManagedTensorVersioned* self);
    uint64_t flags;
    DLTensor dl_tensor;
};
inline constexpr uint64_t kDLReadOnly = 1, kDLCopied = 2;

PyObject* tensor_dlpack(PyObject* self, PyObject* args, PyObject* kwargs);
PyObject* tensor_dlpack_device(PyObject* self, PyObject*);

}  // namespace tenora::python
