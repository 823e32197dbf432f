"""Modules that hold parameters: `ParameterList`, `ParameterDict`."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, KeysView, Mapping
from typing import Any, Self

from tenora_dispatch import errors
from tenora_engine import Tensor

from .container import pairs, position_in
from .module import Module
from .module_members import SetByInit
from .parameter import Parameter


def _as_parameter(value: Any) -> Any:
    return Parameter(value) if isinstance(value, Tensor) and not isinstance(value, Parameter) else value


def _described(value: Any, kind: str) -> str:
    if not isinstance(value, Tensor):
        return f"Object of type: {type(value).__name__}"
    size = "x".join(map(str, value.shape))
    place = "" if value.device.type == "cpu" else f" ({value.device})"
    name = "Parameter" if isinstance(value, Parameter) else "Tensor"
    return f"{name} containing: [{kind} of size {size}{place}]"


def _type_name(value: Any) -> str:
    # The typed face of Tensor has no `type`: it is made of what its records say.
    return str(getattr(value, "type", str)())


class _NotCalled(Module):
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise errors.OperationError(
            f"[{type(self).__name__}] got a call, expected a use of what it holds. Take the parameters by index or key."
        )


class ParameterList(_NotCalled):
    """A list whose parameters are registered; tensors become parameters, other objects are only kept.

    >>> import tenora
    >>> scales = tenora.nn.ParameterList([tenora.ones(2), tenora.ones(3)])
    >>> len(scales), [name for name, _ in scales.named_parameters()]
    (2, ['0', '1'])
    """

    _size: Any = SetByInit()

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__()
        self._size = 0
        if values is not None:
            self.extend(values)

    def _position(self, index: int) -> int:
        return position_in(self, index)

    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return type(self)([self[number] for number in range(*index.indices(len(self)))])
        return getattr(self, str(self._position(index)))

    def __setitem__(self, index: int, param: Any) -> None:
        setattr(self, str(self._position(index)), _as_parameter(param))

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Any]:
        return iter([self[number] for number in range(len(self))])

    def __iadd__(self, parameters: Iterable[Any]) -> Self:
        return self.extend(parameters)

    def append(self, value: Any) -> Self:
        """Adds a value at the end; the list itself is the result.

        >>> import tenora
        >>> len(tenora.nn.ParameterList().append(tenora.zeros(2)))
        1
        """
        self._size += 1
        self[-1] = value
        return self

    def extend(self, values: Iterable[Any]) -> Self:
        """Adds values at the end; the list itself is the result.

        >>> import tenora
        >>> len(tenora.nn.ParameterList().extend([tenora.zeros(2), tenora.zeros(3)]))
        2
        """
        if not isinstance(values, Iterable) or isinstance(values, Tensor):
            raise errors.ArgumentTypeError(
                f"[ParameterList] extend: got {type(values).__name__}, expected an iterable. Wrap it in a list."
            )
        for value in list(values):
            self.append(value)
        return self

    def extra_repr(self) -> str:
        """One line for each value."""
        kinds = (str(value.dtype) if isinstance(value, Tensor) else "" for value in self)
        rows = zip(self, kinds, strict=True)
        return "\n".join(
            f"  ({number}): {_described(value, kind)}" for number, (value, kind) in enumerate(rows)
        )


class ParameterDict(_NotCalled):
    """A dict whose parameters are registered; tensors become parameters, other objects are only kept.

    >>> import tenora
    >>> scales = tenora.nn.ParameterDict({"left": tenora.ones(2)})
    >>> scales["right"] = tenora.ones(3)
    >>> list(scales), type(scales["right"]).__name__
    (['left', 'right'], 'Parameter')
    """

    _keys: Any = SetByInit()

    def __init__(self, parameters: Any = None) -> None:
        super().__init__()
        self._keys = {}
        if parameters is not None:
            self.update(parameters)

    def _attribute(self, key: str) -> str:
        if not isinstance(key, str):
            raise errors.ArgumentTypeError(
                f"[ParameterDict] key: got {type(key).__name__}, expected a string. Pass a string."
            )
        return key

    def __getitem__(self, key: str) -> Any:
        if self._attribute(key) not in self._keys:
            raise errors.MissingAttributeError(  # as PyTorch's look-up does
                f"[ParameterDict] key: got {key!r}, expected one of {list(self._keys)}. Check the key."
            )
        return getattr(self, key)

    def __setitem__(self, key: str, value: Any) -> None:
        setattr(self, self._attribute(key), _as_parameter(value))
        self._keys[key] = None

    def __delitem__(self, key: str) -> None:
        del self._keys[key]
        delattr(self, self._attribute(key))

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __reversed__(self) -> Iterator[str]:
        return reversed(self._keys)

    def __contains__(self, key: object) -> bool:
        return key in self._keys

    def copy(self) -> ParameterDict:
        """A new dict of the same parameters.

        >>> import tenora
        >>> weights = tenora.nn.ParameterDict({"a": tenora.zeros(2)})
        >>> weights.copy()["a"] is weights["a"]
        True
        """
        return ParameterDict(OrderedDict(self.items()))

    def setdefault(self, key: str, default: Any = None) -> Any:
        """The value of `key`, entered as `default` if it is not there.

        >>> import tenora
        >>> weights = tenora.nn.ParameterDict({"a": tenora.zeros(2)})
        >>> weights.setdefault("b", tenora.ones(1)).item(), list(weights)
        (1.0, ['a', 'b'])
        """
        if key not in self:
            self[key] = default
        return self[key]

    def clear(self) -> None:
        """Takes everything out.

        >>> import tenora
        >>> weights = tenora.nn.ParameterDict({"a": tenora.zeros(2)})
        >>> weights.clear()
        >>> len(weights)
        0
        """
        for key in list(self):
            del self[key]

    def pop(self, key: str) -> Any:
        """Takes the value of a key out and returns it; AttributeError where there is none.

        >>> import tenora
        >>> weights = tenora.nn.ParameterDict({"a": tenora.zeros(2)})
        >>> weights.pop("a").shape, len(weights)
        (tenora.Size([2]), 0)
        """
        value = self[key]
        del self[key]
        return value

    def popitem(self) -> tuple[str, Any]:
        """Takes the last pair out and returns it.

        >>> import tenora
        >>> weights = tenora.nn.ParameterDict({"a": tenora.zeros(2), "b": tenora.zeros(2)})
        >>> weights.popitem()[0]
        'b'
        """
        key = next(reversed(self), None)
        if key is None:
            raise errors.MissingKeyError(
                "[ParameterDict] popitem: got an empty dict, expected a pair. Check len first."
            )
        return key, self.pop(key)

    def get(self, key: str, default: Any = None) -> Any:
        """The value of a key, or `default`.

        >>> import tenora
        >>> weights = tenora.nn.ParameterDict({"a": tenora.zeros(2)})
        >>> weights.get("b") is None
        True
        """
        return self[key] if key in self else default

    def fromkeys(self, keys: Iterable[str], default: Any = None) -> ParameterDict:
        """A new dict with one value for all keys.

        >>> import tenora
        >>> list(tenora.nn.ParameterDict().fromkeys(["a", "b"], tenora.zeros(2)))
        ['a', 'b']
        """
        return ParameterDict((key, default) for key in keys)

    def keys(self) -> KeysView[str]:
        """The keys.

        >>> import tenora
        >>> list(tenora.nn.ParameterDict({"a": tenora.zeros(2)}).keys())
        ['a']
        """
        return self._keys.keys()

    def items(self) -> Iterable[tuple[str, Any]]:
        """The pairs of key and value.

        >>> import tenora
        >>> [(key, tuple(value.shape)) for key, value in tenora.nn.ParameterDict({"a": tenora.zeros(2)}).items()]
        [('a', (2,))]
        """
        return ((key, self[key]) for key in self._keys)

    def values(self) -> Iterable[Any]:
        """The values.

        >>> import tenora
        >>> [tuple(value.shape) for value in tenora.nn.ParameterDict({"a": tenora.zeros(2)}).values()]
        [(2,)]
        """
        return (self[key] for key in self._keys)

    def update(self, parameters: Any) -> None:
        """Enters a mapping (a plain one in order of its keys), or an iterable of pairs.

        TypeError or ValueError for what is neither.

        >>> import tenora
        >>> weights = tenora.nn.ParameterDict()
        >>> weights.update({"a": tenora.zeros(2)})
        >>> list(weights)
        ['a']
        """
        plain = isinstance(parameters, Mapping) and not isinstance(parameters, OrderedDict)
        entries = pairs("ParameterDict", parameters)
        for key, value in sorted(entries, key=lambda entry: entry[0]) if plain else entries:
            self[key] = value

    def extra_repr(self) -> str:
        """One line for each value."""
        kinds = {key: _type_name(value) for key, value in self.items()}
        return "\n".join(f"  ({key}): {_described(self[key], kinds[key])}" for key in self)

    def __or__(self, other: ParameterDict) -> ParameterDict:
        merged = self.copy()
        merged.update(other)
        return merged

    def __ror__(self, other: ParameterDict) -> ParameterDict:
        merged = other.copy()
        merged.update(self)
        return merged

    def __ior__(self, other: ParameterDict) -> Self:
        self.update(other)
        return self


__all__ = ["ParameterDict", "ParameterList"]
