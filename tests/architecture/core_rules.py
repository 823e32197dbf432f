"""Rules about what core's sources may say, as functions from a source to the places that break them.

What the rules can see:
- *Names*: any mention of a backend's package or distribution, comments and docstrings included.
- *Arithmetic*: core's Python imports no array library, and core's C++ neither walks over typed pointers to floating
  or complex elements nor calls what computes on them. A kernel needs one of these, so an allowed file needs a
  reason; scalars that travel by value (attributes, Program instructions) are no element data.
- *Imports in functions*: none, and no import by name, outside the files whose task is lazy loading.
"""

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from budgets import blank_literals

ARRAY_LIBRARIES = {"array", "cupy", "jax", "ml_dtypes", "numba", "numpy", "scipy", "torch"}
# Words of their own meaning, such as "reference" and "sim", count only with the package's prefix.
PLAIN_WORDS = {"reference", "sim"}
PLANNED_BACKENDS = {"cpu_mkl", "cuda_cupy", "cuda_native", "reference", "sim"}


@dataclass(frozen=True)
class Finding:
    """A line of a source that breaks a rule, and what on it does."""

    line: int
    what: str


def backend_pattern(backends: Iterable[str]) -> re.Pattern[str]:
    """Matches each backend's package, distribution and, where it is no plain word, short name."""
    names = set()
    for backend in backends:
        loose = re.escape(backend).replace("_", "[-_]")
        names.add(f"tenora[-_]{loose}")
        if backend not in PLAIN_WORDS:
            names.add(loose)
    return re.compile(rf"(?<![A-Za-z0-9])(?:{'|'.join(sorted(names))})(?![A-Za-z0-9])", re.IGNORECASE)


def backend_names(source: str, backends: Iterable[str]) -> Iterator[Finding]:
    """Lines that name a backend's distribution."""
    pattern = backend_pattern(backends)
    for number, line in enumerate(source.split("\n"), 1):
        for found in pattern.finditer(line):
            yield Finding(number, found.group())


def _is_import_call(function: ast.expr) -> bool:
    return ast.unparse(function).split(".")[-1] in {
        "import_module",
        "_import_module",
        "__import__",
        "LazyModule",
    }


def _imported(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
        return [node.module]
    if isinstance(node, ast.Call) and _is_import_call(node.func):
        return [str(arg.value) for arg in node.args[:1] if isinstance(arg, ast.Constant)] or ["(computed)"]
    return []


def array_imports(source: str) -> Iterator[Finding]:
    """Imports of array libraries, at any depth; imports for annotations only are free."""
    tree = ast.parse(source)
    free = {
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING")
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        for name in _imported(node) if node not in free else []:
            if name.split(".")[0] in ARRAY_LIBRARIES:
                yield Finding(getattr(node, "lineno", 0), name)


def lazy_array_imports(source: str) -> Iterator[Finding]:
    """The same, and array libraries by way of tenora_ops.lazy, which is there for the records' oracles."""
    yield from array_imports(source)
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module == "tenora_ops.lazy":
            yield Finding(node.lineno, node.module)


def function_imports(source: str) -> Iterator[Finding]:
    """Imports inside functions and imports by name."""
    for node in ast.walk(ast.parse(source)):
        inner: Iterable[ast.AST] = ()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            inner = (each for each in ast.walk(node) if isinstance(each, ast.Import | ast.ImportFrom))
        elif isinstance(node, ast.Call):
            inner = (node,)
        for each in inner:
            for name in _imported(each) or (["(relative)"] if isinstance(each, ast.ImportFrom) else []):
                yield Finding(getattr(each, "lineno", 0), name)


def imports_beyond_dispatch(source: str, own: str) -> Iterator[Finding]:
    """Imports of ours that a backend may not make: anything of tenora's but tenora_dispatch and its own package."""
    for node in ast.walk(ast.parse(source)):
        for name in _imported(node):
            package = name.split(".")[0]
            if re.match(r"tenora(_|$)", package) and package not in {"tenora_dispatch", own}:
                yield Finding(getattr(node, "lineno", 0), name)


_ELEMENT = (
    r"(?:float|double|_Float16|__bf16|(?:std::)?complex<\s*\w+\s*>|(?:\w+::)*(?:Half|BFloat16|Float16))"
)
_POINTER = re.compile(rf"\b{_ELEMENT}(?:\s+const)?\s*\*\s*(?:const\b|__restrict\w*)?\s*(\w+)")
_ELEMENT_LOOPS = {
    "cast to an element pointer": re.compile(rf"_cast<\s*(?:const\s+)?{_ELEMENT}(?:\s+const)?\s*\*+\s*>"),
    "C cast to an element pointer": re.compile(rf"\(\s*(?:const\s+)?{_ELEMENT}\s*\*\s*\)"),
    "span of elements": re.compile(rf"\bspan<\s*(?:const\s+)?{_ELEMENT}\b"),
    "element function": re.compile(
        r"(?:\bstd::|(?<![\w.:>\"]))(?:exp|expm1|exp2|log|log1p|log2|log10|sin|cos|tan|tanh|sinh|cosh|atan2?|asin|acos"
        r"|sqrt|cbrt|pow|erfc?|fma|lgamma|tgamma|hypot)[fl]?\s*\("
    ),
    "element algorithm": re.compile(
        r"\bstd::(?:transform|reduce|accumulate|inner_product|partial_sum|inclusive_scan|transform_reduce)\s*[(<]"
    ),
    "vector intrinsic": re.compile(r"\b_mm(?:256|512)?_\w+"),
    "vector header": re.compile(r"^\s*#\s*include\s*<(?:valarray|\w*mmintrin\.h|immintrin\.h|execution)>"),
    "vector pragma": re.compile(r"^\s*#\s*pragma\s+(?:omp|GCC\s+ivdep)"),
}


def element_arithmetic(source: str) -> Iterator[Finding]:
    """Places in a C++ source that hold arithmetic over element data.

    A typed pointer that is only written through (`*out = value`) is a result of one number; one that is subscripted
    or moved walks over elements.
    """
    code = blank_literals(source, directives=False)
    for number, text in enumerate(code.split("\n"), 1):
        for what, pattern in _ELEMENT_LOOPS.items():
            if pattern.search(text):
                yield Finding(number, f"{what}: {text.strip()}")
        for name in _POINTER.findall(text):
            walk = rf"\b{name}\s*(?:\[|\+\+|\+=|\+\s*\w)|(?:\+\+|--)\s*{name}\b"
            if re.search(walk, code):
                yield Finding(number, f"typed element pointer: {text.strip()}")
