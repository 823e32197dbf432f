"""newbackend: a backend of tenora over NumPy arrays. Put your own array library where NumPy computes.

tenora calls `probe` to hear whether the backend can work here, and `load` once, when somebody first asks for it.
"""

from tenora_dispatch import KernelFlag, Probe, Registry

from . import movement, pointwise, reductions

# What the engine need not do for a kernel: NumPy takes and fills arrays of any strides, and broadcasts.
ANY_LAYOUT = KernelFlag.STRIDED | KernelFlag.NEGATIVE_STRIDES | KernelFlag.STRIDED_OUT
POINTWISE = ANY_LAYOUT | KernelFlag.BROADCAST | KernelFlag.INPLACE


def probe() -> Probe:
    """Whether the backend can work on this machine; takes no device."""
    return Probe(devices={"cpu": 1})


def load(registry: Registry) -> None:
    """Registers ring 0, from which tenora composes every other op."""
    for op, (kernel, dtypes) in pointwise.KERNELS.items():
        registry.kernel(op, kernel, dtypes=dtypes, flags=POINTWISE)
    for others in (movement.KERNELS, reductions.KERNELS):
        for op, (kernel, dtypes) in others.items():
            registry.kernel(op, kernel, dtypes=dtypes, flags=ANY_LAYOUT)
