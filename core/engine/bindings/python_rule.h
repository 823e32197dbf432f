// Python callables behind the engine's hooks: rules of plugins, Function ops, formulas that branch on data.
#pragma once

#include "python_common.h"
#include "tenora/op.h"

namespace tenora::python {

// dtype rule: f(operand descriptions, attributes) -> dtype of the result; shape rule: the same -> shape of
// the result. A description is (shape, dtype) or a number or None. Several results: a list of them.
Rule python_rule(PyObject* callable, const std::string& op, bool is_dtype_rule);
void set_function_caller(PyObject* callable);
void set_formula_caller(PyObject* callable);
void install_call_hooks();

}  // namespace tenora::python
