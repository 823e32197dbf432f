"""One declaration per operation, by family; everything else is derived from it.

Importing the package registers all ops with the engine and gives the engine's Tensor its methods and operators. No
backend is loaded.
"""

from tenora_dispatch import errors, opset
from tenora_engine._engine import OpFunction
from tenora_ops.formula import REGISTERED, conj, ops, sum_to
from tenora_ops.functions import loaded_functions, public_function, public_functions, resolve
from tenora_ops.record import OPSET_VERSION, Family, Record, RecordError, dtypes_of, op, record, records
from tenora_ops.schema import Schema, SchemaError, parse
from tenora_ops.step_lists import optimizer_step_
from tenora_ops.structural import cast

opset.set_version(OPSET_VERSION)
errors.use_dtypes(dtypes_of)


def __getattr__(name: str) -> OpFunction:
    """Every op is an attribute of the package; looked up once, an ordinary global afterwards."""
    if name.startswith("_"):
        raise AttributeError(name)
    found = globals()[name] = resolve(name)
    return found


__all__ = [
    "OPSET_VERSION",
    "REGISTERED",
    "Family",
    "Record",
    "RecordError",
    "Schema",
    "SchemaError",
    "cast",
    "conj",
    "loaded_functions",
    "op",
    "ops",
    "optimizer_step_",
    "parse",
    "public_function",
    "public_functions",
    "record",
    "records",
    "resolve",
    "sum_to",
]
