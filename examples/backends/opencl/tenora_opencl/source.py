"""OpenCL C: how the source of a kernel is put together.

A kernel runs once for each number `i` below `count` and reads the elements of its operands through a `layout`, which
says where element `i` of each operand lies. `kernel` puts a body into that frame; a body uses

- `OUTER(k, i)`: where operand `k` has element `i`; `INNER(k, j)`: how far from there it has its `j`-th element along
  the inner dimensions;
- `READ(dtype, k, at)`, `WRITE(dtype, k, at, value)`: the element there, in the type that the dtype is computed in;
- `l.number[n]`: numbers that belong to the call.

The dimensions of a layout are sorted: the outer ones, along which kernels run side by side, before the inner ones,
which one kernel walks along. Operands that are numbers of the program travel in the layout too (`by_value`).
"""

from functools import cache

UNTOUCHED = 2**63 - 1
RANK, OPERANDS, CALL_NUMBERS = 16, 4, 4

# What an element is stored as, and what it is computed in.
STORED = {
    "bool": "uchar",
    "uint8": "uchar",
    "uint16": "ushort",
    "uint32": "uint",
    "uint64": "ulong",
    "int8": "char",
    "int16": "short",
    "int32": "int",
    "int64": "long",
    "float16": "ushort",
    "bfloat16": "ushort",
    "float32": "float",
    "float64": "double",
}
COMPUTED = STORED | {"float16": "float", "bfloat16": "float"}
HALVES = ("float16", "bfloat16")

BOOL = ("bool",)
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
INTS = (*UNSIGNED, "int8", "int16", "int32", "int64")
FLOATS = (*HALVES, "float32", "float64")
NUMBERS = INTS + FLOATS
EVERY = BOOL + NUMBERS

# Elements that are only moved are moved as unsigned numbers of their size.
BITS = {1: "uint8", 2: "uint16", 4: "uint32", 8: "uint64"}
BYTES = {"uchar": 1, "ushort": 2, "uint": 4, "ulong": 8, "char": 1, "short": 2, "int": 4, "long": 8}
SIZES = {dtype: (BYTES | {"float": 4, "double": 8})[stored] for dtype, stored in STORED.items()}

FRAME = f"""
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#pragma OPENCL EXTENSION cl_khr_int64_extended_atomics : enable
#pragma OPENCL FP_CONTRACT OFF
typedef struct {{
    long count, inner, outer_rank, rank, by_value;
    long shape[{RANK}], stride[{OPERANDS}][{RANK}], offset[{OPERANDS}];
    ulong value[{OPERANDS}];
    long number[{CALL_NUMBERS}];
}} layout;

long along(const layout *l, int k, long i, int first, int last) {{
    long at = 0;
    for (int d = last - 1; d > first; --d) {{
        at += i % l->shape[d] * l->stride[k][d];
        i /= l->shape[d];
    }}
    return last > first ? at + i * l->stride[k][first] : at;
}}

#define OUTER(k, i) (l.offset[k] + along(&l, k, i, 0, l.outer_rank))
#define INNER(k, j) along(&l, k, j, l.outer_rank, l.rank)
#define READ(dtype, k, at) (l.by_value >> k & 1 ? value_##dtype(l.value[k]) : read_##dtype(p##k + (at)))
#define WRITE(dtype, k, at, x) write_##dtype(p##k + (at), x)

void found(__global char *first, long i) {{ atom_min((volatile __global long *)first, i); }}

long to_long(double x) {{ return x > -0x1p63 && x < 0x1p63 ? (long)x : LONG_MIN; }}
ulong to_ulong(double x) {{ return x >= 0x1p63 && x < 0x1p64 ? (ulong)x : (ulong)to_long(x); }}

// A float that rounds to the half that x rounds to: cut off, and marked where something was.
#define ODD(type) \\
    float __attribute__((overloadable)) odd(type x) {{ \\
        const float cut = convert_float_rtz(x); \\
        return (type)cut == x ? cut : as_float(as_uint(cut) | 1); \\
    }}
ODD(double)
ODD(long)
ODD(ulong)
"""

PLAIN = """
{stored} value_{dtype}(ulong bits) {{ return {value}; }}
{stored} read_{dtype}(const __global char *at) {{ return *(const __global {stored} *)at; }}
void write_{dtype}(__global char *at, {stored} x) {{ *(__global {stored} *)at = x; }}
"""

# Halves are computed in float and rounded once, to nearest even.
SHORT = {
    "float16": """
float value_float16(ulong bits) { ushort half_bits = bits; return vload_half(0, (const half *)&half_bits); }
float read_float16(const __global char *at) { return vload_half(0, (const __global half *)at); }
void write_float16(__global char *at, float x) { vstore_half_rte(x, 0, (__global half *)at); }
""",
    "bfloat16": """
float value_bfloat16(ulong bits) { return as_float((uint)bits << 16); }
float read_bfloat16(const __global char *at) { return value_bfloat16(*(const __global ushort *)at); }
void write_bfloat16(__global char *at, float x) {
    const uint bits = as_uint(x);
    *(__global ushort *)at = isnan(x) ? 0x7fc0 : (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}
""",
}


def access(dtype: str) -> str:
    """The functions that read and write elements of a dtype."""
    if dtype in SHORT:
        return SHORT[dtype]
    stored = STORED[dtype]
    value = {"float32": "as_float((uint)bits)", "float64": "as_double(bits)"}.get(dtype, f"({stored})bits")
    return PLAIN.format(dtype=dtype, stored=stored, value=value)


def cast(value: str, source: str, target: str) -> str:
    """An expression in the OpenCL type `source` as what an element of the dtype `target` is computed in."""
    if target == "bool":
        return f"(({value}) != 0)"
    if target in INTS and source in ("float", "double"):
        return f"({STORED[target]}){'to_ulong' if target == 'uint64' else 'to_long'}({value})"
    if target in HALVES and source not in ("float", "uchar"):
        return f"odd(({source if source in ('long', 'ulong') else 'double'})({value}))"
    return f"({COMPUTED[target]})({value})"


@cache
def kernel(body: str, dtypes: tuple[str, ...], operands: int, *helpers: str) -> str:
    """The source of a kernel with so many operands, whose body uses elements of these dtypes."""
    parts = [FRAME, *map(access, sorted(set(dtypes))), *helpers]
    pointers = "".join(f", __global char *p{k}" for k in range(operands))
    start = "const long i = get_global_id(0);\n    if (i >= l.count) return;\n"
    parts.append(f"__kernel void run(const layout l{pointers}) {{\n    {start}{body}\n}}\n")
    return "".join(parts)
