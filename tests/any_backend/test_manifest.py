"""Manifests: what is read, and the error for each way of being wrong."""

from pathlib import Path

import pytest

from tenora_dispatch.errors import ManifestError
from tenora_dispatch.manifest import parse, read

PATH = Path("somewhere/tenora-backend.toml")
GOOD = """
name = "mine"
device_types = ["cpu", "rock"]
protocol = ">=1,<2"
abi = ">=1"
opset = ">=1.0,<2"
auto = true
capabilities = ["float64"]
docs = "https://example.org"
[native_libraries]
cuda = ">=12,<14"
[options.threads]
type = "int"
default = 2
choices = [1, 2, 4]
doc = "How many."
"""


def test_everything_is_read():
    manifest = parse(PATH, GOOD)
    assert (manifest.name, manifest.device_types, manifest.auto) == ("mine", ("cpu", "rock"), True)
    assert not manifest.reference
    assert "12.4" in manifest.native_libraries["cuda"] and "14.0" not in manifest.native_libraries["cuda"]
    assert manifest.options["threads"].default == 2
    assert manifest.options["threads"].accepts(4) and not manifest.options["threads"].accepts(3)
    assert not manifest.options["threads"].accepts(True)


@pytest.mark.parametrize(
    ("change", "key", "got", "expected"),
    [
        (('name = "mine"', ""), "name", "nothing", "a short name"),
        (('name = "mine"', 'name = "My Backend"'), "name", "'My Backend'", "a short name"),
        (('name = "mine"', "name = 3"), "name", "3", "a short name"),
        (('["cpu", "rock"]', "[]"), "device_types", "[]", "a list of device types"),
        (('["cpu", "rock"]', '"cpu"'), "device_types", "'cpu'", "a list of device types"),
        (('abi = ">=1"', 'abi = "1"'), "abi", "'1'", "a version range"),
        (('abi = ">=1"', "abi = 1"), "abi", "1", "a version range"),
        (("auto = true", 'auto = "yes"'), "auto", "'yes'", "true or false"),
        (("auto = true", "atuo = true"), "atuo", "an unknown key", "'auto'"),
        (('cuda = ">=12,<14"', 'cuda = "twelve"'), "native_libraries.cuda", "'twelve'", "a version range"),
        (('type = "int"', 'type = "list"'), "options.threads.type", "'list'", "one of bool, int"),
        (("default = 2", "default = 3"), "options.threads.default", "3", "one of [1, 2, 4]"),
        (('doc = "How many."', "dco = 1"), "options.threads.dco", "an unknown key", "one of type"),
        (("default = 2", ""), "options.threads", "'type': 'int'", "a table with type and default"),
    ],
)
def test_a_wrong_key_is_named_with_what_it_has_and_should_have(change, key, got, expected):
    assert change[0] in GOOD
    with pytest.raises(ManifestError) as caught:
        parse(PATH, GOOD.replace(*change))
    text = str(caught.value)
    assert str(PATH) in text and f"'{key}'" in text
    assert f"got {got}" in text or got in text
    assert f"expected {expected}" in text
    assert caught.value.code == "manifest" and isinstance(caught.value, ValueError)


def test_a_file_that_is_not_toml_names_file_and_line():
    with pytest.raises(ManifestError, match=r"tenora-backend.toml: the file is not TOML: got .*line 1"):
        parse(PATH, "name = 1 2\n")


def test_a_file_that_cannot_be_read(tmp_path):
    with pytest.raises(ManifestError, match="cannot be read"):
        read(tmp_path / "absent.toml")
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ManifestError, match="expected a TOML file in UTF-8"):
        read(tmp_path / "bytes.toml")
