"""Draws arguments for the fuzz: the records' own samples with something changed, and wild ones from the signature.

- Every call has a seed of its own, so that one call can be repeated alone.
- A mutation changes one thing: a tensor's dtype, layout, shape or contents; which operand stands where, or that two
  share memory; an attribute; how an argument is passed.
- Huge requests are rare: they cost time, and the limit on memory refuses them.
"""

from __future__ import annotations

import functools
import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import tenora
import tenora_ops
from tenora_ops.record import Record
from tenora_ops.samples import ALL, Sample, Seed
from tenora_ops.samples import Draw as SampleDraw
from tenora_ops.schema import Parameter, Schema

api: Any = tenora  # most of its names are served at run time

SHAPES = [(), (1,), (3,), (0,), (2, 3), (3, 3), (4, 1), (2, 0, 3), (2, 3, 4), (1, 2, 3, 4), (2, 1, 2, 1, 2)]
INTEGERS = [0, 1, -1, 2, 3, -2, 5, 7, 64, 65, -65]
HUGE = [2**31, 2**31 - 1, -(2**31), 2**62, 2**63 - 1, -(2**63), 2**63, 2**64, 10**30]
FLOATS = [0.0, -0.0, 1.0, 0.5, -1.5, 1e-300, 1e300, float("inf"), float("-inf"), float("nan")]
WORDS = [
    *("mean", "sum", "none", "constant", "reflect", "trunc", "floor", "tanh", "bilinear", "same", "sum ", ""),
    *("no such word", "\ud800", "é" * 70, "a\0b", "bij,bjk->bik", "ii->", "...a,a...->..."),
]
LARGE = 20_000  # elements beyond which a sample is seldom used


class OddError(Exception):
    """Raised by an argument, so it may come out of any call."""


class Odd:
    """Looks like a number and a sequence, and fails."""

    def __index__(self) -> int:
        raise OddError

    def __float__(self) -> float:
        raise OddError

    def __len__(self) -> int:
        return 2**62

    def __getitem__(self, key: object) -> int:
        raise OddError


def same(value: Any) -> Any:
    """A callable, for what takes hooks."""
    return value


WRONG: list[Any] = [
    None,
    "text",
    b"bytes",
    object(),
    Odd(),
    [],
    (),
    {},
    [None],
    [[1], [2, 3]],
    1j,
    True,
    range(3),
]
WRONG += [..., same, slice(None), np.float32(2), np.zeros(2), int]
WRONG += ["1" * 1000, [[[]]], {1: 2}.keys(), memoryview(b"four"), np.float64("nan")]
WRONG += [np.zeros(2, ">f4"), np.array([None]), np.zeros(2, "M8[s]")]
NESTED: list[Any] = [1.0]
NESTED.append(NESTED)
WRONG.append(NESTED)
#: Objects of which the calls may keep nothing: their reference counts are compared.
WATCHED = [value for value in WRONG if type(value) in (object, Odd)]


@functools.lru_cache(maxsize=32)
def samples_of(name: str, dtype: str) -> tuple[Sample, ...]:
    """A record's samples, of which one whose arrays are large is kept only when there is no other."""
    record = tenora_ops.record(name)
    samples = tuple(record.samples(SampleDraw(dtype, record.domain, name)))
    return tuple(s for s in samples if elements(s) <= LARGE) or samples


def elements(sample: Sample) -> int:
    """How many elements all arrays of a sample have."""
    values = [v for value in (*sample.arguments, *sample.options.values()) for v in listed(value)]
    return sum(v.size for v in values if isinstance(v, np.ndarray))


def listed(value: Any) -> list[Any]:
    """The items of a list or tuple, else the value itself."""
    return list(value) if isinstance(value, list | tuple) else [value]


class Call:
    """Arguments of one call, before it is made."""

    def __init__(self, positional: list[Any], options: dict[str, Any]) -> None:
        self.positional = positional
        self.options = options

    def tensors(self) -> list[tuple[Any, Any]]:
        """Where tensors stand: a container and a key for each."""
        found: list[tuple[Any, Any]] = []
        holders: list[Any] = [self.positional, self.options, *self.lists()]
        for holder in holders:
            keys = holder if isinstance(holder, dict) else range(len(holder))
            found += [(holder, key) for key in keys if isinstance(holder[key], api.Tensor)]
        return found

    def detach(self) -> None:
        """Takes all tensors out of their histories."""
        for holder, key in self.tensors():
            holder[key] = holder[key].detach()

    def lists(self) -> list[list[Any]]:
        """The arguments that are lists of tensors."""
        values = [*self.positional, *self.options.values()]
        return [v for v in values if isinstance(v, list) and any(isinstance(t, api.Tensor) for t in v)]

    def others(self) -> list[tuple[Any, Any]]:
        """Where everything else stands."""
        found: list[tuple[Any, Any]] = [(self.positional, i) for i in range(len(self.positional))]
        found += [(self.options, key) for key in self.options]
        return [(holder, key) for holder, key in found if not isinstance(holder[key], api.Tensor)]

    def __str__(self) -> str:
        shown = [show(v) for v in self.positional] + [
            f"{ascii(k)[1:-1]}={show(v)}" for k, v in self.options.items()
        ]
        return ", ".join(shown)


def show(value: Any) -> str:
    """An argument in a few letters, a tensor by dtype, shape and strides."""
    if isinstance(value, api.Tensor):
        mark = "" if not value.requires_grad else " leaf" if value.is_leaf else " grad"
        return f"{str(value.dtype)[7:]}{list(value.shape)}/{list(value.stride())}{mark}"
    if isinstance(value, list | tuple) and any(isinstance(v, api.Tensor) for v in value):
        return "[" + ", ".join(map(show, value)) + "]"
    return ascii(value)[:200]


class Arguments:
    """Draws one call."""

    def __init__(self, seed: str) -> None:
        self.random = random.Random(seed)

    def chance(self, probability: float) -> bool:
        """True that often."""
        return self.random.random() < probability

    # Values

    @functools.cached_property
    def numbers(self) -> np.random.Generator:
        """NumPy's generator, for contents."""
        return np.random.default_rng(self.random.getrandbits(32))

    def tensor(self) -> Any:
        """A tensor of a random shape, dtype, layout and content."""
        shape = self.random.choice(SHAPES)
        dtype = self.random.choice(ALL) if self.chance(0.5) else "float32"
        whole = self.numbers.integers(-4, 9, shape)
        values = whole if self.chance(0.5) else self.numbers.standard_normal(shape) * 3
        with np.errstate(all="ignore"):
            array = np.asarray(values).astype(tenora_ops.samples.numpy_dtype(dtype)).reshape(shape)
        return self.placed(array)

    def placed(self, array: np.ndarray) -> Any:
        """An array as a tensor: borrowed memory or its own, in some layout, sometimes with a gradient."""
        tensor = api.from_numpy(self.laid_out(array))
        if self.chance(0.3):
            tensor = tensor.clone()
        if (tensor.dtype.is_floating_point or tensor.dtype.is_complex) and self.chance(0.25):
            tensor = tensor.detach().requires_grad_()
        return tensor

    def laid_out(self, array: np.ndarray) -> np.ndarray:
        """The same values in new memory, every other time with other strides."""
        layout = self.random.randrange(8) if array.ndim else 7
        if layout == 0:
            return array.T.copy().T
        if layout > 3:
            return array.copy().reshape(array.shape)
        room = np.zeros([2 * n + 1 for n in array.shape], dtype=array.dtype)
        steps: dict[int, Callable[[int], Any]] = {
            1: lambda n: slice(1, 2 * n + 1, 2),
            2: lambda n: slice(n - 1, None if n else 0, -1),
            3: lambda n: slice(1, n + 1),
        }
        window: np.ndarray = room[tuple(steps[layout](n) for n in array.shape)]
        if window.shape != array.shape:
            return array.copy()
        window[...] = array
        return window

    def integer(self) -> int:
        """A small number, rarely one at the edge of what fits."""
        if self.chance(0.7):
            return self.random.randrange(-3, 5)
        return self.random.choice(HUGE) if self.chance(0.25) else self.random.choice(INTEGERS)

    def integers(self) -> list[int]:
        """Up to five of them, rarely very many."""
        count = 1000 if self.chance(0.01) else self.random.randrange(6)
        return [self.integer() for _ in range(count)]

    def dtype(self) -> Any:
        """Any dtype."""
        return getattr(tenora, self.random.choice(ALL))

    def scalar(self) -> Any:
        """A Python number of any kind."""
        return self.random.choice([self.integer(), self.random.choice(FLOATS), True, 1 - 2j])

    def wrong(self) -> Any:
        """A value that hardly anything takes; one that can be written is the call's own."""
        value = self.random.choice(WRONG)
        return value.copy() if type(value) in (list, dict) else value

    def anything(self) -> Any:
        """A value of any type."""
        makers = (self.tensor, self.tensor, self.scalar, self.integer, self.integers)
        return self.wrong() if self.chance(0.3) else self.random.choice(makers)()

    def index(self) -> Any:
        """What stands between brackets."""
        parts: list[Callable[[], Any]] = [
            lambda: self.random.randrange(-3, 3),
            lambda: slice(*(self.random.choice([None, self.integer()]) for _ in range(3))),
            lambda: self.random.choice([None, ..., True, False]),
            lambda: self.placed(np.asarray(self.numbers.integers(-2, 2, self.random.choice(SHAPES[:7])))),
            lambda: self.placed(np.asarray(self.numbers.integers(0, 2, self.random.choice(SHAPES[:7])) > 0)),
            lambda: self.random.choice([[0], [0, -1], [], [True, False], [[0, 1], [1, 0]], range(2)]),
            self.anything,
        ]
        weights = [6, 4, 3, 3, 2, 2, 1]
        items = [self.random.choices(parts, weights)[0]() for _ in range(self.random.randrange(1, 5))]
        return items[0] if len(items) == 1 else tuple(items)

    def value(self, parameter: Parameter) -> Any:
        """An argument for a parameter, of its type or not."""
        if self.chance(0.06):
            return self.wrong()
        kind = parameter.type
        if kind.endswith("?") or "None" in kind:
            if self.chance(0.4):
                return None
            kind = kind.removesuffix("?").removesuffix(" | None")
        if kind == "Tensor | Scalar":
            kind = "Tensor" if self.chance(0.6) else "Scalar"
        makers: dict[str, Callable[[], Any]] = {
            "Tensor": self.tensor,
            "Tensor[]": lambda: [self.tensor() for _ in range(self.random.randrange(4))],
            "Tensor?[]": lambda: [
                self.tensor() if self.chance(0.7) else None for _ in range(self.random.randrange(4))
            ],
            "int": self.integer,
            "int[]": self.integers,
            "float": lambda: self.random.choice(FLOATS) if self.chance(0.5) else self.random.random(),
            "bool": lambda: self.chance(0.5),
            "str": lambda: self.random.choice(WORDS),
            "dtype": self.dtype,
            "device": lambda: self.random.choice(["cpu", api.device("cpu"), "cpu:7", "nowhere", ""]),
            "Generator": lambda: api.Generator().manual_seed(self.random.getrandbits(16)),
        }
        return makers.get(kind, self.scalar)()

    # Calls

    def call(self, record: Record) -> Call:
        """Mostly a sample of the record, seldom as it is; else a wild call."""
        if self.chance(0.2):
            return self.wild(record.schema)
        call = self.sampled(record)
        for _ in range(self.random.choice([0, 0, 1, 1, 1, 2, 3])):
            self.mutate(call)
        return call

    def sampled(self, record: Record) -> Call:
        """A sample of the record, its arrays as tensors."""
        sample = self.random.choice(samples_of(record.name, self.random.choice(record.dtypes)))
        kinds = {p.name: p.type for p in record.schema.parameters}
        in_order = [p.type for p in record.schema.parameters if not p.keyword_only]
        in_order += [""] * len(sample.arguments)
        positional = [self.concrete(v, k) for v, k in zip(sample.arguments, in_order, strict=False)]
        options = {k: self.concrete(v, kinds.get(k, "")) for k, v in sample.options.items()}
        return Call(positional, options)

    def concrete(self, value: Any, kind: str) -> Any:
        """A sample's value as the op takes it."""
        if isinstance(value, np.ndarray):
            return self.placed(value)
        if isinstance(value, list):
            return [self.concrete(v, "") for v in value]
        if isinstance(value, Seed):
            return api.Generator().manual_seed(value.seed)
        return getattr(tenora, value) if kind.startswith("dtype") and isinstance(value, str) else value

    def wild(self, schema: Schema) -> Call:
        """Arguments by the signature alone; sometimes one too few, one too many or one of no meaning."""
        call = Call([], {})
        for parameter in schema.parameters:
            required = parameter.is_tensor and "?" not in parameter.type
            if not required and self.chance(0.4):
                continue
            if parameter.keyword_only or (call.options and not required) or self.chance(0.1):
                call.options[parameter.name] = self.value(parameter)
            else:
                call.positional.append(self.value(parameter))
        if self.chance(0.03) and call.positional:
            call.positional.pop()
        if self.chance(0.03):
            call.positional.append(self.anything())
        if self.chance(0.02):
            call.options["no_such_option"] = 1
        return call

    # Mutations

    def mutate(self, call: Call) -> None:
        """Changes one thing of a call."""
        kinds = [self.mutate_tensor, self.mutate_all, self.mutate_pair, self.mutate_attribute, self.misplace]
        self.random.choices(kinds, [5, 3, 3, 3, 1])[0](call)

    def mutate_all(self, call: Call) -> None:
        """The same change of all tensors, after which a call often still fits."""
        kind, dtype, times = self.random.randrange(4), self.dtype(), self.random.choice([2, 7, 40])
        for holder, key in call.tensors():
            tensor = holder[key]
            if kind == 0:
                holder[key] = tensor.to(dtype)
            elif kind == 1:
                holder[key] = tensor.unsqueeze(0).expand(2, *tensor.shape)
            elif kind == 2 and tensor.ndim and tensor.numel() < LARGE // times:
                holder[key] = api.cat([tensor] * times, 0)
            elif kind == 3 and tensor.ndim and tensor.numel() < LARGE // times:
                holder[key] = api.cat([tensor] * times, -1)

    def mutate_tensor(self, call: Call) -> None:
        """Another dtype, layout, shape or content of one tensor."""
        places = call.tensors()
        if not places:
            return self.mutate_attribute(call)
        holder, key = self.random.choice(places)
        kinds = [self.other_dtype, self.other_view, self.other_shape, self.other_content, self.no_tensor]
        holder[key] = self.random.choices(kinds, [3, 4, 4, 4, 1])[0](holder[key])
        return None

    def other_dtype(self, tensor: Any) -> Any:
        return tensor.detach().to(self.dtype())

    def other_view(self, tensor: Any) -> Any:
        """A view with the same number of dimensions, or an expanded or empty one."""
        if not tensor.ndim:
            return tensor.expand(self.random.choice([(), (1,), (3,), (2, 3)]))
        dim = self.random.randrange(tensor.ndim)
        kinds: list[Callable[[], Any]] = [
            lambda: tensor.transpose(0, dim),
            lambda: tensor.flip(0)[::-1],
            lambda: tensor.narrow(dim, 0, 0),
            lambda: tensor.narrow(dim, 0, min(1, tensor.shape[dim])).expand(tensor.shape),
            lambda: tensor.unsqueeze(0).expand(3, *tensor.shape),
            lambda: tensor[..., ::-1],
            lambda: tensor.detach(),
        ]
        try:
            return self.random.choice(kinds)()
        except RuntimeError:  # an empty dimension does not expand
            return tensor

    def other_shape(self, tensor: Any) -> Any:
        """One dimension longer or shorter by one, one more, one less, or none but one."""
        if not tensor.ndim:
            return tensor.unsqueeze(0)
        dim = self.random.randrange(tensor.ndim)
        size = tensor.shape[dim]
        kinds: list[Callable[[], Any]] = [
            lambda: tensor.narrow(dim, 0, size - 1) if size else tensor,
            lambda: api.cat([tensor, tensor.narrow(dim, 0, 1)], dim) if size else tensor,
            lambda: tensor.unsqueeze(dim),
            lambda: tensor.select(dim, 0) if size else tensor.sum(dim),
            lambda: tensor.reshape(-1),
            lambda: api.cat([tensor, tensor], dim),
        ]
        return self.random.choice(kinds)()

    def other_content(self, tensor: Any) -> Any:
        """Some elements at the edge of the dtype, or none where they should be."""
        tensor = tensor.detach().clone()
        if not tensor.numel() or tensor.dtype == api.bool:
            return tensor
        flat = tensor.reshape(-1)
        for _ in range(self.random.randrange(1, 4)):
            place = self.random.randrange(flat.numel())
            if tensor.dtype.is_floating_point or tensor.dtype.is_complex:
                number: Any = self.random.choice(FLOATS)
            else:
                number = self.random.choice([0, 1, 100, -1, -100, 2**31, 2**63 - 1, -(2**63)])
            with np.errstate(all="ignore"):
                flat[place] = api.tensor(number).to(tensor.dtype)
        return flat.reshape(tensor.shape)

    def no_tensor(self, tensor: Any) -> Any:
        """Another tensor, or none at all."""
        kinds: list[Callable[[], Any]] = [self.tensor, self.scalar, self.wrong]
        return self.random.choice(kinds)()

    def mutate_pair(self, call: Call) -> None:
        """Two tensors trade places, are one, or overlap in memory; a list gets longer or shorter."""
        places = call.tensors()
        for items in call.lists():
            if self.chance(0.5):
                items.append(self.random.choice(items)) if self.chance(0.5) else items.pop()
                return
        if len(places) < 2:
            return self.mutate_tensor(call)
        (first, i), (second, j) = self.random.sample(places, 2)
        kind = self.random.randrange(4)
        if kind == 0:
            first[i], second[j] = second[j], first[i]
        elif kind == 1:
            second[j] = first[i]
        elif first[i].ndim and first[i].shape[0]:
            longer = api.cat([first[i].detach(), first[i].detach()[:1]])
            first[i], second[j] = longer[1:], longer[:-1] if kind == 2 else longer[1:][::-1]
        return None

    def mutate_attribute(self, call: Call) -> None:
        """An attribute gets an extreme or a wrong value, or one of its items does."""
        places = call.others()
        if not places:
            return self.misplace(call)
        holder, key = self.random.choice(places)
        value = holder[key]
        if isinstance(value, list | tuple) and value and self.chance(0.8):
            items = list(value)
            place = self.random.randrange(len(items))
            kind = self.random.randrange(3)
            if kind == 0:
                items[place] = self.integer() if self.chance(0.8) else self.anything()
            elif kind == 1:
                items.pop(place)
            else:
                items.insert(place, items[place])
            holder[key] = type(value)(items)
        elif isinstance(value, str) and self.chance(0.8):
            holder[key] = self.random.choice(WORDS)
        else:
            makers = (self.scalar, self.integer, self.integer, self.integers, self.anything)
            holder[key] = self.random.choice(makers)()
        return None

    def misplace(self, call: Call) -> None:
        """One argument too many, too few or of no meaning; one passed by name that is not its own."""
        kind = self.random.randrange(4)
        if kind == 0 and len(call.positional) > 1:
            call.positional.pop()
        elif kind == 1:
            call.positional.append(self.anything())
        elif kind == 2 and call.options:
            call.options.pop(self.random.choice(list(call.options)))
        else:
            names = (
                "dim",
                "keepdim",
                "dtype",
                "other",
                "out",
                "axis",
                "inplace",
                "reduction",
                "no_such_option",
                "\ud800",
                "self",
            )
            call.options[self.random.choice(names)] = self.anything()


def tensors_in(value: Any, depth: int = 0) -> Iterator[Any]:
    """All tensors of a result or an argument; a list may hold itself."""
    if isinstance(value, api.Tensor):
        yield value
    elif isinstance(value, list | tuple) and depth < 4:
        for item in value:
            yield from tensors_in(item, depth + 1)
