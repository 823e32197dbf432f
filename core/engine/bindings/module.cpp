// The module `tenora_engine._engine`. One interpreter per process: a second one would share static types and
// is refused.

#include <pybind11/pybind11.h>

#include "autograd_objects.h"
#include "module_parts.h"
#include "payload.h"
#include "plain_types.h"
#include "python_rule.h"
#include "storage_object.h"
#include "tensor_object.h"

namespace tenora::python {

namespace {

void install_hooks() {
    install_gil_hooks();
    install_keep_hooks();
    install_payload_hooks();
    install_function_hooks();
    install_trace_hooks();
    install_trace_hook();
    install_warning_hook();
    install_call_hooks();
    install_chooser_hook();
}

// pybind11's functions throw the engine's errors as well.
void translate(std::exception_ptr pointer) {
    if (!pointer) return;
    try {
        std::rethrow_exception(pointer);
    } catch (const Error& error) {
        set_python_error(error);
    }
}

void fill_module(PyObject* module) {
    ready_plain_types(module);
    ready_storage_type(module);
    ready_hook_types(module);
    ready_tensor_type(module);
    add_registration(module);
    add_backends(module);
    add_programs(module);
    add_steps(module);
    add_creation(module);
    add_runtime(module);
    add_autograd(module);
    install_hooks();
}

}  // namespace

}  // namespace tenora::python

PYBIND11_MODULE(_engine_inner, module) {
    using namespace tenora::python;
    module.doc() = "tenora's native engine: tensors, dispatch, tape, Programs.";
    pybind11::register_exception_translator(translate);
    try {
        fill_module(module.ptr());
    } catch (const tenora::Error& error) {
        set_python_error(error);
        throw pybind11::error_already_set();
    }
}

// The check comes before pybind11 does anything: its own set-up would wait for ever for the main
// interpreter's GIL.
PyMODINIT_FUNC PyInit__engine() {
    if (PyInterpreterState_Get() != PyInterpreterState_Main()) {
        PyErr_SetString(PyExc_ImportError, "tenora_engine cannot be used in a subinterpreter");
        return nullptr;
    }
    return PyInit__engine_inner();
}
