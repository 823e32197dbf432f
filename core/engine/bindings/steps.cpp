// Optimizer steps: one call for lists of parameters, on the way of every training step, so no pybind11.

#include "arguments.h"
#include "module_parts.h"
#include "tenora/dispatch.h"
#include "tensor_object.h"

namespace tenora::python {

namespace {

// A list or tuple as it is, anything else iterable copied into a list.
PyRef sequence(PyObject* o, const char* argument) {
    if (PyList_CheckExact(o) || PyTuple_CheckExact(o)) return PyRef::borrow(o);
    PyRef fast = PyRef::steal(PySequence_Fast(o, ""));
    if (!fast) {
        PyErr_Clear();
        raise_kind(ErrorKind::Type, "type", "run_step",
                   std::string(argument) + " is wrong: got " + type_name(o) + ", expected a sequence.");
    }
    return fast;
}

// The tensors stay alive through `held`: a kernel runs without the GIL, and the lists may change meanwhile.
void append_tensors(PyObject* list, std::vector<TensorRef>& held) {
    PyRef items = sequence(list, "a list");
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i)
        held.emplace_back(as_tensor(PySequence_Fast_GET_ITEM(items.get(), i), "run_step", "an operand"));
}

// The tensors `name` of all states, one dict per parameter.
void append_states(PyObject* states, PyObject* name, std::vector<TensorRef>& held) {
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(states); ++i) {
        PyObject* state = PySequence_Fast_GET_ITEM(states, i);
        if (!PyDict_Check(state)) raise(PyExc_TypeError, "[run_step] a state is no dict.");
        PyObject* value = PyDict_GetItemWithError(state, name);
        if (!value && PyErr_Occurred()) throw_python();
        if (!value)
            raise_kind(ErrorKind::Value, "state", "run_step",
                       "a state has no '" + to_text(name) + "'. Was another optimizer's state loaded?");
        held.emplace_back(as_tensor(value, "run_step", "a state"));
    }
}

PyObject* run_step(PyObject*, PyObject* const* args, Py_ssize_t n_args) {
    return guarded([&]() -> PyObject* {
        if (n_args != 6 || !PyUnicode_Check(args[0]))
            raise(PyExc_TypeError, "run_step expects (op: str, params, states, names, grads, hyper)");
        const std::string op_name = to_text(args[0]);
        const OpInfo* info = find_op_info(op_name);
        if (!info) raise_kind(ErrorKind::Value, "op", "run_step", "unknown op: got '" + op_name + "'.");
        std::vector<TensorRef> held;
        PyRef params = sequence(args[1], "params"), states = sequence(args[2], "states"),
              names = sequence(args[3], "names"), hyper = sequence(args[5], "hyper");
        append_tensors(params.get(), held);
        for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(names.get()); ++i)
            append_states(states.get(), PySequence_Fast_GET_ITEM(names.get(), i), held);
        const size_t written = held.size();
        append_tensors(args[4], held);
        std::vector<Tensor*> raw;
        raw.reserve(held.size());
        for (const TensorRef& t : held) raw.push_back(t.get());
        Arguments a;
        Py_ssize_t next = 0;
        for (const Param& p : info->signature->params) {
            if (is_operand(p.type)) continue;
            if (next >= PySequence_Fast_GET_SIZE(hyper.get()))
                raise_kind(ErrorKind::Value, "program", op_name, "too few attributes for run_step.");
            PyObject* value = PySequence_Fast_GET_ITEM(hyper.get(), next++);
            a.held.push_back(PyRef::borrow(value));
            a.attributes[a.n_attributes++] = attribute_argument(p, value, a, op_name.c_str());
        }
        std::span<Tensor* const> all(raw);
        return new_bool(call_step(info->id, all.first(written), all.subspan(written), a.attr()));
    });
}

PyMethodDef methods[] = {
    {"run_step", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(run_step)), METH_FASTCALL,
     "run_step(op, params, states, names, grads, hyper) -> bool: one fused optimizer step in place, False "
     "without a kernel."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

void add_steps(PyObject* module) { check_status(PyModule_AddFunctions(module, methods)); }

}  // namespace tenora::python
