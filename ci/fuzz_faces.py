"""What the fuzz calls: every face of every public op, and the functions and methods that no record declares.

- A record's faces are its public function, its method, in-place method, `out=` form and property.
- Functions of `tenora`, `linalg`, `fft`, `special` and `nn.functional`, and members of Tensor, that belong to no
  record are called with arguments guessed from their signatures, or with those of a record that is like them.
- Left out are settings of the process (`SETTINGS`), which are no ops and would change later calls.
"""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import tenora
import tenora_ops
from fuzz_arguments import Arguments, Call, api, same, tensors_in
from tenora_ops.record import Record

SETTINGS = frozenset(
    {"fork_rng", "fallback", "set_backend_option", "set_default_backend", "set_default_device"}
    | {"set_default_dtype", "set_printoptions", "set_rng_state", "use_backend"}
)
#: Functions that write their operands: running statistics.
WRITING = frozenset({"nn.functional.batch_norm", "nn.functional.instance_norm"})
#: Members of Tensor that are Python's own, or would only be called on nonsense.
PLAIN = frozenset(
    {"__class__", "__delattr__", "__dir__", "__doc__", "__getattribute__", "__getstate__", "__init__"}
    | {
        "__init_subclass__",
        "__module__",
        "__new__",
        "__setattr__",
        "__subclasshook__",
        "__dict__",
        "__hash__",
    }
    | {"__array_priority__", "__sizeof__"}
)
#: Functions without a record of their own that take what another record takes.
LIKE = {
    "dropout1d": "feature_dropout",
    "dropout2d": "feature_dropout",
    "dropout3d": "feature_dropout",
    "triplet_margin_with_distance_loss": "triplet_margin_loss",
    "rand_like": "empty_like",
    "randn_like": "empty_like",
    "squeeze_": "squeeze",
    "unsqueeze_": "unsqueeze",
    "transpose_": "transpose",
    "as_strided_": "as_strided",
    "t_": "t",
}
#: Arguments that answer, for functions of which guesses hardly ever do; something is changed in most calls.
EXAMPLES: dict[str, Callable[[Arguments], tuple[Any, ...]]] = {
    "empty_permuted": lambda draw: ([2, 3, 4], draw.random.choice([[2, 0, 1], [0, 1, 2]])),
    "empty_strided": lambda draw: ([2, 3], [3, 1]),
    "new_empty_strided": lambda draw: (draw.tensor(), [2, 3], [3, 1]),
    "from_numpy": lambda draw: (draw.laid_out(draw.numbers.standard_normal((2, 3))),),
    "from_dlpack": lambda draw: (draw.tensor().detach(),),
    **dict.fromkeys(
        ("index_put", "index_put_"),
        lambda draw: (api.zeros(3, 2), [api.tensor([0, -1])], api.ones(2), draw.chance(0.5)),
    ),
    **dict.fromkeys(("promote_types", "can_cast"), lambda draw: (draw.dtype(), draw.dtype())),
    "multi_head_attention_forward": lambda draw: (
        *(api.ones(3, 2, 4, requires_grad=True) for _ in range(3)),
        *(4, 2, api.ones(12, 4), api.zeros(12), None, None, False, 0.1, api.ones(4, 4), None),
    ),
    "triplet_margin_with_distance_loss": lambda draw: tuple(
        draw.placed(draw.numbers.standard_normal((3, 4))) for _ in range(3)
    ),
    "__array_wrap__": lambda draw: (draw.tensor(), np.zeros(2)),
    "__delitem__": lambda draw: (draw.tensor(), draw.index()),
    "__format__": lambda draw: (draw.tensor(), draw.random.choice(["", ".2f", "x", "\ud800"])),
    "__reduce_ex__": lambda draw: (draw.tensor(), draw.random.choice([0, 2, 4, 99])),
    "_make_subclass": lambda draw: (draw.tensor(), api.Tensor, draw.tensor()),
    "as_subclass": lambda draw: (draw.tensor(), api.Tensor),
    "backward": lambda draw: (draw.tensor().sum(), draw.random.choice([None, draw.tensor()])),
    "new_full": lambda draw: (draw.tensor(), draw.integers(), draw.scalar()),
    "register_hook": lambda draw: (draw.tensor(), same),
    "register_post_accumulate_grad_hook": lambda draw: (draw.tensor(), same),
    "size": lambda draw: (draw.tensor(), draw.integer()),
}

Invoke = Callable[[Call, Arguments], Any]
Draws = Callable[[Arguments], Call]


@dataclass(frozen=True, slots=True)
class Face:
    """One way to call something.

    `keeps`: whether the arguments must be as before after the call; `plain`: whether Python's own words about the
    number of arguments may come out; `inplace`: whether the first argument is written.
    """

    name: str
    draw: Draws
    invoke: Invoke
    keeps: bool = True
    plain: bool = False
    inplace: bool = False


def find(path: str) -> Any:
    """The object of a public name, as a user spells it after `tenora.`."""
    return functools.reduce(getattr, path.split("."), tenora)


def call_function(function: Any, call: Call, _: Arguments) -> Any:
    return function(*call.positional, **call.options)


def call_method(name: str, call: Call, _: Arguments) -> Any:
    """Calls a method of the first argument."""
    return getattr(call.positional[0], name)(*call.positional[1:], **call.options)


def call_out(function: Any, call: Call, draw: Arguments) -> Any:
    """Calls with `out=`: fitting, overlapping an operand, or of any other kind."""
    kind = draw.random.randrange(6)
    call.options.pop("out", None)
    if draw.chance(0.8):  # out= takes no part in gradients
        call.detach()
    operands = [t for v in (*call.positional, *call.options.values()) for t in tensors_in(v)]
    if kind == 0 or (kind == 1 and not operands):
        call.options["out"] = draw.anything()
    elif kind == 1:
        call.options["out"] = draw.other_view(draw.random.choice(operands))
    else:
        with api.no_grad():
            answer = function(*call.positional, **call.options)
        outs = [api.empty_like(t) for t in tensors_in(answer)]
        change = {2: draw.other_dtype, 3: draw.other_shape, 4: draw.other_view}.get(kind, same)
        outs = [change(out) for out in outs]
        call.options["out"] = outs[0] if len(outs) == 1 else tuple(outs)
    return function(*call.positional, **call.options)


def call_property(name: str, call: Call, draw: Arguments) -> Any:
    """Reads a property of the first argument; sometimes writes it first."""
    subject = call.positional[0]
    if draw.chance(0.4):
        call.options["value"] = draw.anything()
        setattr(subject, name, call.options["value"])
    return getattr(subject, name)


def brackets(draw: Arguments) -> Call:
    """A tensor and what stands between its brackets."""
    return Call([draw.tensor(), draw.index()], {})


def written_brackets(draw: Arguments) -> Call:
    """A tensor, what stands between its brackets, and a value for it."""
    return Call([draw.tensor(), draw.index(), draw.tensor() if draw.chance(0.6) else draw.anything()], {})


def read_brackets(call: Call, _: Arguments) -> Any:
    """Reads `tensor[...]`."""
    tensor, index = call.positional
    return tensor[index]


def write_brackets(call: Call, draw: Arguments) -> None:
    """Writes `tensor[...] = value`, the value every other time of the shape that is written."""
    target, index, value = call.positional
    target[index] = draw.other_view(target.detach()[index]) if draw.chance(0.5) else value


def with_tensor_first(draw: Draws, inplace: bool, arguments: Arguments) -> Call:
    """A call whose first argument is a tensor; one that is written is often no leaf."""
    call = draw(arguments)
    if not call.positional or not isinstance(call.positional[0], api.Tensor):
        call.positional[:1] = [arguments.tensor()]
    target = call.positional[0]
    if inplace and target.requires_grad and target.is_leaf and arguments.chance(0.8):
        call.positional[0] = target.clone() if arguments.chance(0.6) else target.clone()[...]
    return call


def record_faces(record: Record) -> Iterator[Face]:
    """The ways to call an op."""

    def draw(arguments: Arguments) -> Call:
        return arguments.call(record)

    on_tensor = functools.partial(with_tensor_first, draw, False)
    written = functools.partial(with_tensor_first, draw, True)
    function = find(record.public) if record.public else tenora_ops.REGISTERED[record.name]
    suffix = "" if record.short == record.name else f" <{record.name}>"
    python = isinstance(function, types.FunctionType)
    if record.public:
        yield Face(
            f"{record.public}{suffix}",
            draw,
            functools.partial(call_function, function),
            not python and record.public not in WRITING,
            plain=python,
        )
    if record.method_name:
        yield Face(
            f"Tensor.{record.method_name}{suffix}",
            on_tensor,
            functools.partial(call_method, record.method_name),
        )
    if record.inplace_name:
        yield Face(
            f"Tensor.{record.inplace_name}{suffix}",
            written,
            functools.partial(call_method, record.inplace_name),
            inplace=True,
        )
    if record.out:
        out = functools.partial(call_out, tenora_ops.REGISTERED[record.name])
        yield Face(f"{record.public or record.name}(out=){suffix}", draw, out, False)
    if record.attribute:
        yield Face(
            f"Tensor.{record.attribute} property{suffix}",
            on_tensor,
            functools.partial(call_property, record.attribute),
            False,
            True,
        )


def guess(parameter: inspect.Parameter, draw: Arguments) -> Any:
    """An argument by a parameter's annotation and name."""
    if draw.chance(0.1):
        return draw.anything()
    told = f"{parameter.annotation} {parameter.name}"
    makers: dict[str, Callable[[], Any]] = {
        "Generator": lambda: api.Generator().manual_seed(1),
        "dtype": draw.dtype,
        "device": lambda: draw.random.choice(["cpu", None, "cpu:0", "nowhere"]),
        "bool": lambda: draw.chance(0.5),
        "Sequence[int]": draw.integers,
        "size": draw.integers,
        "shape": draw.integers,
        "array": lambda: np.asarray(draw.laid_out(draw.numbers.standard_normal((2, 3)))),
        "dim": draw.integer,
        "index": draw.index,
        "Tensor": draw.tensor,
        "int": draw.integer,
        "float": draw.scalar,
        "str": lambda: draw.random.choice(["mean", "sum", "none", ""]),
        "Callable": lambda: same,
        "hook": lambda: same,
        "function": lambda: same,
    }
    return next((make for word, make in makers.items() if word in told), draw.anything)()


def guessed(function: Any, skip: int, draw: Arguments) -> Call:
    """A call from a function's Python signature; without one, up to three arguments of any kind."""
    try:
        parameters = list(inspect.signature(function).parameters.values())[skip:]
    except (TypeError, ValueError):
        count = draw.random.choice([0, 0, 0, 1, 1, 1, 2, 3])
        return Call([draw.anything() for _ in range(count)], {})
    call = Call([], {})
    for parameter in parameters:
        if parameter.kind == parameter.VAR_POSITIONAL:
            call.positional += [draw.anything() for _ in range(draw.random.randrange(3))]
        elif parameter.kind == parameter.VAR_KEYWORD:
            continue
        elif parameter.default is not parameter.empty and draw.chance(0.6):
            continue
        elif parameter.kind == parameter.KEYWORD_ONLY or call.options:
            call.options[parameter.name] = guess(parameter, draw)
        else:
            call.positional.append(guess(parameter, draw))
    return call


def example(name: str, draw: Arguments) -> Call:
    """The example of a function, most often with something changed."""
    call = Call(list(EXAMPLES[name](draw)), {})
    for _ in range(draw.random.choice([0, 1, 1, 2])):
        draw.mutate(call)
    return call


def like(name: str) -> Record | None:
    """The record whose arguments a function without a record takes."""
    known = {r.short: r for r in tenora_ops.records() if r.public} | {r.name: r for r in tenora_ops.records()}
    return known.get(LIKE.get(name, "")) or known.get(name) or known.get(name.removesuffix("_"))


def other_functions(covered: set[int]) -> Iterator[Face]:
    """Public functions that no record declares."""
    for namespace in sorted({record.public.rpartition(".")[0] for record in tenora_ops.records()}):
        module = find(namespace) if namespace else tenora
        for name in sorted(vars(module)):
            function = getattr(module, name)
            if name.startswith("_") or not callable(function) or isinstance(function, type):
                continue
            if name in SETTINGS or id(function) in covered:
                continue
            covered.add(id(function))
            record = like(name)
            draw: Draws = functools.partial(guessed, function, 0)
            if name in EXAMPLES:
                draw = functools.partial(example, name)
            elif record is not None:
                draw = functools.partial(Arguments.call, record=record)
            public = f"{namespace}.{name}" if namespace else name
            yield Face(public, draw, functools.partial(call_function, function), False, True)


def members(covered: set[str]) -> Iterator[Face]:
    """Methods and properties of Tensor that no record declares."""
    yield Face("tensor[index]", brackets, read_brackets, plain=True)
    yield Face("tensor[index] = value", written_brackets, write_brackets, False, True)
    for name in sorted(dir(api.Tensor)):
        if name in covered | PLAIN | {"__getitem__", "__setitem__"}:
            continue
        member = getattr(api.Tensor, name)
        record = like(name)
        base: Draws = functools.partial(method_call, member)
        if name in EXAMPLES:
            base = functools.partial(example, name)
        elif record is not None and not name.startswith("__"):
            base = functools.partial(Arguments.call, record=record)
        invoke: Invoke = functools.partial(call_method, name)
        label = f"Tensor.{name}"
        if not callable(member):
            invoke, label = functools.partial(call_property, name), f"Tensor.{name} property"
        yield Face(label, functools.partial(with_tensor_first, base, False), invoke, False, True)


def method_call(member: Any, draw: Arguments) -> Call:
    """A tensor and the arguments of a method of it."""
    call = guessed(member, 1, draw)
    call.positional.insert(0, draw.tensor())
    return call


def faces() -> list[Face]:
    """Everything that is called, in a fixed order."""
    found: list[Face] = []
    covered: set[int] = set()
    methods: set[str] = set()
    for record in tenora_ops.records():
        found += record_faces(record)
        if record.public:
            covered.add(id(find(record.public)))
            covered |= {id(find(alias)) for alias in record.aliases}
        names = [record.method_name, record.inplace_name, record.attribute]
        methods.update(n for n in names if n)
        methods.update(alias + mark for alias in record.aliases for mark in ("", "_"))
    found += other_functions(covered)
    found += members(methods)
    return found
