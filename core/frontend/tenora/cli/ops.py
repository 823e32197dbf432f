"""`tenora ops` and `tenora explain`: the operations, and which code computes one."""

import argparse

import tenora_dispatch
from tenora.cli import text
from tenora.cli.backends import describe_steps
from tenora_dispatch import UnknownOpError, opset
from tenora_dispatch.errors import did_you_mean
from tenora_ops.census import census


def add_commands(subcommands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Adds the commands of this file."""
    ops = subcommands.add_parser("ops", help="list the operations")
    ops.add_argument("name", nargs="?", help="print the signature that a kernel of this op has")
    ops.add_argument("--count", action="store_true", help="print only how many distinct public ops there are")
    ops.add_argument("--verbose", action="store_true", help="and what was not counted")
    ops.set_defaults(run=run_ops)
    explain = subcommands.add_parser("explain", help="say which code computes an op, and why")
    explain.add_argument("op", help="an op's name, as in `tenora ops`")
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
    schema = opset.find(arguments.name)
    if schema is None:
        raise UnknownOpError(
            f"[ops] unknown op: got '{arguments.name}', expected one that `tenora ops` lists. Check the name."
            + did_you_mean(arguments.name, opset.names())
        )
    print(schema)
    return 0


def run_explain(arguments: argparse.Namespace) -> int:
    """Prints what would run for an op on a device, and how the backend was chosen."""
    found = tenora_dispatch.explain(arguments.op, device=arguments.device, dtype=arguments.dtype)
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
