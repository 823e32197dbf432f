"""Saves tensors of the device `attic` and loads them there, on the host, and where there is no such device."""

import io
import sys

import tenora

x = tenora.arange(6, dtype=tenora.float32).to("attic")
weight = tenora.nn.Parameter(tenora.ones(2).to("attic"))
value = {
    "x": x,
    "part": x[2:4],
    "turned": tenora.ones(2, 3).to("attic").t(),
    "weight": weight,
    "host": tenora.ones(1),
}
file = io.BytesIO()
tenora.save(value, file)


def load(**options):
    file.seek(0)
    return tenora.load(file, **options)


there = load()
assert {name: each.device.type for name, each in there.items()} == dict.fromkeys(value, "attic") | {
    "host": "cpu"
}
assert there["x"].cpu().tolist() == [0, 1, 2, 3, 4, 5] and there["part"].cpu().tolist() == [2, 3]
assert there["x"].untyped_storage() is there["part"].untyped_storage()
assert there["turned"].stride() == (1, 3) and there["turned"].cpu().tolist() == [[1.0, 1.0]] * 3
assert type(there["weight"]) is tenora.nn.Parameter and there["weight"].requires_grad

for options in ({"map_location": "cpu"}, {"map_location": {"attic:0": "cpu", "attic": "cpu"}}):
    here = load(**options)
    assert {each.device.type for each in here.values()} == {"cpu"}
    assert here["part"].tolist() == [2.0, 3.0]
moved = load(map_location="attic")
assert {each.device.type for each in moved.values()} == {"attic"} and moved["host"].cpu().tolist() == [1.0]

module = io.BytesIO()
tenora.save([weight, tenora.nn.Linear(1, 1)], module)
for place in ("attic", "cpu"):
    module.seek(0)
    assert tenora.load(module, map_location=place, weights_only=False)[0].device.type == place

with open(sys.argv[1], "wb") as kept:
    kept.write(file.getvalue())
print("every check passed")
