// Calling an OpFunction: bind, run, wrap. What it shows of itself is in op_function_info.cpp.

#include "op_function.h"

#include <algorithm>

#include "tenora/dispatch.h"
#include "tensor_object.h"

namespace tenora::python {

namespace {

OpFunctionObject* fields(PyObject* o) { return reinterpret_cast<OpFunctionObject*>(o); }

std::string given_types(PyObject* const* args, size_t n_args, PyObject* kwnames) {
    std::string list = "(";
    for (size_t i = 0; i < n_args; ++i) list += (i ? ", " : "") + type_name(args[i]);
    for (Py_ssize_t k = 0; kwnames && k < PyTuple_GET_SIZE(kwnames); ++k) {
        list += (list.size() > 1 ? ", " : "") + to_text(PyTuple_GET_ITEM(kwnames, k)) + "=" +
                type_name(args[n_args + size_t(k)]);
    }
    return list + ")";
}

// The keyword that none of the overloads has, in quotes; empty where there is none.
std::string unknown_keyword(const std::vector<OpId>& ops, PyObject* kwnames) {
    for (Py_ssize_t k = 0; kwnames && k < PyTuple_GET_SIZE(kwnames); ++k) {
        std::string keyword = to_text(PyTuple_GET_ITEM(kwnames, k));
        if (keyword == "out" || keyword == "axis" || keyword == "keepdims") continue;
        auto has = [&](const Param& param) { return param.name == keyword; };
        if (std::ranges::none_of(
                ops, [&](OpId id) { return std::ranges::any_of(op_info(id).signature->params, has); }))
            return "'" + keyword + "'";
    }
    return "";
}

[[noreturn]] void no_match(OpFunctionObject* f, PyObject* const* args, size_t n_args, PyObject* kwnames,
                           const Misfit& why) {
    std::string name = to_text(f->name);
    if (f->ops->size() == 1) {
        std::string what = why.what;
        if (what.empty() && why.param) what = wrong_type(*why.param, why.given);
        raise_kind(ErrorKind::Type, "type", name,
                   what + "." + foreign_advice(why.given) +
                       " Signature: " + shown_signature((*f->ops)[0], name) + ".");
    }
    std::string keyword = unknown_keyword(*f->ops, kwnames);
    std::string text = keyword.empty() ? "no signature takes these arguments" : "unknown keyword " + keyword;
    text += ": got " + given_types(args, n_args, kwnames) + ", expected one of:";
    for (OpId id : *f->ops) text += "\n    " + shown_signature(id, name);
    for (size_t i = 0, n = n_args + (kwnames ? size_t(PyTuple_GET_SIZE(kwnames)) : 0); i < n; ++i) {
        if (std::string advice = foreign_advice(args[i]); !advice.empty()) {
            text += "\n   " + advice;
            break;
        }
    }
    raise_kind(ErrorKind::Type, "type", name, text);
}

// Several results: a named tuple where the record names them.
PyRef results_tuple(const OpInfo& info, int count) {
    return own(info.result_type ? PyStructSequence_New(info.result_type) : PyTuple_New(count));
}

void set_result(const OpInfo& info, PyObject* tuple, int i, PyObject* result) {  // takes the reference
    if (info.result_type)
        PyStructSequence_SetItem(tuple, i, result);
    else
        PyTuple_SET_ITEM(tuple, i, result);
}

// PyTorch's rule: a `dtype` that is not told is that of out= or of the target, so that sums of floats end as
// integers and running sums in place stay in theirs. A real
// one tells nothing of complex operands, a floating one nothing of integers (their mean stays refused), bool
// nothing at all.
void take_dtype_of(const Tensor* out, const OpInfo& info, Arguments& a) {
    if (out->dtype == DType::Bool) return;
    for (const Operand& o : a.in()) {
        if (!o.tensor) continue;
        if (is_complex(o.tensor->dtype) && !is_complex(out->dtype)) return;
        if (!is_differentiable(o.tensor->dtype) && is_differentiable(out->dtype)) return;
    }
    for (const Param& p : info.signature->params)
        if (p.type == ParamType::DType && p.optional && a.attributes[p.slot].kind == TNR_ATTR_NONE)
            a.attributes[p.slot] = attr_dtype(out->dtype);
}

// "vander" and "linalg.vander" are one op: a public name with and without its module.
bool same_op(std::string_view a, std::string_view b) {
    if (a.size() < b.size()) std::swap(a, b);
    return a == b || (a.ends_with(b) && a[a.size() - b.size() - 1] == '.');
}

// The text of a mistake found in a part of an op, under the name that was called: [name] ... (In its part
// 'x'.) Empty where it has that name already, or another's than an op's.
std::string told_as(const std::string& message, std::string_view name, const std::string& named_op,
                    PartTold tell_part) {
    size_t end = message.starts_with('[') ? message.find(']') : std::string::npos;
    if (end == std::string::npos) return "";
    std::string part = message.substr(1, end - 1), plain = part, called(name);
    bool same = same_op(part, name);
    // An in-place form has told its own name, which is none of an op.
    if ((same && part.size() >= name.size()) || part.ends_with('_')) return "";
    std::ranges::replace(plain, '.', '_');  // linalg.inv is published for linalg_inv
    if (part != named_op && !find_op(part) && !find_op(plain)) return "";
    std::string told = "[" + called + "]" + message.substr(end + 1),
                itself = " (In its part '" + called + "'.)";
    if (told.ends_with(itself)) return told.substr(0, told.size() - itself.size());
    bool innermost = told.find("(In its part '") == std::string::npos;
    return told + (innermost && !same && tell_part == PartTold::Yes ? " (In its part '" + part + "'.)" : "");
}

// An exception of a class of its own, with other arguments than a text, stays as it is.
void tell_python_as(const PythonError& error, std::string_view name, PartTold tell_part) {
    PyRef exception = PyRef::steal(error.exception());
    PyRef arguments = PyRef::steal(exception ? PyObject_GetAttrString(exception.get(), "args") : nullptr);
    bool plain = arguments && PyTuple_Check(arguments.get()) && PyTuple_GET_SIZE(arguments.get()) == 1 &&
                 PyUnicode_Check(PyTuple_GET_ITEM(arguments.get(), 0));
    if (plain) {
        PyRef known = PyRef::steal(PyObject_GetAttrString(exception.get(), "op"));
        PyErr_Clear();
        std::string named_op = known && PyUnicode_Check(known.get()) ? to_text(known.get()) : "";
        std::string told = told_as(to_text(PyTuple_GET_ITEM(arguments.get(), 0)), name, named_op, tell_part);
        if (!told.empty()) {
            PyRef replaced = own(PyTuple_Pack(1, text(told).get()));
            if (known) PyObject_SetAttrString(exception.get(), "op", text(name).get());
            PyObject_SetAttrString(exception.get(), "args", replaced.get());
        }
    }
    PyErr_Clear();
}

PyObject* run_out(const OpInfo& info, Arguments& a) {
    const char* op_name = info.signature->name.c_str();
    if (!info.out_ok)
        raise_kind(
            ErrorKind::Type, "type", op_name,
            "the op takes no out=: got " + type_name(a.out) + ", expected none. Copy the result into it.");
    std::vector<PyRef> held;
    Tensor* outs[kMaxOutputs];
    int n = info.signature->n_out;
    if (n == 1 && !PyTuple_Check(a.out)) {
        outs[0] = as_tensor(a.out, op_name, "out");
    } else {
        if (!PyTuple_Check(a.out) && !PyList_Check(a.out))
            raise_kind(ErrorKind::Type, "type", op_name,
                       "out is wrong: got " + type_name(a.out) + ", expected a tuple of tensors.");
        if (PySequence_Fast_GET_SIZE(a.out) != n)
            raise_kind(ErrorKind::Type, "type", op_name,
                       "out has the wrong length: got " + std::to_string(PySequence_Fast_GET_SIZE(a.out)) +
                           ", expected " + std::to_string(n) + ". Pass one tensor a result.");
        for (int i = 0; i < n; ++i) {
            held.push_back(PyRef::borrow(PySequence_Fast_GET_ITEM(a.out, i)));
            outs[i] = as_tensor(held.back().get(), op_name, "out");
        }
    }
    take_dtype_of(outs[0], info, a);
    call_out(info.id, a.in(), a.attr(), {outs, size_t(n)});
    if (n == 1) return Py_NewRef(a.out);
    PyRef results = results_tuple(info, n);
    for (int i = 0; i < n; ++i) set_result(info, results.get(), i, held[size_t(i)].release());
    return results.release();
}

PyObject* run_inplace(const OpInfo& info, Arguments& a, PyObject* self) {
    if (!info.inplace_ok)
        raise_kind(ErrorKind::Type, "type", info.signature->name, "the op has no in-place form.");
    if (Tensor* target = a.operands[0].tensor; is_integral(target->dtype)) take_dtype_of(target, info, a);
    call_inplace(info.id, a.operands[0].tensor, a.in(), a.attr());
    track_if_needed(self);
    return Py_NewRef(self);
}

PyObject* run(OpFunctionObject* f, const OpInfo& info, Arguments& a, PyObject* self) {
    try {
        if (f->kind == OpKind::InPlace) return run_inplace(info, a, self);
        return a.out ? run_out(info, a) : run_function(info, a);
    } catch (Error& error) {
        tell_as(error, op(info.id).display());
        throw;
    }
}

PyObject* op_vectorcall(PyObject* callable, PyObject* const* args, size_t nargsf, PyObject* kwnames) {
    return guarded([&]() -> PyObject* {
        OpFunctionObject* f = fields(callable);
        size_t n_args = size_t(PyVectorcall_NARGS(nargsf));
        if (kwnames && PyTuple_GET_SIZE(kwnames) == 0) kwnames = nullptr;
        Misfit why;
        bool overloaded = f->ops->size() > 1;
        // An overload that takes a tensor as it is comes before one that reads it as a number.
        for (bool tensors_as_numbers : {!overloaded, true}) {
            for (OpId id : *f->ops) {
                const OpInfo& info = op_info(id);
                Arguments a;
                a.tensors_as_numbers = tensors_as_numbers;
                Fit fit = named(op(id).display(), [&] {
                    return bind(*info.signature, args, n_args, kwnames, f->kind == OpKind::Function, a, why);
                });
                if (fit == Fit::Foreign) return call_foreign(callable, a.foreign, args, n_args, kwnames);
                if (fit == Fit::Yes) {
                    if (f->kind == OpKind::InPlace && (n_args == 0 || !is_tensor(args[0]))) break;
                    return run(f, info, a, n_args ? args[0] : nullptr);
                }
            }
            if (!overloaded) break;
        }
        no_match(f, args, n_args, kwnames, why);
    });
}

PyObject* op_descr_get(PyObject* self, PyObject* object, PyObject*) {
    if (!object || object == Py_None) return Py_NewRef(self);
    return PyMethod_New(self, object);
}

}  // namespace

PyObject* call_foreign(PyObject* op_function, PyObject* foreign, PyObject* const* args, size_t n_args,
                       PyObject* kwnames) {
    PyRef handler =
        own(PyObject_GetAttrString(reinterpret_cast<PyObject*>(Py_TYPE(foreign)), "__tenora_op__"));
    PyRef tuple = own(PyTuple_New(Py_ssize_t(n_args)));
    for (size_t i = 0; i < n_args; ++i) PyTuple_SET_ITEM(tuple.get(), Py_ssize_t(i), Py_NewRef(args[i]));
    PyRef dict = own(PyDict_New());
    for (Py_ssize_t k = 0; kwnames && k < PyTuple_GET_SIZE(kwnames); ++k) {
        check_status(PyDict_SetItem(dict.get(), PyTuple_GET_ITEM(kwnames, k), args[n_args + size_t(k)]));
    }
    PyObject* call_args[] = {op_function, tuple.get(), dict.get()};
    return check(PyObject_Vectorcall(handler.get(), call_args, 3, nullptr));
}

void tell_as(Error& error, std::string_view name, PartTold tell_part) {
    if (auto* python = dynamic_cast<PythonError*>(&error)) return tell_python_as(*python, name, tell_part);
    std::string told = told_as(error.message, name, error.op, tell_part);
    if (told.empty()) return;
    error.message = std::move(told);
    error.op = name;
}

PyObject* pack_results(const OpInfo& info, TensorRef* out, int count) {
    if (count == 1) return wrap(std::move(out[0]));
    if (count == 0) return new_none();
    PyRef tuple = results_tuple(info, count);
    for (int i = 0; i < count; ++i)
        set_result(info, tuple.get(), i, out[i] ? wrap(std::move(out[i])) : new_none());
    return tuple.release();
}

PyObject* run_function(const OpInfo& info, const Arguments& a) {
    if (info.signature->n_out == 1) {
        TensorRef out;
        call(info.id, a.in(), a.attr(), &out);
        return wrap(std::move(out));
    }
    TensorRef out[kMaxOutputs];
    call(info.id, a.in(), a.attr(), out);
    return pack_results(info, out, info.signature->n_out);
}

PyTypeObject OpFunctionType = {PyVarObject_HEAD_INIT(nullptr, 0) "tenora.OpFunction",
                               sizeof(OpFunctionObject)};
PyTypeObject OpMethodType = {PyVarObject_HEAD_INIT(nullptr, 0) "tenora.OpMethod", sizeof(OpFunctionObject)};

PyObject* make_op_function(const std::string& name, const std::vector<std::string>& ops, OpKind kind,
                           PyObject* doc, const std::string& module, const std::string& qualname) {
    if (ops.empty())
        raise_kind(ErrorKind::Value, "value", "make_function",
                   "no ops: expected at least one registered op name.");
    auto ids = std::make_unique<std::vector<OpId>>();
    for (const std::string& op_name : ops) {
        const OpInfo* info = find_op_info(op_name);
        if (!info)
            raise_kind(ErrorKind::Value, "op", "make_function",
                       "unknown op: got '" + op_name + "', expected a registered name.");
        const Signature& s = *info->signature;
        if (kind != OpKind::Function && (s.params.empty() || !is_operand(s.params[0].type))) {
            raise_kind(ErrorKind::Value, "op", "make_function",
                       "'" + op_name + "' cannot be a method: its first parameter is not a tensor.");
        }
        ids->push_back(info->id);
    }
    PyRef name_text = text(name), qualname_text = text(qualname.empty() ? name : qualname),
          module_text = text(module);
    PyTypeObject* type = kind == OpKind::Function ? &OpFunctionType : &OpMethodType;
    auto* f = PyObject_GC_New(OpFunctionObject, type);
    check(reinterpret_cast<PyObject*>(f));
    f->vectorcall = op_vectorcall;
    f->kind = kind;
    f->ops = ids.release();
    f->name = name_text.release();
    f->qualname = qualname_text.release();
    f->module = module_text.release();
    f->doc = Py_NewRef(doc ? doc : Py_None);
    f->dict = nullptr;
    f->weakrefs = nullptr;
    PyObject_GC_Track(reinterpret_cast<PyObject*>(f));
    return reinterpret_cast<PyObject*>(f);
}

void add_op_function_info(PyTypeObject& type);  // op_function_info.cpp

void ready_op_function_types(PyObject* module) {
    add_op_function_info(OpFunctionType);
    OpFunctionType.tp_doc = PyDoc_STR("A native callable for one or several ops of the same public name.");
    OpFunctionType.tp_flags =
        Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_BASETYPE;
    OpFunctionType.tp_call = PyVectorcall_Call;
    OpFunctionType.tp_vectorcall_offset = offsetof(OpFunctionObject, vectorcall);
    check_status(PyType_Ready(&OpFunctionType));
    add_op_function_info(OpMethodType);
    OpMethodType.tp_base = &OpFunctionType;
    OpMethodType.tp_doc = PyDoc_STR("An OpFunction that binds to a tensor.");
    OpMethodType.tp_flags =
        Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR;
    OpMethodType.tp_call = PyVectorcall_Call;
    OpMethodType.tp_vectorcall_offset = offsetof(OpFunctionObject, vectorcall);
    OpMethodType.tp_descr_get = op_descr_get;
    check_status(PyType_Ready(&OpMethodType));
    OpFunctionType.tp_flags &= ~Py_TPFLAGS_BASETYPE;  // OpMethod alone derives from it
    check_status(PyModule_AddObjectRef(module, "OpFunction", reinterpret_cast<PyObject*>(&OpFunctionType)));
    check_status(PyModule_AddObjectRef(module, "OpMethod", reinterpret_cast<PyObject*>(&OpMethodType)));
}

}  // namespace tenora::python
