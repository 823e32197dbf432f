"""Native libraries that lie about themselves: each is refused with an error that names backend, op and field."""

import shutil
import subprocess
from pathlib import Path

import pytest

import tenora
import tenora_dispatch
from tenora_dispatch import opset
from tenora_dispatch.errors import BackendError, BackendFailedError, IncompatibleBackendError, TenoraError
from tenora_dispatch.lifecycle import BackendTable, State
from tenora_engine import _engine

SOURCE = Path(__file__).resolve().parent / "liar.c"
PACKAGE = "def load(registry):\n    registry.native('liar.so')\n"
RANGES = 'protocol = ">=1"\nabi = ">=1"\nopset = ">=0"\n'
MANIFEST = 'name = "{name}"\ndevice_types = ["cpu"]\n' + RANGES


def compile_liar(folder: Path, name: str, lie: int) -> None:
    """Builds the library into a package's folder."""
    compiler = shutil.which("cc")
    assert compiler, "no cc: the tests need a C compiler"
    include = f"-I{tenora_dispatch.get_include()}"
    defines = [f"-DLIE={lie}", f'-DNAME="{name}"', f'-DOPSET="{opset.version()}"']
    command = [
        compiler,
        "-std=c11",
        "-shared",
        "-fPIC",
        include,
        *defines,
        str(SOURCE),
        "-o",
        str(folder / "liar.so"),
    ]
    subprocess.run(command, check=True, timeout=60, capture_output=True)


def test_a_sound_library_computes(install):
    home = install("sound_liar", package=PACKAGE, manifest=MANIFEST)
    compile_liar(home, "sound_liar", 0)
    tenora_dispatch.runtime.table.refresh()
    with tenora.use_backend("sound_liar"):
        assert (tenora.tensor([1.0, 2.0]) + tenora.tensor([3.0, 4.0])).tolist() == [4.0, 6.0]
    row = tenora_dispatch.runtime.table.find("sound_liar")
    assert row.state is State.READY and row.kernels == {"add": "native"}


LIES = [
    (1, "abi", ["99", "1"]),
    (2, "short_table", ["struct_size"]),
    (3, "short_kernel", ["struct_size"]),
    (4, "null_kernel", ["add", "run"]),
    (5, "unknown_op", ["addd"]),
    (6, "twice", ["add"]),
    (7, "name", ["truth"]),
    (8, "opset", ["77.0", opset.version()]),
    (9, "null_table", ["NULL"]),
    (10, "no_dtypes", ["add", "dtypes"]),
    (11, "no_alloc", ["alloc"]),
    (12, "short_space", ["struct_size"]),
    (13, "null_list", ["kernels"]),
    (14, "other_device", ["liarland"]),
    (15, "unknown_flag", ["add", "flags"]),
    (16, "no_symbol", ["tenora_backend_init"]),
]


@pytest.mark.parametrize(("lie", "label", "words"), LIES, ids=[label for _, label, _ in LIES])
def test_a_lie_is_refused(install, lie, label, words):
    name = f"liar_{label}"
    home = install(name, package=PACKAGE, manifest=MANIFEST)
    compile_liar(home, name, lie)
    table = BackendTable(_engine)
    with pytest.raises(BackendError) as caught:
        table.ready(name)
    text = str(caught.value)
    assert name in text, text
    for word in words:
        assert word in text, f"{word!r} is not in: {text}"
    assert table.find(name).state in (State.FAILED, State.INCOMPATIBLE)
    assert isinstance(table.find(name).cause, TenoraError)


def test_versions_that_do_not_fit_are_incompatible(install):
    for lie, label in ((1, "abi"), (8, "opset")):
        home = install(f"old_{label}", package=PACKAGE, manifest=MANIFEST)
        compile_liar(home, f"old_{label}", lie)
        table = BackendTable(_engine)
        with pytest.raises(IncompatibleBackendError):
            table.ready(f"old_{label}")
        assert table.find(f"old_{label}").state is State.INCOMPATIBLE


def test_a_file_that_is_no_library(install):
    home = install("textual", package=PACKAGE, manifest=MANIFEST)
    (home / "liar.so").write_text("this is no library")
    table = BackendTable(_engine)
    with pytest.raises(BackendFailedError, match="liar.so"):
        table.ready("textual")
