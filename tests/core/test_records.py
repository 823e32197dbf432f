"""Records are complete, consistent, and say what they mean."""

from __future__ import annotations

import dataclasses
import re
import subprocess
import sys

import pytest

import tenora
import tenora_ops
from tenora.cli import main
from tenora_ops.census import census
from tenora_ops.record import Record, RecordError
from tenora_ops.samples import Draw
from tenora_ops.schema import SchemaError, parse
from tenora_ops.tolerance import TOLERANCES

RECORDS = tenora_ops.records()
NAMES = [r.name for r in RECORDS]
NEG = tenora_ops.record("neg")

#: Functions of two modules that share a name and are ops of their own.
NAMESAKES = {
    "norm": "linalg.norm judges matrices and vectors by rank, norm sums over what is there",
}


def test_there_are_enough() -> None:
    assert census(RECORDS).ops >= 490


def test_each_record_and_alias_is_counted_once() -> None:
    found = census(RECORDS)  # other tests of the process register ops of their own
    records = [getattr(found, name) for name in type(found).__dataclass_fields__ if name != "aliases"]
    assert sum(map(len, records)) == len(RECORDS)
    assert len(set(found.functions)) == len(found.functions)
    assert not set(found.functions) & {*found.methods, *found.aliases, *found.renamed}


@pytest.mark.parametrize(
    "face",
    [
        {"public": ""},
        {"public": "", "inplace": "counted_twice_"},
        {"public": "tanh"},
        {"public": "", "method": "tanh"},
        {"public": "", "attribute": "counted_twice"},
        {"renames": "tanh"},
    ],
    ids=["internal", "in place", "overload", "overload as a method", "property", "second name"],
)
def test_what_is_no_op_of_its_own_does_not_count(face: dict[str, object]) -> None:
    """A record that brings no new public op leaves the number as it is; one that does raises it by one."""
    before = census().ops
    given = {field.name: getattr(NEG, field.name) for field in dataclasses.fields(NEG) if field.init}
    given |= {"signature": "counted_twice(input: Tensor) -> Tensor", "method": False, "inplace": False}
    given |= {"public": "counted_twice", "operator": "", "aliases": ("counted_again",)}
    assert census([*RECORDS, Record(**given)]).ops == before + 1
    assert census([*RECORDS, Record(**(given | face))]).ops == before


def test_second_names_are_declared() -> None:
    """What says that it renames names a public op; namesakes in two modules are declared, or stand in NAMESAKES."""
    public = {r.public for r in RECORDS if not r.renames}
    assert {r.renames for r in RECORDS if r.renames} <= public
    assert [
        r.name for r in RECORDS if re.search(r"under its \w+ name", r.doc) and r.public and not r.renames
    ] == [
        "max_other",
        "min_other",
    ]  # overloads of max and min
    modules: dict[str, set[str]] = {}
    for record in RECORDS:
        if record.public and not record.renames:
            modules.setdefault(record.short, set()).add(record.public)
    assert {short for short, names in modules.items() if len(names) > 1} == set(NAMESAKES)


def test_the_command_counts(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ops", "--count"]) == 0
    assert int(capsys.readouterr().out) == census().ops
    assert main(["ops", "--count", "--verbose"]) == 0
    shown = capsys.readouterr().out
    assert (
        f"{len(census().internal)}   records: internal" in shown
        and f"{len(census().aliases)}   aliases" in shown
    )


@pytest.mark.parametrize("record", RECORDS, ids=NAMES)
def test_complete(record: Record) -> None:
    assert callable(record.oracle)
    assert record.tolerance in TOLERANCES
    assert record.dtypes and len(set(record.dtypes)) == len(record.dtypes)
    assert record.doc.endswith(".") and "\n" not in record.doc
    assert record.domain.low < record.domain.high
    for dtype in record.dtypes:
        found = list(record.samples(Draw(dtype, record.domain, record.name)))
        assert len(found) >= 6, f"{record.name}: {len(found)} samples in {dtype}"


#: Ops of one shape for all operands whose samples leave shapes out, and why; test_ops_edges_torch.py tries these too.
FEWER = {
    "to": "moves and casts as copy does, which has every shape",
    "normalize": "along a dim, with elements",
}


@pytest.mark.parametrize("name", [r.name for r in RECORDS if r.public and r.shape in ("broadcast", "same")])
def test_samples_have_every_rank(name: str) -> None:
    """Where operands of any shape are taken, 0-d to 5-d, an empty one, and shapes that broadcast are drawn."""
    record = tenora_ops.record(name)
    for dtype in record.dtypes:
        shapes = [
            [value.shape for value in sample.arguments if hasattr(value, "shape")]
            for sample in record.samples(Draw(dtype, record.domain, name))
        ]
        every = [shape for group in shapes for shape in group]
        lacking = set(range(6)) - set(map(len, every))
        complete = not lacking and any(0 in shape for shape in every)
        if record.shape == "broadcast" and len(record.schema.operands) > 1:
            complete = complete and any(len(set(group)) > 1 for group in shapes)
        assert complete != (name in FEWER), (
            f"{name} in {dtype}: no sample of rank {sorted(lacking)}, or none empty"
        )


@pytest.mark.parametrize("record", RECORDS, ids=NAMES)
def test_example_runs(record: Record) -> None:
    exec(compile(record.example, record.name, "exec"), {"tenora": tenora})


@pytest.mark.parametrize("record", RECORDS, ids=NAMES)
def test_faces_exist(record: Record) -> None:
    if record.public:
        target = tenora
        for part in record.public.split("."):
            target = getattr(target, part)
        assert callable(target)
    if record.method:
        assert callable(getattr(tenora.Tensor, record.method_name))
    if record.inplace:
        assert callable(getattr(tenora.Tensor, record.inplace_name))


def test_samples_are_the_same_every_time() -> None:
    record = tenora_ops.record("add")
    first, second = (list(record.samples(Draw("float32", record.domain, "add"))) for _ in range(2))
    for a, b in zip(first, second, strict=True):
        assert str(a) == str(b)
        assert (
            a.arguments[0].tobytes() == b.arguments[0].tobytes()
            if hasattr(a.arguments[0], "tobytes")
            else True
        )


def test_import_takes_no_numpy_and_no_backend() -> None:
    """Records alone load neither oracles' libraries nor a backend."""
    program = (
        "import sys, tenora_ops; from tenora_engine import _engine;"
        "assert not {'scipy', 'numpy.linalg'} & set(sys.modules), sorted(sys.modules);"
        "assert _engine.backend_names() == [], _engine.backend_names()"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("mul(a: Tensor", "not a signature"),
        ("mul(a: Tenser) -> Tensor", "got 'Tenser', expected"),
        ("mul(a: Tensor, a: int) -> Tensor", "appears twice"),
        ("mul(a: Tensor[], b: Tensor) -> Tensor", "last tensor parameter"),
        ("mul(a: Tensor, k: int = x) -> Tensor", "expected a literal"),
        ("mul(a: Tensor) -> Tensors", "got 'Tensors'"),
    ],
)
def test_schema_errors(text: str, words: str) -> None:
    with pytest.raises(SchemaError, match=re.escape(words)):
        parse(text)


def test_schema_parts() -> None:
    schema = parse(
        "f(a: Tensor, xs: Tensor[], k: int[]? = (1, 2), *, b: bool = True, e: float = -inf) -> (Tensor, Tensor)"
    )
    assert [p.name for p in schema.operands] == ["a", "xs"] and schema.variadic
    assert [p.default for p in schema.attributes] == [(1, 2), True, float("-inf")]
    assert schema.parameters[-1].keyword_only and schema.results == 2


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"signature": "add(input: Tensor) -> Tensor"}, "registered already"),
        ({"tolerance": "loose"}, "unknown tolerance class: got 'loose'"),
        ({"doc": " "}, "'doc' is empty"),
        ({"vjp": lambda g: g}, "vjp parameters: got 1, expected at least 3"),
        ({"vjp": lambda g, x, r, dim: g}, "got ['dim']"),
        ({"view": True, "composite": lambda x: x}, "more than one implementation"),
        ({"shape_only": ("other",)}, "expected names of tensor parameters"),
        ({"dynamic_vjp": True}, "got no vjp formula"),
        (
            {"dtype": "", "shape": "", "function": lambda x: x, "vjp": lambda g, x, r: g},
            "whose parts are recorded",
        ),
    ],
)
def test_registration_errors(fields: dict[str, object], words: str) -> None:
    """A record that contradicts itself is refused before the engine hears of it."""
    base = tenora_ops.record("neg")
    given = {
        "signature": "tested_op(input: Tensor) -> Tensor",
        "family": base.family,
        "doc": "A test.",
        "example": "tenora.ones(1)",
        "oracle": lambda x: x,
        **fields,
    }
    with pytest.raises(RecordError, match=re.escape(words)):
        tenora_ops.op(**given)  # type: ignore[arg-type]
    assert "tested_op" not in {r.name for r in tenora_ops.records()}
