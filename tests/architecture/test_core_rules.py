"""Core names no backend, holds no arithmetic over element data, and imports at the top of its files."""

from collections.abc import Callable, Iterator

import pytest
from core_rules import (
    PLANNED_BACKENDS,
    Finding,
    array_imports,
    backend_names,
    element_arithmetic,
    function_imports,
    imports_beyond_dispatch,
    lazy_array_imports,
)
from tree import CORE_PACKAGES, ROOT, core_sources, files, relative

PYTHON, CPP = (".py", ".pyi"), (".cpp", ".h", ".hpp", ".c")
MANIFESTS = [
    *ROOT.glob("backends/*/*/tenora-backend.toml"),
    *ROOT.glob("examples/backends/*/*/tenora-backend.toml"),
]
BACKENDS = PLANNED_BACKENDS | {path.parent.name.removeprefix("tenora_") for path in MANIFESTS}

# Files of core that may import an array library, and why that is no arithmetic over element data.
ARRAYS_ALLOWED: dict[str, str] = {
    "core/engine/tenora_engine/_engine.pyi": "a stub: the types of what numpy() gives and from_numpy() takes",
    "core/frontend/tenora/formatting.py": "prints elements; what it computes are widths and digits",
    "core/ops/tenora_ops/lazy.py": "NumPy and SciPy at first use, for oracles and samples",
    "core/ops/tenora_ops/samples.py": "draws the sample inputs of tests and conformance",
}
# C++ files of core that may touch elements, and why.
ELEMENTS_ALLOWED: dict[str, str] = {
    "core/engine/src/attr_code.cpp": "instructions on attributes: one scalar at a time, never a tensor's data",
}
# Files that may import inside functions or by name: the lazy loading of a backend, a plugin, discovery, PEP 562.
LAZY_ALLOWED: dict[str, str] = {
    "bench/mistakes/__main__.py": "the framework under test is an argument of the process",
    "bench/worker.py": "the framework under test is an argument of the process",
    "conformance/mutants/parts.py": "the backend whose kernels are mutated is a row of a table",
    "core/dispatch/tenora_dispatch/lifecycle.py": "loads the package of a requested backend",
    "core/frontend/tenora/__init__.py": "rooms that `import tenora` leaves out (PEP 562)",
    "core/frontend/tenora/lazy_names.py": "what most programs never ask for of nn, nn.utils, optim and utils (PEP 562)",
    "core/frontend/tenora/utils/progress_bar.py": "tqdm or rich, where installed, with the first bar on a terminal",
    "core/hooks/tenora_hooks/__init__.py": "pluggy comes with the first plugin (PEP 562)",
    "core/hooks/tenora_hooks/manager.py": "loads plugins, and pluggy with the first of them",
    "core/ops/tenora_ops/later.py": "a family of ops when one of its names is asked for",
    "core/ops/tenora_ops/lazy.py": "NumPy and SciPy for oracles and samples, opt_einsum for long products, at first "
    "use",
}


def broken(names: list[str], rule: Callable[[str], Iterator[Finding]], allowed: dict[str, str]) -> list[str]:
    """Every finding of a rule in the files that are not allowed it."""
    return [
        f"{name}:{finding.line}: {finding.what}"
        for name in names
        if name not in allowed
        for finding in rule((ROOT / name).read_text())
    ]


def test_core_has_sources() -> None:
    assert all(any(name.startswith(room) for name in core_sources(PYTHON)) for room in CORE_PACKAGES.values())
    assert any(name.endswith(".cpp") for name in core_sources(CPP))


def test_core_names_no_backend() -> None:
    names = core_sources((*PYTHON, *CPP, ".toml", ".cmake", ".txt"))
    assert broken(names, lambda source: backend_names(source, BACKENDS), {}) == []


def test_core_python_imports_no_array_library() -> None:
    assert broken(core_sources((".py",)), array_imports, ARRAYS_ALLOWED) == []
    outside = [name for name in core_sources((".py",)) if not name.startswith("core/ops/")]
    assert broken(outside, lazy_array_imports, ARRAYS_ALLOWED) == []


def test_core_cpp_holds_no_element_arithmetic() -> None:
    assert broken(core_sources(CPP), element_arithmetic, ELEMENTS_ALLOWED) == []


def test_no_imports_inside_functions() -> None:
    judged = [relative(path) for path in files() if path.suffix == ".py"]
    judged = [
        name
        for name in judged
        if name.startswith(("core/", "backends/", "conformance/", "ci/", "bench/", "examples/backends/"))
    ]
    assert broken(judged, function_imports, LAZY_ALLOWED) == []


def test_example_backends_import_dispatch_only() -> None:
    """They are distributions that import-linter's contracts do not list, as a stranger's would be."""
    packages = [path.parent for path in MANIFESTS if relative(path).startswith("examples/")]
    judged = {source: package.name for package in packages for source in package.rglob("*.py")}
    found = {
        relative(path): [finding.what for finding in imports_beyond_dispatch(path.read_text(), own)]
        for path, own in judged.items()
    }
    assert {name: whats for name, whats in found.items() if whats} == {}


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("import tenora", ["tenora"]),
        ("def f():\n    from tenora_ops.schema import parse", ["tenora_ops.schema"]),
        ("import tenora_other.kernels", ["tenora_other.kernels"]),
        ("from tenora_dispatch import Probe\nimport tenora_own.kernels\nfrom . import a\nimport torch", []),
    ],
)
def test_import_rule_of_backends(source: str, found: list[str]) -> None:
    assert [finding.what for finding in imports_beyond_dispatch(source, "tenora_own")] == found


@pytest.mark.parametrize("allowed", [ARRAYS_ALLOWED, ELEMENTS_ALLOWED, LAZY_ALLOWED])
def test_allowances_are_used(allowed: dict[str, str]) -> None:
    rule = {id(ARRAYS_ALLOWED): lazy_array_imports, id(ELEMENTS_ALLOWED): element_arithmetic}.get(
        id(allowed), function_imports
    )
    unused = [
        name for name in allowed if not (ROOT / name).exists() or not list(rule((ROOT / name).read_text()))
    ]
    assert unused == []
    assert all(reason for reason in allowed.values())


@pytest.mark.parametrize(
    "source",
    [
        "import tenora_reference",
        "# like cpu_mkl",
        "x = 'tenora-cpu-mkl'",
        "#include <cuda_native/x.h>",
        "TENORA_SIM = 1",
    ],
)
def test_names_rule_finds(source: str) -> None:
    assert list(backend_names(f"first = 1\n{source}\n", BACKENDS))[0].line == 2


@pytest.mark.parametrize(
    "source", ["reference = true", "similar", "cpu", "a reference count", "tenora_references"]
)
def test_names_rule_passes(source: str) -> None:
    assert list(backend_names(source, BACKENDS)) == []


@pytest.mark.parametrize(
    "source",
    [
        "import numpy as np",
        "from scipy import special",
        "def f():\n    import torch",
        "import_module('cupy')",
    ],
)
def test_array_rule_finds(source: str) -> None:
    assert len(list(array_imports(source))) == 1


def test_array_rule_passes_annotations() -> None:
    source = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import numpy\nimport math\n"
    assert list(array_imports(source)) == []


@pytest.mark.parametrize(
    "source",
    [
        "auto* p = static_cast<const float*>(t.data());",
        "void fill(double *out) { out[0] = 1; }",
        "void next(float* __restrict out) { *out++ = 1; }",
        "float* p = (float*) raw;",
        "void scale(const std::complex<float>* in, size_t n) { use(in + n); }",
        "std::span<const double> values;",
        "y[i] = std::exp(x[i]);",
        "y[i] = tanhf(x[i]);",
        "std::transform(a, b, c, plus);",
        "auto v = _mm256_add_ps(a, b);",
        "#pragma omp parallel for",
        "  #include <immintrin.h>",
    ],
)
def test_arithmetic_rule_finds(source: str) -> None:
    assert {finding.line for finding in element_arithmetic(f"int a;\n{source}\n")} == {2}


@pytest.mark.parametrize(
    "source",
    [
        "double alpha = attribute.f64;",
        "std::max(a, b); memcpy(to, from, bytes);",
        "auto* bytes = static_cast<std::byte*>(storage.data());",
        "// static_cast<float*> would be a kernel's",
        "bool read_f64(const Value& value, double* out) { *out = value.f64; }",
        'rules.log(event); names::pow(a); if (op == "exp(x)") {}',
    ],
)
def test_arithmetic_rule_passes(source: str) -> None:
    assert list(element_arithmetic(source)) == []


@pytest.mark.parametrize(
    "source",
    [
        "def f():\n    import os",
        "def f():\n    from . import g",
        "importlib.import_module(name)",
        "__import__('os')",
    ],
)
def test_lazy_rule_finds(source: str) -> None:
    assert list(function_imports(source))


def test_lazy_rule_passes() -> None:
    assert list(function_imports("import os\nfrom . import a\n\ndef f():\n    return os.getcwd()\n")) == []
