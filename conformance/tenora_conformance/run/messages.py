"""What parent and worker say to each other: one JSON object a line, over pipes of their own.

- Parent: `{"load": [NAME, DEVICE]}` first, then `{"run": [case, ...]}` any number of times, `{"fallbacks": true}`.
- Worker: `{"subject": ...}` or `{"refused": ...}`, then a `Result.as_json()` for each case in order,
  `{"fallbacks": ...}`.
- What a backend prints to its standard output and error cannot reach these pipes.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from typing import Any

Message = Mapping[str, Any]
CHUNK = 1 << 16


def send(descriptor: int, message: Message) -> None:
    """Writes one message whole. Raises: OSError where nobody reads any more."""
    data = memoryview((json.dumps(message) + "\n").encode())
    while data:
        data = data[os.write(descriptor, data) :]


def receive(descriptor: int) -> Iterator[Message]:
    """Every message, until the other side closes its end."""
    waiting = b""
    while chunk := os.read(descriptor, CHUNK):
        *lines, waiting = (waiting + chunk).split(b"\n")
        for line in lines:
            yield json.loads(line)
