// Programs seen from the tracer: ProgramBuilder, Program, and the hook that calls the tracer.

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "arguments.h"
#include "module_parts.h"
#include "plain_types.h"
#include "tenora/hooks.h"
#include "tenora/program.h"
#include "tensor_object.h"

namespace py = pybind11;

PYBIND11_DECLARE_HOLDER_TYPE(T, tenora::Ref<T>)

namespace tenora::python {

namespace {

PyObject* tracer = nullptr;

uint32_t slot_of(PyObject* pair, const char* op) {
    int64_t slot = int64_argument(PyTuple_GET_ITEM(pair, 1), "slot");
    if (slot < 0 || slot > 1000000)
        raise_kind(ErrorKind::Value, "program", op,
                   "slot is out of range: got " + std::to_string(slot) + ".");
    return uint32_t(slot);
}

std::string pair_kind(PyObject* pair, const char* op) {
    if (!PyTuple_Check(pair) || PyTuple_GET_SIZE(pair) != 2 || !PyUnicode_Check(PyTuple_GET_ITEM(pair, 0))) {
        raise_kind(ErrorKind::Type, "program", op,
                   "a Program argument is wrong: got " + type_name(pair) + ", expected (kind, value).");
    }
    return to_text(PyTuple_GET_ITEM(pair, 0));
}

TensorArg tensor_arg(PyObject* o, const char* op) {
    TensorArg arg;
    if (o == Py_None) return arg;
    std::string kind = pair_kind(o, op);
    if (kind == "slot" || kind == "attribute") {
        arg.kind = kind == "slot" ? TensorArg::Kind::Slot : TensorArg::Kind::AttrScalar;
        arg.slot = slot_of(o, op);
    } else if (kind == "scalar" && to_scalar(PyTuple_GET_ITEM(o, 1), &arg.scalar)) {
        arg.kind = TensorArg::Kind::Scalar;
    } else {
        raise_kind(ErrorKind::Type, "program", op,
                   "a tensor argument is wrong: got ('" + kind +
                       "', ...), expected 'slot', 'scalar' with a number, 'attribute' or None.");
    }
    return arg;
}

std::vector<TensorArg> tensor_args(const py::sequence& list, const char* op) {
    std::vector<TensorArg> args;
    for (const py::handle item : list) args.push_back(tensor_arg(item.ptr(), op));
    return args;
}

// A constant of an attribute instruction, typed by what it is.
Attr plain_constant(PyObject* o, Arguments& a) {
    Param param;
    param.optional = true;
    if (PyBool_Check(o))
        param.type = ParamType::Bool;
    else if (PyLong_Check(o) || o == Py_None)
        param.type = ParamType::Int;
    else if (PyFloat_Check(o))
        param.type = ParamType::Float;
    else if (PyUnicode_Check(o))
        param.type = ParamType::String;
    else if (is_dtype(o))
        param.type = ParamType::DType;
    else if (is_device(o))
        param.type = ParamType::Device;
    else
        param.type = ParamType::IntList;
    return attribute_argument(param, o, a, "ProgramBuilder");
}

AttrArg attr_arg(ProgramBuilder& b, PyObject* o, const Param* param, const char* op) {
    std::string kind = pair_kind(o, op);
    AttrArg arg;
    if (kind == "slot" || kind == "attribute") {
        arg.slot = slot_of(o, op);
        return arg;
    }
    if (kind != "constant")
        raise_kind(
            ErrorKind::Type, "program", op,
            "an attribute argument is wrong: got ('" + kind + "', ...), expected 'slot' or 'constant'.");
    Arguments a;
    PyObject* value = PyTuple_GET_ITEM(o, 1);
    return b.constant(param ? attribute_argument(*param, value, a, op) : plain_constant(value, a));
}

std::vector<int> build_call(ProgramBuilder& b, const std::string& name, const py::sequence& tensors,
                            const py::sequence& attributes) {
    const OpInfo* info = find_op_info(name);
    if (!info)
        raise_kind(ErrorKind::Value, "op", b.op(), "the formula calls an unknown op: got '" + name + "'.");
    std::vector<const Param*> params;
    for (const Param& p : info->signature->params) {
        if (!is_operand(p.type)) params.push_back(&p);
    }
    if (params.size() != py::len(attributes)) {
        raise_kind(ErrorKind::Value, "program", b.op(),
                   "wrong number of attributes for '" + name + "': got " +
                       std::to_string(py::len(attributes)) + ", expected " + std::to_string(params.size()) +
                       ".");
    }
    std::vector<TensorArg> in = tensor_args(tensors, name.c_str());
    std::vector<AttrArg> attr;
    for (size_t i = 0; i < params.size(); ++i)
        attr.push_back(attr_arg(b, py::object(attributes[i]).ptr(), params[i], name.c_str()));
    return b.call(info->id, in, attr);
}

int build_attribute(ProgramBuilder& b, const std::string& code, const py::sequence& tensors,
                    const py::sequence& attributes) {
    int number = find_attr_code(code);
    if (number < 0)
        raise_kind(ErrorKind::Value, "program", b.op(), "unknown attribute instruction: got '" + code + "'.");
    std::vector<TensorArg> in = tensor_args(tensors, code.c_str());
    std::vector<AttrArg> attr;
    for (const py::handle item : attributes) attr.push_back(attr_arg(b, item.ptr(), nullptr, code.c_str()));
    return b.attribute(AttrCode(number), in, attr);
}

ProgramRef build_finish(ProgramBuilder& b, const py::sequence& outputs) {
    std::vector<int> slots;
    for (const py::handle item : outputs)
        slots.push_back(item.is_none() ? -1 : int(int64_argument(item.ptr(), "slot")));
    return b.finish(slots);
}

PyRef operand_kinds(const TraceRequest& request) {
    static const char* names[] = {"same",  "tensor",  "scalar",  "none",   // of two bits
                                  "same*", "tensor*", "tensor*", "none",   // | kComplexBit
                                  "same",  "other",   "scalar",  "none",   // | kOtherDType
                                  "same*", "other*",  "tensor*", "none"};  // | both
    PyRef tuple = own(PyTuple_New(Py_ssize_t(request.in.size())));
    for (size_t i = 0; i < request.in.size(); ++i) {
        PyTuple_SET_ITEM(tuple.get(), Py_ssize_t(i),
                         text(names[operand_kind(request.in[i], request.result) & 15]).release());
    }
    return tuple;
}

PyRef attribute_kinds(std::span<const Attr> attrs) {
    PyRef tuple = own(PyTuple_New(Py_ssize_t(attrs.size())));
    for (size_t i = 0; i < attrs.size(); ++i) {
        const Attr& a = attrs[i];
        const char* kind = a.kind == TNR_ATTR_NONE     ? "none"
                           : a.kind == TNR_ATTR_BOOL   ? "bool"
                           : a.kind == TNR_ATTR_STRING ? "str"
                           : a.kind == TNR_ATTR_DTYPE  ? "dtype"
                           : a.kind == TNR_ATTR_SPAN   ? "span"
                                                       : "number";
        bool structural = a.kind == TNR_ATTR_BOOL || a.kind == TNR_ATTR_STRING;
        PyRef value = structural ? own(attribute_object(a)) : PyRef::borrow(Py_None);
        PyTuple_SET_ITEM(tuple.get(), Py_ssize_t(i), check(Py_BuildValue("(sO)", kind, value.get())));
    }
    return tuple;
}

ProgramRef trace(const TraceRequest& request) {
    GilGuard gil;
    if (!tracer)
        raise_kind(ErrorKind::Runtime, "program", request.op.display(), "no tracer is set. Import tenora.");
    PyRef operands = operand_kinds(request), attributes = attribute_kinds(request.attr),
          name = text(request.op.spec.name);
    PyRef program = own(call_python([&] {
        return PyObject_CallFunction(tracer, "OOKOO", name.get(), request.vjp ? Py_True : Py_False,
                                     static_cast<unsigned long long>(request.needs), operands.get(),
                                     attributes.get());
    }));
    try {
        return py::cast<ProgramRef>(py::handle(program.get()));
    } catch (const py::cast_error&) {
        raise_kind(ErrorKind::Type, "program", request.op.display(),
                   "the tracer returned " + type_name(program.get()) + ", expected a Program.");
    }
}

void set_tracer(const py::object& callable) {
    PyObject* value = callable.is_none() ? nullptr : Py_NewRef(callable.ptr());
    Py_XSETREF(tracer, value);
}

}  // namespace

void install_trace_hook() { hooks().trace = trace; }

void add_programs(PyObject* module) {
    py::module_ m = py::reinterpret_borrow<py::module_>(module);
    py::class_<Program, ProgramRef>(m, "Program", "A linear list of op calls over numbered slots.")
        .def_readonly("op", &Program::op)
        .def_readonly("n_tensors", &Program::n_tensors)
        .def_readonly("n_attributes", &Program::n_attrs)
        .def_readonly("outputs", &Program::outputs)
        .def_readonly("dynamic", &Program::dynamic)
        .def_property_readonly(
            "reads_data",
            [](const Program& p) { return std::vector<bool>(p.reads_data.begin(), p.reads_data.end()); })
        .def_property_readonly(
            "reads_meta",
            [](const Program& p) { return std::vector<bool>(p.reads_meta.begin(), p.reads_meta.end()); })
        .def("__len__", [](const Program& p) { return p.code.size(); })
        .def("__str__", &Program::str);
    py::class_<ProgramBuilder>(m, "ProgramBuilder", "Collects the calls of a formula while it is traced.")
        .def(py::init<std::string, int, int>(), py::arg("op"), py::arg("n_tensors"), py::arg("n_attributes"))
        .def_property_readonly("op", &ProgramBuilder::op)
        .def("call", build_call, py::arg("op"), py::arg("tensors"), py::arg("attributes"))
        .def("attribute", build_attribute, py::arg("code"), py::arg("tensors"), py::arg("attributes"))
        .def("finish", build_finish, py::arg("outputs"));
    m.def("set_tracer", set_tracer, py::arg("callable"));
    m.def("trace_count", trace_count);
    m.def("dynamic_program", dynamic_program, py::arg("op"), py::arg("n_tensors"), py::arg("n_attributes"),
          py::arg("n_outputs"));
}

}  // namespace tenora::python
