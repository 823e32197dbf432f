"""Only oracles and samples of op records use NumPy and SciPy."""

import pytest
from oracle_rule import array_use_outside_judges
from tree import ROOT

RECORDS = """
from tenora_ops.lazy import np
from tenora_ops.helpers import shared

def _oracle(x):
    return inner(x)

def inner(x):
    return np.exp(x)

exp = op("exp(input: Tensor) -> Tensor", oracle=_oracle, samples=lambda d: np.ones(3), vjp=lambda g, x, r: g * r)
"""
HELPERS = "from tenora_ops.lazy import np\n\ndef shared(x):\n    return np.sin(x)\n"


def test_records_use_arrays_in_oracles_and_samples_only() -> None:
    sources = {path.stem: path.read_text() for path in ROOT.glob("core/ops/tenora_ops/*.py")}
    assert any("np." in source for source in sources.values())
    assert array_use_outside_judges(sources) == []


def test_rule_passes_oracles_and_what_they_call() -> None:
    helped = HELPERS.replace("shared", "other")
    assert array_use_outside_judges({"records": RECORDS}) == []
    assert array_use_outside_judges({"records": RECORDS, "helpers": helped}) == ["helpers: other"]


@pytest.mark.parametrize(
    ("addition", "finding"),
    [
        (
            'a = op("a(x: Tensor) -> Tensor", oracle=_oracle, vjp=lambda g, x, r: np.cos(x))\n',
            "records: np in",
        ),
        ('a = op("a(x: Tensor) -> Tensor", oracle=_oracle, function=_oracle)\n', "records: inner"),
        ('a = op("a(x: Tensor) -> Tensor", oracle=shared, composite=shared)\n', "helpers: shared"),
        ("def alone(x):\n    return np.sum(x)\n", "records: alone"),
    ],
)
def test_rule_finds(addition: str, finding: str) -> None:
    helpers = HELPERS if "shared" in addition else ""
    (found,) = array_use_outside_judges({"records": RECORDS + addition, "helpers": helpers})
    assert found.startswith(finding)
