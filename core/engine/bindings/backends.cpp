// Backends and their kernels: registration from Python, choice per space and thread, fallback.

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "arguments.h"
#include "module_parts.h"
#include "native_backend.h"
#include "plain_types.h"
#include "python_kernel.h"
#include "python_space.h"
#include "tenora/dispatch.h"
#include "tenora/modes.h"
#include "tenora/ring.h"
#include "tensor_object.h"

namespace py = pybind11;

namespace tenora::python {

namespace {

PyObject* wrappers[kMaxBackends];  // per backend: makes native arrays of memory that the host cannot read

uint8_t space_id(const std::string& name) {
    int id = find_space(name);
    if (id < 0)
        raise_kind(ErrorKind::Value, "device", "backend", "unknown memory space: got '" + name + "'.");
    return uint8_t(id);
}

BackendId backend_id(const std::string& name) {
    int id = find_backend(name);
    if (id < 0) {
        std::vector<std::string> names = backend_names(), close = nearest(name, names);
        raise_kind(ErrorKind::Value, "backend", "backend",
                   "no such backend is loaded: got '" + name + "'." +
                       (close.empty() ? "" : " Did you mean '" + close[0] + "'?"));
    }
    return BackendId(id);
}

int register_backend_binding(const std::string& name, const std::string& version,
                             const std::vector<std::string>& spaces, const py::object& wrap, bool reference) {
    if (spaces.empty())
        raise_kind(ErrorKind::Value, "backend", "register_backend",
                   "backend '" + name + "' serves no memory space.");
    if (!wrap.is_none() && !PyCallable_Check(wrap.ptr()))
        raise_kind(ErrorKind::Type, "backend", "register_backend", "wrap must be callable.");
    std::vector<uint8_t> ids;
    for (const std::string& s : spaces) ids.push_back(space_id(s));
    Backend& b = add_backend(name, version, ids);
    b.reference = reference;
    if (!wrap.is_none()) wrappers[b.id] = Py_NewRef(wrap.ptr());
    return b.id;
}

void register_kernel_binding(const std::string& backend_name, const std::string& op,
                             const py::object& function, uint32_t dtypes, uint32_t flags,
                             const py::object& supports) {
    BackendId id = backend_id(backend_name);
    KernelEntry entry = python_kernel(op, function.ptr(), supports.ptr(), wrappers[id], backend_name);
    entry.dtypes = dtypes;
    entry.flags = flags;
    register_kernel(id, op, entry);
}

py::dict load_binding(const std::string& path, const std::string& expected,
                      const std::map<std::string, std::string>& options) {
    NativeReport r = load_native_backend(path, expected, options);
    py::dict d;
    d["name"] = r.name;
    d["version"] = r.version;
    d["opset_version"] = r.opset_version;
    d["abi_version"] = r.abi_version;
    d["spaces"] = r.spaces;
    d["kernels"] = r.kernels;
    d["id"] = r.id;
    return d;
}

py::object name_or_none(BackendId id) {
    return id == kNoBackend ? py::object(py::none()) : py::object(py::str(backend(id).name));
}

BackendId id_or_none(const py::object& name, uint8_t space_number) {
    if (name.is_none()) return kNoBackend;
    BackendId id = backend_id(to_text(name.ptr()));
    if (!backend(id).serves(space_number)) {
        raise_kind(ErrorKind::Value, "backend", "backend",
                   "backend '" + backend(id).name + "' does not serve '" + space(space_number).name + "'.");
    }
    return id;
}

void set_default_binding(const std::string& space_name, const py::object& name) {
    uint8_t s = space_id(space_name);
    set_default_backend(s, id_or_none(name, s));
}

py::object set_override(const std::string& space_name, const py::object& name) {
    uint8_t s = space_id(space_name);
    BackendId id = id_or_none(name, s), old = modes().override_backend[s];
    modes().override_backend[s] = id;
    return name_or_none(old);
}

std::string set_fallback(const std::string& mode) {
    static const char* names[] = {"error", "warn", "allow"};
    uint8_t old = modes().fallback;
    for (uint8_t i = 0; i < 3; ++i) {
        if (mode != names[i]) continue;
        modes().fallback = i;
        return names[old];
    }
    raise_kind(ErrorKind::Value, "value", "set_fallback",
               "unknown mode: got '" + mode + "', expected error, warn or allow.");
}

py::list fallbacks() {
    py::list rows;
    for (const FallbackCount& f : fallback_counts()) rows.append(py::make_tuple(f.op, f.backend, f.calls));
    return rows;
}

py::dict explain_binding(const std::string& name, const py::object& device, const py::object& dtype) {
    const OpInfo* found = find_op_info(name);
    if (!found) raise_kind(ErrorKind::Value, "op", "explain", "unknown op: got '" + name + "'.");
    DType d = dtype_argument(dtype.ptr(), "explain");
    Explanation e =
        explain(found->id, device_argument(device.ptr(), "explain"), d == DType::None ? default_dtype() : d);
    py::dict out;
    out["implementation"] = e.implementation;
    out["backend"] = e.backend;
    out["reason"] = e.reason;
    return out;
}

std::vector<std::string> space_names() {
    std::vector<std::string> names;
    space(uint8_t(0));  // the host is always there
    for (int i = 0; i < space_count(); ++i) names.push_back(space(uint8_t(i)).name);
    return names;
}

py::dict backend_info(const std::string& name) {
    const Backend& b = backend(backend_id(name));
    py::dict d;
    d["name"] = b.name;
    d["version"] = b.version;
    d["host_order"] = b.host_order;
    d["reference"] = b.reference;
    py::list spaces, kernels;
    for (uint8_t s : b.spaces) spaces.append(space(s).name);
    for (const std::string& op_name : kernel_names(b.id)) kernels.append(op_name);
    d["spaces"] = spaces;
    d["kernels"] = kernels;
    return d;
}

}  // namespace

void add_backends(PyObject* module) {
    py::module_ m = py::reinterpret_borrow<py::module_>(module);
    using py::arg;
    m.def("register_backend", register_backend_binding, arg("name"), arg("version"), arg("spaces"),
          py::kw_only(), arg("wrap") = py::none(), arg("reference") = false);
    m.def("register_space", register_python_space, arg("device_type"), arg("provider"));
    m.def("register_kernel", register_kernel_binding, arg("backend"), arg("op"), arg("fn"), py::kw_only(),
          arg("dtypes") = uint32_t(TNR_MASK_ALL), arg("flags") = 0u, arg("supports") = py::none());
    m.def("load_native_backend", load_binding, arg("path"), arg("expected_name") = "",
          arg("options") = std::map<std::string, std::string>());
    m.def("set_backend_option", set_backend_option, arg("backend"), arg("option"), arg("value"));
    m.def("shutdown_backends", shutdown_native_backends);
    m.def("set_host_info", set_host_info, arg("tenora_version"), arg("opset_version"));
    m.def("backend_names", backend_names);
    m.def("backend_info", backend_info, arg("name"));
    m.def("space_names", space_names);
    m.def("set_default_backend", set_default_binding, arg("space"), arg("name"));
    m.def(
        "default_backend",
        [](const std::string& s) { return name_or_none(default_backends[space_id(s)].load()); },
        arg("space"));
    m.def(
        "current_backend", [](const std::string& s) { return name_or_none(current_backend(space_id(s))); },
        arg("space"));
    m.def("set_override_backend", set_override, arg("space"), arg("name"));
    m.def("set_fallback", set_fallback, arg("mode"));
    m.def("set_no_hidden_copies", set_no_hidden_copies, arg("on"));
    m.def(
        "guard_backend", [](const std::string& name, bool on) { guard_backend(backend_id(name), on); },
        arg("name"), arg("on"));
    m.def("fallbacks", fallbacks);
    m.def("reset_fallbacks", reset_fallback_counts);
    m.def("explain", explain_binding, arg("op"), arg("device") = py::none(), arg("dtype") = py::none());
}

}  // namespace tenora::python
