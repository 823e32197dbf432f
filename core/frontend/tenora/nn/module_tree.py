"""Walking the tree of modules: names and members of everything below, and single places by path."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from tenora_dispatch import errors
from tenora_dispatch.errors import did_you_mean
from tenora_engine import Tensor

from .module_state import Stateful
from .parameter import Parameter

if TYPE_CHECKING:
    from .module import Module


class Tree(Stateful):
    """The part of `Module` that lists and finds what is below it."""

    def named_modules(
        self, memo: set[Module] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Module]]:
        """Yields (path, module) for this module and everything below it, each module once.

        >>> import tenora
        >>> [path for path, _ in tenora.nn.Sequential(tenora.nn.ReLU()).named_modules()]
        ['', '0']
        """
        me: Any = self
        seen: set[Module] = set() if memo is None else memo
        if me in seen:
            return
        if remove_duplicate:
            seen.add(me)
        yield prefix, me
        for name, child in self._modules.items():
            if child is not None:
                below = f"{prefix}.{name}" if prefix else name
                yield from child.named_modules(seen, below, remove_duplicate)

    def modules(self, remove_duplicate: bool = True) -> Iterator[Module]:
        """Yields this module and everything below it, each once.

        >>> import tenora
        >>> net = tenora.nn.Sequential(tenora.nn.ReLU(), tenora.nn.Tanh())
        >>> [type(module).__name__ for module in net.modules()]
        ['Sequential', 'ReLU', 'Tanh']
        """
        return (module for _, module in self.named_modules(remove_duplicate=remove_duplicate))

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """Yields (name, module) of the direct children, each once.

        >>> import tenora
        >>> list(tenora.nn.Sequential(tenora.nn.ReLU(), tenora.nn.Tanh()).named_children())
        [('0', ReLU()), ('1', Tanh())]
        """
        seen: set[Module] = set()
        for name, child in self._modules.items():
            if child is not None and child not in seen:
                seen.add(child)
                yield name, child

    def children(self) -> Iterator[Module]:
        """Yields the direct children, each once.

        >>> import tenora
        >>> list(tenora.nn.Sequential(tenora.nn.ReLU(), tenora.nn.Tanh()).children())
        [ReLU(), Tanh()]
        """
        return (child for _, child in self.named_children())

    def _named_members(
        self,
        get_members_fn: Callable[[Any], Iterable[tuple[str, Any]]],
        prefix: str = "",
        recurse: bool = True,
        remove_duplicate: bool = True,
    ) -> Iterator[tuple[str, Any]]:
        seen: set[int] = set()
        me: Any = self
        places = (
            self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate)
            if recurse
            else [(prefix, me)]
        )
        for path, module in places:
            for name, member in get_members_fn(module):
                if member is None or id(member) in seen:
                    continue
                if remove_duplicate:
                    seen.add(id(member))
                yield (f"{path}.{name}" if path else name), member

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """Yields (path, parameter), each parameter once even when it is shared unless `remove_duplicate=False`.

        >>> import tenora
        >>> net = tenora.nn.Sequential(tenora.nn.Linear(2, 3), tenora.nn.ReLU())
        >>> [(path, tuple(parameter.shape)) for path, parameter in net.named_parameters()]
        [('0.weight', (3, 2)), ('0.bias', (3,))]
        """
        return self._named_members(lambda m: m._parameters.items(), prefix, recurse, remove_duplicate)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """Yields the parameters, each once: what an optimizer takes.

        >>> import tenora
        >>> sum(parameter.numel() for parameter in tenora.nn.Linear(2, 3).parameters())
        9
        """
        return (parameter for _, parameter in self.named_parameters(recurse=recurse))

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """Yields (path, buffer), each buffer once unless `remove_duplicate=False`.

        >>> import tenora
        >>> [path for path, _ in tenora.nn.Sequential(tenora.nn.BatchNorm1d(2)).named_buffers()]
        ['0.running_mean', '0.running_var', '0.num_batches_tracked']
        """
        return self._named_members(lambda m: m._buffers.items(), prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """Yields the buffers, each once.

        >>> import tenora
        >>> [buffer.tolist() for buffer in tenora.nn.BatchNorm1d(2).buffers()]
        [[0.0, 0.0], [1.0, 1.0], 0]
        """
        return (buffer for _, buffer in self.named_buffers(recurse=recurse))

    def get_submodule(self, target: str) -> Module:
        """The module at a path such as `encoder.layers.3`; AttributeError names the part that is missing.

        >>> import tenora
        >>> tenora.nn.Sequential(tenora.nn.ReLU()).get_submodule("0")
        ReLU()
        """
        if not isinstance(target, str):
            raise errors.ArgumentTypeError(
                f"[get_submodule] target: got {target!r:.60} of type {type(target).__name__}, expected a path. Pass a "
                "string such as 'encoder.layers.3'."
            )
        module: Any = self
        for part in target.split(".") if target else ():
            child = getattr(module, part, None)
            if not isinstance(child, Tree):
                raise _not_there("get_submodule", target, module, part, module._modules)
            module = child
        return module  # every Tree is a Module

    def set_submodule(self, target: str, module: Module, strict: bool = False) -> None:
        """Puts `module` at a path; the modules on the way must exist, with `strict` the place itself too.

        AttributeError for a module on the way that is not there.

        >>> import tenora
        >>> net = tenora.nn.Sequential(tenora.nn.Sequential(tenora.nn.ReLU()))
        >>> net.set_submodule("0.0", tenora.nn.Tanh())
        >>> net.get_submodule("0.0")
        Tanh()
        """
        if not target:
            raise errors.ArgumentValueError(
                "[set_submodule] target: got '', expected a path. Name the place to change."
            )
        if not isinstance(module, Tree):
            raise errors.ArgumentValueError(
                f"[set_submodule] module: got {type(module).__name__}, expected a Module. Pass a Module."
            )
        path, _, name = target.rpartition(".")
        parent: Any = self.get_submodule(path)
        if strict and name not in parent._modules:
            raise _not_there("set_submodule", target, parent, name, parent._modules)
        if hasattr(parent, name) and not isinstance(getattr(parent, name), Tree):
            raise errors.MissingAttributeError(
                f"[set_submodule] {target!r}: got an attribute of {type(parent).__name__} that is no module, expected "
                "one. Choose another path."
            )
        setattr(parent, name, module)

    def get_parameter(self, target: str) -> Parameter:
        """The parameter at a path such as `encoder.weight`; AttributeError names the part that is missing.

        >>> import tenora
        >>> tenora.nn.Sequential(tenora.nn.Linear(2, 3)).get_parameter("0.weight").shape
        tenora.Size([3, 2])
        """
        path, _, name = target.rpartition(".")
        module: Any = self.get_submodule(path)
        found = getattr(module, name, None)
        if not isinstance(found, Parameter):
            raise _not_there("get_parameter", target, module, name, module._parameters)
        return found

    def get_buffer(self, target: str) -> Tensor:
        """The buffer at a path such as `norm.running_mean`; AttributeError names the part that is missing.

        >>> import tenora
        >>> tenora.nn.Sequential(tenora.nn.BatchNorm1d(2)).get_buffer("0.running_mean").tolist()
        [0.0, 0.0]
        """
        path, _, name = target.rpartition(".")
        module: Any = self.get_submodule(path)
        if name not in module._buffers:
            raise _not_there("get_buffer", target, module, name, module._buffers)
        return module._buffers[name]  # None only where a buffer is left out


def _not_there(op: str, target: str, module: object, name: str, known: Iterable[str]) -> AttributeError:
    names = list(known)
    return errors.MissingAttributeError(
        f"[{op}] {target!r}: {type(module).__name__} got {name!r}, expected one of {names}. Check the path."
        + did_you_mean(name, names)
    )
