"""Devices with streams that lie about them: the simulated device behind a library that changes one function."""

from pathlib import Path

from broken_cases import NATIVE, Broken
from conftest import MANIFEST

import tenora_sim

LIAR = Path(__file__).resolve().with_name("stream_liar.c")
PLACE = MANIFEST.replace('"cpu"', '"sim"') + 'capabilities = ["streams", "events"]\n'


def murky(
    name: str, lie: int, passes: str, ops: tuple[str, ...] = ("@streams",), *, level: str = "L4", **rest: str
) -> Broken:
    """A device with streams that tells a lie. `passes`: what is not broken."""
    return Broken(
        name,
        NATIVE,
        passes=passes,
        ops=ops,
        level=level,
        manifest=rest.get("manifest", PLACE),
        lie=lie,
        options=(f'-DSIM="{tenora_sim.library_path()}"',),
        source=LIAR,
    )


STREAMS = (
    murky("murky", 0, "*", ("@streams", "@allocator", "@capabilities", "@memory")),
    murky("copies_at_once", 1, "@streams/*/current"),
    murky("records_too_early", 2, "@streams/*/order"),
    murky("ignores_waits", 3, "@streams/*/order"),
    murky("always_reached", 4, "@streams/*/order"),
    murky("event_does_not_wait", 5, "@streams/*/wait_event"),
    murky("keeps_first_record", 6, "@streams/*/wait_event"),
    murky("always_idle", 7, "@streams/*/wait_stream"),
    murky("device_does_not_wait", 8, "@streams/*/wait_event"),
    murky("no_time", 9, "@streams/*/wait_stream"),
    murky("rebinds_output", 10, "@memory/*/round_trip", ("@memory",), level="L1"),
    murky(
        "modest_about_streams",
        0,
        "",
        ("@capabilities",),
        manifest=PLACE.replace('["streams", "events"]', '["float32", "int64", "bool"]'),
    ),
)
