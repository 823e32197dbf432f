// Autograd seen from Python: Node objects, hooks, saved tensors, the methods of Tensor that concern
// gradients.
#pragma once

#include <span>
#include <vector>

#include "python_common.h"
#include "tenora/tape.h"

namespace tenora::python {

PyObject* node_object(Node* node);  // new reference; None for null
void ready_node_type(PyObject* module);
void ready_saved_tensor_type(PyObject* module);  // saved_tensor.cpp
void ready_grad_mode_types(PyObject* module);
void install_function_hooks();  // function_node.cpp
void install_saved_hooks();     // saved_tensor.cpp
// New tuple of SavedTensors (None where an item is None), one per tensor of the sequence; `node` knows them.
PyObject* save_for_node(Node* node, PyObject* tensors, const std::vector<TensorRef>& inputs,
                        const std::vector<TensorRef>& outputs);
void install_trace_hooks();  // anomaly.cpp
// Adds to an error what the pushed function says of the inputs that a backward was asked for.
void tell_about_tensors(Error& error, std::span<Tensor* const> tensors);

// The node whose Python backward runs on this thread: a saved result gets its history back from it.
Node* running_node();

PyObject* tensor_backward(PyObject* self, PyObject* args, PyObject* kwargs);
PyObject* tensor_register_hook(PyObject* self, PyObject* callable);
PyObject* tensor_register_post_accumulate_grad_hook(PyObject* self, PyObject* callable);
PyObject* tensor_retain_grad(PyObject* self, PyObject*);
PyObject* tensor_requires_grad_(PyObject* self, PyObject* args, PyObject* kwargs);
PyObject* tensor_detach(PyObject* self, PyObject*);
PyObject* tensor_detach_(PyObject* self, PyObject*);

}  // namespace tenora::python
