"""The name in front of an error is that of the call at fault, also where the engine asks another room on the way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import tenora
from tenora_dispatch.errors import BackendNotFoundError, TenoraError

ABSENT: dict[str, Callable[[], Any]] = {
    "ones": lambda: tenora.ones(3, device="cuda"),
    "rand": lambda: tenora.rand(3, device="cuda"),
    "tensor": lambda: tenora.tensor([1], device="cuda"),
    "zeros_like": lambda: tenora.zeros_like(tenora.ones(2), device="cuda"),
    "to": lambda: tenora.ones(2).to("cuda"),
    "Generator": lambda: tenora.Generator("cuda"),
}


@pytest.mark.parametrize("name", ABSENT)
def test_a_device_that_nobody_serves_is_told_by_the_call(name: str) -> None:
    for _ in range(2):  # the name is not kept from one call to the next
        with pytest.raises(BackendNotFoundError, match=rf"^\[{name}\] no backend computes on 'cuda'") as at:
            ABSENT[name]()
        assert at.value.op == name
        with pytest.raises(BackendNotFoundError, match=r"^\[to\]"):
            tenora.nn.Linear(2, 2).to("cuda")


def test_an_exception_of_the_users_own_keeps_its_text() -> None:
    class Size:
        def __index__(self) -> int:
            raise KeyError("[mine] no size")

    with pytest.raises(KeyError) as raised:
        tenora.zeros((Size(),))
    assert raised.value.args == ("[mine] no size",)


def test_grad_and_backward_say_which_was_called() -> None:
    x, loose = tenora.ones(2, requires_grad=True), tenora.ones(2, 3)
    for call, text in {
        lambda: tenora.autograd.grad(loose.sum(), x): r"^\[grad\] element 0 of tensors does not require grad",
        lambda: loose.sum().backward(): r"^\[backward\] element 0 of tensors does not require grad",
        lambda: tenora.autograd.grad(x.sum(), loose): r"^\[grad\] One of the differentiated.*float32\[2, 3\]",
        lambda: tenora.autograd.backward(x.sum(), inputs=[loose]): r"^\[backward\] One of the differentiated",
        lambda: tenora.autograd.grad(
            x, x
        ): r"^\[grad\] grad can be implicitly created only for scalar outputs",
        lambda: x.backward(): r"^\[backward\] grad can be implicitly created only for scalar outputs",
    }.items():
        with pytest.raises(TenoraError, match=text):
            call()


@pytest.mark.parametrize("name", ["exp", "softmax", "unbind"])
def test_a_freed_graph_tells_the_shape_of_the_result(name: str) -> None:
    x = tenora.ones(2, 3, requires_grad=True)
    made = {"exp": x.exp, "softmax": lambda: x.softmax(1), "unbind": lambda: (x * x).unbind()[1].exp()}[
        name
    ]()
    made.sum().backward()
    shape = r"\[3\]" if name == "unbind" else r"\[2, 3\]"
    with pytest.raises(
        RuntimeError, match=rf"already been freed\): got the gradient of its result float32{shape}\."
    ):
        made.mean().backward()


def test_a_result_that_is_to_be_frozen_is_described() -> None:
    result = tenora.ones(2, 3, requires_grad=True).exp()
    with pytest.raises(RuntimeError, match=r"got float32\[2, 3\], a result of exp, expected a leaf"):
        result.requires_grad_(False)
