"""Backends that cannot be loaded, or that do at L0 what they should not."""

import textwrap

from broken_cases import NATIVE, Broken
from conftest import MANIFEST
from fake_cases import COPY, NOTHING

ONE_KERNEL = """
def load(registry):
    registry.kernel("add", lambda a, b, *, out: a + b)
"""
POINT = "[tenora.backends]\n{} = package_of_{}\n"


def after(statements: str) -> str:
    """The reference, whose load does something else before."""
    body = textwrap.indent(f"{statements}\nsound(registry)", "    ")
    return f"{COPY}\n\nsound = load\n\ndef load(registry):\n{body}\n"


LOADING = (
    Broken("abi_number", NATIVE, lie=1),
    Broken("short_table", NATIVE, lie=2),
    Broken("short_kernel", NATIVE, lie=3),
    Broken("short_space", NATIVE, lie=12),
    Broken("null_function", NATIVE, lie=4),
    Broken("other_name", NATIVE, lie=7),
    Broken("other_opset", NATIVE, lie=8),
    Broken("missing_symbol", NATIVE, lie=16),
    Broken("undefined_symbol", NATIVE, lie=0, options=("-Dmalloc=nobody_defines_this", "-Wl,-z,now")),
    Broken("missing_library", NATIVE),
    Broken("needs_library", NATIVE, lie=0, needs="nothere"),
    Broken("no_library", NATIVE, files={"package_of_no_library/broken.so": "this is no library"}),
    Broken("twice", ONE_KERNEL + ONE_KERNEL.splitlines()[2] + "\n"),
    Broken("unknown_op", ONE_KERNEL.replace('"add"', '"addd"')),
    Broken("wrong_signature", ONE_KERNEL.replace("a, b, *", "a, *").replace("a + b", "a")),
    Broken(
        "duplicate_name",
        ONE_KERNEL,
        files={
            "dist_of_twin-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: dist-of-twin\nVersion: 1.0\n",
            "dist_of_twin-1.0.dist-info/entry_points.txt": POINT.format("duplicate_name", "twin"),
            "package_of_twin/__init__.py": ONE_KERNEL,
            "package_of_twin/tenora-backend.toml": MANIFEST.format(name="duplicate_name"),
        },
    ),
    Broken("probe_raises", ONE_KERNEL + "def probe():\n    raise OSError('the bus is on fire')\n"),
    Broken("probe_answers", ONE_KERNEL + "def probe():\n    return True\n"),
    Broken("probe_hangs", "import time\n" + ONE_KERNEL + "def probe():\n    time.sleep(3600)\n", loading=10),
    Broken(
        "probe_gives_no_reason",
        "from tenora_dispatch import Probe\n"
        + ONE_KERNEL
        + "def probe():\n    return Probe(available=False)\n",
    ),
    Broken(
        "import_cycle",
        "from package_of_import_cycle.kernels import add\n" + ONE_KERNEL,
        files={"package_of_import_cycle/kernels.py": "from package_of_import_cycle import load\n"},
    ),
    Broken("missing_module", "import no_such_module_anywhere\n" + ONE_KERNEL),
    Broken("exits_on_import", "import sys\nsys.exit(0)\n" + ONE_KERNEL),
    Broken(
        "raises_base",
        "class Stop(BaseException):\n    pass\n\ndef load(registry):\n    raise Stop('no more')\n",
    ),
    Broken("ends_loading", "import os\n\ndef load(registry):\n    os._exit(0)\n"),
    Broken(
        "crashes_loading",
        "import os, signal\n\ndef load(registry):\n    os.kill(os.getpid(), signal.SIGSEGV)\n",
    ),
    Broken("no_load", "kernels = {}\n"),
    Broken("does_nothing", NOTHING),
    Broken("not_toml", ONE_KERNEL, manifest="name: {name}\n"),
    Broken("unknown_key", ONE_KERNEL, manifest=MANIFEST + 'capabilites = ["float32"]\n'),
    Broken("wrong_name", ONE_KERNEL, manifest=MANIFEST.replace("{name}", "someone_else")),
    Broken(
        "missing_package",
        "",
        files={
            "dist_of_missing_package-1.5.dist-info/entry_points.txt": POINT.format(
                "missing_package", "nobody"
            )
        },
    ),
    Broken("old_protocol", ONE_KERNEL, manifest=MANIFEST.replace('protocol = ">=1,<2"', 'protocol = ">=7"')),
    Broken("old_opset", ONE_KERNEL, manifest=MANIFEST.replace('opset = ">=1.0,<2"', 'opset = ">=7"')),
    Broken("no_space", ONE_KERNEL, manifest=MANIFEST.replace('"cpu"', '"moon"')),
    Broken(
        "imported_at_start",
        COPY,
        passes="@loading/-/-/tensor",
        ops=("@loading",),
        level="L0",
        files={"sitecustomize.py": "import package_of_imported_at_start\n"},
    ),
    Broken(
        "boasts",
        COPY,
        passes="@loading/-/-/tensor",
        ops=("@loading",),
        level="L0",
        manifest=MANIFEST + 'capabilities = ["warp_speed"]\n',
    ),
    Broken(
        "deaf",
        COPY + "\ndef set_option(option, value):\n    raise ValueError('never')\n",
        passes="@loading/-/-/tensor",
        ops=("@loading",),
        level="L0",
        manifest=MANIFEST + '[options.patience]\ntype = "int"\ndefault = 3\n',
    ),
    Broken(
        "patches_tenora",
        after("import tenora\ntenora.profiler.profile = lambda *_: None"),
        passes="@loading/-/-/discovery",
        ops=("@loading",),
        level="L0",
    ),
    Broken(
        "patches_suite",
        after("from tenora_conformance.checks import values\nvalues.compare = lambda *_: 0.0"),
        passes="@loading/-/-/discovery",
        ops=("@loading",),
        level="L0",
    ),
)
