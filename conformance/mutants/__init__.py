"""Mutation of tenora's sources: is every fault of the list in `operators.toml` found by the conformance suite?

- `python -m mutants` (`make mutants`) draws mutants by a seed, lets the suite judge each, and writes `docs/mutants.md`.
- A mutant lies in a folder of its own (`sandbox.py`); the working tree is only read.
- Operators are written by reading the backends and core, never the checks.
"""
