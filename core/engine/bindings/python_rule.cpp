// Calls from the dispatcher into Python: rules of plugins, ops that are Python functions, formulas called
// back.

#include "python_rule.h"

#include "arguments.h"
#include "op_function.h"
#include "plain_types.h"
#include "tenora/dispatch.h"
#include "tenora/hooks.h"
#include "tensor_object.h"

namespace tenora::python {

namespace {

PyObject *function_caller = nullptr, *formula_caller = nullptr;

PyRef describe_operand(const Operand& operand) {
    if (!operand.tensor)
        return operand.has_scalar ? own(scalar_object(operand.scalar)) : PyRef::borrow(Py_None);
    PyRef shape = PyRef::steal(tuple_of(operand.tensor->shape()));
    return own(PyTuple_Pack(2, shape.get(), dtype_object(operand.tensor->dtype)));
}

PyRef attribute_tuple(const Op& op, std::span<const Attr> attrs) {
    PyRef tuple = own(PyTuple_New(Py_ssize_t(attrs.size())));
    const Signature* s = find_op_info(op.spec.name) ? op_info(op.id).signature : nullptr;
    size_t i = 0;
    for (size_t p = 0; s && p < s->params.size() && i < attrs.size(); ++p) {
        if (is_operand(s->params[p].type)) continue;
        PyTuple_SET_ITEM(tuple.get(), Py_ssize_t(i), check(attribute_object(attrs[i], s->params[p].type)));
        ++i;
    }
    for (; i < attrs.size(); ++i)
        PyTuple_SET_ITEM(tuple.get(), Py_ssize_t(i), check(attribute_object(attrs[i])));
    return tuple;
}

PyRef operand_tuple(std::span<const Operand> in) {
    PyRef tuple = own(PyTuple_New(Py_ssize_t(in.size())));
    for (size_t i = 0; i < in.size(); ++i) {
        PyObject* o = in[i].tensor       ? wrap(in[i].tensor)
                      : in[i].has_scalar ? scalar_object(in[i].scalar)
                                         : new_none();
        PyTuple_SET_ITEM(tuple.get(), Py_ssize_t(i), check(o));
    }
    return tuple;
}

// One dtype for all results, or a tuple of one for each.
void take_dtype(Infer& c, PyObject* answer) {
    int n = c.op.spec.n_out;
    bool each = PyTuple_Check(answer) && PyTuple_GET_SIZE(answer) == n;
    for (int i = 0; i < n; ++i) {
        DType dtype = DType::None;
        if (!to_dtype(each ? PyTuple_GET_ITEM(answer, i) : answer, &dtype))
            raise_kind(ErrorKind::Type, "rule", c.op.display(),
                       "the dtype rule returned " + type_name(answer) +
                           ", expected a dtype, or a tuple of one for each result.");
        c.out[i].dtype = dtype;
    }
    c.result = c.out[0].dtype;
}

void take_shape(Infer& c, int i, PyObject* answer) {
    std::vector<int64_t> shape =
        ints_argument(answer, std::string(c.op.display()).c_str(), "the shape rule's answer");
    checked_numel(shape, c.op.display());
    c.out[i].rank = int(shape.size());
    std::copy(shape.begin(), shape.end(), c.out[i].shape);
}

void run_rule(PyObject* callable, bool is_dtype_rule, Infer& c) {
    GilGuard gil;
    PyRef operands = own(PyTuple_New(Py_ssize_t(c.in.size())));
    for (size_t i = 0; i < c.in.size(); ++i)
        PyTuple_SET_ITEM(operands.get(), Py_ssize_t(i), describe_operand(c.in[i]).release());
    PyRef attributes = attribute_tuple(c.op, c.attr);
    PyRef answer = own(call_python(
        [&] { return PyObject_CallFunctionObjArgs(callable, operands.get(), attributes.get(), nullptr); }));
    if (is_dtype_rule) return take_dtype(c, answer.get());
    if (c.op.spec.n_out == 1) return take_shape(c, 0, answer.get());
    PyRef list = own(PySequence_Tuple(answer.get()));
    if (PyTuple_GET_SIZE(list.get()) != c.op.spec.n_out)
        raise_kind(ErrorKind::Type, "rule", c.op.display(),
                   "the shape rule returned the wrong number of shapes.");
    for (int i = 0; i < c.op.spec.n_out; ++i) take_shape(c, i, PyTuple_GET_ITEM(list.get(), i));
}

void set_callable(PyObject*& slot, PyObject* callable) {
    PyObject* value = callable == Py_None ? nullptr : Py_NewRef(callable);
    Py_XSETREF(slot, value);
}

void take_results(std::string_view op, PyObject* answer, std::span<TensorRef> out, bool none_allowed) {
    bool single = is_tensor(answer) || answer == Py_None;
    PyRef tuple = single ? own(PyTuple_Pack(1, answer)) : own(PySequence_Tuple(answer));
    if (size_t(PyTuple_GET_SIZE(tuple.get())) != out.size()) {
        raise_kind(ErrorKind::Runtime, "function", op,
                   "a Python implementation returned the wrong number of results: got " +
                       std::to_string(PyTuple_GET_SIZE(tuple.get())) + ", expected " +
                       std::to_string(out.size()) + ".");
    }
    for (size_t i = 0; i < out.size(); ++i) {
        PyObject* item = PyTuple_GET_ITEM(tuple.get(), Py_ssize_t(i));
        if (item == Py_None && none_allowed) continue;
        out[i] = TensorRef(as_tensor(item, std::string(op).c_str(), "a result"));
    }
}

void call_function(const Op& op, std::span<const Operand> in, std::span<const Attr> attr, TensorRef* out) {
    GilGuard gil;
    if (!function_caller)
        raise_kind(ErrorKind::Runtime, "function", op.display(),
                   "nothing calls Python functions. Import tenora.");
    PyRef name = text(op.spec.name), operands = operand_tuple(in), attributes = attribute_tuple(op, attr);
    PyRef answer = own(call_python([&] {
        return PyObject_CallFunctionObjArgs(function_caller, name.get(), operands.get(), attributes.get(),
                                            nullptr);
    }));
    take_results(op.display(), answer.get(), {out, size_t(op.spec.n_out)}, false);
}

void call_formula(const Op& op, uint64_t needs, std::span<Tensor* const> tensors, std::span<const Attr> attr,
                  std::span<TensorRef> out) {
    GilGuard gil;
    if (!formula_caller)
        raise_kind(ErrorKind::Runtime, "formula", op.display(),
                   "nothing calls gradient formulas. Import tenora.");
    PyRef name = text(op.spec.name), mask = own(PyLong_FromUnsignedLongLong(needs)),
          list = own(PyTuple_New(Py_ssize_t(tensors.size())));
    for (size_t i = 0; i < tensors.size(); ++i)
        PyTuple_SET_ITEM(list.get(), Py_ssize_t(i), check(wrap_or_none(tensors[i])));
    PyRef attributes = attribute_tuple(op, attr);
    PyRef answer = own(call_python([&] {
        return PyObject_CallFunctionObjArgs(formula_caller, name.get(), mask.get(), list.get(),
                                            attributes.get(), nullptr);
    }));
    take_results(op.display(), answer.get(), out, true);
}

}  // namespace

Rule python_rule(PyObject* callable, const std::string& op, bool is_dtype_rule) {
    if (!PyCallable_Check(callable))
        raise_kind(ErrorKind::Type, "rule", op,
                   "a rule must be a name or a callable: got " + type_name(callable) + ".");
    Py_INCREF(callable);  // as immortal as the op
    return [callable, is_dtype_rule](Infer& c) { run_rule(callable, is_dtype_rule, c); };
}

void set_function_caller(PyObject* callable) { set_callable(function_caller, callable); }
void set_formula_caller(PyObject* callable) { set_callable(formula_caller, callable); }

void install_call_hooks() {
    hooks().call_function = call_function;
    hooks().call_formula = call_formula;
}

}  // namespace tenora::python
