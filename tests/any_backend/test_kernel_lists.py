"""The kernel lists that lie beside the backends say what the installed backends register (docs/decisions/0013)."""

import tomllib
from pathlib import Path

import pytest
from engine_fixtures import installed

import tenora_dispatch
import tenora_ops
from tenora.cli import main
from tenora_ops import generate

ROOT = Path(__file__).resolve().parents[2]
LISTS = {
    tomllib.loads(manifest.read_text())["name"]: manifest.parents[1] / "kernels.txt"
    for manifest in sorted(ROOT.glob("backends/*/*/tenora-backend.toml"))
}


def differences(name: str, listed: str, capsys: pytest.CaptureFixture[str]) -> set[str]:
    """Lines that only the list or only the backend has."""
    assert main(["kernels", name]) == 0
    return set(listed.splitlines()) ^ set(capsys.readouterr().out.splitlines())


def test_every_backend_here_has_a_list() -> None:
    assert LISTS and all(path.is_file() for path in LISTS.values())


@pytest.mark.parametrize("name", sorted(LISTS))
def test_a_list_is_what_the_backend_registers(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    if name not in installed():
        pytest.skip(f"backend {name} is not installed here")
    wrong = differences(name, LISTS[name].read_text(), capsys)
    assert not wrong, (
        f"{sorted(wrong)}: run `tenora kernels {name} > {LISTS[name].relative_to(ROOT)}`, "
        "then `python -m tenora_ops.generate`"
    )


def test_a_kernel_that_is_not_listed_is_noticed(capsys: pytest.CaptureFixture[str]) -> None:
    name = next(name for name in sorted(LISTS) if name in installed())
    first, *rest = LISTS[name].read_text().splitlines()
    assert differences(name, "\n".join(rest), capsys) == {first}


def test_the_page_follows_the_lists() -> None:
    """A kernel that comes or goes changes its op's row, and nothing else but the number at the top."""
    lists = generate.read_kernel_lists(ROOT)
    name = next(iter(lists))
    before = generate.ops_page(lists).splitlines()
    after = generate.ops_page({**lists, name: lists[name] - {"matmul"}}).splitlines()
    changed = [a for a, b in zip(before, after, strict=True) if a != b]
    rows = [line.split(" | ")[0] for line in changed if line.startswith("| ")]
    assert rows == [
        "| `matmul`",
        "| `mm`",
        "| `bmm`",
        "| `mv`",
        "| `dot`",
    ]  # the last four run matmul's kernel
    assert len(changed) == len(rows) + 1


def test_every_op_has_something_that_computes_it() -> None:
    """A primitive without a kernel would leave a backend incomplete: its cell would say `missing`."""
    for name, kernels in generate.read_kernel_lists(ROOT).items():
        texts = {r.name: generate.implementation_text(r, kernels) for r in tenora_ops.records()}
        assert [op for op, text in texts.items() if text == "missing"] == [], name


def test_kernels_of_an_unknown_backend(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["kernels", "no_such_backend"]) == 1
    assert "no_such_backend" in capsys.readouterr().err
    with pytest.raises(tenora_dispatch.BackendNotFoundError):
        tenora_dispatch.kernels("no_such_backend")
