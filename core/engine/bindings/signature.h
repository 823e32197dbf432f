// Signatures of ops, parsed once from their text, and what a call is turned into.
//   - Operands are the parameters of Tensor types, attributes all others, each list in the signature's order.
//   - Parameter names are interned, so that a keyword is found by comparing pointers.
#pragma once

#include <optional>
#include <vector>

#include "python_common.h"
#include "tenora/op.h"
#include "tenora/value.h"

namespace tenora::python {

enum class ParamType : uint8_t {
    Tensor,
    TensorOrScalar,
    TensorList,
    Scalar,
    Int,
    Float,
    Bool,
    DType,
    Device,
    String,
    IntList,
    Generator
};
inline bool is_operand(ParamType t) { return t <= ParamType::TensorList; }
const char* type_text(ParamType t);

struct Param {
    std::string name;
    PyObject* interned = nullptr;  // immortal
    ParamType type = ParamType::Tensor;
    bool optional = false;  // None is a value (for a list: its items may be None)
    bool has_default = false;
    bool keyword_only = false;
    bool real = false;  // a complex number without imaginary part is its real part
    int slot = 0;       // number among the operands or among the attributes
    Attr attribute{};   // default of an attribute
    Operand operand;    // default of an operand
};

inline constexpr int kMaxParams = 32;

struct Signature {
    std::string text, name;
    std::vector<Param> params;
    int n_positional = 0;
    int n_operands = 0;  // a list counts as one
    int n_attributes = 0;
    int n_out = 1;
    bool variadic = false;       // the last operand is a list
    int varargs = -1;            // parameter that takes the remaining positional ints: x.view(2, 3)
    std::vector<Attr> defaults;  // of the attributes, in order
    std::vector<const char*> attribute_names;
    // Memory that defaults point at.
    std::vector<std::vector<int64_t>> spans;
    std::vector<std::string> strings;
};

Signature* parse_signature(const std::string& text);  // immortal; ValueError with the text and the place

// What the bindings know of an op beside the engine's record.
struct OpInfo {
    OpId id = 0;
    const Signature* signature = nullptr;
    std::vector<std::string> results;  // names, when there are several results
    PyTypeObject* result_type = nullptr;
    bool out_ok = false, inplace_ok = false;
};
OpInfo& op_info(OpId id);
const OpInfo* find_op_info(std::string_view name);  // loads the record of an announced op; null when unknown
void set_op_loader(PyObject* callable);             // called with the name of an announced op
void add_op_info(OpInfo info);

}  // namespace tenora::python
