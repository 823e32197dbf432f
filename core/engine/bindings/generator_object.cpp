// `Generator`: seed and offset of the counter-based random numbers.

#include "generator_object.h"

#include "arguments.h"
#include "module_parts.h"
#include "plain_types.h"

namespace tenora::python {

namespace {

PyObject* generator_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
    PyObject *seed = nullptr, *device = nullptr;
    static const char* names[] = {"seed", "device", nullptr};
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|OO:Generator", const_cast<char**>(names), &seed,
                                     &device))
        return nullptr;
    return guarded([&] {
        if (seed && (is_device(seed) || PyUnicode_Check(seed))) std::swap(seed, device);  // Generator("cuda")
        uint64_t value = 0;
        if (seed && seed != Py_None) {
            value = PyLong_AsUnsignedLongLongMask(seed);
            if (PyErr_Occurred()) throw_python();
        }
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

PyObject* get_seed(PyObject* self, void*) {
    return PyLong_FromUnsignedLongLong(generator_of(self)->get_state().seed);
}
PyObject* get_offset(PyObject* self, void*) {
    return PyLong_FromUnsignedLongLong(generator_of(self)->get_state().offset);
}
PyObject* get_device(PyObject* self, void*) {
    return guarded([&] { return device_object(generator_of(self)->device); });
}
PyObject* initial_seed(PyObject* self, PyObject*) { return get_seed(self, nullptr); }

PyObject* manual_seed_method(PyObject* self, PyObject* seed) {
    return guarded([&] {
        if (!PyLong_Check(seed))
            raise(PyExc_TypeError, "[manual_seed] expected an int: got " + type_name(seed));
        generator_of(self)->set_state({PyLong_AsUnsignedLongLongMask(seed), 0});
        return Py_NewRef(self);
    });
}

PyObject* advance(PyObject* self, PyObject* counters) {
    return guarded([&] {
        int64_t n = int64_argument(counters, "counters");
        if (n < 0) raise(PyExc_ValueError, "[advance] expected a number that is not negative.");
        return check(PyLong_FromUnsignedLongLong(generator_of(self)->take(uint64_t(n)).offset));
    });
}

PyObject* get_state(PyObject* self, PyObject*) {
    Generator::State s = generator_of(self)->get_state();
    return Py_BuildValue("(KK)", static_cast<unsigned long long>(s.seed),
                         static_cast<unsigned long long>(s.offset));
}

PyObject* set_state(PyObject* self, PyObject* state) {
    return guarded([&] {
        unsigned long long seed, offset;
        if (!PyTuple_Check(state) || !PyArg_ParseTuple(state, "KK:set_state", &seed, &offset)) {
            if (!PyErr_Occurred()) raise(PyExc_TypeError, "[set_state] expected (seed, offset)");
            throw_python();
        }
        generator_of(self)->set_state({seed, offset});
        return Py_NewRef(self);
    });
}

PyObject* default_generator_binding(PyObject*, PyObject* args) {
    PyObject* device = nullptr;
    if (!PyArg_ParseTuple(args, "|O:default_generator", &device)) return nullptr;
    return guarded(
        [&] { return generator_object(&default_generator(device_argument(device, "default_generator"))); });
}

PyGetSetDef getset[] = {{"seed", get_seed, nullptr, "The key of the counter-based numbers.", nullptr},
                        {"offset", get_offset, nullptr, "Counters consumed so far.", nullptr},
                        {"device", get_device, nullptr, "Device whose default it may be.", nullptr},
                        {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyMethodDef methods[] = {{"manual_seed", manual_seed_method, METH_O, "Sets the seed and the offset 0."},
                         {"initial_seed", initial_seed, METH_NOARGS, "The seed."},
                         {"advance", advance, METH_O, "Takes n counters; returns the offset before."},
                         {"get_state", get_state, METH_NOARGS, "(seed, offset)."},
                         {"set_state", set_state, METH_O, "Sets (seed, offset)."},
                         {nullptr, nullptr, 0, nullptr}};
PyMethodDef functions[] = {{"default_generator", default_generator_binding, METH_VARARGS,
                            "default_generator(device=None) -> Generator."},
                           {nullptr, nullptr, 0, nullptr}};

}  // namespace

PyTypeObject GeneratorType = {PyVarObject_HEAD_INIT(nullptr, 0) "tenora.Generator", sizeof(GeneratorObject)};

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
