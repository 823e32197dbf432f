"""Backends whose kernels answer wrongly, or do what a kernel must not do. All others are the reference's."""

from broken_cases import Broken
from conftest import MANIFEST
from fake_cases import COPY


def add(body: str) -> str:
    """The reference with another `add`: `a`, `b`, and `out` to be filled."""
    lines = "\n".join(f"    {line}" for line in body.strip().split("\n"))
    return f"{COPY}\ndef add(a, b, *, out):\n{lines}\n\nCHANGED['add'] = add\n"


def of(op: str, body: str) -> str:
    """The reference with another kernel for an op that takes one array: `x`, `out`, and `attributes`."""
    lines = "\n".join(f"    {line}" for line in body.strip().split("\n"))
    return f"{COPY}\ndef kernel(x, *, out, **attributes):\n{lines}\n\nCHANGED[{op!r}] = kernel\n"


#: The reference without some kernels, or with the options of their registration changed.
WITHOUT = """
import tenora_reference


class Fewer:
    def __init__(self, registry):
        self.registry = registry

    def __getattr__(self, name):
        return getattr(self.registry, name)

    def kernel(self, op, function, **options):
        if op == "add":
            {instead}
        else:
            self.registry.kernel(op, function, **options)


def load(registry):
    {first}
    tenora_reference.load(Fewer(registry))
"""
KEEPING = "self.registry.kernel(op, function, **options | dict(dtypes={}))"

CLAIMS = (
    Broken("lacks_an_op", WITHOUT.format(instead="pass", first="pass")),
    Broken(
        "lacks_a_dtype",
        WITHOUT.format(instead=KEEPING.format(("float32", "float64", "int64", "bool")), first="pass"),
        passes="add/float32/*",
    ),
    Broken(
        "declines",
        add(
            """from tenora_dispatch.errors import NotSupportedError
if out.dtype == np.float64:
    raise NotSupportedError('no float64 today')
np.add(a, b, out=out)"""
        ),
        passes="add/float32/*",
    ),
    Broken(
        "undeclared_minimum",
        WITHOUT.format(instead=KEEPING.format(("float32", "bool")), first="pass"),
        passes="add/float32/*",
        manifest=MANIFEST + 'capabilities = ["float32", "bool"]\n',
    ),
    Broken(
        "modest",
        COPY,
        ops=("@claims",),
        level="L2",
        manifest=MANIFEST + 'capabilities = ["float32", "int64", "bool"]\n',
    ),
    Broken(
        "stand_in",
        WITHOUT.format(instead="pass", first="import tenora; tenora.fallback('allow').__enter__()"),
    ),
    Broken(
        "delegates",
        add("""import tenora
with tenora.use_backend("reference"):
    return (tenora.from_numpy(a.copy()) + tenora.from_numpy(b.copy())).numpy()"""),
    ),
)

WRONG = (
    Broken("wrong_dtype", add("return np.add(a, b).astype(np.complex128)")),
    Broken("wrong_shape", add("return np.add(a, b)[np.newaxis]")),
    Broken("rebinds", add("out = np.add(a, b)")),
    Broken("raises", add("raise LookupError('lost the operand')")),
    Broken(
        "ignores_strides",
        of(
            "neg",
            """dense = np.lib.stride_tricks.as_strided(x, x.shape, np.empty(x.shape, x.dtype).strides)
np.negative(dense, out=out)""",
        ),
        passes="neg/*/contiguous/*",
        ops=("neg",),
    ),
    Broken(
        "ignores_negative_strides",
        of(
            "neg",
            """forward = np.lib.stride_tricks.as_strided(x, x.shape, [abs(s) for s in x.strides])
np.negative(forward, out=out)""",
        ),
        passes="neg/*/strided/*",
        ops=("neg",),
    ),
    Broken(
        "assumes_alignment",
        of(
            "neg",
            """import ctypes
address = x.__array_interface__["data"][0]
if x.size and address % 64 and x.flags.c_contiguous:
    raw = (ctypes.c_char * x.nbytes).from_address(address - address % 64)
    x = np.frombuffer(raw, x.dtype).reshape(x.shape)
np.negative(x, out=out)""",
        ),
        passes="neg/*/contiguous/*",
        ops=("neg",),
    ),
    Broken(
        "writes_its_input",
        add("""import ctypes
np.add(a, b, out=out)
if a.size:
    ctypes.memset(a.__array_interface__["data"][0], 0, a.itemsize)"""),
    ),
    Broken(
        "writes_beside",
        add("""import ctypes
np.add(a, b, out=out)
if a.size > 1 and a.flags.c_contiguous:
    ctypes.memset(a.__array_interface__["data"][0] + a.nbytes, 0, a.itemsize)"""),
        passes="add/*/strided/*",
    ),
    Broken(
        "keeps_operands",
        COPY + "\nKEPT = []\n" + add("KEPT.append(a)\nnp.add(a, b, out=out)").removeprefix(COPY),
    ),
    Broken(
        "leaks",
        "KEPT = []\n" + add("KEPT.append(np.add(a, b, out=out).copy())"),
        passes="@memory/*/-/round_trip",
        ops=("@memory",),
    ),
    Broken(
        "remembers",
        COPY
        + "\nSEEN = {}\n"
        + add("""key = (a.shape, b.shape, a.dtype.name)
if key not in SEEN:
    SEEN[key] = np.add(a, b).astype(out.dtype)
return SEEN[key]""").removeprefix(COPY),
    ),
    Broken(
        "half_sums",
        of(
            "sum",
            """if x.dtype != np.float16 or not attributes["dim"] or not x.size:
    return SOUND["sum"](x, out=out, **attributes)
for dim in attributes["dim"]:
    x = np.add.accumulate(x, axis=dim, dtype=np.float16).take([-1], axis=dim)
out[...] = x""",
        ),
        passes="sum/float32/*",
        ops=("sum",),
    ),
    Broken(
        "drops_nan",
        COPY + "\ndef kernel(a, b, *, out):\n    np.fmax(a, b, out=out)\n\nCHANGED['maximum'] = kernel\n",
        ops=("maximum",),
    ),
    Broken(
        "single_precision",
        of(
            "exp",
            "x = x.astype(np.float32) if x.dtype == np.float64 else x\nnp.exp(x, out=out, casting='unsafe')",
        ),
        passes="exp/float32/*",
        ops=("exp",),
    ),
    Broken(
        "overruns",
        of(
            "neg",
            """import ctypes
np.negative(x, out=out)
if out.size and out.flags.c_contiguous:
    ctypes.memset(out.__array_interface__["data"][0] + out.nbytes, 0, out.itemsize)""",
        ),
        ops=("neg",),
        level="L2",
    ),
    Broken(
        "clips_indices",
        COPY
        + """
def gather(input, index, *, dim, out):
    SOUND["gather"](input, np.clip(index, 0, max(input.shape[dim] - 1, 0)), dim=dim, out=out)

CHANGED['gather'] = gather
""",
        ops=("gather",),
        level="L2",
    ),
    Broken(
        "unseeded",
        COPY
        + """
def random_bits(*, seed, offset, out, **attributes):
    out[...] = np.random.default_rng().integers(0, 2**32, out.shape, out.dtype)

CHANGED["random_bits"] = random_bits
""",
        ops=("random_bits", "uniform", "rand"),
        level="L1",
    ),
)
