"""The one-line signature of an op, parsed into typed parameters.

    mul(input: Tensor, other: Tensor | Scalar) -> Tensor

- Operands are the parameters of tensor types, in order; attributes are all others, in order. The engine parses the
  same text natively; this twin serves documentation, stubs, samples and the checks at registration.
- A `real` is a float that PyTorch takes a complex number for, if its imaginary part is 0.
- `*` begins the keyword-only parameters; a default is a Python literal (or inf, nan).
"""

from __future__ import annotations

import ast
import math
import re
from dataclasses import dataclass
from enum import Enum

TENSOR_TYPES = frozenset(
    {
        "Tensor",
        "Tensor?",
        "Tensor[]",
        "Tensor?[]",
        "Tensor | Scalar",
        "Tensor | Scalar | None",
        "Tensor | real",
        "Tensor | real | None",
    }
)
ATTRIBUTE_TYPES = frozenset(
    [
        "Scalar",
        "Scalar?",
        "int",
        "int?",
        "float",
        "float?",
        "real",
        "real?",
        "bool",
        "bool?",
        "dtype",
        "dtype?",
        "device",
        "device?",
    ]
    + ["str", "str?", "int[]", "int[]?", "Generator?"]
)
SCHEMA = re.compile(
    r"\s*(?P<name>[a-z_][a-z0-9_]*)\((?P<parameters>.*)\)\s*->\s*(?P<result>.+?)\s*", re.DOTALL
)
PARAMETER = re.compile(
    r"(?P<name>[a-z_][a-z0-9_]*)\s*:\s*(?P<type>[^=]+?)\s*(?:=\s*(?P<default>.+?)\s*)?", re.IGNORECASE
)


class Missing(Enum):
    """The default of a parameter that has none."""

    REQUIRED = "required"


REQUIRED = Missing.REQUIRED


class SchemaError(ValueError):
    """A signature text that does not follow the grammar."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter: `type` is the schema's own spelling."""

    name: str
    type: str
    default: object = REQUIRED
    keyword_only: bool = False

    @property
    def is_tensor(self) -> bool:
        return self.type in TENSOR_TYPES

    @property
    def is_list(self) -> bool:
        return self.type in ("Tensor[]", "Tensor?[]")


@dataclass(frozen=True, slots=True)
class Schema:
    """A parsed signature."""

    text: str
    name: str
    parameters: tuple[Parameter, ...]
    results: int
    """How many; 0 where that depends on the call (`-> Tensor[]`)."""

    @property
    def operands(self) -> tuple[Parameter, ...]:
        return tuple(p for p in self.parameters if p.is_tensor)

    @property
    def attributes(self) -> tuple[Parameter, ...]:
        return tuple(p for p in self.parameters if not p.is_tensor)

    @property
    def variadic(self) -> bool:
        return any(p.is_list for p in self.parameters)


def parse(text: str) -> Schema:
    """Parses a signature.

    Raises:
        SchemaError: naming the text and what is wrong with it.

    Example:
        >>> parse("clamp(input: Tensor, min: Scalar? = None) -> Tensor").attributes[0].type
        'Scalar?'
    """
    match = SCHEMA.fullmatch(text)
    if match is None:
        raise SchemaError(
            f"[schema] not a signature: got {text!r}, expected `name(param: Type, ...) -> Tensor`."
            " Write it in this form."
        )
    parameters: list[Parameter] = []
    keyword_only = False
    for piece in _split(match["parameters"]):
        if piece == "*":
            keyword_only = True
            continue
        parameters.append(_parameter(piece, keyword_only, text))
    _check(parameters, text)
    return Schema(text.strip(), match["name"], tuple(parameters), _results(match["result"], text))


def _split(text: str) -> list[str]:
    """Splits at commas that are outside brackets."""
    pieces, depth, current = [], 0, ""
    for letter in text:
        depth += (letter in "([") - (letter in ")]")
        if letter == "," and depth == 0:
            pieces.append(current.strip())
            current = ""
        else:
            current += letter
    if current.strip():
        pieces.append(current.strip())
    return pieces


#: Parameters by their text: the same few hundred appear in all signatures, and every start of a process reads them.
_KNOWN: dict[tuple[str, bool], Parameter] = {}


def _parameter(piece: str, keyword_only: bool, text: str) -> Parameter:
    known = _KNOWN.get((piece, keyword_only))
    if known is None:
        known = _KNOWN[piece, keyword_only] = _read_parameter(piece, keyword_only, text)
    return known


def _read_parameter(piece: str, keyword_only: bool, text: str) -> Parameter:
    match = PARAMETER.fullmatch(piece)
    if match is None:
        raise SchemaError(
            f"[schema] bad parameter in {text!r}: got {piece!r}, expected `name: Type` or `name: Type = default`. "
            "Mend it."
        )
    kind = re.sub(r"\s*\|\s*", " | ", match["type"].strip())
    if kind not in TENSOR_TYPES and kind not in ATTRIBUTE_TYPES:
        known = ", ".join(sorted(TENSOR_TYPES | ATTRIBUTE_TYPES))
        raise SchemaError(
            f"[schema] unknown type of parameter {match['name']!r} in {text!r}: got {kind!r}, expected one of "
            f"{known}. Mend it."
        )
    default: object = REQUIRED if match["default"] is None else _literal(match["default"], text)
    return Parameter(match["name"], kind, default, keyword_only)


def _literal(text: str, schema: str) -> object:
    special = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}
    if text in special:
        return special[text]
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError) as error:
        raise SchemaError(
            f"[schema] bad default in {schema!r}: got {text!r}, expected a literal. Mend it."
        ) from error


def _check(parameters: list[Parameter], text: str) -> None:
    names = [p.name for p in parameters]
    if len(set(names)) != len(names):
        raise SchemaError(
            f"[schema] a parameter name appears twice: got {text!r}, expected distinct ones. Rename one."
        )
    operands = [p for p in parameters if p.is_tensor]
    if any(p.is_list for p in operands[:-1]):
        raise SchemaError(
            f"[schema] a tensor list must be the last tensor parameter: got {text!r}, expected it there. Move it."
        )


def _results(text: str, schema: str) -> int:
    if text == "Tensor":
        return 1
    if text == "Tensor[]":
        return 0
    if re.fullmatch(r"\(\s*Tensor\s*(,\s*Tensor\s*)*,?\s*\)", text):
        return text.count("Tensor")
    raise SchemaError(
        f"[schema] bad result in {schema!r}: got {text!r}, expected `Tensor`, `(Tensor, Tensor)` or `Tensor[]`. "
        "Mend it."
    )
