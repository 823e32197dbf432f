"""What ops of several files have in common: one name, one meaning.

- A family gives rules, samples, dtypes and tolerance; a record states only what differs. Families that one file alone
  uses stand in that file.
"""

from __future__ import annotations

from dataclasses import replace

from tenora_ops.record import Family
from tenora_ops.samples import ALL, COMPLEX, INTEGERS, NUMBERS, ORDERED, REALS, Domain, binary, dims, unary

#: Operands broadcast and promote; one IEEE operation.
BINARY = Family("pointwise", "promote", "broadcast", "pointwise", binary, ALL, tolerance="exact_or_1ulp")
UNARY = Family("pointwise", "promote", "same", "pointwise", unary, NUMBERS, tolerance="exact_or_1ulp")

#: Real or complex functions of floating numbers; whole numbers become floating first.
FUNCTION_INPUTS = INTEGERS + REALS
COMPLEX_FUNCTION_INPUTS = FUNCTION_INPUTS + COMPLEX
UNARY_FUNCTION = Family(
    "transcendental", "promote_float", "same", "pointwise", unary, FUNCTION_INPUTS, tolerance="transcendental"
)
BINARY_FUNCTION = Family(
    "transcendental", "promote_float", "broadcast", "pointwise", binary, REALS, tolerance="transcendental"
)
#: The same for formulas that hold for real numbers only: complex ones are refused.
REAL_FUNCTION = replace(UNARY_FUNCTION, dtype="promote_float_real")
REAL_BINARY_FUNCTION = replace(BINARY_FUNCTION, dtype="promote_float_real")

#: Results are whole numbers of the operand's dtype.
ROUNDING = Family(
    "rounding", "promote_real", "same", "pointwise", unary, REALS, Domain(avoid=(0.5, 1.5, -0.5))
)

#: Activations that are defined for floating numbers only.
ACTIVATION = Family(
    "activation", "float_same", "same", "pointwise", unary, REALS, Domain(avoid=(0.0,)), "few_ulp"
)

#: No rules: only other ops run, no backend has a kernel for it, and nothing is rounded but by one of its parts.
COMPOSITE = Family("composite", "", "", "", binary, REALS, tolerance="few_ulp")

#: Along one dim, the shape kept: softmax and its relatives.
ALONG = Family("along", "float_same", "dim_same", "plain", dims, REALS, tolerance="normalised")

#: Numbers with an order, bool left out.
ORDERED_NUMBERS = tuple(d for d in ORDERED if d != "bool")
