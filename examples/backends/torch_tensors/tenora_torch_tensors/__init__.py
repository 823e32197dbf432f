"""torch_tensors: a backend of tenora over PyTorch's tensors on the CPU, in memory of their own.

tenora calls `probe` to hear whether the backend can work here, and `load` once, when somebody first asks for it.
"""

import torch

from tenora_dispatch import KernelFlag, Probe, Registry

from . import fused, movement, pointwise, reductions
from .memory import Memory

# What the engine need not do for a kernel: PyTorch reads and fills tensors of any strides but negative ones.
ANY_LAYOUT = KernelFlag.STRIDED | KernelFlag.STRIDED_OUT
POINTWISE = ANY_LAYOUT | KernelFlag.BROADCAST | KernelFlag.INPLACE


def probe() -> Probe:
    """Whether the backend can work on this machine; takes no device."""
    return Probe(devices={Memory.device_type: 1}, runtime={"torch": torch.__version__})


def load(registry: Registry) -> None:
    """Registers the memory, ring 0, from which tenora composes every other op, and what PyTorch has of the others."""
    registry.space(Memory())
    for op, (kernel, dtypes) in pointwise.KERNELS.items():
        registry.kernel(op, kernel, dtypes=dtypes, flags=POINTWISE)
    for others in (movement.KERNELS, reductions.KERNELS, fused.KERNELS):
        for op, (kernel, dtypes) in others.items():
            registry.kernel(op, kernel, dtypes=dtypes, flags=ANY_LAYOUT)
