"""Version ranges, and the numbers that must agree with the C header."""

import re
from pathlib import Path

import pytest

import tenora_dispatch
from tenora_dispatch import masks, versions
from tenora_dispatch.versions import VersionRange, parse_version


@pytest.mark.parametrize(
    ("text", "inside", "outside"),
    [
        (">=1,<2", ["1", "1.0", "1.99.3"], ["0.9", "2", "2.0.0"]),
        (">=1.0, <2, !=1.5", ["1.4", "1.5.1"], ["1.5", "1.5.0"]),
        ("==12", ["12", "12.0"], ["12.1", "11"]),
        (">1,<=1.2", ["1.0.1", "1.2"], ["1.0", "1.2.1"]),
    ],
)
def test_ranges(text, inside, outside):
    accepted = VersionRange.parse(text)
    assert all(version in accepted for version in inside)
    assert not any(version in accepted for version in outside)


@pytest.mark.parametrize("text", ["", "1", "=>1", ">=1,", ">=one", "~=1.0"])
def test_a_bad_range_names_its_clause(text):
    with pytest.raises(ValueError, match="no operator with a version"):
        VersionRange.parse(text)


def test_versions_with_suffixes():
    assert parse_version("12.4.1rc2+local") == (12, 4, 1)
    with pytest.raises(ValueError, match="not a version"):
        parse_version("latest")


def header() -> str:
    return (Path(tenora_dispatch.get_include()) / "tenora_backend.h").read_text()


def test_python_and_header_say_the_same_abi():
    numbers = dict(re.findall(r"#define (TNR_ABI_VERSION\w*) (\d+)", header()))
    assert int(numbers["TNR_ABI_VERSION"]) == versions.ABI_VERSION
    assert int(numbers["TNR_ABI_VERSION_MIN"]) == versions.ABI_OLDEST


def test_python_and_header_say_the_same_flags():
    flags = {
        name: int(value, 16)
        for name, value in re.findall(r"#define TNR_KERNEL_(\w+) (0x[0-9a-f]+)u", header())
    }
    assert flags == {flag.name: flag.value for flag in masks.KernelFlag}
    assert sum(flags.values()) == masks.ALL_FLAGS


def test_python_and_header_say_the_same_dtypes():
    listed = re.search(r"TNR_BOOL = 0,(.*?)TNR_DTYPE_COUNT", header(), re.DOTALL)
    assert listed is not None
    short = ["bool"] + [word.removeprefix("TNR_").lower() for word in re.findall(r"TNR_\w+", listed.group(1))]
    letters = {"u": "uint", "i": "int", "f": "float", "c": "complex", "bf": "bfloat"}
    long = [re.sub(r"^(bf|[uifc])(\d+)$", lambda m: letters[m.group(1)] + m.group(2), word) for word in short]
    assert tuple(long) == masks.DTYPES
    groups = {
        name: int(value, 16) for name, value in re.findall(r"#define TNR_MASK_(\w+) (0x[0-9a-f]+)u", header())
    }
    for name, value in groups.items():
        assert masks.GROUPS[name.lower()] == value
