// What Python hangs on tensors and nodes: lists of hooks, the context of a Function, the place of a call
// (anomaly mode). The engine holds each as an opaque pointer and gives it back through
// hooks().release_payload.
#pragma once

#include <vector>

#include "python_common.h"

namespace tenora::python {

struct ResultMeta {
    std::vector<int64_t> shape;
    DType dtype;
    Device device;
};

struct Payload {
    struct Hook {
        uint64_t id;
        PyObject* callable;
    };
    std::vector<Hook> hooks;
    PyObject* object = nullptr;           // context of a Function, or the text of a trace
    std::vector<ResultMeta> result_meta;  // of a Function's outputs: for the zeros of undefined gradients
    bool materialize_grads = true;

    ~Payload();  // with the GIL
};

int traverse_payload(void* payload, visitproc visit, void* arg);
Payload& payload_in(void** slot);                                      // made and counted on first use
PyObject* add_hook(void** slot, PyObject* callable, PyObject* owner);  // a handle with .remove()
void install_payload_hooks();
void ready_hook_types(PyObject* module);

}  // namespace tenora::python
