"""`badge.json`: the level that is met, in the form that shields.io's endpoint badge reads."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

COLOURS = {"": "red", "L0": "orange", "L1": "yellow", "L2": "yellowgreen", "L3": "green", "L4": "brightgreen"}


def badge_text(report: Mapping[str, Any]) -> str:
    """The badge's JSON."""
    met = report["met"]
    badge = {
        "schemaVersion": 1,
        "label": f"tenora {report['environment']['opset']}",
        "message": met or "not met",
        "color": COLOURS[met],
    }
    return json.dumps(badge, indent=2) + "\n"
