// Optimizer steps: one call for lists of parameters, on the way of every training step, so no pybind11.

#include <algorithm>
#include <cmath>

#include "arguments.h"
#include "module_parts.h"
#include "scalar_read.h"
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
void append_tensors(PyObject* items, std::vector<TensorRef>& held) {
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items); ++i)
        held.emplace_back(as_tensor(PySequence_Fast_GET_ITEM(items, i), "run_step", "an operand"));
}

// The tensors `name` of all states, one dict per parameter.
void append_states(PyObject* states, PyObject* name, std::vector<TensorRef>& held) {
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(states); ++i) {
        PyRef state = PyRef::borrow(PySequence_Fast_GET_ITEM(states, i));
        if (!PyDict_Check(state.get()))
            raise_kind(ErrorKind::Type, "type", "run_step",
                       "a state is wrong: got " + type_name(state.get()) + ", expected a dict.");
        PyObject* value = PyDict_GetItemWithError(state.get(), name);
        if (!value && PyErr_Occurred()) throw_python();
        if (!value)
            raise_kind(ErrorKind::Value, "state", "run_step",
                       "a state has no '" + to_text(name) + "'. Was another optimizer's state loaded?");
        held.emplace_back(as_tensor(value, "run_step", "a state"));
    }
}

struct Lists {
    std::vector<TensorRef> params, states, grads;
    int64_t names = 0;
};

// A kernel trusts that every parameter has each of its states and a gradient.
void check_lengths(const Signature& op, const Lists& lists) {
    int64_t params = int64_t(lists.params.size()), most = -2, least = -2;  // but parameter and gradient
    if (lists.grads.size() != lists.params.size() || int64_t(lists.states.size()) != params * lists.names)
        raise_kind(ErrorKind::Value, "argument", op.name,
                   "lists differ in length: got " + std::to_string(lists.grads.size()) + " gradients and " +
                       std::to_string(lists.states.size()) + " states for " + std::to_string(params) +
                       " parameters, expected one gradient and " + std::to_string(lists.names) +
                       " states for each.");
    for (const Param& p : op.params) {
        most += is_operand(p.type);
        least += is_operand(p.type) && !p.optional;
    }
    if (lists.names < least || lists.names > most)
        raise_kind(ErrorKind::Value, "argument", op.name,
                   "wrong number of states: got " + std::to_string(lists.names) + ", expected " +
                       std::to_string(most) + ". Name those of the op's schema.");
}

void check_shapes(const Signature& op, const Lists& lists) {
    for (const auto* list : {&lists.states, &lists.grads})
        for (size_t i = 0; i < list->size(); ++i) {
            const Tensor *t = (*list)[i].get(), *param = lists.params[i % lists.params.size()].get();
            if (!std::ranges::equal(t->shape(), param->shape()))
                raise_kind(ErrorKind::Runtime, "shape", op.name,
                           "a state or gradient does not fit its parameter: got " + describe(t) +
                               ", expected the shape of " + describe(param) +
                               ". Was another model's state loaded, or a parameter replaced?");
        }
}

// A look-up in a state may run Python code, and so change any list.
Lists gather(PyObject* const* args) {
    PyRef params = sequence(args[1], "params"), states = sequence(args[2], "states"),
          names = sequence(args[3], "names"), grads = sequence(args[4], "grads");
    Lists lists;
    append_tensors(params.get(), lists.params);
    append_tensors(grads.get(), lists.grads);
    for (; lists.names < PySequence_Fast_GET_SIZE(names.get()); ++lists.names) {
        PyRef name = PyRef::borrow(PySequence_Fast_GET_ITEM(names.get(), lists.names));
        append_states(states.get(), name.get(), lists.states);
    }
    return lists;
}

void append_attributes(const OpInfo& info, PyObject* hyper, Arguments& a) {
    const std::string& name = info.signature->name;
    Py_ssize_t next = 0;
    for (const Param& p : info.signature->params) {
        if (is_operand(p.type)) continue;
        if (next >= PySequence_Fast_GET_SIZE(hyper))
            raise_kind(ErrorKind::Value, "program", name, "too few attributes for run_step.");
        PyObject* value = PySequence_Fast_GET_ITEM(hyper, next++);
        a.held.push_back(PyRef::borrow(value));
        a.attributes[a.n_attributes++] =
            named(name, [&] { return attribute_argument(p, value, a, name.c_str()); });
    }
}

PyObject* run_step(PyObject*, PyObject* const* args, Py_ssize_t n_args) {
    return guarded([&]() -> PyObject* {
        if (n_args != 6 || !PyUnicode_Check(args[0]))
            raise(PyExc_TypeError, "run_step expects (op: str, params, states, names, grads, hyper)");
        const std::string op_name = to_text(args[0]);
        const OpInfo* info = find_op_info(op_name);
        if (!info) raise_kind(ErrorKind::Value, "op", "run_step", "unknown op: got '" + op_name + "'.");
        Lists lists = gather(args);
        check_lengths(*info->signature, lists);
        check_shapes(*info->signature, lists);
        Arguments a;
        append_attributes(*info, sequence(args[5], "hyper").get(), a);
        std::vector<Tensor*> written, read;
        for (const auto* list : {&lists.params, &lists.states})
            for (const TensorRef& t : *list) written.push_back(t.get());
        for (const TensorRef& t : lists.grads) read.push_back(t.get());
        return new_bool(call_step(info->id, written, read, a.attr()));
    });
}

// A tensor of one floating element that the host may write where it stands. Numbers of a state are kept by
// plain writes: an op would take longer than the step of a small parameter.
Tensor* number_in_place(PyObject* o) {
    if (!o || !is_tensor(o)) return nullptr;
    Tensor* t = impl_of(o);
    const Space& memory = space(t->device);
    bool plain = t->numel == 1 && t->storage && !t->storage->read_only && memory.host_accessible() &&
                 memory.host_order() && (t->dtype == DType::F32 || t->dtype == DType::F64);
    return plain ? t : nullptr;
}

double read_number(const Tensor* t) {
    PyRef value = own(element_object(t->dl.data, t->dtype));
    return PyFloat_AS_DOUBLE(value.get());
}

void write_number(Tensor* t, double value) {
    write_element(t->dl.data, t->dtype, Scalar::from_float(value));
    if (!t->inference) t->storage->version.fetch_add(1, std::memory_order_release);
}

// The number of steps, one more than before; NaN, and nothing written, where that is none.
double count_in_place(PyObject* o) {
    Tensor* t = number_in_place(o);
    if (!t) return NAN;
    double next = read_number(t) + 1;
    if (t->dtype == DType::F32) next = float(next);
    if (!(std::fabs(next) < 9e15 && next == std::floor(next))) return NAN;
    write_number(t, next);
    return next;
}

PyObject* put_number(PyObject*, PyObject* const* args, Py_ssize_t n_args) {
    return guarded([&]() -> PyObject* {
        if (n_args != 2 || !PyFloat_Check(args[1]))
            raise(PyExc_TypeError, "put_number expects (tensor, float)");
        Tensor* t = number_in_place(args[0]);
        if (t) write_number(t, PyFloat_AS_DOUBLE(args[1]));
        return new_bool(t != nullptr);
    });
}

PyObject* count_steps(PyObject*, PyObject* states) {
    return guarded([&]() -> PyObject* {
        if (!PyList_CheckExact(states)) raise(PyExc_TypeError, "count_steps expects a list of dicts");
        static PyObject* const name = check(PyUnicode_InternFromString("step"));
        PyRef counts = own(PyList_New(0)), last;
        double previous = NAN;
        for (Py_ssize_t i = 0; i < PyList_GET_SIZE(states); ++i) {  // a look-up may run Python code
            PyRef state = PyRef::borrow(PyList_GET_ITEM(states, i));
            PyObject* held = PyDict_Check(state.get()) ? PyDict_GetItemWithError(state.get(), name) : nullptr;
            if (!held && PyErr_Occurred()) throw_python();
            double count = count_in_place(held);
            if (!last || count != previous) {
                last = std::isnan(count) ? PyRef::borrow(Py_None) : own(PyLong_FromLongLong(int64_t(count)));
                previous = count;
            }
            check_status(PyList_Append(counts.get(), last.get()));
        }
        return counts.release();
    });
}

PyMethodDef methods[] = {
    {"count_steps", count_steps, METH_O,
     "count_steps(states) -> list: adds one to the tensor 'step' of each state and gives the new numbers, "
     "None where "
     "it is not one whole number in host memory; nothing is counted there."},
    {"put_number", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(put_number)), METH_FASTCALL,
     "put_number(tensor, value) -> bool: writes a number into a tensor of one float32 or float64 in host "
     "memory; False, "
     "and nothing is written, for any other."},
    {"run_step", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(run_step)), METH_FASTCALL,
     "run_step(op, params, states, names, grads, hyper) -> bool: one fused optimizer step in place, False "
     "without a kernel."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

void add_steps(PyObject* module) { check_status(PyModule_AddFunctions(module, methods)); }

}  // namespace tenora::python
