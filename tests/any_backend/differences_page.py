"""docs/differences.md, written from the lists of differences.py and those beside it: run it after a change.

- `KNOWN` are the rows that users are likely to meet, each with the test that shows it. The tables below them hold
  every other entry of every list, those of a reason in one row.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import differences
import edge_differences
import refusal_differences

import tenora_ops
from tenora_ops.samples import ALL, COMPLEX, INTEGERS, REALS

#: A bar inside a cell.
BAR = "\\|"
PAGE = Path(__file__).resolve().parents[2] / "docs/differences.md"
#: Call, PyTorch, tenora, why; file and function of the test that shows it.
Row = tuple[str, str, str, str, str]
KNOWN: tuple[Row, ...] = (
    (
        "`x[::-1]`, NumPy arrays with negative strides",
        "refused",
        "a view",
        "NumPy's and the Array API's meaning; a backend may decline such strides and gets copies",
        "tests/any_backend/test_view_inplace.py::test_a_second_derivative_goes_through_a_write_into_a_reversed_view",
    ),
    (
        "`all`, `any` of uint8",
        "uint8",
        "bool",
        "every other dtype gives bool",
        "tests/any_backend/test_ops_parity.py::test_parity",
    ),
    (
        "`linalg.svd`, `linalg.eigh`, `linalg.eig`",
        "signs, phases and order as the library leaves them",
        "signs and phases fixed, eigenvalues in order of re + 0.618 im",
        "the same factors on every backend",
        "tests/any_backend/test_linalg_torch.py::test_values",
    ),
    (
        "first gradient of `linalg.det` of a singular matrix, without `create_graph`",
        "0 where the determinant is exactly 0",
        "the cofactors",
        "a determinant is a polynomial: its gradient does not depend on how it is asked for",
        "tests/any_backend/test_determinants_torch.py::test_pytorchs_first_gradient_alone_is_zero",
    ),
    (
        "second gradient of `linalg.det` of a singular matrix with equal singular values, or a complex one",
        "NaN or wrong",
        "exact; the third gradient is not",
        "no gap of singular values is a divisor",
        "tests/any_backend/test_determinants_torch.py::test_derivatives_at_every_rank",
    ),
    (
        "gradient with `create_graph=True` of `logdet`, `slogdet` of a singular matrix",
        "LinAlgError",
        "infinite or NaN",
        "the other matrices of a stack keep theirs, as without `create_graph`",
        "tests/any_backend/test_determinants_torch.py::test_pytorch_refuses_their_second_gradients",
    ),
    (
        "`conv1d`, `conv2d`, `conv3d` of an input without channels",
        "a result without channels",
        "the bias, or zeros, with the weight's channels",
        "the shape that the documentation gives; an empty sum is 0",
        "tests/any_backend/test_empty_calls_torch.py::test_convolution_without_channels_is_an_empty_sum",
    ),
    (
        "`x[mask] = number` with a mask of uint8",
        "some refused",
        "written",
        "a number is written wherever a tensor is",
        "tests/any_backend/test_index_forms_torch.py::test_taken_though_pytorch_refuses",
    ),
    (
        "random numbers of a seed",
        "a Mersenne twister",
        "Philox 4x32-10: the same bits on every backend, layout and number of threads",
        "backends are exchanged in the middle of a program",
        "tests/any_backend/test_random.py::test_bits",
    ),
)


@dataclass(frozen=True)
class Section:
    """One list: what differs by (call, where)."""

    title: str
    says: str
    where: str
    test: str
    entries: Mapping[tuple[str, str], str]


def called(name: str) -> str:
    """The public name of a record; "" of one that is no op of users, the name itself where it is no record's."""
    try:
        return tenora_ops.record(name).public
    except KeyError:
        return name


def named(dtypes: Iterable[str]) -> str:
    """Dtypes in order, in words where they are all of a kind."""
    left, words = dict.fromkeys(dtypes), []
    for word, group in (("any", ALL), ("whole", INTEGERS), ("real", REALS), ("complex", COMPLEX)):
        if set(group) <= set(left):
            words.append(word)
            left = {d: None for d in left if d not in group}
    found = [*words, *left]
    return ("; " if any("," in word for word in found) else ", ").join(found)


def _alone(entries: Mapping[str, str], where: str = "") -> dict[tuple[str, str], str]:
    return {(name, where): reason for name, reason in entries.items()}


def _backends() -> dict[tuple[str, str], str]:
    return {
        (name, f"{dtype} on `{backend}`"): reason
        for (name, dtype, backend), reason in edge_differences.ONE_BACKEND.items()
    }


def _pools() -> dict[tuple[str, str], str]:
    return {(name, d): reason for name, (dtypes, reason) in differences.POOLS.items() for d in dtypes}


def _losses() -> dict[tuple[str, str], str]:
    return {
        (name, f"{', '.join(inputs)}; targets {named(targets)}"): reason
        for name, (inputs, targets, reason) in differences.LOSSES.items()
    }


def _without_elements() -> dict[tuple[str, str], str]:
    parts = {key: key.partition(": ") for key in differences.WITHOUT_ELEMENTS}
    return {(parts[key][0], parts[key][2]): reason for key, reason in differences.WITHOUT_ELEMENTS.items()}


def _in_words(entries: Mapping[tuple[str, str], str]) -> dict[tuple[str, str], str]:
    return {(name, wrong.replace("_", " ")): reason for (name, wrong), reason in entries.items()}


SECTIONS = (
    Section(
        "Values",
        "Tenora answers what the formula gives to the last digits, and fixes what is free:",
        "dtype",
        "test_ops_parity.py",
        differences.VALUES,
    ),
    Section(
        "Gradients",
        "Tenora's agree with finite differences (test_ops_gradients.py):",
        "",
        "test_ops_parity.py",
        _alone(differences.GRADIENTS) | _alone(differences.SECOND_GRADIENTS, "the second gradient"),
    ),
    Section(
        "Derivatives of gradients that are not there",
        "A second backward ends in an error that says so:",
        "",
        "test_gradients_of_gradients_torch.py",
        _alone(differences.NO_DERIVATIVE),
    ),
    Section(
        "Gradients on kinks",
        "Where a derivative jumps, tenora takes the one-sided limit or the mean that the definition has:",
        "",
        "test_kinks_torch.py",
        _alone(differences.KINKS),
    ),
    Section(
        "The edges of a dtype",
        "At infinities, NaN, zeros, subnormal and largest numbers tenora rounds the exact answer once (an oracle is the"
        " formula in double precision, or SciPy, where PyTorch has none):",
        "dtype",
        "test_pointwise_edges.py",
        edge_differences.LISTED | _backends(),
    ),
    Section(
        "Further dtypes",
        "Of the dtypes that docs/ops.md does not name for an op tenora refuses these, or answers in one that holds the"
        " answer:",
        "dtype",
        "test_dtype_grid.py",
        differences.FURTHER_DTYPES,
    ),
    Section(
        "Pooling and resizing of more dtypes",
        "Tenora answers where PyTorch refuses:",
        "dtype",
        "test_whole_pools_torch.py",
        _pools(),
    ),
    Section(
        "Losses of more dtypes",
        "Tenora answers where PyTorch refuses:",
        "input",
        "test_loss_dtypes_torch.py",
        _losses(),
    ),
    Section(
        "Complex operands",
        "Tenora answers where PyTorch refuses:",
        "",
        "test_real_only.py",
        _alone(differences.COMPLEX_OPERANDS),
    ),
    Section(
        "Numbers for tensors, and nothing for something: refused",
        "PyTorch takes a 0-d or an empty tensor here, tenora says what is wrong with it:",
        "operand",
        "test_ops_edges_torch.py",
        differences.REFUSED_EDGES,
    ),
    Section(
        "0-d, empty, one more dim",
        "Tenora's answer is that of the definition:",
        "operand",
        "test_ops_edges_torch.py",
        differences.EDGES | _alone(differences.EMPTY_RESULTS, "empty"),
    ),
    Section(
        "out=",
        "These have no out= here:",
        "",
        "test_out.py",
        _alone(differences.WITHOUT_OUT),
    ),
    Section(
        "Complex numbers with imaginary part 0",
        "Tenora takes them where PyTorch does not:",
        "",
        "test_complex_attributes_torch.py",
        _alone(differences.COMPLEX_NUMBERS),
    ),
    Section(
        "Without elements",
        "Convolution, pooling, norms, least squares and distances of nothing:",
        "without",
        "test_empty_calls_torch.py",
        _without_elements(),
    ),
    Section(
        "Refused here alone",
        "Tenora refuses these where PyTorch answers something, or reads memory that is not the operand's:",
        "wrong",
        "test_refusals.py",
        _in_words(refusal_differences.STRICTER),
    ),
    Section(
        "Taken here alone",
        "Tenora answers where PyTorch refuses:",
        "taken",
        "test_refusals.py",
        _in_words(refusal_differences.LAXER),
    ),
)
HEAD = """# Where tenora differs from PyTorch on purpose

The ops take PyTorch's names, arguments, dtypes and shapes, and give its values, gradients and errors; the tests compare
them with PyTorch 2.13 on every installed backend. This page lists where they mean to differ. It is written from the
lists by which those tests excuse a difference (`python tests/any_backend/differences_page.py`), so it is neither longer
nor shorter: an entry that no longer differs fails its test. What of PyTorch is not there at all is in the README.

Tenora may also answer where PyTorch refuses for want of a kernel; [ops.md](ops.md) has the dtypes of each op.

## Those you are likely to meet

| call | PyTorch | tenora | why |
| --- | --- | --- | --- |
"""


def table(section: Section) -> str:
    """A row for each reason and place; calls with the same ones share it."""
    places: dict[tuple[str, str], list[str]] = {}
    for (name, where), reason in section.entries.items():
        if call := called(name):
            places.setdefault((call, reason), []).append(where)
    rows: dict[tuple[str, str], list[str]] = {}
    for (call, reason), found in places.items():
        calls = rows.setdefault((named(w for w in found if w), reason), [])
        calls.extend([call] * (call not in calls))
    lines = [f"\n## {section.title}\n", f"{section.says} (`tests/any_backend/{section.test}`)\n"]
    head = ["call", *([section.where] if section.where else []), "what differs"]
    if any(where for where, _ in rows) and not section.where:
        head.insert(1, "where")
    lines += [f"| {' | '.join(head)} |", f"|{' --- |' * len(head)}"]
    for (where, reason), calls in rows.items():
        cells = [", ".join(f"`{call}`" for call in calls), *([where] if len(head) == 3 else []), reason]
        lines.append(f"| {' | '.join(cell.replace('|', BAR) for cell in cells)} |")
    return "\n".join(lines) + "\n"


def page() -> str:
    """The text of docs/differences.md."""
    known = "".join(f"| {' | '.join(row[:4])} |\n" for row in KNOWN)
    return HEAD + known + "".join(map(table, SECTIONS))


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
