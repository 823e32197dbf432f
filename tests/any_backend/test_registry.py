"""What a backend may register, and the error for each way of getting it wrong: backend, op and argument are named."""

from pathlib import Path

import pytest

from tenora_dispatch import opset
from tenora_dispatch.errors import IncompatibleBackendError, RegistrationError
from tenora_dispatch.manifest import parse
from tenora_dispatch.masks import KernelFlag, dtype_mask, mask_names
from tenora_dispatch.registry import BackendRegistry

MANIFEST = 'name = "mine"\ndevice_types = ["cpu", "rock"]\nprotocol = ">=1"\nabi = ">=1,<2"\nopset = ">=0"\n'


class Rock:
    """A space with everything that the contract asks for."""

    device_type, dlpack_type, host_accessible, granule, alignment = "rock", 12, False, 64, 64
    device_count = alloc = release = copy = memory_info = synchronize = wrap = staticmethod(lambda *values: 0)


@pytest.fixture
def registry(engine, tmp_path):
    engine.spaces.append("rock")
    return BackendRegistry(engine, parse(Path("m.toml"), MANIFEST), "1.0", {}, tmp_path)


def test_schemas_are_read_from_signatures(engine):
    schemas = {name: opset.parse_signature(engine.op_info(name), name) for name in engine.op_names()}
    assert str(schemas["add"]) == "add(input, other, out)"
    assert str(schemas["sum"]) == "sum(input, out, dim, keepdim, dtype)"
    assert str(schemas["cat"]) == "cat(*tensors, out, dim)"
    assert schemas["sort"].results == 2
    assert schemas["pad"].attributes == ("pad", "mode")
    signature = "r(size: int[], *, generator: Generator? = None) -> Tensor"
    prepared = {"signature": signature, "kernel_inputs": "", "kernel_attributes": "seed offset"}
    bits = opset.parse_signature(prepared, "r")
    assert bits.tensors == () and bits.attributes == ("seed", "offset")


def ufunc_like(*operands, out=None, **rest):
    """Takes anything, like NumPy's ufuncs."""


GOOD = [
    ("add", lambda a, b, *, out: None),
    ("add", lambda a, b, out: None),
    ("add", lambda a, b, /, *, out, extra=1: None),
    ("add", ufunc_like),
    ("add", max),  # shows no signature
    ("sum", lambda x, *, out, dim, **rest: None),
    ("sum", lambda x, dim, keepdim, dtype, out: None),
    ("cat", lambda *xs, out, dim: None),
    ("sort", lambda x, *, out, dim=-1, stable=False: None),
]


@pytest.mark.parametrize(("op", "kernel"), GOOD)
def test_good_kernels(registry, engine, op, kernel):
    assert registry.kernel(op, kernel) is kernel
    assert engine.kernels == [("mine", op, 0x7FFF, 0)]


BAD = [
    ("add", lambda a, *, out: None, "other", "1 positional"),
    ("add", lambda a, b, c, *, out: None, "c", "no tensor fills"),
    ("add", lambda a, b: None, "out", "no such keyword"),
    ("add", lambda a, b, *, out, alpha: None, "alpha", "a keyword that the op does not have"),
    ("sum", lambda x, *, out, keepdim, dtype: None, "dim", "no such keyword"),
    ("sum", lambda x, *, out, axis, **rest: None, "axis", "a keyword that the op does not have"),
    ("cat", lambda xs, *, out, dim: None, "tensors", "no *tensors"),
    ("add", "a string", "function", "'a string'"),
]


@pytest.mark.parametrize(("op", "kernel", "argument", "got"), BAD)
def test_bad_kernels(registry, engine, op, kernel, argument, got):
    with pytest.raises(RegistrationError) as caught:
        registry.kernel(op, kernel)
    text = str(caught.value)
    assert f"backend 'mine', op '{op}', argument '{argument}'" in text and got in text
    assert f"expected {opset.find(op)}" in text
    assert (caught.value.backend, caught.value.op) == ("mine", op)
    assert isinstance(caught.value, TypeError)
    assert engine.kernels == []


def test_unknown_op_has_the_nearest(registry):
    with pytest.raises(
        RegistrationError, match=r"argument 'op' is wrong: got 'addd', .* Did you mean 'add'\?"
    ):
        registry.kernel("addd", ufunc_like)


def test_two_kernels_for_one_op(registry):
    registry.kernel("add", ufunc_like)
    with pytest.raises(RegistrationError, match="a second kernel for 'add'"):
        registry.kernel("add", ufunc_like)


@pytest.mark.parametrize(
    ("arguments", "argument"),
    [
        ({"dtypes": "float23"}, "dtypes"),
        ({"dtypes": ()}, "dtypes"),
        ({"dtypes": 1 << 20}, "dtypes"),
        ({"flags": 0x100}, "flags"),
        ({"supports": "yes"}, "supports"),
    ],
)
def test_bad_arguments(registry, arguments, argument):
    with pytest.raises(RegistrationError, match=f"op 'add', argument '{argument}'"):
        registry.kernel("add", ufunc_like, **arguments)


def test_dtype_masks():
    assert mask_names(dtype_mask(("reals", "bool"))) == ("bool", "float32", "float64")
    assert dtype_mask("all") == 0x7FFF
    assert KernelFlag.STRIDED | KernelFlag.BROADCAST == 0x9


def test_spaces(registry, engine):
    engine.spaces.remove("rock")
    registry.space(Rock())
    assert engine.spaces == ["cpu", "rock"]
    registry.kernel("add", ufunc_like)
    with pytest.raises(RegistrationError, match="spaces first, then kernels"):
        registry.space(Rock())


def test_bad_spaces(registry):
    with pytest.raises(RegistrationError, match="got object without 'device_type'"):
        registry.space(object())
    foreign = Rock()
    foreign.device_type = "npu"
    with pytest.raises(
        RegistrationError, match=r"got device type 'npu', expected one of the manifest's \['cpu', 'rock'\]"
    ):
        registry.space(foreign)


def test_a_declared_device_type_without_memory(registry, engine):
    engine.spaces.remove("rock")
    with pytest.raises(RegistrationError, match=r"no memory space 'rock', expected registry.space\(\)"):
        registry.kernel("add", ufunc_like)


def test_a_library_that_is_not_there(registry):
    with pytest.raises(RegistrationError, match="argument 'native' is wrong: got no file .*lib.so"):
        registry.native("lib.so")


@pytest.mark.parametrize(
    ("report", "kind", "text"),
    [
        ({"name": "other"}, RegistrationError, "calls itself 'other', expected 'mine'"),
        ({"abi_version": 2}, IncompatibleBackendError, "got 2 in the library, expected >=1,<2"),
        ({"opset_version": "7.0"}, IncompatibleBackendError, "written for another op set: got 7.0"),
        ({"spaces": ["npu"]}, RegistrationError, "device type 'npu'"),
    ],
)
def test_a_library_that_lies(registry, engine, tmp_path, report, kind, text):
    (tmp_path / "lib.so").touch()
    engine.report = report
    with pytest.raises(kind, match=text):
        registry.native("lib.so")
