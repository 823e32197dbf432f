"""Families that are loaded when one of their names is asked for: each way to ask, in processes that loaded none."""

import subprocess
import sys

import pytest

from tenora_ops import later
from tenora_ops.generate import check_families
from tenora_ops.record import RecordError, records

LOADED = "from tenora_ops import later; assert not later._loaded, later._loaded\n"


def run_fresh(program: str) -> str:
    """What a new process prints that has imported tenora and loaded no such family."""
    text = f"import tenora, tenora_ops\n{LOADED}{program}"
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_start_loads_none_and_knows_all_names() -> None:
    shown = run_fresh("print(len(dir(tenora)), len(dir(tenora.nn.functional)))\n" + LOADED)
    top, functional = map(int, shown.split())
    assert top > 400 and functional > 100


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ("tenora.det(tenora.eye(2)).item()", "1.0"),
        ("tenora.eye(2).det().item()", "1.0"),
        ("tenora.Tensor.det(tenora.eye(2)).item()", "1.0"),
        ("tenora.nn.Parameter(tenora.eye(2)).det().item()", "1.0"),
        ("tenora.linalg.inv(tenora.eye(2)).tolist()", "[[1.0, 0.0], [0.0, 1.0]]"),
        ("tenora.nn.functional.glu(tenora.zeros(2)).tolist()", "[0.0]"),
        ("tenora_ops.ops.det(tenora.eye(2)).item()", "1.0"),
        ("tenora_ops.det(tenora.eye(2)).item()", "1.0"),
        ("tenora_ops.REGISTERED['det'](tenora.eye(2)).item()", "1.0"),
        ("tenora_ops.record('det').public", "det"),
        ("tenora_ops.functions.det(tenora.eye(2)).item()", "1.0"),
        (
            "[hasattr(o, n) for o in (tenora, tenora.Tensor) for n in ('det', 'dett')]",
            "[True, False, True, False]",
        ),
        ("__import__('tenora_engine')._engine.op_info('det')['name']", "det"),
        ("__import__('tenora_dispatch').opset.find('det').tensors", "('input',)"),
        ("[e for e in tenora_ops.records() if e.name == 'det'][0].name", "det"),
    ],
)
def test_every_way_to_ask(asked: str, expected: str) -> None:
    assert run_fresh(f"print({asked})") == expected


def test_star_import_has_them() -> None:
    assert (
        run_fresh(
            "names = {}\nexec('from tenora import *', names)\nprint(names['det'](tenora.eye(2)).item())"
        )
        == "1.0"
    )


def test_a_formula_finds_them() -> None:
    program = """
tenora_ops.op("later_probe(input: Tensor) -> Tensor", family=tenora_ops.record("det").family, doc="d", example="e",
    oracle=None, composite=lambda input: tenora_ops.ops.lgamma(input).igamma(input), public="", dtype="", shape="")
print(tenora_ops.REGISTERED["later_probe"](tenora.ones(1)).item())
"""
    assert run_fresh(program) == "1.0"


def test_a_second_op_of_an_announced_name_is_refused() -> None:
    program = """
try:
    tenora_ops.op("det(input: Tensor) -> Tensor", family=tenora_ops.record("add").family, doc="d", example="e",
        oracle=None, composite=lambda input: input, dtype="", shape="")
except tenora_ops.RecordError as error:
    print("registered already" in str(error), tenora.eye(2).det().item())
"""
    assert run_fresh(program) == "True 1.0"


PROBE = """
from tenora_ops.record import op, record
from tenora_ops.formula import ops
def make(name):
    op(f"{name}(input: Tensor) -> Tensor", family=record("add").family, doc="d", example="e", oracle=None,
       composite=lambda input: input, dtype="", shape="", public="probe")
make("probe_one")
try:
    ops.probe_two
except AttributeError:
    ops.lgamma
make("probe_two")
"""


def test_a_family_that_asks_for_itself_is_published_whole() -> None:
    program = f"""
import sys
from importlib.machinery import ModuleSpec
class Finder:
    def find_spec(self, name, path=None, target=None):
        return ModuleSpec(name, self) if name == "tenora_ops.probe" else None
    def create_module(self, spec):
        return None
    def exec_module(self, module):
        exec({PROBE!r}, vars(module))
sys.meta_path.insert(0, Finder())
later._FAMILY_OF_OP["probe_two"] = "probe"
tenora_ops.ops.probe_two
print(*tenora_ops.public_function("probe").ops)
"""
    assert run_fresh(program) == "probe_one probe_two"


def test_reading_the_names_beside_threads_that_load() -> None:
    program = """
import sys, threading
sys.setswitchinterval(1e-6)
done, errors = threading.Event(), []
def read():
    while not done.is_set():
        try:
            tenora_ops.loaded_functions(); tenora_ops.record_module.registered()
        except Exception as error:
            errors.append(error); return
tenora_ops.record_module = sys.modules["tenora_ops.record"]
threads = [threading.Thread(target=read) for _ in range(3)]
[t.start() for t in threads]
import tenora_ops.distance, tenora_ops.polynomials  # beside later.load
for family in later.LATER:
    later.load(family)
done.set(); [t.join() for t in threads]
print(errors, callable(tenora.nn.functional.cosine_similarity))
"""
    assert run_fresh(program) == "[] True"


def test_star_import_of_the_functions() -> None:
    program = "names = {}\nexec('from tenora.nn.functional import *', names)\nprint('conv2d' in names, 'glu' in names)"
    assert run_fresh(program) == "True True"


def test_threads_that_ask_at_once_all_get_it() -> None:
    program = """
import threading
gate, found = threading.Barrier(8), []
def ask(name):
    gate.wait(); found.append(getattr(tenora.eye(3), name))
threads = [threading.Thread(target=ask, args=(n,)) for n in ["det", "inverse", "logdet", "quantile"] * 2]
[t.start() for t in threads]; [t.join() for t in threads]
print(len(found))
"""
    assert run_fresh(program) == "8"


@pytest.mark.parametrize("family", later.LATER)
def test_a_family_alone_registers_what_is_announced(family: str) -> None:
    """In a child of a process that loaded none: the descriptors are gone, and each op is there."""
    program = f"""
before = set(tenora_ops.formula.REGISTERED)
ops, functions, members = later.FAMILIES[{family!r}]
later.load({family!r})
assert set(ops) <= set(tenora_ops.formula.REGISTERED), set(ops) - set(tenora_ops.formula.REGISTERED)
assert all(name in tenora_ops.functions._PUBLIC for name in functions)
assert not [m for m in members if isinstance(vars(tenora.Tensor)[m], later._Member)]
"""
    run_fresh(program)


def test_a_python_kernel_loads_the_op_it_is_checked_against() -> None:
    program = """
from tenora_engine import _engine
_engine.register_backend("probe", "1.0", ["cpu"])
_engine.register_kernel("probe", KERNEL, lambda *a, out, **k: None)
print(KERNEL in _engine.backend_info("probe")["kernels"], len(later._loaded))
try:
    _engine.register_kernel("probe", KERNEL, lambda *a, out, **k: None)
except ValueError as error:
    print("second" in str(error))
tenora_ops.record(KERNEL)
print(KERNEL in _engine.backend_info("probe")["kernels"], len(later._loaded))
try:
    _engine.register_kernel("probe", REFUSED, lambda *a, out, **k: None)
except ValueError as error:
    print("view or function" in str(error))
"""
    takes = next(op for f in later.LATER for op, takes in later.FAMILIES[f][0].items() if takes)
    refuses = next(op for f in later.LATER for op, takes in later.FAMILIES[f][0].items() if takes is False)
    shown = run_fresh(f"KERNEL, REFUSED = {takes!r}, {refuses!r}\n{program}")
    assert shown.split("\n") == ["True 1", "True", "True 1", "True"]


def test_overloads_lie_in_one_place() -> None:
    entries = [entry for entry in records() if entry.public == "det"]
    check_families({"linalg_factor": entries})
    with pytest.raises(RecordError, match="lies in"):
        check_families({later.LATER[0]: entries, "arithmetic": entries})


def test_native_kernels_wait_for_announced_ops() -> None:
    program = """
from tenora_engine import _engine
tenora.zeros(2).add_(1)
kernels = _engine.backend_info(tenora.current_backend())["kernels"]
waiting = [op for f in later.LATER for op in later.FAMILIES[f][0] if op in kernels]
print(len(later._loaded), len(waiting) > 0)
for op in waiting:
    tenora_ops.record(op)
kernels = _engine.backend_info(tenora.current_backend())["kernels"]
print(all(op in kernels for op in waiting), {_engine.explain(op, "cpu")["implementation"] for op in waiting})
"""
    assert run_fresh(program) == "0 True\nTrue {'kernel'}"
