// `Generator`: seed and offset of the counter-based random numbers.
//   - Its methods are PyTorch's. A state is 16 bytes, seed and offset, of the machine's own byte order.
//   - `philox_state` gives the same as two numbers.

#include "generator_object.h"

#include <array>
#include <cstring>

#include "arguments.h"
#include "module_parts.h"
#include "plain_types.h"
#include "tenora/dispatch.h"
#include "tensor_object.h"

namespace tenora::python {

namespace {

using State = Generator::State;

PyRef integer_argument(PyObject* o, const char* op, const char* what) {
    if (PyBool_Check(o) || !PyIndex_Check(o))
        raise_kind(
            ErrorKind::Type, "type", op,
            std::string(what) + " is no integer: got " + type_name(o) + ", expected an int. Pass an int.");
    return own(PyNumber_Index(o));
}

[[noreturn]] void beyond(PyObject* number, const char* op, const char* what, const char* expected) {
    PyRef bits = own(PyObject_CallMethod(number, "bit_length", nullptr));
    raise_kind(ErrorKind::Value, "value", op,
               std::string(what) + " is out of range: got an int of " +
                   std::to_string(PyLong_AsLong(bits.get())) + " bits, expected " + expected +
                   ". Pass a smaller number.");
}

uint64_t offset_argument(PyObject* o, const char* op) {
    PyRef number = integer_argument(o, op, "offset");
    uint64_t value = PyLong_AsUnsignedLongLong(number.get());
    if (!PyErr_Occurred()) return value;
    PyErr_Clear();
    beyond(number.get(), op, "offset", "0 to 2**64 - 1");
}

PyObject* generator_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
    PyObject *seed = nullptr, *device = nullptr;
    static const char* names[] = {"seed", "device", nullptr};
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|OO:Generator", const_cast<char**>(names), &seed,
                                     &device))
        return nullptr;
    return guarded([&] {
        if (seed && (is_device(seed) || PyUnicode_Check(seed))) std::swap(seed, device);  // Generator("cuda")
        uint64_t value = seed && seed != Py_None ? seed_argument(seed, "Generator") : 0;
        PyRef self = own(type->tp_alloc(type, 0));
        reinterpret_cast<GeneratorObject*>(self.get())->impl =
            new Generator(device_argument(device, "Generator"), value);
        return self.release();
    });
}

void generator_dealloc(PyObject* self) {
    if (generator_of(self)) generator_of(self)->release();
    Py_TYPE(self)->tp_free(self);
}

PyObject* get_device(PyObject* self, void*) {
    return guarded([&] { return device_object(generator_of(self)->device); });
}

PyObject* initial_seed(PyObject* self, PyObject*) {
    return PyLong_FromUnsignedLongLong(generator_of(self)->get_state().seed);
}

PyObject* manual_seed_method(PyObject* self, PyObject* seed) {
    return guarded([&] {
        generator_of(self)->set_state({seed_argument(seed, "manual_seed"), 0});
        return Py_NewRef(self);
    });
}

PyObject* seed_method(PyObject* self, PyObject*) {
    return guarded([&] {
        uint64_t seed = system_seed();
        generator_of(self)->set_state({seed, 0});
        return check(PyLong_FromUnsignedLongLong(seed));
    });
}

PyObject* get_offset(PyObject* self, PyObject*) {
    return PyLong_FromUnsignedLongLong(generator_of(self)->get_state().offset);
}

PyObject* set_offset(PyObject* self, PyObject* offset) {
    return guarded([&] {
        uint64_t value = offset_argument(offset, "set_offset");
        generator_of(self)->set_state({generator_of(self)->get_state().seed, value});
        return Py_NewRef(self);
    });
}

PyObject* advance(PyObject* self, PyObject* counters) {
    return guarded([&] {
        int64_t n = int64_argument(counters, "counters");
        if (n < 0)
            raise_kind(ErrorKind::Value, "value", "advance",
                       "counters are negative: got " + std::to_string(n) +
                           ", expected 0 or more. Use set_offset to go back.");
        return check(PyLong_FromUnsignedLongLong(generator_of(self)->take(uint64_t(n)).offset));
    });
}

PyObject* philox_state(PyObject* self, PyObject*) {
    State s = generator_of(self)->get_state();
    return Py_BuildValue("(KK)", static_cast<unsigned long long>(s.seed),
                         static_cast<unsigned long long>(s.offset));
}

PyObject* get_state(PyObject* self, PyObject*) {
    return guarded([&] {
        State s = generator_of(self)->get_state();
        static_assert(sizeof s == 16);
        std::array<int64_t, 1> shape{sizeof s};
        TensorRef bytes = new_tensor(shape, DType::U8, Device{});
        std::memcpy(bytes->dl.data, &s, sizeof s);
        return check(wrap(std::move(bytes)));
    });
}

PyObject* set_state(PyObject* self, PyObject* state) {
    return guarded([&] {
        const std::string hint = " Pass what get_state() returned.";
        if (!is_tensor(state))
            raise_kind(ErrorKind::Type, "type", "set_state",
                       "state is no tensor: got " + type_name(state) + ", expected a uint8 tensor." + hint);
        TensorRef t(impl_of(state));
        if (t->dtype != DType::U8 || !(t->device == Device{}))
            raise_kind(ErrorKind::Type, "dtype", "set_state",
                       "state: got " + std::string(info(t->dtype).name) + " on " +
                           to_text(own(PyObject_Str(own(device_object(t->device)).get())).get()) +
                           ", expected uint8 on cpu." + hint);
        State s;
        if (t->numel != sizeof s)
            raise_kind(ErrorKind::Runtime, "shape", "set_state",
                       "state: got " + std::to_string(t->numel) + " bytes, expected 16." + hint);
        t = contiguous(t.get(), "set_state");
        std::memcpy(&s, t->dl.data, sizeof s);
        generator_of(self)->set_state(s);
        return Py_NewRef(self);
    });
}

PyObject* clone_state(PyObject* self, PyObject*) {
    return guarded([&] {
        GeneratorRef copy = GeneratorRef::steal(new Generator(generator_of(self)->device));
        copy->set_state(generator_of(self)->get_state());
        return generator_object(copy.get());
    });
}

PyObject* generator_reduce(PyObject* self, PyObject*) {
    return guarded([&] {
        State s = generator_of(self)->get_state();
        return check(Py_BuildValue(
            "O(KN)K", reinterpret_cast<PyObject*>(Py_TYPE(self)), static_cast<unsigned long long>(s.seed),
            check(device_object(generator_of(self)->device)), static_cast<unsigned long long>(s.offset)));
    });
}

PyObject* default_generator_binding(PyObject*, PyObject* args) {
    PyObject* device = nullptr;
    if (!PyArg_ParseTuple(args, "|O:default_generator", &device)) return nullptr;
    return guarded(
        [&] { return generator_object(&default_generator(device_argument(device, "default_generator"))); });
}

PyGetSetDef getset[] = {{"device", get_device, nullptr, "Device whose default it may be.", nullptr},
                        {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyMethodDef methods[] = {
    {"manual_seed", manual_seed_method, METH_O, "Sets the seed and the offset 0; returns the generator."},
    {"initial_seed", initial_seed, METH_NOARGS, "The seed."},
    {"seed", seed_method, METH_NOARGS, "Draws a seed from the system, sets it and returns it."},
    {"get_state", get_state, METH_NOARGS, "Seed and offset as a uint8 tensor of 16 bytes on the host."},
    {"set_state", set_state, METH_O, "Sets what get_state() returned; returns the generator."},
    {"clone_state", clone_state, METH_NOARGS, "Another generator in the same state."},
    {"philox_state", philox_state, METH_NOARGS, "(seed, offset), the key and the next counter."},
    {"get_offset", get_offset, METH_NOARGS, "Counters consumed so far."},
    {"set_offset", set_offset, METH_O, "Sets how many counters have been consumed."},
    {"advance", advance, METH_O, "Takes n counters; returns the offset before."},
    {"__reduce__", generator_reduce, METH_NOARGS, "Copies and pickles are generators of their own."},
    {"__setstate__", set_offset, METH_O, "What unpickling calls."},
    {nullptr, nullptr, 0, nullptr}};
PyMethodDef functions[] = {{"default_generator", default_generator_binding, METH_VARARGS,
                            "default_generator(device=None) -> Generator."},
                           {nullptr, nullptr, 0, nullptr}};

}  // namespace

PyTypeObject GeneratorType = {PyVarObject_HEAD_INIT(nullptr, 0) "tenora.Generator", sizeof(GeneratorObject)};

uint64_t seed_argument(PyObject* o, const char* op) {
    PyRef number = integer_argument(o, op, "seed");
    int overflow = 0;
    long long value = PyLong_AsLongLongAndOverflow(number.get(), &overflow);
    if (!overflow) return uint64_t(value);
    unsigned long long large = overflow > 0 ? PyLong_AsUnsignedLongLong(number.get()) : 0;
    if (overflow > 0 && !PyErr_Occurred()) return large;
    PyErr_Clear();
    beyond(number.get(), op, "seed", "-2**63 to 2**64 - 1");
}

PyObject* generator_object(Generator* impl) {
    PyObject* self = check(GeneratorType.tp_alloc(&GeneratorType, 0));
    impl->retain();
    reinterpret_cast<GeneratorObject*>(self)->impl = impl;
    return self;
}

void ready_generator_type(PyObject* module) {
    GeneratorType.tp_doc =
        PyDoc_STR("Generator(seed=0, device=None): counter-based random numbers (Philox 4x32-10).");
    GeneratorType.tp_flags = Py_TPFLAGS_DEFAULT;
    GeneratorType.tp_new = generator_new;
    GeneratorType.tp_dealloc = generator_dealloc;
    GeneratorType.tp_getset = getset;
    GeneratorType.tp_methods = methods;
    check_status(PyType_Ready(&GeneratorType));
    check_status(PyModule_AddObjectRef(module, "Generator", reinterpret_cast<PyObject*>(&GeneratorType)));
    check_status(PyModule_AddFunctions(module, functions));
}

}  // namespace tenora::python
