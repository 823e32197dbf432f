"""What a device of a stranger's own does: placement, copies, errors, options, threads. Run beside `stranger_c`."""

import threading
import warnings

import tenora
import tenora_dispatch


def raises(kind, text, function):
    """Checks that a call raises, and what it says."""
    try:
        function()
    except kind as error:
        assert text in str(error), str(error)
        return
    raise AssertionError(f"no {kind.__name__} with {text!r}")


def main():
    assert "rock" in tenora_dispatch.device_types()
    assert tenora_dispatch.device_count("rock") == 2
    x = tenora.tensor([[1.0, 2.0], [3.0, 4.0]]).to("rock:1")
    assert str(x.device) == "rock:1" and tenora_dispatch.current_backend("rock") == "stranger_c"
    y = (x.t() + 1).contiguous()
    assert y.device == x.device and y.cpu().tolist() == [[2.0, 4.0], [3.0, 5.0]]
    assert (x @ x)[1, 0].item() == 15.0
    raises(RuntimeError, "rock", lambda: x + tenora.tensor([1.0, 2.0]))
    raises(
        IndexError, "index 9 is out of bounds", lambda: x.gather(1, tenora.tensor([[9], [0]]).to("rock:1"))
    )
    raises(NotImplementedError, "stranger_c", lambda: x.cumsum(0))
    with tenora_dispatch.fallback("allow"):
        assert x.cumsum(0).cpu().tolist() == [[1.0, 2.0], [4.0, 6.0]]
    assert [(row.op, row.backend) for row in tenora_dispatch.fallbacks()] == [("cumsum", "stranger_c")]
    tenora_dispatch.set_backend_option("stranger_c", patience=7)
    raises(ValueError, "patience", lambda: tenora_dispatch.set_backend_option("stranger_c", patience="7"))
    raises(
        ValueError,
        "does not serve this device",
        lambda: tenora.use_backend("stranger_c", device="cpu").__enter__(),
    )

    tenora.set_default_backend("stranger_py")
    assert tenora_dispatch.current_backend("cpu") == "stranger_py"
    tenora.set_default_backend(None)
    assert tenora_dispatch.current_backend("cpu") != "stranger_py"
    with tenora_dispatch.fallback("warn"), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        x.cumsum(0)
    assert "[cumsum] computed by reference on the host" in str(caught[0].message)
    raises(RuntimeError, "Did you mean 'rock'", lambda: x.to("rokc"))
    assert tenora.rock.device_count() == 2 and tenora.rock.is_available()

    seen = []
    with tenora.use_backend("stranger_py"):
        thread = threading.Thread(target=lambda: seen.append(tenora_dispatch.current_backend("cpu")))
        thread.start()
        thread.join()
        assert tenora_dispatch.current_backend("cpu") == "stranger_py"
    assert seen[0] != "stranger_py"
    print("every check passed")


main()
