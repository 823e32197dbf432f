// Operators of Tensor: which registered op stands behind each slot. tenora_ops fills the table through
// set_operator.
#pragma once

#include "op_function.h"

namespace tenora::python {

enum class Slot : uint8_t {
    Add,
    Sub,
    Mul,
    TrueDiv,
    FloorDiv,
    Mod,
    Pow,
    MatMul,
    And,
    Or,
    Xor,
    LShift,
    RShift,
    Neg,
    Abs,
    Invert,
    Lt,
    Le,
    Eq,
    Ne,
    Gt,
    Ge,  // in the order of Py_LT .. Py_GE
    IAdd,
    ISub,
    IMul,
    ITrueDiv,
    IFloorDiv,
    IMod,
    IPow,
    IMatMul,
    IAnd,
    IOr,
    IXor,
    Count
};

struct Operator {
    OpId id = 0;
    const OpInfo* info = nullptr;  // null: not set
    PyObject* function = nullptr;
};
extern Operator operators[size_t(Slot::Count)];
void set_operator(const std::string& slot, PyObject* op_function);

// An op that the bindings call by name (select, basic_index, ...). Looked up once; throws when it is not
// registered.
struct NamedOp {
    const char* name;
    const OpInfo* info = nullptr;
    const OpInfo& get();
    bool available();
};

}  // namespace tenora::python
