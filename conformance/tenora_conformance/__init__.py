"""Tells whether a backend of tenora computes what it says: `tenora-conformance run NAME`.

- `model.py`: cases, statuses, results. `subject.py`: the backend being judged. `must_run.py`: which cases it must pass.
- `checks/`: one module per kind of question. `judge/`: layouts, oracles and comparison, on the host.
- `run/`: processes, progress, the command line. `report/`: what a run leaves behind, and what is made of it.
- The suite uses tenora's public interface and the op records; it knows no backend by name.
"""

__version__ = "0.1.0"
