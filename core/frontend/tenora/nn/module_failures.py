"""What the error of a failed backward says about modules: found when it is raised, from what is in use then.

- Nothing is kept while all goes well. The tape leads from the failed node to the nearest parameters before it; the
  modules that the functions on the stack work with know their names (see `modules_in_use`).
- A tensor was changed in place: the writes in the `forward` of the modules around those parameters are listed with
  their lines, read off the compiled code. They are candidates, and the text says so.
- Without history to go back through, it names the parameters that are frozen, if nothing else can be the cause.
"""

from __future__ import annotations

import dis
import linecache
import re
import sys
from collections.abc import Iterator
from types import CodeType, FrameType
from typing import Any

from tenora_engine import Tensor

from .modules_in_use import modules_by_frame
from .parameter import Parameter

SHOWN = 4  # names and lines
FAR = 256  # nodes of the tape that are looked through
ROOM = __name__.rpartition(".")[0]
NO_WRITE = {"requires_grad_", "share_memory_"}


def outermost(modules: list[Any]) -> list[Any]:
    """Those of `modules` that lie in no other of them, each once."""
    inner = {id(below) for module in modules for below in module.modules() if below is not module}
    return [
        module for module in {id(module): module for module in modules}.values() if id(module) not in inner
    ]


class Names:
    """The parameters of the modules in use, by the outermost module's name for them; looked up when first asked."""

    def __init__(self, base: type, frame: FrameType | None) -> None:
        self._base, self._frame = base, frame
        self._found: dict[int, tuple[str, Any]] | None = None

    def of(self, tensor: Tensor) -> tuple[str, Any] | None:
        """Path and outermost module, for a parameter."""
        if not isinstance(tensor, Parameter):
            return None
        if self._found is None:
            self._found = {}
            modules = [module for group in modules_by_frame(self._base, self._frame) for module in group]
            for root in outermost(modules):
                for path, parameter in root.named_parameters():
                    self._found.setdefault(id(parameter), (path, root))
        return self._found.get(id(tensor))


def nearest(node: Any, names: Names) -> tuple[list[Tensor], bool]:
    """The parameters fewest steps before `node`, and whether it reads them itself."""
    level, seen = [node], {id(node)}
    direct = True
    while level and len(seen) < FAR:
        below = [parent for current in level for parent, _ in current.next_functions if parent is not None]
        leaves = [parent.variable for parent in below]
        found = [leaf for leaf in leaves if leaf is not None and names.of(leaf)]
        if found:
            return found, direct
        level = [parent for parent in below if id(parent) not in seen]
        seen.update(id(parent) for parent in level)
        direct = False
    return [], False


def _listed(items: list[str]) -> str:
    more = len(items) - SHOWN
    return ", ".join(items[:SHOWN]) + (f" and {more} more" if more > 0 else "")


def _with_root(tensors: list[Tensor], names: Names) -> str:
    """`encoder.weight, encoder.bias of Net`."""
    found = [place for tensor in tensors if (place := names.of(tensor))]
    paths = list(dict.fromkeys(path for path, _ in found))
    return f"{_listed(paths)} of {type(found[0][1]).__name__}"


def _around(path: str, root: Any) -> Iterator[tuple[str, Any]]:
    """The modules that a parameter lies in, the innermost first; then all others of the model."""
    steps = path.split(".")[:-1]
    chain = [("", root)]
    for number, step in enumerate(steps, 1):
        chain.append((".".join(steps[:number]), chain[-1][1]._modules[step]))
    yield from reversed(chain)
    inside = {id(module) for _, module in chain}
    yield from ((path, module) for path, module in root.named_modules() if id(module) not in inside)


def writes_in_place(code: CodeType) -> Iterator[int]:
    """The lines of `code` that write into a tensor, as far as code tells: `x.add_()`, `x += 1`, `x[0] = 1`."""
    for step in dis.get_instructions(code):
        line = step.positions.lineno if step.positions else None
        name = step.argval if step.opname in ("LOAD_METHOD", "LOAD_ATTR") else ""
        called = name.endswith("_") and not name.startswith("_") and hasattr(Tensor, name)
        augmented = step.opname == "BINARY_OP" and step.argrepr.endswith("=")
        if line and ((called and name not in NO_WRITE) or augmented or step.opname == "STORE_SUBSCR"):
            yield line
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from writes_in_place(constant)


def _candidates(tensors: list[Tensor], names: Names) -> list[str]:
    """The lines of `forward`s that write in place, those around the parameters first; and modules told to."""
    lines: dict[tuple[str, int], str] = {}
    told: list[str] = []
    place = names.of(tensors[0])
    for path, module in _around(*place) if place else ():
        forward = type(module).forward
        if getattr(module, "inplace", False) is True:
            told.append(f"  {path} ({type(module).__name__}, inplace=True)")
        if not hasattr(forward, "__code__") or forward.__module__.startswith(ROOM):
            continue
        file = forward.__code__.co_filename
        for line in writes_in_place(forward.__code__):
            source = linecache.getline(file, line).strip()
            where = f'  File "{file}", line {line}, in forward of {path or type(module).__name__}'
            lines.setdefault((file, line), f"{where}\n    {source}" if source else where)
    return [*lines.values()][:SHOWN] + told[:SHOWN]


def _changed(text: str, tensors: list[Tensor], direct: bool, names: Names) -> list[str]:
    """For a tensor that changed after it was saved."""
    for tensor in tensors if direct else ():
        described = (
            f"{str(tensor.dtype).rpartition('.')[2]}{list(tensor.shape)} at version {tensor._version},"
        )
        if f"got {described}" in text:
            return [
                f"It looks to be {_with_root([tensor], names)}: an optimizer's step or another write changed it "
                "between forward and this backward."
            ]
    lines = _candidates(tensors, names)
    return ["What writes in place, in the modules around these first:", *lines] if lines else []


def _frozen(base: type, frame: FrameType | None) -> str:
    """For a loss without history: the models of the innermost function that has any, if all of them are frozen.

    A parameter among them that is not frozen would have given the loss a history: then something else took it.
    """
    for modules in modules_by_frame(base, frame):
        models = [(root, list(root.named_parameters())) for root in outermost(modules)]
        models = [(root, parameters) for root, parameters in models if parameters]
        if not models:
            continue  # only losses and the like
        if any(parameter.requires_grad for _, parameters in models for _, parameter in parameters):
            return ""
        return "\n".join(
            f"Every parameter of {type(root).__name__} is frozen (requires_grad=False): "
            f"{_listed([path for path, _ in parameters])}."
            for root, parameters in models[:SHOWN]
        )
    return ""


def failure_lines(base: type, node: Any, code: str, text: str, tensors: tuple[Tensor, ...]) -> str:
    """What to add to an error of backward, or nothing; `base` is `Module`."""
    frame = sys._getframe(2)  # this function's caller was called by the engine
    names = Names(base, frame)
    if node is None:  # it ended before the first node
        asked = re.search(r"input (\d+) is ", text)
        if not asked or int(asked[1]) >= len(tensors):
            return _frozen(base, frame)
        tensor = tensors[int(asked[1])]
        return f"It is {_with_root([tensor], names)}." if names.of(tensor) else ""
    found, direct = nearest(node, names)
    if not found:
        return ""
    lines = [
        f"{'It reads' if direct else 'The nearest parameters before it are'} {_with_root(found, names)}."
    ]
    if code == "version":
        lines += _changed(text, found, direct, names)
    return "\n".join(lines)
