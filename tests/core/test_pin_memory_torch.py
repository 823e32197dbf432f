"""`pin_memory=` and `pin_memory()`: taken and refused as PyTorch does on a machine without an accelerator."""

from __future__ import annotations

from typing import Any

import both
import pytest

import tenora

pytestmark = pytest.mark.oracle

#: Calls without their last parenthesis; `f` is the library. What is drawn has no elements.
MADE = """
f.tensor([1.0]
f.empty(0
f.zeros(2
f.ones(2
f.full((2,), 3.0
f.empty_like(f.ones(0)
f.zeros_like(f.ones(2)
f.ones_like(f.ones(2)
f.full_like(f.ones(2), 3.0
f.scalar_tensor(2.0
f.empty_strided((0,), (1,)
f.empty_permuted((0, 2), (1, 0)
f.arange(3
f.linspace(0, 1, 3
f.logspace(0, 1, 3
f.eye(2
f.rand(0
f.randn(0
f.randint(1, (2,)
f.randperm(1
f.rand_like(f.ones(0)
f.randn_like(f.ones(0)
f.randint_like(f.ones(2), 1
f.randint_like(f.ones(2), 2, 3
f.normal(3.0, 0.0, (2,)
f.tril_indices(2, 3
f.triu_indices(2, 3
f.fft.fftfreq(4
f.fft.rfftfreq(4, 0.5
f.hann_window(4
f.kaiser_window(0
f.ones(2).new_empty(0
f.ones(2).new_zeros(2
f.ones(2).new_ones((2,)
f.ones(2).new_full((2,), 3.0
f.ones(2).new_empty_strided((0,), (1,)
""".strip().split("\n")


@pytest.mark.parametrize("call", MADE)
def test_only_what_would_be_pinned_is_refused(call: str) -> None:
    def run(text: str) -> Any:
        return both.agree(lambda f: eval(f"{call}, pin_memory={text})", {"f": f}))

    assert not isinstance(run("False"), Exception)
    for refused, kind in (("True", RuntimeError), ("1", TypeError)):
        error = run(refused)
        assert isinstance(error, tenora.TenoraError) and isinstance(error, kind)
        assert "pin_memory" in str(error)


@pytest.mark.parametrize(
    "call",
    [
        lambda f: f.ones(2).pin_memory(),
        lambda f: f.ones(0).pin_memory(),
        lambda f: f.utils.data._utils.pin_memory.pin_memory({"a": [f.ones(2)]}),
    ],
)
def test_a_tensor_is_not_pinned_for_nothing(call: Any) -> None:
    error = both.agree(call)
    assert isinstance(error, RuntimeError) and str(error).startswith(
        "[pin_memory] there is no accelerator: got "
    )


def test_a_loader_pins_only_where_there_is_an_accelerator(monkeypatch: pytest.MonkeyPatch) -> None:
    def batches(f: Any) -> list[Any]:
        return list(f.utils.data.DataLoader(f.arange(3), batch_size=2, pin_memory=True))

    assert not isinstance(both.agree(batches), Exception)
    monkeypatch.setattr(tenora.pinning, "served_type", lambda: "cuda")
    monkeypatch.setattr(tenora.pinning, "can_pin", lambda kind: False)
    monkeypatch.setattr(tenora.utils.data.iteration, "served_type", lambda: "cuda")
    x = tenora.ones(2)
    assert x.pin_memory() is x and not x.is_pinned()
    assert [batch.tolist() for batch in batches(tenora)] == [[0, 1], [2]]


def test_windows_of_signal_processing_have_no_such_argument() -> None:
    error = both.agree(lambda f: f.signal.windows.hann(4, pin_memory=False))
    assert isinstance(error, TypeError)
