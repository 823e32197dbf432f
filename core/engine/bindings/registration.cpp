// Registration of ops from their records, and the OpFunctions made of them.

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <map>

#include "module_parts.h"
#include "op_function.h"
#include "operators.h"
#include "plain_types.h"
#include "python_rule.h"
#include "tenora/dispatch.h"
#include "tenora/hooks.h"
#include "tensor_object.h"
#include "tensor_pickle.h"

namespace py = pybind11;

namespace tenora::python {

void set_formatter(PyObject* callable);  // tensor_sequence.cpp

namespace {

Implementation implementation_of(const std::string& name, const std::string& op) {
    if (name == "kernel") return Implementation::Kernel;
    if (name == "view") return Implementation::View;
    if (name == "structural") return Implementation::Structural;
    if (name == "composite") return Implementation::Composite;
    if (name == "function") return Implementation::Function;
    raise_kind(ErrorKind::Value, "op", op,
               "unknown implementation: got '" + name +
                   "', expected kernel, view, structural, composite or function.");
}

struct Fields {
    const py::dict& given;
    std::string op;
    size_t used = 0;

    py::object take(const char* name) {
        if (!given.contains(name)) return py::none();
        ++used;
        return given[name];
    }
    std::string string(const char* name, const char* fallback = "") {
        py::object v = take(name);
        return v.is_none() ? fallback : to_text(v.ptr());
    }
    bool flag(const char* name) {
        py::object v = take(name);
        return !v.is_none() && PyObject_IsTrue(v.ptr()) == 1;
    }
    uint64_t mask(const char* name, uint64_t fallback) {
        py::object v = take(name);
        if (v.is_none()) return fallback;
        uint64_t mask = PyLong_AsUnsignedLongLongMask(v.ptr());
        if (PyErr_Occurred()) throw_python();
        return mask;
    }
};

void rule(Fields& f, const char* name, std::string& native, Rule& python) {
    py::object v = f.take(name);
    if (v.is_none()) return;
    if (PyUnicode_Check(v.ptr()))
        native = to_text(v.ptr());
    else
        python = python_rule(v.ptr(), f.op, std::string(name) == "dtype_rule");
}

// PyTorch's form: the name, and each result in a line of its own.
PyObject* show_results(PyObject* self, PyObject*) {
    return guarded([&] {
        PyRef names =
            own(PyObject_GetAttrString(reinterpret_cast<PyObject*>(Py_TYPE(self)), "__match_args__"));
        std::string shown = std::string(Py_TYPE(self)->tp_name) + "(\n";
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names.get()); ++i) {
            PyRef value = own(PyObject_Repr(PyTuple_GET_ITEM(self, i)));
            shown +=
                (i ? ",\n" : "") + to_text(PyTuple_GET_ITEM(names.get(), i)) + "=" + to_text(value.get());
        }
        return text(shown + ")").release();
    });
}
PyMethodDef show_results_method = {"__repr__", show_results, METH_NOARGS, "Return repr(self)."};

// The type of several named results: a struct sequence, which is a tuple with attributes. Overloads of one
// name share it. Called with the GIL.
PyTypeObject* make_result_type(const std::string& name, const std::vector<std::string>& results) {
    static auto* made = new std::map<std::pair<std::string, std::vector<std::string>>, PyTypeObject*>();
    PyTypeObject*& known = (*made)[{name, results}];
    if (known) return known;
    auto* strings = new std::vector<std::string>(results);  // the type points at them for ever
    auto* fields = new std::vector<PyStructSequence_Field>();
    for (const std::string& field : *strings) fields->push_back({field.c_str(), nullptr});
    fields->push_back({nullptr, nullptr});
    auto* full_name = new std::string("tenora.return_types." + name);
    PyStructSequence_Desc desc{full_name->c_str(), "Named results.", fields->data(), int(results.size())};
    auto* type = PyStructSequence_NewType(&desc);
    check(reinterpret_cast<PyObject*>(type));
    PyRef show = own(PyDescr_NewMethod(type, &show_results_method));
    check_status(PyObject_SetAttrString(reinterpret_cast<PyObject*>(type), "__repr__", show.get()));
    known = type;
    return type;
}

int register_op_binding(const py::kwargs& kwargs) {
    Fields f{kwargs, kwargs.contains("name") ? to_text(py::object(kwargs["name"]).ptr())
                                             : std::string("register_op")};
    OpSpec spec;
    spec.name = f.string("name");
    const Signature* s = parse_signature(f.string("signature"));
    spec.display = f.string("display", s->name.c_str());
    spec.kernel = f.string("kernel");
    spec.n_in = s->n_operands - (s->variadic ? 1 : 0);
    spec.variadic = s->variadic;
    spec.n_out = s->n_out;
    spec.n_attr = s->n_attributes;
    rule(f, "dtype_rule", spec.dtype_rule, spec.python_dtype_rule);
    rule(f, "shape_rule", spec.shape_rule, spec.python_shape_rule);
    spec.prepare = f.string("prepare");
    spec.structural = f.string("structural");
    spec.implementation = implementation_of(f.string("implementation", "kernel"), spec.name);
    spec.differentiable = f.flag("differentiable");
    spec.through = f.flag("through");
    spec.dynamic_vjp = f.flag("dynamic_vjp");
    spec.shape_only = f.mask("shape_only", 0);
    spec.apart = f.mask("apart", 0);
    spec.masks = f.mask("masks", 0);
    spec.output_differentiable = f.mask("output_differentiable", ~0ull);
    spec.random = f.flag("random");
    spec.inplace_ok = f.flag("inplace_ok");
    spec.out_ok = f.flag("out_ok");
    spec.reads_self_for_inplace = f.flag("reads_self_for_inplace");
    spec.checks_data = f.flag("checks_data");
    spec.exact_target = f.flag("exact_target");
    OpInfo info;
    py::object results = f.take("result");
    std::string result_name = f.string("result_name", spec.display.c_str());
    if (!results.is_none()) info.results = results.cast<std::vector<std::string>>();
    if (f.used != kwargs.size()) {
        raise_kind(ErrorKind::Type, "type", "register_op",
                   "unknown field for op '" + spec.name + "': got " +
                       std::string(py::str(py::list(kwargs.attr("keys")()))) + ".");
    }
    if (!info.results.empty()) {
        if (int(info.results.size()) != s->n_out)
            raise_kind(ErrorKind::Value, "op", spec.name,
                       "result names differ in number from the results of the signature.");
        if (s->n_out > 1) info.result_type = make_result_type(result_name, info.results);
    }
    info.out_ok = spec.out_ok;
    info.inplace_ok = spec.inplace_ok;
    info.signature = s;
    info.id = register_op(std::move(spec)).id;
    int id = info.id;
    add_op_info(std::move(info));
    return id;
}

py::object result_type_binding(const std::string& name, const std::vector<std::string>& results) {
    return py::reinterpret_borrow<py::object>(reinterpret_cast<PyObject*>(make_result_type(name, results)));
}

py::object make_function_binding(const std::string& name, const std::vector<std::string>& ops,
                                 const std::string& kind, const py::object& doc, const std::string& module,
                                 const std::string& qualname) {
    OpKind k;
    if (kind == "function")
        k = OpKind::Function;
    else if (kind == "method")
        k = OpKind::Method;
    else if (kind == "inplace")
        k = OpKind::InPlace;
    else
        raise_kind(ErrorKind::Value, "value", "make_function",
                   "unknown kind: got '" + kind + "', expected function, method or inplace.");
    return py::reinterpret_steal<py::object>(make_op_function(name, ops, k, doc.ptr(), module, qualname));
}

void set_tensor_method(const std::string& name, const py::object& object) {
    check_status(PyDict_SetItemString(TensorType.tp_dict, name.c_str(), object.ptr()));
    PyType_Modified(&TensorType);
}

py::dict op_info_binding(const std::string& name) {
    const OpInfo* info = find_op_info(name);
    if (!info) {
        std::vector<std::string> names = op_names(), close = nearest(name, names);
        raise_kind(
            ErrorKind::Value, "op", "op_info",
            "unknown op: got '" + name + "'." + (close.empty() ? "" : " Did you mean '" + close[0] + "'?"));
    }
    const OpSpec& spec = op(info->id).spec;
    const Signature& s = *info->signature;
    static const char* implementations[] = {"kernel", "view", "structural", "composite", "function"};
    py::dict d;
    d["id"] = int(info->id);
    d["name"] = spec.name;
    d["display"] = spec.display;
    d["kernel"] = spec.kernel;
    d["signature"] = s.text;
    d["n_in"] = spec.n_in;
    d["variadic"] = spec.variadic;
    d["n_out"] = spec.n_out;
    d["n_attr"] = spec.n_attr;
    d["attributes"] = std::vector<std::string>(s.attribute_names.begin(), s.attribute_names.end());
    d["implementation"] = implementations[size_t(spec.implementation)];
    d["differentiable"] = spec.differentiable;
    d["through"] = spec.through;
    d["random"] = spec.random;
    // What a kernel is handed in place of the declared operands and attributes; None: those.
    const Prepare* prepare = op(info->id).prepare;
    d["kernel_inputs"] = prepare && prepare->inputs ? py::object(py::str(prepare->inputs)) : py::none();
    d["kernel_attributes"] =
        prepare && prepare->attributes ? py::object(py::str(prepare->attributes)) : py::none();
    d["inplace_ok"] = spec.inplace_ok;
    d["out_ok"] = spec.out_ok;
    d["result"] = info->results;
    d["calls"] = op(info->id).calls.load();
    return d;
}

void warn(const char* category, const std::string& message) {
    if (!Py_IsInitialized()) return;
    GilGuard gil;
    std::string_view name = category ? category : "";
    PyObject* type = name == "FutureWarning"    ? PyExc_FutureWarning
                     : name == "RuntimeWarning" ? PyExc_RuntimeWarning
                                                : PyExc_UserWarning;
    if (PyErr_WarnEx(type, message.c_str(), 1) < 0) throw_python();
}

template <void (*F)(PyObject*)>
void call_setter(const py::object& o) {
    F(o.ptr());
}

}  // namespace

void install_warning_hook() { hooks().warn = warn; }

void add_registration(PyObject* module) {
    py::module_ m = py::reinterpret_borrow<py::module_>(module);
    ready_op_function_types(module);
    m.def("register_op", register_op_binding);
    m.def("make_function", make_function_binding, py::arg("name"), py::arg("ops"),
          py::arg("kind") = "function", py::kw_only(), py::arg("doc") = py::none(),
          py::arg("module") = "tenora", py::arg("qualname") = "");
    m.def("make_result_type", result_type_binding, py::arg("name"), py::arg("results"));
    m.def("set_tensor_method", set_tensor_method, py::arg("name"), py::arg("object"));
    m.def(
        "set_operator", [](const std::string& slot, const py::object& f) { set_operator(slot, f.ptr()); },
        py::arg("slot"), py::arg("op_function"));
    m.def("op_info", op_info_binding, py::arg("name"));
    m.def("op_names", op_names);
    m.def("announce_op", announce_op, py::arg("name"), py::arg("takes_kernels"));
    m.def("set_op_loader", call_setter<set_op_loader>, py::arg("callable"));
    m.def("rule_names", rule_names);
    m.def("set_chooser", call_setter<set_chooser>, py::arg("callable"));
    m.def("set_error_classes", call_setter<set_error_classes>, py::arg("classes"));
    m.def("set_formatter", call_setter<set_formatter>, py::arg("callable"));
    m.def("set_rebuild", call_setter<set_rebuild>, py::arg("callable"));
    m.def("set_function_caller", call_setter<set_function_caller>, py::arg("callable"));
    m.def("set_formula_caller", call_setter<set_formula_caller>, py::arg("callable"));
}

}  // namespace tenora::python
