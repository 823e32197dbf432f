"""The op signatures as kernels see them, so that a backend's kernels are checked the moment they are registered.

The dispatcher stands below the op records and may not import them. The records register themselves with the engine,
and the engine answers for them here: `use_source` is called once at start-up.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

_TENSOR_TYPE = re.compile(r"\bTensor\b")


@dataclass(frozen=True)
class OpSchema:
    """One op's kernel call: `fn(*tensors, out=..., **attributes)`.

    `variadic`: the last of `tensors` is a list and arrives as any number of positional arrays.
    `attributes`: keywords in the order of the C call. `results`: how many outputs there are.
    """

    name: str
    tensors: tuple[str, ...]
    variadic: bool
    attributes: tuple[str, ...]
    results: int

    def __str__(self) -> str:
        arrays = list(self.tensors)
        if self.variadic:
            arrays[-1] = f"*{arrays[-1]}"
        return f"{self.name}({', '.join([*arrays, 'out', *self.attributes])})"


def parse_signature(info: Mapping[str, object], name: str) -> OpSchema:
    """Reads the engine's description of an op; its signature is such as `sum(input: Tensor, dim: int[]? = None)`."""
    signature = str(info["signature"])
    inside = signature[signature.index("(") + 1 : signature.rindex(")", 0, signature.rindex("->"))]
    tensors: list[str] = []
    attributes: list[str] = []
    variadic = False
    for parameter in _split(inside):
        if parameter in ("*", "/"):
            continue
        label, _, kind = parameter.partition(":")
        kind = kind.split("=")[0]
        if _TENSOR_TYPE.search(kind):
            tensors.append(label.strip())
            variadic = variadic or "[]" in kind
        else:
            attributes.append(label.strip())
    results = signature[signature.rindex("->") :].count("Tensor")
    return OpSchema(
        name,
        _prepared(info, "kernel_inputs", tensors),
        variadic,
        _prepared(info, "kernel_attributes", attributes),
        results,
    )


def _prepared(info: Mapping[str, object], field: str, declared: list[str]) -> tuple[str, ...]:
    """What the engine hands the kernel in place of what the signature declares, if it says so."""
    given = info.get(field)
    return tuple(declared) if given is None else tuple(str(given).split())


def _split(parameters: str) -> list[str]:
    """Splits at the commas outside of brackets and quotes: defaults may be `(1, 2)` or text."""
    parts, depth, start, quote = [], 0, 0, ""
    for position, character in enumerate(parameters):
        if quote or character in "'\"":
            quote = "" if character == quote else quote or character
        elif character in "([":
            depth += 1
        elif character in ")]":
            depth -= 1
        elif character == "," and depth == 0:
            parts.append(parameters[start:position].strip())
            start = position + 1
    parts.append(parameters[start:].strip())
    return [part for part in parts if part]


_find: Callable[[str], OpSchema | None] = lambda name: None  # noqa: E731 - replaced at start-up
_names: Callable[[], Sequence[str]] = lambda: ()  # noqa: E731 - replaced at start-up
_version = "0.0"


def use_source(find_schema: Callable[[str], OpSchema | None], all_names: Callable[[], Sequence[str]]) -> None:
    """Says where schemas come from: the engine's op table in a running tenora."""
    global _find, _names
    _find, _names = find_schema, all_names


def find(name: str) -> OpSchema | None:
    """The schema of an op, or None."""
    return _find(name)


def names() -> list[str]:
    """All op names, sorted."""
    return sorted(_names())


def set_version(version: str) -> None:
    """States the version of the op set, `MAJOR.MINOR`; called by the room that declares the ops."""
    global _version
    _version = version


def version() -> str:
    """The version of the op set, `"0.0"` before any ops are declared."""
    return _version
