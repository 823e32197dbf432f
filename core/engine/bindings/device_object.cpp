// `device`: a type name and an index. A device may be named before the backend that brings its memory is
// loaded; it is resolved to a memory space when it is used, and then the chooser may load a backend.

#include <algorithm>

#include "plain_types.h"
#include "tenora/hooks.h"
#include "tenora/modes.h"
#include "tenora/op.h"

namespace tenora::python {

namespace {

PyObject* chooser = nullptr;
PyObject* host_device = nullptr;  // the one everybody asks for

PyObject* new_device(PyObject* type, int index) {
    auto* o = PyObject_New(DeviceObject, &DeviceType);
    check(reinterpret_cast<PyObject*>(o));
    o->type = Py_NewRef(type);
    o->index = index;
    return reinterpret_cast<PyObject*>(o);
}

DeviceObject* fields(PyObject* o) { return reinterpret_cast<DeviceObject*>(o); }

PyObject* from_text(const std::string& name, int index, const char* op) {
    std::string type = name;
    size_t colon = name.find(':');
    if (colon != std::string::npos) {
        type = name.substr(0, colon);
        std::string digits = name.substr(colon + 1);
        bool good = !digits.empty() && digits.size() <= 3 &&
                    std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; });
        if (!good || index >= 0) {
            raise_kind(ErrorKind::Runtime, "device", op,
                       "bad device text: got '" + name + "', expected 'type' or 'type:index'.");
        }
        index = std::stoi(digits);
    }
    bool good = !type.empty() && std::all_of(type.begin(), type.end(), [](char c) {
        return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
    });
    if (!good || index > 254) {
        raise_kind(ErrorKind::Runtime, "device", op,
                   "bad device text: got '" + name + "', expected 'type' or 'type:index'.");
    }
    if (type == "cpu" && index == 0) index = -1;
    PyRef type_text = text(type);
    return new_device(type_text.get(), index);
}

PyObject* device_new(PyTypeObject*, PyObject* args, PyObject* kwargs) {
    PyObject* type = nullptr;
    int index = -1;
    static const char* names[] = {"type", "index", nullptr};
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|i:device", const_cast<char**>(names), &type, &index))
        return nullptr;
    return guarded([&]() -> PyObject* {
        if (is_device(type) && index < 0) return Py_NewRef(type);
        if (!PyUnicode_Check(type)) {
            raise_kind(ErrorKind::Type, "type", "device",
                       "type is wrong: got " + type_name(type) + ", expected a str.");
        }
        return from_text(to_text(type), index, "device");
    });
}

void device_dealloc(PyObject* self) {
    Py_XDECREF(fields(self)->type);
    PyObject_Free(self);
}

PyObject* device_str(PyObject* self) {
    if (fields(self)->index < 0) return Py_NewRef(fields(self)->type);
    return PyUnicode_FromFormat("%U:%d", fields(self)->type, fields(self)->index);
}

PyObject* device_repr(PyObject* self) {
    if (fields(self)->index < 0) return PyUnicode_FromFormat("device(type='%U')", fields(self)->type);
    return PyUnicode_FromFormat("device(type='%U', index=%d)", fields(self)->type, fields(self)->index);
}

PyObject* device_richcompare(PyObject* a, PyObject* b, int op) {
    if (!is_device(a) || !is_device(b) || (op != Py_EQ && op != Py_NE)) Py_RETURN_NOTIMPLEMENTED;
    bool same =
        fields(a)->index == fields(b)->index && PyUnicode_Compare(fields(a)->type, fields(b)->type) == 0;
    return new_bool(same == (op == Py_EQ));
}

Py_hash_t device_hash(PyObject* self) {
    Py_hash_t h = PyObject_Hash(fields(self)->type);
    return h == -1 ? -1 : (h ^ (Py_hash_t(fields(self)->index) * 1000003)) & PY_SSIZE_T_MAX;
}

PyObject* get_type(PyObject* self, void*) { return Py_NewRef(fields(self)->type); }
PyObject* get_index(PyObject* self, void*) {
    return fields(self)->index < 0 ? new_none() : PyLong_FromLong(fields(self)->index);
}
PyObject* device_reduce(PyObject* self, PyObject*) {
    return Py_BuildValue("(O(Oi))", reinterpret_cast<PyObject*>(&DeviceType), fields(self)->type,
                         fields(self)->index);
}
PyObject* device_copy(PyObject* self, PyObject*) { return Py_NewRef(self); }

PyGetSetDef getset[] = {{"type", get_type, nullptr, "Type of the memory space: 'cpu', 'cuda', ...", nullptr},
                        {"index", get_index, nullptr, "Number of the device, or None.", nullptr},
                        {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyMethodDef methods[] = {{"__reduce__", device_reduce, METH_NOARGS, nullptr},
                         {"__copy__", device_copy, METH_NOARGS, nullptr},
                         {"__deepcopy__", device_copy, METH_O, nullptr},
                         {nullptr, nullptr, 0, nullptr}};

// Asks the chooser for the backend of a device type; it may load one. Name of the backend.
std::string ask_chooser(const std::string& space_name) {
    if (!chooser) {
        fail(ErrorKind::Runtime, "device", "",
             "no backend for device type '" + space_name +
                 "': nothing chooses one. Import tenora, or register a backend and set it as the default.");
    }
    PyRef answer = own(call_python([&] { return PyObject_CallFunction(chooser, "s", space_name.c_str()); }));
    return to_text(answer.get());
}

BackendId choose_backend(uint8_t space_id) {
    GilGuard gil;
    std::string name = ask_chooser(space(space_id).name);
    int id = find_backend(name);
    if (id < 0) {
        fail(ErrorKind::Runtime, "backend", "", "the chosen backend is not registered: got '" + name + "'.");
    }
    return BackendId(id);
}

}  // namespace

PyTypeObject DeviceType = {PyVarObject_HEAD_INIT(nullptr, 0) "tenora.device", sizeof(DeviceObject)};

PyObject* device_object(Device device) {
    if (device.space == 0 && host_device) return Py_NewRef(host_device);
    PyRef type = text(space(device).name);
    return new_device(type.get(), device.space == 0 ? -1 : device.index);
}

PyObject* parse_device(PyObject* o, const char* op) {
    if (is_device(o)) return Py_NewRef(o);
    if (PyUnicode_Check(o)) return from_text(to_text(o), -1, op);
    raise_kind(ErrorKind::Type, "type", op,
               "device is wrong: got " + type_name(o) + ", expected a tenora.device or a str.");
}

Device resolve_device(PyObject* o, const char* op) {
    PyRef device = PyRef::steal(parse_device(o, op));
    std::string type = to_text(fields(device.get())->type);
    int index = fields(device.get())->index;
    int id = find_space(type);
    if (id < 0) {
        if (*op)
            named(op, [&] { ask_chooser(type); });
        else
            ask_chooser(type);
        id = find_space(type);
        if (id < 0)
            raise_kind(ErrorKind::Runtime, "device", op,
                       "unknown device type: got '" + type + "', no backend brought it.");
    }
    if (index < 0) index = modes().device_index[id];
    int count = space(uint8_t(id)).device_count();
    if (index >= count) {
        raise_kind(ErrorKind::Runtime, "device", op,
                   "no such device: got '" + type + ":" + std::to_string(index) +
                       "', expected an index below " + std::to_string(count) + ".");
    }
    return Device{uint8_t(id), uint8_t(index)};
}

Device device_argument(PyObject* o, const char* op) {
    if (!o || o == Py_None) return Device{};
    return resolve_device(o, op);
}

void set_chooser(PyObject* callable) {
    PyObject* value = callable == Py_None ? nullptr : Py_NewRef(callable);
    Py_XSETREF(chooser, value);
}

void install_chooser_hook() { hooks().choose_backend = choose_backend; }

void ready_device_type(PyObject* module) {
    DeviceType.tp_doc =
        PyDoc_STR("A memory space and an index: `device('cpu')`, `device('cuda:0')`, `device('cuda', 0)`.");
    DeviceType.tp_flags = Py_TPFLAGS_DEFAULT;
    DeviceType.tp_new = device_new;
    DeviceType.tp_dealloc = device_dealloc;
    DeviceType.tp_str = device_str;
    DeviceType.tp_repr = device_repr;
    DeviceType.tp_richcompare = device_richcompare;
    DeviceType.tp_hash = device_hash;
    DeviceType.tp_getset = getset;
    DeviceType.tp_methods = methods;
    check_status(PyType_Ready(&DeviceType));
    check_status(PyModule_AddObjectRef(module, "device", reinterpret_cast<PyObject*>(&DeviceType)));
    host_device = device_object(Device{});
}

}  // namespace tenora::python
