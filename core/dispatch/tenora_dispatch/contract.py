"""What a backend is, in signatures and docstrings. `tenora_backend.h` says the same to C.

A backend is an installed distribution with

- an entry point in the group `tenora.backends`: `my_backend = "my_package"`;
- a file `tenora-backend.toml` inside that package, which is read without running any code of the package;
- a package that offers the functions of `BackendPackage`.

Duties and rights, in short

- The engine validates every call: shapes, dtypes, devices and attributes are right, outputs are allocated.
- A kernel writes only into `out`; it never keeps, frees or returns an operand.
- What is missing is composed from what is there: with the primitives of ring 0 a backend is complete.
- Gradients, shapes, type promotion and broadcasting are not a backend's business.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from os import PathLike
from typing import Any, Protocol

from tenora_dispatch.masks import KernelFlag
from tenora_dispatch.versions import Versions

# A native array: np.ndarray where the host can read the memory, else what the space's `wrap` makes.
Array = Any
Shape = tuple[int, ...]


@dataclass(frozen=True)
class Probe:
    """What a backend finds on this machine, without taking a device.

    `reason` tells people why it is unavailable and what to do. `devices` counts devices by type.
    `runtime` gives versions of native libraries, which are compared with `[native_libraries]` of the manifest.
    """

    available: bool = True
    reason: str = ""
    devices: Mapping[str, int] = field(default_factory=dict)
    runtime: Mapping[str, str] = field(default_factory=dict)


class Kernel(Protocol):
    """A kernel in Python. Arrays are positional, `out` and the op's attributes are keywords.

    It fills `out` (a tuple of arrays for several results) and returns None, or returns an array (or a tuple) of the
    right shape and dtype, which is then copied into `out`; over a space of the backend's own it always fills `out`.
    A host scalar arrives as a 0-d NumPy array, in such a space too, an absent optional tensor as None.
    `tenora ops NAME` prints the exact signature of an op's kernel.

    Raises: ValueError or IndexError when data that only the kernel can see is wrong; `NotSupportedError` to decline.
    """

    def __call__(self, *arrays: Array, **attributes: Any) -> Any: ...


class Supports(Protocol):
    """A finer capability than a dtype mask: True, or False, or the reason why not.

    A descriptor is `(shape, dtype)`. The answer is remembered for the dtypes, numbers of dimensions and attributes of
    the call, so it must not depend on sizes.
    """

    def __call__(self, *descriptors: Any, **attributes: Any) -> bool | str: ...


class Space(Protocol):
    """A kind of memory: `cpu` exists already; a backend brings another one as an object of this form.

    Addresses are integers with which tenora computes: any number of an allocation's range leads back to it. Where the
    space is not `host_accessible` nobody reads there, so a backend may make numbers up for its handles. `copy` moves
    bytes; `kind` is 0 host to device, 1 device to host, 2 device to device.
    A space in host order has finished its work when a call returns. Spaces with streams enter through the C header.
    """

    device_type: str
    dlpack_type: int
    host_accessible: bool
    granule: int
    alignment: int

    def device_count(self) -> int:
        """How many devices there are."""

    def alloc(self, device: int, nbytes: int) -> int:
        """Address of new memory; MemoryError when there is not enough (tenora frees its caches and tries again)."""

    def release(self, device: int, address: int, nbytes: int) -> None:
        """Gives memory back."""

    def copy(
        self, dst: int, dst_device: int, src: int, src_device: int, nbytes: int, kind: int, stream: int
    ) -> None:
        """Copies bytes."""

    def memory_info(self, device: int) -> tuple[int, int]:
        """Free and total bytes."""

    def synchronize(self, device: int) -> None:
        """Returns when all work on the device is finished."""

    def wrap(self, address: int, shape: Shape, strides: Shape, dtype: Any, device: int) -> Array:
        """The array that Python kernels of this space are handed: strides in bytes, `dtype.name` as in `DTYPES`.

        The address of an array without elements stands for nothing.
        """


class Registry(Protocol):
    """What `load` is given. Every call is checked at once; errors name backend, op and argument."""

    name: str
    versions: Versions
    options: Mapping[str, Any]

    def native(self, library: str | PathLike[str]) -> Mapping[str, Any]:
        """Loads a shared library that exports `tenora_backend_init` and registers its spaces and kernels.

        Returns a report: name, version, opset_version, abi_version, spaces, kernels.
        Raises: `IncompatibleBackendError`, `RegistrationError`, OSError.
        """

    def space(self, space: Space) -> None:
        """Declares a memory space of this backend; its device type must be one of the manifest's."""

    def kernel(
        self,
        op: str,
        function: Callable[..., Any],
        *,
        dtypes: int | str | Iterable[str] = "all",
        flags: KernelFlag | int = KernelFlag.NONE,
        supports: Callable[..., bool | str] | None = None,
    ) -> Callable[..., Any]:
        """Registers a Python kernel for an op and returns it.

        `dtypes`: of the first tensor input (of the output if there is none): names, groups (`"reals"`, `"ints"`,
        `"half"`, `"floats"`, `"complex"`, `"all"`) or a mask. `flags`: what the kernel can take unprepared.
        Raises: `RegistrationError` for an unknown op, a second kernel, or a signature that does not fit the op's.
        """


class BackendPackage(Protocol):
    """The functions that a backend's package offers; only `load` must be there."""

    def probe(self) -> Probe:
        """Looks whether the backend can work here. Cheap: takes no device, starts no thread. Optional."""

    def load(self, registry: Registry) -> None:
        """Registers everything. Called once, when the backend is first asked for; versions fit already."""

    def set_option(self, option: str, value: Any) -> None:
        """Takes an option that the manifest declares; called after `load` and at every change. Optional."""
