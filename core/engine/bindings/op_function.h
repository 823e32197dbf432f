// `OpFunction`: the native callable that users call; one or several registered ops under one public name.
//   - kind function: `tenora.add(a, b, out=c)`; method and inplace are descriptors (`x.add(b)`, `x.add_(b)`).
//   - Overloads: the first signature that fits wins. An argument whose type has `__tenora_op__` takes the
//   whole call.
#pragma once

#include <vector>

#include "arguments.h"

namespace tenora::python {

enum class OpKind : uint8_t { Function, Method, InPlace };

struct OpFunctionObject {
    PyObject_HEAD vectorcallfunc vectorcall;
    OpKind kind;
    std::vector<OpId>* ops;
    PyObject *name, *qualname, *module, *doc;
    PyObject* dict;
    PyObject* weakrefs;
};

extern PyTypeObject OpFunctionType;  // kind function
extern PyTypeObject OpMethodType;    // kinds method and inplace; a subclass
inline bool is_op_function(PyObject* o) {
    return Py_IS_TYPE(o, &OpFunctionType) || Py_IS_TYPE(o, &OpMethodType);
}

PyObject* make_op_function(const std::string& name, const std::vector<std::string>& ops, OpKind kind,
                           PyObject* doc, const std::string& module, const std::string& qualname);
// The signature of one of its ops under the name that users call; its own may be that of an overload.
std::string shown_signature(OpId id, const std::string& name);
// Runs a bound call; new reference.
PyObject* run_function(const OpInfo& info, const Arguments& a);
PyObject* call_foreign(PyObject* op_function, PyObject* foreign, PyObject* const* args, size_t n_args,
                       PyObject* kwnames);
PyObject* pack_results(const OpInfo& info, TensorRef* out, int count);
// Tells an error under the name of what was called, with the name of the part of it that found the mistake.
enum class PartTold : bool { No, Yes };
void tell_as(Error& error, std::string_view name, PartTold tell_part = PartTold::Yes);
void ready_op_function_types(PyObject* module);

}  // namespace tenora::python
