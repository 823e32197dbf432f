// `Node`: a tape node, or the place where a leaf accumulates, as `grad_fn` and `next_functions` show it.

#include <unordered_map>

#include "autograd_objects.h"
#include "payload.h"
#include "tensor_object.h"

namespace tenora::python {

namespace {

struct NodeObject {
    PyObject_HEAD Node* node;  // one count; null for a leaf's accumulation
    Tensor* leaf;              // one count; null for a node
    PyObject* weakrefs;
};

NodeObject* fields(PyObject* o) { return reinterpret_cast<NodeObject*>(o); }

std::unordered_map<void*, PyObject*>& known() {  // borrowed objects; guarded by the GIL
    static auto* map = new std::unordered_map<void*, PyObject*>();
    return *map;
}

PyTypeObject NodeType = {PyVarObject_HEAD_INIT(nullptr, 0) "tenora.Node", sizeof(NodeObject)};

PyObject* new_node(Node* node, Tensor* leaf) {
    void* key = node ? static_cast<void*>(node) : leaf;
    auto found = known().find(key);
    if (found != known().end()) return Py_NewRef(found->second);
    auto* o = PyObject_New(NodeObject, &NodeType);
    check(reinterpret_cast<PyObject*>(o));
    if (node) node->retain();
    if (leaf) leaf->retain();
    o->node = node;
    o->leaf = leaf;
    o->weakrefs = nullptr;
    known()[key] = reinterpret_cast<PyObject*>(o);
    return reinterpret_cast<PyObject*>(o);
}

void node_dealloc(PyObject* self) {
    NodeObject* o = fields(self);
    if (o->weakrefs) PyObject_ClearWeakRefs(self);
    known().erase(o->node ? static_cast<void*>(o->node) : o->leaf);
    Node* node = o->node;
    Tensor* leaf = o->leaf;
    PyObject_Free(self);
    if (node) node->release();
    if (leaf) leaf->release();
}

// "index_put" -> "IndexPutBackward0", "linalg.det" -> "LinalgDetBackward0": the form PyTorch's users know.
std::string class_name(Node* node) {
    std::string name(node->name());
    if (node->is_python()) return name;
    std::string out;
    bool upper = true;
    for (char c : name) {
        if (c == '_' || c == '.') {
            upper = true;
        } else {
            out += upper ? char(std::toupper(static_cast<unsigned char>(c))) : c;
            upper = false;
        }
    }
    return out + "Backward0";
}

PyObject* node_name(PyObject* self, PyObject*) {
    return guarded([&] {
        return text(fields(self)->node ? class_name(fields(self)->node) : "AccumulateGrad").release();
    });
}

PyObject* node_repr(PyObject* self) {
    PyRef name = PyRef::steal(node_name(self, nullptr));
    return name ? PyUnicode_FromFormat("<%U object at %p>", name.get(), static_cast<void*>(self)) : nullptr;
}

PyObject* get_next(PyObject* self, void*) {
    return guarded([&] {
        Node* node = fields(self)->node;
        int count = node ? node->n_edges : 0;
        PyRef tuple = own(PyTuple_New(count));
        for (int i = 0; i < count; ++i) {
            const Edge& edge = node->edges()[i];
            PyRef target = edge ? own(new_node(edge.node(), edge.leaf())) : PyRef::borrow(Py_None);
            PyTuple_SET_ITEM(tuple.get(), i,
                             check(Py_BuildValue("(OI)", target.get(), unsigned(edge.output_nr))));
        }
        return tuple.release();
    });
}

PyObject* get_variable(PyObject* self, void*) {
    return guarded([&] { return wrap_or_none(fields(self)->leaf); });
}

PyObject* get_context(PyObject* self, void*) {
    return guarded([&]() -> PyObject* {
        Node* node = fields(self)->node;
        if (!node || !node->is_python() || !*python_payload(node)) return new_none();
        auto* payload = static_cast<Payload*>(*python_payload(node));
        return payload->object ? Py_NewRef(payload->object) : new_none();
    });
}

PyObject* get_metadata(PyObject* self, void*) {
    return guarded([&] {
        if (!fields(self)->node) return check(PyDict_New());
        Payload& payload = payload_in(node_pre_hooks(fields(self)->node));
        if (!payload.object) payload.object = check(PyDict_New());
        return Py_NewRef(payload.object);
    });
}

PyObject* get_sequence(PyObject* self, void*) {
    return PyLong_FromUnsignedLongLong(fields(self)->node ? fields(self)->node->sequence : 0);
}

PyObject* register_node_hook(PyObject* self, PyObject* callable, void** (*slot)(Node*)) {
    return guarded([&] {
        if (!fields(self)->node)
            raise_kind(ErrorKind::Runtime, "autograd", "register_hook",
                       "a leaf's node takes no hooks. Use the tensor's register_hook.");
        return add_hook(slot(fields(self)->node), callable, self);
    });
}

PyObject* register_hook(PyObject* self, PyObject* callable) {
    return register_node_hook(self, callable, node_post_hooks);
}
PyObject* register_prehook(PyObject* self, PyObject* callable) {
    return register_node_hook(self, callable, node_pre_hooks);
}

PyMethodDef methods[] = {
    {"name", node_name, METH_NOARGS, "Name of the node: 'MulBackward0', 'AccumulateGrad'."},
    {"register_hook", register_hook, METH_O,
     "f(grad_inputs, grad_outputs) -> None or new grad_inputs, after the node ran."},
    {"register_prehook", register_prehook, METH_O,
     "f(grad_outputs) -> None or new grad_outputs, before the node runs."},
    {nullptr, nullptr, 0, nullptr}};
PyGetSetDef getset[] = {
    {"next_functions", get_next, nullptr, "((node or None, output number), ...) of the inputs.", nullptr},
    {"variable", get_variable, nullptr, "The leaf that accumulates here, or None.", nullptr},
    {"context", get_context, nullptr, "The context of an autograd.Function, or None.", nullptr},
    {"metadata", get_metadata, nullptr, "A dict that lives as long as the node.", nullptr},
    {"sequence_number", get_sequence, nullptr, "Order of recording; later nodes run first.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

}  // namespace

PyObject* node_object(Node* node) { return node ? new_node(node, nullptr) : new_none(); }

void ready_node_type(PyObject* module) {
    NodeType.tp_doc = PyDoc_STR("A node of the tape.");
    NodeType.tp_flags = Py_TPFLAGS_DEFAULT;
    NodeType.tp_dealloc = node_dealloc;
    NodeType.tp_repr = node_repr;
    NodeType.tp_methods = methods;
    NodeType.tp_getset = getset;
    NodeType.tp_weaklistoffset = offsetof(NodeObject, weakrefs);
    check_status(PyType_Ready(&NodeType));
    check_status(PyModule_AddObjectRef(module, "Node", reinterpret_cast<PyObject*>(&NodeType)));
}

}  // namespace tenora::python
