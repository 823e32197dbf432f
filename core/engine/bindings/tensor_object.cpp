// Birth and death of Tensor wrappers; the policy stands in tensor_object.h.

#include "tensor_object.h"

#include <cstddef>

#include "tenora/gc_walk.h"
#include "tenora/hooks.h"

namespace tenora::python {

namespace {

constexpr int kFreeListSize = 256;
TensorObject* free_list[kFreeListSize];
int free_count = 0;

TensorObject* new_exact() {
    if (free_count > 0) {
        TensorObject* w = free_list[--free_count];
        PyObject_Init(reinterpret_cast<PyObject*>(w), &TensorType);
        return w;
    }
    return reinterpret_cast<TensorObject*>(
        check(reinterpret_cast<PyObject*>(PyObject_GC_New(TensorObject, &TensorType))));
}

void free_exact(TensorObject* w) {
    if (free_count < kFreeListSize) {
        free_list[free_count++] = w;
    } else {
        PyObject_GC_Del(w);
    }
}

// Sets KEEP; true when the impl outlives the wrapper, which the engine then holds.
bool keep_if_shared(Tensor* t) {
    uint32_t word = t->word.load(std::memory_order_acquire);
    while ((word >> 1) > 1) {
        if (t->word.compare_exchange_weak(word, word | Tensor::KEEP, std::memory_order_acq_rel)) return true;
    }
    return false;
}

void tensor_dealloc(PyObject* self) {
    auto* w = reinterpret_cast<TensorObject*>(self);
    bool exact = is_exact_tensor(self);
    bool tracked = PyObject_GC_IsTracked(self);
    if (tracked) PyObject_GC_UnTrack(self);
    if (exact && (w->dict || w->weakrefs)) [[unlikely]] {
        bool kept_before = w->impl->word.load(std::memory_order_relaxed) & Tensor::KEEP;
        if (keep_if_shared(w->impl)) {
            Py_SET_REFCNT(self, 1);
            if (!kept_before) count_payload(1);
            track(self);
            return;
        }
    }
    if (w->weakrefs) PyObject_ClearWeakRefs(self);
    Py_CLEAR(w->dict);
    Tensor* t = w->impl;
    if (t->word.load(std::memory_order_relaxed) & Tensor::KEEP) {
        t->word.fetch_and(~Tensor::KEEP, std::memory_order_relaxed);
        count_payload(-1);
    }
    t->wrapper.store(nullptr, std::memory_order_relaxed);
    if (exact) {
        free_exact(w);
    } else {
        Py_TYPE(self)->tp_free(self);
    }
    t->release();
}

int tensor_setattro(PyObject* self, PyObject* name, PyObject* value) {
    int status = PyObject_GenericSetAttr(self, name, value);
    if (status == 0 && reinterpret_cast<TensorObject*>(self)->dict) track(self);
    return status;
}

Py_hash_t tensor_hash(PyObject* self) { return _Py_HashPointer(self); }

void keep_retain(Tensor* t) {
    GilGuard gil;
    Py_XINCREF(static_cast<PyObject*>(t->wrapper.load(std::memory_order_acquire)));
}

void keep_release(Tensor* t) {
    auto* wrapper = static_cast<PyObject*>(t->wrapper.load(std::memory_order_acquire));
    if (!wrapper) return;
    if (PyGILState_Check()) {
        Py_DECREF(wrapper);
    } else if (Py_IsInitialized()) {
        queue_release(wrapper);
    }
}

}  // namespace

PyTypeObject TensorType = {PyVarObject_HEAD_INIT(nullptr, 0) "tenora.Tensor", sizeof(TensorObject)};

PyObject* wrap_new(TensorRef&& t) {
    TensorObject* w = new_exact();
    w->dict = nullptr;
    w->weakrefs = nullptr;
    w->impl = t.take();
    w->impl->wrapper.store(w, std::memory_order_relaxed);
    auto* self = reinterpret_cast<PyObject*>(w);
    if (w->impl->node || w->impl->requires_grad || find_extra(w->impl)) PyObject_GC_Track(self);
    return self;
}

PyObject* wrap(Tensor* t) {
    if (auto* existing = static_cast<PyObject*>(t->wrapper.load(std::memory_order_relaxed)))
        return Py_NewRef(existing);
    return wrap_new(TensorRef(t));
}

PyObject* wrap_or_none(Tensor* t) { return t ? wrap(t) : new_none(); }

PyObject* wrap_as(PyTypeObject* type, TensorRef&& t) {
    if (type == &TensorType) return wrap_new(std::move(t));
    auto* w = reinterpret_cast<TensorObject*>(check(type->tp_alloc(type, 0)));  // tracked, zeroed
    auto* self = reinterpret_cast<PyObject*>(w);
    Tensor* impl = t.take();
    w->impl = impl;
    impl->wrapper.store(w, std::memory_order_release);
    uint32_t before = impl->word.fetch_or(Tensor::KEEP, std::memory_order_acq_rel);
    if ((before >> 1) > 1) Py_INCREF(self);
    count_payload(1);
    return self;
}

void track(PyObject* wrapper) {
    if (!PyObject_GC_IsTracked(wrapper)) PyObject_GC_Track(wrapper);
}

Tensor* as_tensor(PyObject* o, const char* op, const char* argument) {
    if (is_tensor(o)) return impl_of(o);
    raise_kind(ErrorKind::Type, "type", op,
               std::string(argument) + " is not a tensor: got " + type_name(o) + ", expected Tensor." +
                   foreign_advice(o));
}

void install_keep_hooks() {
    hooks().keep_retain = keep_retain;
    hooks().keep_release = keep_release;
}

void ready_tensor_type(PyObject* module) {
    PyTypeObject& type = TensorType;
    type.tp_doc = PyDoc_STR(
        "A multi-dimensional array of one dtype on one device; made by `tenora.tensor` and its kin.");
    type.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC;
    type.tp_dealloc = tensor_dealloc;
    type.tp_traverse = tensor_traverse;
    type.tp_clear = tensor_clear;
    type.tp_dictoffset = offsetof(TensorObject, dict);
    type.tp_weaklistoffset = offsetof(TensorObject, weakrefs);
    type.tp_getattro = PyObject_GenericGetAttr;
    type.tp_setattro = tensor_setattro;
    type.tp_hash = tensor_hash;
    type.tp_richcompare = tensor_richcompare;
    type.tp_as_number = &tensor_number;
    type.tp_as_mapping = &tensor_mapping;
    type.tp_as_sequence = &tensor_sequence;
    type.tp_as_buffer = &tensor_buffer;
    type.tp_methods = tensor_methods;
    type.tp_getset = tensor_getset;
    type.tp_iter = tensor_iter;
    type.tp_repr = tensor_repr;
    type.tp_new = tensor_new;
    check_status(PyType_Ready(&type));
    PyRef priority = own(PyFloat_FromDouble(1000.0));  // NumPy operators defer to ours
    check_status(PyDict_SetItemString(type.tp_dict, "__array_priority__", priority.get()));
    PyRef module_name = text("tenora");
    check_status(PyDict_SetItemString(type.tp_dict, "__module__", module_name.get()));
    PyType_Modified(&type);
    check_status(PyModule_AddObjectRef(module, "Tensor", reinterpret_cast<PyObject*>(&type)));
}

}  // namespace tenora::python
