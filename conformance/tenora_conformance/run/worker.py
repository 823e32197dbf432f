"""The process in which a backend is loaded and its cases run: `python -m tenora_conformance.run.worker READ WRITE`.

It takes messages from the descriptor READ and answers on WRITE (`messages.py`). It may crash, hang or be ended at any
time: whoever started it knows which case it was in.
"""

from __future__ import annotations

import faulthandler
import os
import sys

import tenora
from tenora_conformance import subject as subjects
from tenora_conformance.model import Case
from tenora_conformance.run.messages import Message, receive, send
from tenora_conformance.run.one import run_case
from tenora_conformance.subject import Subject


def main() -> int:
    """Serves until the other side closes its end."""
    faulthandler.enable()
    read, write = int(sys.argv[1]), int(sys.argv[2])
    for descriptor in (read, write):  # what a backend starts must not hold the pipes open
        os.set_inheritable(descriptor, False)
    subject: Subject | None = None
    for message in receive(read):
        if "load" in message:
            subject = _load(write, *message["load"])
        elif "run" in message:
            assert subject is not None, "cases were sent before a backend"
            for data in message["run"]:
                send(write, run_case(Case.from_json(data), subject).as_json())
        else:
            send(write, {"fallbacks": [[row.op, row.backend, row.calls] for row in tenora.fallbacks()]})
    return 0


def _load(write: int, name: str, device: str) -> Subject | None:
    """Loads the backend and says what it declares, or why it cannot be loaded."""
    try:
        subject = subjects.load(name, device)
    except Exception as error:  # a backend may raise anything
        send(write, {"refused": _told(error)})
        return None
    answer: Message = {"subject": subject.as_json()}
    send(write, answer)
    return subject


def _told(error: BaseException) -> dict[str, str]:
    """An error in words: its own, and those of what caused it."""
    causes: list[str] = []
    cause = error.__cause__
    while cause is not None and len(causes) < 5:
        causes.append(f"{type(cause).__name__}: {cause}")
        cause = cause.__cause__
    return {
        "kind": type(error).__name__,
        "text": str(error) or type(error).__name__,
        "causes": "\n".join(causes),
    }


if __name__ == "__main__":
    sys.exit(main())
