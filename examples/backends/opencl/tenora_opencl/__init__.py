"""A backend of tenora over OpenCL: memory of its own, and kernels in OpenCL C made of a table of expressions.

tenora calls `probe` to hear whether the backend can work here, and `load` once, when somebody first asks for it.
"""

import pyopencl as cl

from tenora_dispatch import KernelFlag, Probe, Registry

from . import movement, pointwise, reductions
from .memory import OpenCLSpace

# What the engine need not do for a kernel: strides are part of every launch.
ANY_LAYOUT = KernelFlag.STRIDED | KernelFlag.NEGATIVE_STRIDES | KernelFlag.STRIDED_OUT
POINTWISE = ANY_LAYOUT | KernelFlag.INPLACE


def probe() -> Probe:
    """Whether there is an OpenCL platform; its devices are asked for by `load`, which may start their threads."""
    try:
        platforms = cl.get_platforms()
    except cl.Error as error:
        return Probe(available=False, reason=f"no OpenCL platform ({error}); install pocl-opencl-icd")
    return Probe(devices={"opencl": 1}, runtime={"opencl": platforms[0].version.split()[1]})


def load(registry: Registry) -> None:
    """Registers the memory space and ring 0, from which tenora composes every other op."""
    registry.space(OpenCLSpace())
    for op, (kernel, dtypes) in pointwise.KERNELS.items():
        registry.kernel(op, kernel, dtypes=dtypes, flags=POINTWISE)
    for others in (movement.KERNELS, reductions.KERNELS):
        for op, (kernel, dtypes) in others.items():
            registry.kernel(op, kernel, dtypes=dtypes, flags=ANY_LAYOUT)
