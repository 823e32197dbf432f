// What an OpFunction tells of itself: names, documentation, signatures, pickling, `bind`.

#include "op_function.h"
#include "plain_types.h"
#include "tensor_object.h"

namespace tenora::python {

namespace {

OpFunctionObject* fields(PyObject* o) { return reinterpret_cast<OpFunctionObject*>(o); }

int op_traverse(PyObject* self, visitproc visit, void* arg) {
    Py_VISIT(fields(self)->dict);
    Py_VISIT(fields(self)->doc);
    return 0;
}

int op_clear(PyObject* self) {
    Py_CLEAR(fields(self)->dict);
    return 0;
}

void op_dealloc(PyObject* self) {
    PyObject_GC_UnTrack(self);
    OpFunctionObject* f = fields(self);
    if (f->weakrefs) PyObject_ClearWeakRefs(self);
    delete f->ops;
    Py_XDECREF(f->name);
    Py_XDECREF(f->qualname);
    Py_XDECREF(f->module);
    Py_XDECREF(f->doc);
    Py_XDECREF(f->dict);
    PyObject_GC_Del(self);
}

const char* kind_text(OpKind kind) {
    return kind == OpKind::Function ? "function" : kind == OpKind::Method ? "method" : "inplace";
}

PyObject* op_repr(PyObject* self) {
    return PyUnicode_FromFormat("<tenora op %s '%U'>", kind_text(fields(self)->kind), fields(self)->name);
}

template <PyObject* OpFunctionObject::* Member>
PyObject* get_text(PyObject* self, void*) {
    return Py_NewRef(fields(self)->*Member);
}

template <PyObject* OpFunctionObject::* Member>
int set_text(PyObject* self, PyObject* value, void*) {
    if (!value || (!PyUnicode_Check(value) && value != Py_None)) {
        PyErr_SetString(PyExc_TypeError, "expected a str");
        return -1;
    }
    Py_INCREF(value);
    Py_SETREF(fields(self)->*Member, value);
    return 0;
}

PyObject* get_kind(PyObject* self, void*) { return PyUnicode_FromString(kind_text(fields(self)->kind)); }

PyObject* get_ops(PyObject* self, void*) {
    return guarded([&] {
        PyRef names = own(PyTuple_New(Py_ssize_t(fields(self)->ops->size())));
        for (size_t i = 0; i < fields(self)->ops->size(); ++i) {
            PyTuple_SET_ITEM(names.get(), Py_ssize_t(i),
                             text(op((*fields(self)->ops)[i]).spec.name).release());
        }
        return names.release();
    });
}

PyObject* get_signatures(PyObject* self, void*) {
    return guarded([&] {
        PyRef texts = own(PyTuple_New(Py_ssize_t(fields(self)->ops->size())));
        for (size_t i = 0; i < fields(self)->ops->size(); ++i) {
            PyTuple_SET_ITEM(texts.get(), Py_ssize_t(i),
                             text(op_info((*fields(self)->ops)[i]).signature->text).release());
        }
        return texts.release();
    });
}

PyObject* get_result_type(PyObject* self, void*) {
    return guarded([&]() -> PyObject* {
        for (OpId id : *fields(self)->ops) {
            if (auto* type = op_info(id).result_type) return Py_NewRef(reinterpret_cast<PyObject*>(type));
        }
        return new_none();
    });
}

std::string default_text(const Param& param) {
    if (is_operand(param.type)) {
        if (!param.operand.has_scalar) return "None";
        PyRef number = PyRef::steal(scalar_object(param.operand.scalar));
        return to_text(own(PyObject_Repr(number.get())).get());
    }
    PyRef value = PyRef::steal(attribute_object(param.attribute));
    return to_text(own(PyObject_Repr(value.get())).get());
}

bool takes_out(const OpFunctionObject* f) {
    if (f->kind != OpKind::Function) return false;
    for (OpId id : *f->ops)
        if (op_info(id).out_ok) return true;
    return false;
}

// "(input, other, *, alpha=1, out=None)" of the only signature: `inspect` and editors read this form.
PyObject* get_text_signature(PyObject* self, void*) {
    return guarded([&] {
        const Signature& s = *op_info((*fields(self)->ops)[0]).signature;
        bool out_too = takes_out(fields(self));
        if (fields(self)->ops->size() > 1)
            return text(out_too ? "(*args, out=None, **kwargs)" : "(*args, **kwargs)").release();
        std::string out = "(";
        bool star = false;
        for (const Param& param : s.params) {
            if (out.size() > 1) out += ", ";
            if (param.keyword_only && !star) {
                out += "*, ";
                star = true;
            }
            out += param.name + (param.has_default ? "=" + default_text(param) : "");
        }
        if (out_too) out += std::string(out.size() > 1 ? ", " : "") + (star ? "" : "*, ") + "out=None";
        return text(out + ")").release();
    });
}

// An inspect.Signature, for `inspect.signature` and help(); built when asked for.
PyObject* get_signature(PyObject* self, void*) {
    return guarded([&]() -> PyObject* {
        PyRef inspect = own(PyImport_ImportModule("inspect"));
        PyRef parse = own(PyObject_GetAttrString(inspect.get(), "_signature_fromstr"));
        PyRef cls = own(PyObject_GetAttrString(inspect.get(), "Signature"));
        PyRef as_text = PyRef::steal(check(get_text_signature(self, nullptr)));
        return check(PyObject_CallFunctionObjArgs(parse.get(), cls.get(), self, as_text.get(), nullptr));
    });
}

PyObject* operand_object(const Operand& operand) {
    if (operand.tensor) return wrap(operand.tensor);
    return operand.has_scalar ? scalar_object(operand.scalar) : new_none();
}

// ---- bind(args, kwargs): the same parsing with foreign objects let through
// ---------------------------------------------

bool foreign_attribute(PyObject* o) {
    PyRef flag =
        PyRef::steal(PyObject_GetAttrString(reinterpret_cast<PyObject*>(Py_TYPE(o)), "__tenora_attribute__"));
    if (!flag) {
        PyErr_Clear();
        return false;
    }
    return PyObject_IsTrue(flag.get()) == 1;
}

bool contains_foreign(PyObject* o) {
    if (!PyList_Check(o) && !PyTuple_Check(o)) return has_tenora_op(o);
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(o); ++i) {
        if (has_tenora_op(PySequence_Fast_GET_ITEM(o, i))) return true;
    }
    return false;
}

bool fits_foreign(const Param& param, PyObject* o) {
    if (has_tenora_op(o)) {
        bool attribute = foreign_attribute(o);
        if (!is_operand(param.type)) return attribute;
        return param.type != ParamType::TensorList && (!attribute || param.type == ParamType::TensorOrScalar);
    }
    if (param.type != ParamType::IntList && param.type != ParamType::TensorList) return false;
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(o); ++i) {  // each item is foreign or fits natively
        PyObject* item = PySequence_Fast_GET_ITEM(o, i);
        int64_t number;
        bool good = has_tenora_op(item) ? foreign_attribute(item) == (param.type == ParamType::IntList)
                    : param.type == ParamType::IntList
                        ? to_int64(item, &number)
                        : is_tensor(item) || (item == Py_None && param.optional);
        if (!good) return false;
    }
    return true;
}

PyObject* native_value(const Param& param, PyObject* o) {
    if (is_tensor(o)) return is_operand(param.type) ? Py_NewRef(o) : nullptr;
    if (is_operand(param.type)) {
        if (o == Py_None && param.optional) return Py_NewRef(o);
        if (param.type == ParamType::TensorOrScalar && is_number(o)) return Py_NewRef(o);
        if (param.type != ParamType::TensorList || (!PyList_Check(o) && !PyTuple_Check(o))) return nullptr;
        for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(o); ++i) {
            PyObject* item = PySequence_Fast_GET_ITEM(o, i);
            if (!is_tensor(item) && !(item == Py_None && param.optional)) return nullptr;
        }
        return Py_NewRef(o);
    }
    Arguments a;
    Attr attr{};
    if (to_attribute(param, o, a, &attr) != Fit::Yes) return nullptr;
    return attribute_object(attr, param.type);
}

// Arguments by parameter, or false when they do not fit the signature's form.
bool distribute(const Signature& s, PyObject* args, PyObject* kwargs, PyRef* given) {
    size_t n = size_t(PyTuple_GET_SIZE(args)), limit = size_t(s.n_positional);
    PyObject* first = s.varargs >= 0 && n > size_t(s.varargs) ? PyTuple_GET_ITEM(args, s.varargs) : nullptr;
    bool spread = first && n >= limit && !PyList_Check(first) && !PyTuple_Check(first) && first != Py_None &&
                  (n > limit || !has_tenora_op(first) || foreign_attribute(first));
    if (spread && n == limit && has_tenora_op(first)) spread = false;  // one symbol may itself be a span
    if (n > limit && !spread) return false;
    for (size_t i = 0; i < (spread ? limit - 1 : n); ++i)
        given[i] = PyRef::borrow(PyTuple_GET_ITEM(args, Py_ssize_t(i)));
    if (spread) given[s.varargs] = own(PyTuple_GetSlice(args, s.varargs, Py_ssize_t(n)));
    Py_ssize_t position = 0;
    PyObject *key, *value;
    while (PyDict_Next(kwargs, &position, &key, &value)) {
        size_t i = 0;
        std::string name = to_text(key);
        while (i < s.params.size() && s.params[i].name != name) ++i;
        if (i == s.params.size() || given[i]) return false;
        given[i] = PyRef::borrow(value);
    }
    return true;
}

PyObject* default_object(const Param& param) {
    return is_operand(param.type) ? operand_object(param.operand)
                                  : attribute_object(param.attribute, param.type);
}

bool bind_one(const Signature& s, PyObject* args, PyObject* kwargs, PyObject* operands,
              PyObject* attributes) {
    PyRef given[kMaxParams];
    if (!distribute(s, args, kwargs, given)) return false;
    for (size_t i = 0; i < s.params.size(); ++i) {
        const Param& param = s.params[i];
        PyRef value;
        if (!given[i]) {
            if (!param.has_default) return false;
            value = own(default_object(param));
        } else if (contains_foreign(given[i].get())) {
            if (!fits_foreign(param, given[i].get())) return false;
            value = PyList_Check(given[i].get()) ? own(PyList_AsTuple(given[i].get())) : given[i];
        } else {
            value = PyRef::steal(native_value(param, given[i].get()));
            if (!value) return false;
        }
        if (param.type == ParamType::TensorList) {
            PyRef slot = own(PySequence_Tuple(value.get()));
            check_status(
                PyList_SetSlice(operands, PyList_GET_SIZE(operands), PyList_GET_SIZE(operands), slot.get()));
        } else {
            check_status(PyList_Append(is_operand(param.type) ? operands : attributes, value.get()));
        }
    }
    return true;
}

PyObject* op_bind(PyObject* self, PyObject* const* args, Py_ssize_t n_args) {
    return guarded([&]() -> PyObject* {
        if (n_args != 2 || !PyTuple_Check(args[0]) || !PyDict_Check(args[1])) {
            raise(PyExc_TypeError, "bind expects (args: tuple, kwargs: dict)");
        }
        for (OpId id : *fields(self)->ops) {
            PyRef operands = own(PyList_New(0)), attributes = own(PyList_New(0));
            if (!bind_one(*op_info(id).signature, args[0], args[1], operands.get(), attributes.get()))
                continue;
            PyRef name = text(op(id).spec.name);
            return check(PyTuple_Pack(3, name.get(), operands.get(), attributes.get()));
        }
        std::string message = "no signature takes these arguments, expected one of:";
        std::string name = to_text(fields(self)->name);
        for (OpId id : *fields(self)->ops) message += "\n    " + shown_signature(id, name);
        raise_kind(ErrorKind::Type, "type", name, message);
    });
}

PyObject* op_reduce(PyObject* self, PyObject*) { return Py_NewRef(fields(self)->qualname); }

PyGetSetDef getset[] = {
    {"__name__", get_text<&OpFunctionObject::name>, set_text<&OpFunctionObject::name>, nullptr, nullptr},
    {"__qualname__", get_text<&OpFunctionObject::qualname>, set_text<&OpFunctionObject::qualname>, nullptr,
     nullptr},
    {"__module__", get_text<&OpFunctionObject::module>, set_text<&OpFunctionObject::module>, nullptr,
     nullptr},
    {"__doc__", get_text<&OpFunctionObject::doc>, set_text<&OpFunctionObject::doc>, nullptr, nullptr},
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
    {"__text_signature__", get_text_signature, nullptr, nullptr, nullptr},
    {"__signature__", get_signature, nullptr, nullptr, nullptr},
    {"kind", get_kind, nullptr, "'function', 'method' or 'inplace'.", nullptr},
    {"ops", get_ops, nullptr, "Names of the registered ops, in overload order.", nullptr},
    {"signatures", get_signatures, nullptr, "Their signatures, as text.", nullptr},
    {"result_type", get_result_type, nullptr, "Named tuple of several results, or None.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyMethodDef methods[] = {
    {"bind", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(op_bind)), METH_FASTCALL,
     "bind(args, kwargs) -> (op name, operands, attributes): the parsing of a call without the call."},
    {"__reduce__", op_reduce, METH_NOARGS, "Pickles by name."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

std::string shown_signature(OpId id, const std::string& name) {
    const std::string& signature = op_info(id).signature->text;
    return name + signature.substr(signature.find('('));
}

void add_op_function_info(PyTypeObject& type) {
    type.tp_dealloc = op_dealloc;
    type.tp_repr = op_repr;
    type.tp_traverse = op_traverse;
    type.tp_clear = op_clear;
    type.tp_dictoffset = offsetof(OpFunctionObject, dict);
    type.tp_weaklistoffset = offsetof(OpFunctionObject, weakrefs);
    type.tp_getset = getset;
    type.tp_methods = methods;
    type.tp_getattro = PyObject_GenericGetAttr;
    type.tp_setattro = PyObject_GenericSetAttr;
}

}  // namespace tenora::python
