"""`tenora ops` and `tenora explain`: the operations, and which code computes one."""

import argparse
from collections.abc import Callable

import tenora_dispatch
from tenora.cli import text
from tenora.cli.backends import describe_steps
from tenora_dispatch import UnknownOpError, opset
from tenora_dispatch.errors import did_you_mean
from tenora_ops import Record, records
from tenora_ops.census import census


def add_commands(subcommands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Adds the commands of this file."""
    ops = subcommands.add_parser("ops", help="list the operations")
    ops.add_argument(
        "name",
        nargs="?",
        help="an op, function or method: print how it is called, and its kernel's signature",
    )
    ops.add_argument("--count", action="store_true", help="print only how many distinct public ops there are")
    ops.add_argument("--verbose", action="store_true", help="and what was not counted")
    ops.set_defaults(run=run_ops)
    explain = subcommands.add_parser("explain", help="say which code computes an op, and why")
    explain.add_argument("op", help="an op, function or method: conv2d, linalg.svd, Tensor.sum")
    explain.add_argument("--device", default="cpu", help="a device, by default cpu")
    explain.add_argument("--dtype", default="float32", help="a dtype, by default float32")
    explain.set_defaults(run=run_explain)


def run_ops(arguments: argparse.Namespace) -> int:
    """Prints all records by name, the number of distinct ops, or one op's kernel signature."""
    if arguments.count:
        found = census()
        print("\n".join(found.lines()) if arguments.verbose else found.ops)
        return 0
    if arguments.name is None:
        print("\n".join(opset.names()))
        if arguments.verbose:
            print("", *census().lines(), sep="\n")
        return 0
    print("\n\n".join(_described(entry) for entry in _named("ops", arguments.name)))
    return 0


def run_explain(arguments: argparse.Namespace) -> int:
    """Prints what would run for an op on a device, and how the backend was chosen."""
    for number, entry in enumerate(_named("explain", arguments.op)):
        if number:
            print()
        if entry.kind == "python":
            print(
                text.facts(
                    [("op", entry.name), ("runs", "python"), ("because", "a Python function over other ops")]
                )
            )
            continue
        found = tenora_dispatch.explain(entry.name, device=arguments.device, dtype=arguments.dtype)
        facts = [
            ("op", found.op),
            ("device", found.device),
            ("dtype", found.dtype),
            ("runs", found.implementation),
            ("on", found.backend),
            ("because", found.reason),
            ("backend chosen by", found.choice.source),
        ]
        print(text.facts([fact for fact in facts if fact[1]]))
        print(describe_steps(found.choice))
    return 0


def _faces(entry: Record) -> set[str]:
    """The names under which programs call an op."""
    functions = {entry.public, *entry.aliases} if entry.public else set()
    methods = {entry.method_name, entry.inplace_name, entry.attribute}
    if entry.method_name:
        methods |= {alias for alias in entry.aliases if "." not in alias}
    return {*functions, *(f"Tensor.{name}" for name in methods if name)}


def _named(command: str, name: str) -> list[Record]:
    """The ops of a name: an op's own, a public one (with its module or without), or a method's.

    Raises: `UnknownOpError`, with the nearest name.
    """
    wanted = name.removeprefix("tenora.").removeprefix("torch.")
    every = {entry: _faces(entry) for entry in records()}
    judges: tuple[Callable[[Record, set[str]], bool], ...] = (
        lambda entry, faces: wanted in faces,
        lambda entry, faces: wanted == entry.name,
        lambda entry, faces: any(face.rpartition(".")[2] == wanted for face in faces),
    )
    for judge in judges:
        if found := [entry for entry, faces in every.items() if judge(entry, faces)]:
            return found
    known = {face for faces in every.values() for face in faces} | {entry.name for entry in every}
    raise UnknownOpError(
        f"[{command}] unknown op: got '{name}', expected an op that `tenora ops` lists, a public function or a method. "
        "Check the name."
        + did_you_mean(wanted, sorted({*known, *(face.rpartition(".")[2] for face in known)}))
    )


def _described(entry: Record) -> str:
    """How programs call an op, what it does, and what its kernel is called with."""
    parameters = entry.schema.text.partition("(")[2]
    functions = [entry.public, *entry.aliases] if entry.public else []
    lines = [f"tenora.{name}({parameters}" for name in functions]
    methods = [f"Tensor.{name}" for name in (entry.method_name, entry.inplace_name, entry.attribute) if name]
    facts = [("op", entry.name), ("does", entry.doc), ("method", ", ".join(methods))]
    facts.append(("out=", "taken" if entry.out else ""))
    schema = opset.find(entry.name)
    facts.append(("kernel", str(schema) if schema else ""))
    return "\n".join([*lines, text.facts([fact for fact in facts if fact[1]])])
