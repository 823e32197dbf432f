"""Modules that hold other modules: `Sequential`, `ModuleList`."""

from __future__ import annotations

import operator
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from typing import Any, overload

from tenora_dispatch import errors

from .module import Module


class _Indexed(Module):
    """What the containers that number their children share."""

    def _values(self) -> list[Module]:
        return list(self._modules.values())

    def _position(self, index: int) -> int:
        position = operator.index(index)
        if not -len(self) <= position < len(self):
            raise errors.IndexRangeError(
                f"[{type(self).__name__}] index: got {position}, expected {-len(self)} to {len(self) - 1}."
                " Pass an index that the container has."
            )
        return position % len(self)

    def _name(self, index: int) -> str:
        return list(self._modules)[self._position(index)]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Module]:
        return iter(self._values())

    def __setitem__(self, index: int, module: Module) -> None:
        setattr(self, self._name(index), module)

    def _renumber(self, modules: list[Module]) -> None:
        for name in list(self._modules):
            del self._modules[name]
        for number, module in enumerate(modules):
            self.add_module(str(number), module)

    def __delitem__(self, index: int | slice) -> None:
        modules = self._values()
        del modules[index]
        self._renumber(modules)


class Sequential(_Indexed):
    """Calls its modules one after the other.

    Takes modules, or one `OrderedDict` of names and modules.

    >>> import tenora
    >>> net = tenora.nn.Sequential(tenora.nn.Linear(4, 8), tenora.nn.ReLU(), tenora.nn.Linear(8, 2))
    >>> net(tenora.zeros(5, 4)).shape
    tenora.Size([5, 2])
    """

    def __init__(self, *modules: Module | OrderedDict[str, Module]) -> None:
        super().__init__()
        named = modules[0].items() if len(modules) == 1 and isinstance(modules[0], OrderedDict) else None
        for name, module in named or enumerate(modules):
            self.add_module(str(name), module)  # type: ignore[arg-type]  # add_module refuses what is no Module

    @overload
    def __getitem__(self, index: int) -> Module: ...
    @overload
    def __getitem__(self, index: slice) -> Sequential: ...
    def __getitem__(self, index: int | slice) -> Module:
        if isinstance(index, slice):
            return type(self)(OrderedDict(list(self._modules.items())[index]))
        return self._values()[self._position(index)]

    def append(self, module: Module) -> Sequential:
        """Adds a module at the end."""
        self.add_module(str(len(self)), module)
        return self

    def forward(self, input: Any) -> Any:
        """Passes `input` through every module in order."""
        attributes = self.__dict__  # where the members live: no mapping in between on the way of every call
        for name in attributes["_module_names"]:
            input = attributes[name](input)
        return input


class ModuleList(_Indexed):
    """A list whose modules are registered.

    >>> import tenora
    >>> layers = tenora.nn.ModuleList(tenora.nn.Linear(3, 3) for _ in range(2))
    >>> len(layers), len(list(layers.parameters()))
    (2, 4)
    """

    def __init__(self, modules: Iterable[Module] = ()) -> None:
        super().__init__()
        self.extend(modules)

    @overload
    def __getitem__(self, index: int) -> Module: ...
    @overload
    def __getitem__(self, index: slice) -> ModuleList: ...
    def __getitem__(self, index: int | slice) -> Module:
        if isinstance(index, slice):
            return type(self)(self._values()[index])
        return self._values()[self._position(index)]

    def append(self, module: Module) -> ModuleList:
        """Adds a module at the end."""
        self.add_module(str(len(self)), module)
        return self

    def extend(self, modules: Iterable[Module]) -> ModuleList:
        """Adds modules at the end."""
        for module in modules:
            self.append(module)
        return self

    def insert(self, index: int, module: Module) -> None:
        """Adds a module before position `index`."""
        modules = self._values()
        modules.insert(index, module)
        self._renumber(modules)
