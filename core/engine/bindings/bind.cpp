// Binding of one call: positional, keyword, defaults, varargs. First the types decide; an argument that is of
// a foreign type with `__tenora_op__` ends the binding at once, and the call is handed to it.

#include <algorithm>
#include <string_view>

#include "arguments.h"
#include "tensor_object.h"

namespace tenora::python {

namespace {

struct Binder {
    const Signature& s;
    Arguments& a;
    Misfit& why;
    PyObject* given[kMaxParams];  // the first params.size() of them

    Binder(const Signature& s, Arguments& a, Misfit& why) : s(s), a(a), why(why) {
        std::fill_n(given, s.params.size(), nullptr);
    }

    Fit misfit(const Param* param, PyObject* object, std::string what = {}) {
        why = Misfit{param, object, std::move(what)};
        return Fit::No;
    }

    Fit foreign(PyObject* object) {
        a.foreign = object;
        return Fit::Foreign;
    }

    Fit operand(const Param& param, PyObject* o) {
        Operand& slot = a.operands[param.slot];
        if (is_exact_tensor(o)) {
            slot = Operand(impl_of(o));
            return Fit::Yes;
        }
        if (has_tenora_op(o)) return foreign(o);
        if (is_tensor(o)) {
            slot = Operand(impl_of(o));
            return Fit::Yes;
        }
        if (o == Py_None && param.optional) {
            slot = Operand();
            return Fit::Yes;
        }
        Scalar scalar;
        if (param.type == ParamType::TensorOrScalar && to_scalar(o, &scalar)) {
            if (param.real) drop_zero_imaginary(scalar);
            slot = Operand(scalar);
            return Fit::Yes;
        }
        return misfit(&param, o);
    }

    // The list comes last, so its items follow the single operands.
    Fit list(const Param& param, PyObject* o) {
        if (!PyList_Check(o) && !PyTuple_Check(o)) return has_tenora_op(o) ? foreign(o) : misfit(&param, o);
        if (PyList_Check(o)) {  // the list may change while a Python kernel runs: a tuple holds the tensors
            a.held.push_back(own(PyList_AsTuple(o)));
            o = a.held.back().get();
        }
        size_t fixed = size_t(param.slot), n = size_t(PyTuple_GET_SIZE(o));
        if (fixed + n > size_t(Arguments::kOperands)) {
            a.operands_long.assign(a.operands, a.operands + fixed);
            a.operands_long.resize(fixed + n);
            a.operands = a.operands_long.data();
        }
        for (size_t i = 0; i < n; ++i) {
            PyObject* item = PyTuple_GET_ITEM(o, Py_ssize_t(i));
            if (item == Py_None && param.optional) {
                a.operands[fixed + i] = Operand();
            } else if (has_tenora_op(item)) {
                return foreign(item);
            } else if (is_tensor(item)) {
                a.operands[fixed + i] = Operand(impl_of(item));
            } else {
                return misfit(&param, item,
                              "item " + std::to_string(i) + " of " + param.name + " is wrong: got " +
                                  type_name(item) + ", expected Tensor");
            }
        }
        a.n_operands = int(fixed + n);
        return Fit::Yes;
    }

    const Param* find(PyObject* keyword, int* index) const {
        for (size_t i = 0; i < s.params.size(); ++i) {
            if (s.params[i].interned == keyword) {
                *index = int(i);
                return &s.params[i];
            }
        }
        const char* name = PyUnicode_AsUTF8(keyword);
        if (!name) {  // a lone surrogate names nothing
            PyErr_Clear();
            return nullptr;
        }
        std::string_view wanted = name;
        if (wanted == "axis")
            wanted = "dim";  // NumPy's names, as PyTorch reads them
        else if (wanted == "keepdims")
            wanted = "keepdim";
        for (size_t i = 0; i < s.params.size(); ++i) {
            if (s.params[i].name == wanted) {
                *index = int(i);
                return &s.params[i];
            }
        }
        return nullptr;
    }

    Fit keywords(PyObject* kwnames, PyObject* const* values, bool allow_out) {
        for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(kwnames); ++k) {
            PyObject* name = PyTuple_GET_ITEM(kwnames, k);
            int index = 0;
            const Param* param = find(name, &index);
            if (param) {
                if (given[index]) return misfit(param, values[k], param->name + " is given twice");
                given[index] = values[k];
            } else if (allow_out && PyUnicode_CompareWithASCIIString(name, "out") == 0) {
                a.out = values[k] == Py_None ? nullptr : values[k];
            } else {
                return misfit(nullptr, values[k], "unknown keyword '" + to_text(name) + "'");
            }
        }
        return Fit::Yes;
    }

    Fit positional(PyObject* const* args, size_t n_args) {
        size_t limit = size_t(s.n_positional);
        bool spread = s.varargs >= 0 && n_args > size_t(s.varargs) && !PyList_Check(args[s.varargs]) &&
                      !PyTuple_Check(args[s.varargs]) && args[s.varargs] != Py_None;
        if (spread && n_args >= limit) {
            for (size_t i = 0; i + 1 < limit; ++i) given[i] = args[i];
            return varargs(args + s.varargs, n_args - size_t(s.varargs));
        }
        if (n_args > limit) {
            return misfit(nullptr, args[limit],
                          "too many positional arguments: got " + std::to_string(n_args) +
                              ", expected at most " + std::to_string(limit));
        }
        for (size_t i = 0; i < n_args; ++i) given[i] = args[i];
        return Fit::Yes;
    }

    Fit varargs(PyObject* const* args, size_t n) {
        const Param& param = s.params[size_t(s.varargs)];
        int64_t* data = a.ints(n);
        for (size_t i = 0; i < n; ++i) {
            if (to_int64(args[i], &data[i])) continue;
            return has_tenora_op(args[i]) ? foreign(args[i]) : misfit(&param, args[i]);
        }
        a.attributes[param.slot] = attr_span({data, n});
        spread_done = true;
        return Fit::Yes;
    }

    Fit values() {
        a.n_operands = s.n_operands;
        a.n_attributes = s.n_attributes;
        for (size_t i = 0; i < s.params.size(); ++i) {
            const Param& param = s.params[i];
            PyObject* o = given[i];
            if (!o) {
                if (spread_done && int(i) == s.varargs) continue;
                if (!param.has_default)
                    return misfit(&param, nullptr, "missing argument '" + param.name + "'");
                if (is_operand(param.type))
                    a.operands[param.slot] = param.operand;
                else
                    a.attributes[param.slot] = param.attribute;
                continue;
            }
            Fit fit;
            if (param.type == ParamType::TensorList) {
                fit = list(param, o);
            } else if (is_operand(param.type)) {
                fit = operand(param, o);
            } else {
                fit = to_attribute(param, o, a, &a.attributes[param.slot]);
                if (fit == Fit::Foreign) return fit;
                if (fit == Fit::No) return misfit(&param, o);
            }
            if (fit != Fit::Yes) return fit;
        }
        return Fit::Yes;
    }

    bool spread_done = false;
};

}  // namespace

Fit bind(const Signature& s, PyObject* const* args, size_t n_args, PyObject* kwnames, bool allow_out,
         Arguments& a, Misfit& why) {
    Binder b(s, a, why);
    if (s.n_operands > Arguments::kOperands) {
        a.operands_long.resize(size_t(s.n_operands));
        a.operands = a.operands_long.data();
    }
    Fit fit = b.positional(args, n_args);
    if (fit != Fit::Yes) return fit;
    if (kwnames) {
        fit = b.keywords(kwnames, args + n_args, allow_out);
        if (fit != Fit::Yes) return fit;
        if (b.spread_done && b.given[s.varargs])
            return b.misfit(&s.params[size_t(s.varargs)], b.given[s.varargs], "given twice");
    }
    return b.values();
}

}  // namespace tenora::python
