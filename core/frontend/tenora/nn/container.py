"""Modules that hold other modules: `Sequential`, `ModuleList`, `ModuleDict`."""

from __future__ import annotations

import itertools
import operator
import warnings
from collections import OrderedDict
from collections.abc import ItemsView, Iterable, Iterator, KeysView, Mapping, Sized, ValuesView
from typing import Any, Self, overload

from tenora_dispatch import errors

from .module import Module


def position_in(container: Sized, index: Any, beyond: int = 0) -> int:
    """An index of `container`, counted from the front; `beyond` more than it has are allowed.

    Raises:
        IndexError: the container has no such place.
        TypeError: the index is no whole number.
    """
    name, size = type(container).__name__, len(container)
    try:
        position = operator.index(index)
    except TypeError:
        raise errors.ArgumentTypeError(
            f"[{name}] index: got {index!r}, expected a whole number. Pass the number of the place."
        ) from None
    if not -size <= position < size + beyond:
        room = f"{-size} to {size - 1 + beyond}" if size + beyond else "none: it is empty"
        raise errors.IndexRangeError(
            f"[{name}] index: got {position}, expected {room}. Pass an index that the container has."
        )
    return position + size if position < 0 else position


class _Indexed(Module):
    """What the containers that number their children share."""

    def _values(self) -> list[Module]:
        return list(self._modules.values())

    def _position(self, index: int, beyond: int = 0) -> int:
        return position_in(self, index, beyond)

    def _name(self, index: int) -> str:
        return list(self._modules)[self._position(index)]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Module]:
        return iter(self._values())

    def __setitem__(self, index: int, module: Module) -> None:
        setattr(self, self._name(index), module)

    def _renumber(self, modules: Iterable[Module]) -> None:
        self._modules = {str(number): module for number, module in enumerate(modules)}

    def __delitem__(self, index: int | slice) -> None:
        modules = self._values()
        if isinstance(index, slice):
            del modules[index]
        else:
            del modules[self._position(index)]
        self._renumber(modules)

    def append(self, module: Module) -> Self:
        """Adds a module at the end; the container itself is the result.

        >>> import tenora
        >>> tenora.nn.ModuleList().append(tenora.nn.ReLU())
        ModuleList(
          (0): ReLU()
        )
        """
        self.add_module(str(len(self)), module)
        return self

    def _insert(self, index: int, module: Module) -> None:
        if not isinstance(module, Module):
            raise errors.ConditionError(
                f"[{type(self).__name__}] insert: got {type(module).__name__}, expected a Module. Pass a Module."
            )
        modules = self._values()
        if not hasattr(index, "__index__"):
            position_in(self, index)  # says what is wrong
        modules.insert(index, module)
        self._renumber(modules)

    def pop(self, key: int) -> Module:
        """Takes the module at an index out and returns it.

        IndexError for a place that is not there.

        >>> import tenora
        >>> layers = tenora.nn.Sequential(tenora.nn.ReLU(), tenora.nn.Tanh())
        >>> layers.pop(0), len(layers)
        (ReLU(), 1)
        """
        module = self._values()[self._position(key)]
        del self[key]
        return module


def _need_modules(container: Module, modules: object) -> None:
    if not isinstance(modules, Iterable):
        raise errors.ArgumentTypeError(
            f"[{type(container).__name__}] extend: got {type(modules).__name__}, expected an iterable. "
            "Wrap it in a list."
        )


class Sequential(_Indexed):
    """Calls its modules one after the other.

    Takes modules, or one `OrderedDict` of names and modules.

    TypeError for what is no module.

    >>> import tenora
    >>> net = tenora.nn.Sequential(tenora.nn.Linear(4, 8), tenora.nn.ReLU(), tenora.nn.Linear(8, 2))
    >>> net(tenora.zeros(5, 4)).shape
    tenora.Size([5, 2])
    >>> net[:2] + tenora.nn.Sequential(tenora.nn.Tanh())
    Sequential(
      (0): Linear(in_features=4, out_features=8, bias=True)
      (1): ReLU()
      (2): Tanh()
    )
    """

    def __init__(self, *args: Module | OrderedDict[str, Module]) -> None:
        super().__init__()
        named: Iterable[tuple[Any, Any]] = enumerate(args)
        if len(args) == 1 and isinstance(args[0], OrderedDict):
            named = args[0].items()
        for name, module in named:
            self.add_module(str(name) if isinstance(name, int) else name, module)

    @overload
    def __getitem__(self, index: int) -> Module: ...
    @overload
    def __getitem__(self, index: slice) -> Self: ...
    def __getitem__(self, index: int | slice) -> Module:
        if isinstance(index, slice):
            return type(self)(OrderedDict(list(self._modules.items())[index]))
        return self._values()[self._position(index)]

    def _need_sequential(self, other: object, sign: str) -> None:
        if not isinstance(other, Sequential):
            raise errors.ArgumentValueError(
                f"[Sequential] {sign}: got {type(other).__name__}, expected a Sequential. Use extend for others."
            )

    def __add__(self, other: Sequential) -> Sequential:
        self._need_sequential(other, "+")
        return Sequential(*self, *other)

    def __iadd__(self, other: Sequential) -> Self:
        self._need_sequential(other, "+=")
        return self.extend(tuple(other))

    def _need_times(self, times: object) -> None:
        if not isinstance(times, int):
            raise errors.ArgumentTypeError(
                f"[Sequential] *: got {type(times).__name__}, expected a whole number. Pass an int."
            )
        if times <= 0:
            raise errors.ArgumentValueError(
                f"[Sequential] *: got {times}, expected 1 or more. Pass how often the modules are to follow."
            )

    def __mul__(self, times: int) -> Sequential:
        self._need_times(times)
        return Sequential(*self._values() * times)

    def __rmul__(self, times: int) -> Sequential:
        return self * times

    def __imul__(self, times: int) -> Self:
        self._need_times(times)
        return self.extend(self._values() * (times - 1))

    def insert(self, index: int, module: Module) -> Self:
        """Adds a module before position `index`; the container itself is the result.

        IndexError beyond the end, AssertionError for what is no module.

        >>> import tenora
        >>> tenora.nn.Sequential(tenora.nn.Tanh()).insert(0, tenora.nn.ReLU())
        Sequential(
          (0): ReLU()
          (1): Tanh()
        )
        """
        self._insert(self._position(index, beyond=1), module)
        return self

    def extend(self, sequential: Iterable[Module]) -> Self:
        """Adds modules at the end; the container itself is the result.

        >>> import tenora
        >>> tenora.nn.Sequential(tenora.nn.Tanh()).extend([tenora.nn.ReLU()])
        Sequential(
          (0): Tanh()
          (1): ReLU()
        )
        """
        _need_modules(self, sequential)
        for module in sequential:
            self.append(module)
        return self

    def forward(self, input: Any) -> Any:
        """Passes `input` through every module in order."""
        attributes = self.__dict__  # where the members live: no mapping in between on the way of every call
        for name in attributes["_module_names"]:
            input = attributes[name](input)
        return input


def _folded(lines: list[str]) -> Iterator[tuple[str, str]]:
    """(label, text) of runs of equal texts: `(0-2)` and `3 x Linear(...)`."""
    first = 0
    for text, run in itertools.groupby(lines):
        count = len(list(run))
        yield (
            (f"({first})", text) if count == 1 else (f"({first}-{first + count - 1})", f"{count} x {text}")
        )
        first += count


class ModuleList(_Indexed):
    """A list whose modules are registered.

    TypeError for what is no module.

    >>> import tenora
    >>> layers = tenora.nn.ModuleList(tenora.nn.Linear(3, 3) for _ in range(2))
    >>> layers
    ModuleList(
      (0-1): 2 x Linear(in_features=3, out_features=3, bias=True)
    )
    >>> len(layers), len(list(layers.parameters()))
    (2, 4)
    """

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.extend(modules)

    @overload
    def __getitem__(self, index: int) -> Module: ...
    @overload
    def __getitem__(self, index: slice) -> Self: ...
    def __getitem__(self, index: int | slice) -> Module:
        if isinstance(index, slice):
            return type(self)(self._values()[index])
        return self._values()[self._position(index)]

    def __add__(self, other: Iterable[Module]) -> ModuleList:
        return ModuleList([*self, *other])

    def __iadd__(self, modules: Iterable[Module]) -> Self:
        return self.extend(modules)

    def extend(self, modules: Iterable[Module]) -> Self:
        """Adds modules at the end; the container itself is the result.

        >>> import tenora
        >>> tenora.nn.ModuleList().extend([tenora.nn.ReLU(), tenora.nn.Tanh()])
        ModuleList(
          (0): ReLU()
          (1): Tanh()
        )
        """
        _need_modules(self, modules)
        for module in list(modules):
            self.append(module)
        return self

    def insert(self, index: int, module: Module) -> None:
        """Adds a module before position `index`.

        >>> import tenora
        >>> layers = tenora.nn.ModuleList([tenora.nn.Tanh()])
        >>> layers.insert(0, tenora.nn.ReLU())
        >>> layers[0]
        ReLU()
        """
        self._insert(index, module)

    def __repr__(self) -> str:
        rows = _folded([repr(module) for module in self])
        lines = [f"{label}: " + text.replace("\n", "\n  ") for label, text in rows]
        return f"{self._get_name()}(\n  " + "\n  ".join(lines) + "\n)" if lines else f"{self._get_name()}()"


class ModuleDict(Module):
    """A dict whose modules are registered, in order of insertion.

    TypeError for what is no module, KeyError for a key that is not there.

    >>> import tenora
    >>> choices = tenora.nn.ModuleDict({"relu": tenora.nn.ReLU(), "tanh": tenora.nn.Tanh()})
    >>> choices["tanh"], "gelu" in choices
    (Tanh(), False)
    """

    def __init__(self, modules: Mapping[str, Module] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key: str) -> Module:
        module: Module = self._modules[key]
        return module

    def __setitem__(self, key: str, module: Module) -> None:
        self.add_module(key, module)

    def __delitem__(self, key: str) -> None:
        del self._modules[key]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __contains__(self, key: object) -> bool:
        return key in self._modules

    def clear(self) -> None:
        """Takes all modules out.

        >>> import tenora
        >>> choices = tenora.nn.ModuleDict({"act": tenora.nn.ReLU()})
        >>> choices.clear()
        >>> len(choices)
        0
        """
        self._modules.clear()

    def pop(self, key: str) -> Module:
        """Takes the module of a key out and returns it; KeyError where there is none.

        >>> import tenora
        >>> choices = tenora.nn.ModuleDict({"act": tenora.nn.ReLU()})
        >>> choices.pop("act"), len(choices)
        (ReLU(), 0)
        """
        module = self[key]
        del self[key]
        return module

    def keys(self) -> KeysView[str]:
        """The keys.

        >>> import tenora
        >>> list(tenora.nn.ModuleDict({"act": tenora.nn.ReLU()}).keys())
        ['act']
        """
        view: KeysView[str] = self._modules.keys()
        return view

    def items(self) -> ItemsView[str, Module]:
        """The pairs of key and module.

        >>> import tenora
        >>> list(tenora.nn.ModuleDict({"act": tenora.nn.ReLU()}).items())
        [('act', ReLU())]
        """
        view: ItemsView[str, Module] = self._modules.items()
        return view

    def values(self) -> ValuesView[Module]:
        """The modules.

        >>> import tenora
        >>> list(tenora.nn.ModuleDict({"act": tenora.nn.ReLU()}).values())
        [ReLU()]
        """
        view: ValuesView[Module] = self._modules.values()
        return view

    def update(self, modules: Any) -> None:
        """Enters a mapping, or an iterable of pairs; what has the key goes.

        TypeError or ValueError for what is neither.

        >>> import tenora
        >>> choices = tenora.nn.ModuleDict({"act": tenora.nn.ReLU()})
        >>> choices.update({"act": tenora.nn.Tanh()})
        >>> choices["act"]
        Tanh()
        """
        for key, module in pairs("ModuleDict", modules):
            self[key] = module


def pairs(name: str, given: Any) -> Iterator[tuple[str, Any]]:
    """The pairs of a mapping or of an iterable of pairs; TypeError and ValueError say what is neither."""
    if not isinstance(given, Iterable):
        raise errors.ArgumentTypeError(
            f"[{name}] update: got {type(given).__name__}, expected a mapping or an iterable of pairs. Pass one."
        )
    if isinstance(given, Mapping) or hasattr(given, "items"):
        yield from given.items()
        return
    for number, pair in enumerate(given):
        if not isinstance(pair, Iterable):
            raise errors.ArgumentTypeError(
                f"[{name}] update: got {type(pair).__name__} as item {number}, expected a pair. Pass (key, value)."
            )
        parts = tuple(pair)
        if len(parts) != 2:
            raise errors.ArgumentValueError(
                f"[{name}] update: got {len(parts)} values as item {number}, expected 2. Pass (key, value)."
            )
        yield parts


class Container(Module):
    """An old name for a module with given children; a FutureWarning says so.

    >>> import tenora, warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     tenora.nn.Container(first=tenora.nn.ReLU())
    Container(
      (first): ReLU()
    )
    """

    def __init__(self, **kwargs: Module) -> None:
        super().__init__()
        warnings.warn("[Container] is PyTorch's old name: use Module itself.", FutureWarning, stacklevel=2)
        for name, module in kwargs.items():
            self.add_module(name, module)


__all__ = ["Container", "ModuleDict", "ModuleList", "Sequential"]
