"""A backend whose memory is written in Python: `registry.space` with an object of the contract's form.

Addresses are real ones plus an offset, so that nobody but the backend can touch them. Run with the folder of this
program's distribution on the path; see test_python_space.py.
"""

import ctypes
import sys

import tenora
import tenora_dispatch


def main():
    package = sys.modules
    x = tenora.tensor([[1.0, 2.0], [3.0, 4.0]]).to("attic")
    assert "package_of_attic" in package and str(x.device) == "attic:0"
    y = tenora.tensor([[10.0, 20.0], [30.0, 40.0]]).to("attic")
    assert (x + y).cpu().tolist() == [[11.0, 22.0], [33.0, 44.0]]
    assert (x.t() + y).cpu().tolist() == [[11.0, 23.0], [32.0, 44.0]]
    space = package["package_of_attic"].SPACE
    assert space.handed_out and space.copies >= 4
    weight = x.requires_grad_()
    (weight + y).sum().backward()
    assert weight.grad.cpu().tolist() == [[1.0, 1.0], [1.0, 1.0]]
    try:
        tenora.ones(1 << 20).to("attic")
    except tenora.OutOfMemoryError as error:
        assert "the attic is full" in str(error), str(error)
    else:
        raise AssertionError("the attic took more than it has")
    assert (x + y).cpu().tolist() == [[11.0, 22.0], [33.0, 44.0]]
    assert tenora_dispatch.device_count("attic") == 1
    try:
        x * y
    except RuntimeError as error:
        told = "[mul] what the Python kernel of 'attic' returned is of no use: got ndarray, expected None"
        assert str(error).startswith(told), str(error)
    else:
        raise AssertionError("a result that nobody can store was dropped")
    del x, y, weight
    tenora.attic.empty_cache()
    assert not space.handed_out, "memory was not given back"
    print("every check passed")


assert ctypes.sizeof(ctypes.c_void_p) == 8
main()
