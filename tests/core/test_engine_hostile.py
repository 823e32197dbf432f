"""No input from Python may crash the interpreter: every case here is an error or a result, never a signal."""

from __future__ import annotations

import gc
import subprocess
import sys
import textwrap
from typing import Any

import pytest

import tenora
from tenora_engine import _engine


def test_list_that_contains_itself() -> None:
    data: list[Any] = []
    data.append(data)
    with pytest.raises(ValueError, match="contain itself"):
        tenora.tensor(data)
    data.clear()


def test_deep_nesting() -> None:
    data: Any = 1.0
    for _ in range(64):
        data = [data]
    assert tenora.tensor(data).ndim == 64
    with pytest.raises(ValueError, match="64"):
        tenora.tensor([data])
    for _ in range(10_000):
        data = [data]
    with pytest.raises(ValueError, match="64"):
        tenora.tensor(data)


def test_list_that_changes_while_it_is_converted() -> None:
    rows: list[Any] = []

    class Number:
        def __len__(self) -> int:
            return 2

        def __getitem__(self, i: int) -> float:
            rows.clear()
            gc.collect()
            if i > 1:
                raise IndexError
            return 1.0

    rows.extend([[1.0, 2.0], Number(), [3.0, 4.0]])
    with pytest.raises(ValueError, match="length"):
        tenora.tensor(rows)


def test_sizes_that_overflow() -> None:
    for shape in [(2**62, 2**62), (-1,), (2**63 - 1,), (2**40, 2**40)]:
        with pytest.raises((RuntimeError, MemoryError, ValueError)):
            _engine.empty(shape)
    with pytest.raises((RuntimeError, ValueError)):
        _engine.empty((1,) * 65)


def test_windows_stay_inside_their_storage() -> None:
    x = tenora.zeros(4)
    for shape, strides, offset in [
        ((5,), (1,), 0),
        ((2,), (1,), 3),
        ((2,), (-1,), 0),
        ((2,), (2**62,), 0),
        ((1,), (1,), -1),
    ]:
        with pytest.raises((RuntimeError, ValueError, IndexError)):
            _engine.window(x, shape, strides, offset)


def test_memory_request_that_cannot_be_met() -> None:
    with pytest.raises((MemoryError, RuntimeError)):
        _engine.empty((2**44,))
    assert tenora.ones(2).sum().item() == 2.0


def test_tensor_deleted_by_a_hook() -> None:
    holder: list[Any] = [tenora.ones(3, requires_grad=True)]
    y = holder[0] * 2

    def drop(grad: tenora.Tensor) -> None:
        holder.clear()
        gc.collect()

    y.register_hook(drop)
    y.sum().backward()
    assert holder == []


def test_wrong_self() -> None:
    for call in (
        lambda: tenora.Tensor.item(3),
        lambda: tenora.Tensor.shape.__get__(3),
        lambda: tenora.Tensor.__add__(3, 4),
        lambda: tenora.Tensor.exp(3),
        lambda: tenora.Tensor.add_(3, 4),
        lambda: tenora.Tensor.__new__(int),
        lambda: _engine.Node(),
        lambda: _engine.OpFunction(),
        lambda: _engine.Storage(),
        lambda: _engine.HookHandle(),
    ):
        with pytest.raises(TypeError):
            call()


def test_types_are_closed() -> None:
    for base in (_engine.dtype, _engine.device, _engine.Storage, _engine.OpFunction, _engine.Node):
        with pytest.raises(TypeError):
            type("Sub", (base,), {})
    with pytest.raises(TypeError):
        tenora.Tensor.shape = 3


def test_program_builder_checks_its_arguments() -> None:
    builder = _engine.ProgramBuilder("test", 2, 0)
    for tensors in (
        [("slot", 99), ("slot", 0)],
        [("slot", -1), None],
        [("nope", 1)],
        [1, 2],
        ["ab"],
        [("scalar", "x")],
    ):
        with pytest.raises((TypeError, ValueError, RuntimeError)):
            builder.call("mul", tensors, [])
    with pytest.raises((ValueError, RuntimeError)):
        builder.call("no_such_op", [], [])
    with pytest.raises((ValueError, RuntimeError)):
        builder.attribute("no_such_code", [], [])
    with pytest.raises((ValueError, RuntimeError)):
        builder.finish([77])


def test_kernels_and_callbacks_must_be_callable() -> None:
    with pytest.raises((TypeError, ValueError)):
        _engine.register_kernel("reference", "exp", 3)
    with pytest.raises(ValueError, match="no_such_backend"):
        _engine.register_kernel("no_such_backend", "exp", lambda x, out: None)
    with pytest.raises(ValueError, match="space"):
        _engine.register_backend("test_engine_nowhere", "1", ["no_such_space"])


def run(program: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, timeout=120
    )


@pytest.mark.parametrize(
    "program",
    [
        # objects that outlive the interpreter's modules
        """
        import sys, tenora
        x = tenora.ones(3, requires_grad=True)
        x.me = x
        y = x * 2
        y.register_hook(lambda g: y)
        sys.modules["kept"] = y
        """,
        """
        import atexit, tenora
        x = tenora.ones(3, requires_grad=True)
        atexit.register(lambda: (x * x).sum().backward())
        """,
        "import tenora, numpy; a = tenora.ones(3).numpy(); import builtins; builtins.kept = a",
        # a thread that is still computing at exit
        """
        import threading, tenora
        x = tenora.ones(64, requires_grad=True)
        def work():
            while True:
                (x * x).sum().backward()
        threading.Thread(target=work, daemon=True).start()
        import time; time.sleep(0.2)
        """,
    ],
)
def test_interpreter_exits_cleanly(program: str) -> None:
    done = run(program)
    assert done.returncode == 0, done.stderr


def test_subinterpreter_is_refused() -> None:
    done = run(
        """
        import tenora_engine
        try:
            import _xxsubinterpreters as interpreters
        except ImportError:
            import _interpreters as interpreters
        sub = interpreters.create()
        code = '''
        try:
            import tenora_engine._engine
        except ImportError as error:
            print("refused:", error)
        else:
            print("accepted")
        '''
        import textwrap
        interpreters.run_string(sub, textwrap.dedent(code))
        """
    )
    assert done.returncode == 0, done.stderr
    assert "refused:" in done.stdout


def test_recursive_repr_and_format() -> None:
    x = tenora.tensor(1.5)
    assert f"{x:.2f}" == "1.50"
    with pytest.raises((TypeError, ValueError)):
        format(tenora.ones(2), ".2f")


def test_python_kernel_that_keeps_an_array_is_told() -> None:
    kept: list[Any] = []
    name = "test_engine_keeper"
    if name not in _engine.backend_names():
        _engine.register_backend(name, "1", ["cpu"])

        def keeping(input: Any, *, out: Any) -> None:
            kept.append(input)
            out[...] = input

        _engine.register_kernel(name, "exp", keeping)
    x = tenora.ones(3)
    old = _engine.set_override_backend("cpu", name)
    try:
        with pytest.raises(RuntimeError, match="keeps an array"):
            x.exp()
    finally:
        _engine.set_override_backend("cpu", old)
        kept.clear()


def test_python_kernel_results() -> None:
    name = "test_engine_returns"
    answers: list[Any] = []
    if name not in _engine.backend_names():
        _engine.register_backend(name, "1", ["cpu"])
        _engine.register_kernel(name, "exp", lambda input, *, out: answers[-1](input, out))
    x = tenora.tensor([1.0, 2.0])
    old = _engine.set_override_backend("cpu", name)
    try:
        answers.append(lambda input, out: input * 3)
        assert x.exp().tolist() == [3.0, 6.0]
        answers.append(lambda input, out: input[:1])
        with pytest.raises(RuntimeError, match=r"got float32\[1\], expected float32\[2\]"):
            x.exp()
        answers.append(lambda input, out: input + 0j)
        with pytest.raises(RuntimeError, match=r"got complex64\[2\], expected float32\[2\]"):
            x.exp()
        answers.append(lambda input, out: {}["missing"])
        with pytest.raises(KeyError, match="missing") as caught:
            x.exp()
        assert caught.value.__notes__ == [f"[exp] raised by the Python kernel of '{name}'"]
        answers.append(lambda input, out: input.__setitem__(0, 1.0))
        with pytest.raises(ValueError, match="read-only"):
            x.exp()
        answers.append(lambda input, out: 1 / 0)  # a finding about the data: the dispatcher tells it
        with pytest.raises(RuntimeError, match=r"\[exp\] division by zero"):
            x.exp()
        nested: list[Any] = [lambda input, out: input * 2, lambda input, out: x.exp().numpy() + input]
        answers.append(lambda input, out: nested.pop()(input, out))
        assert x.exp().tolist() == [3.0, 6.0]
    finally:
        _engine.set_override_backend("cpu", old)
        answers.clear()
