"""`tenora backends`, `kernels` and `use`: what is installed, what it computes itself, which one this user wants."""

import argparse

import tenora_dispatch
from tenora.cli import text
from tenora_dispatch import BackendRow, Choice
from tenora_dispatch.config import BACKEND_VARIABLE, config_path, environment_backends


def add_commands(subcommands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Adds the commands of this file."""
    listing = subcommands.add_parser("backends", help="list the installed backends")
    listing.set_defaults(run=run_backends)
    kernels = subcommands.add_parser(
        "kernels", help="list the ops for which a backend has a kernel of its own"
    )
    kernels.add_argument("name", help="a backend's name, as in `tenora backends`")
    kernels.set_defaults(run=run_kernels)
    use = subcommands.add_parser("use", help="choose the backend of this user")
    use.add_argument("name", nargs="?", help="a backend's name, as in `tenora backends`")
    use.add_argument("--device", help="only for this device type")
    use.add_argument("--show", action="store_true", help="say which backend computes on each device, and why")
    use.add_argument("--clear", action="store_true", help="forget the choice")
    use.set_defaults(run=run_use, parser=use)


def run_backends(arguments: argparse.Namespace) -> int:
    """Prints a row for each backend; runs none of their code."""
    rows = tenora_dispatch.backends()
    if not rows:
        print("No backend is installed. Install one: pip install --force-reinstall tenora")
        return 1
    chosen = _chosen()
    print(text.table(("NAME", "STATE", "DEVICES", "CHOSEN", "FROM"), [_line(row, chosen) for row in rows]))
    for row in rows:
        if row.cause:
            print(f"\n{row.name} is {row.state}:\n{text.indented(str(row.cause))}")
    print("\n* computes on that device now; `tenora use --show` says why, `tenora doctor` tries them all.")
    return 0


def run_kernels(arguments: argparse.Namespace) -> int:
    """Loads a backend and prints a line for each kernel that it registered: the op, and "native" or "python"."""
    for op, how in tenora_dispatch.kernels(arguments.name).items():
        print(op, how)
    return 0


def _chosen() -> dict[str, str | None]:
    return {
        kind: tenora_dispatch.explain_choice(kind).name for kind in sorted(tenora_dispatch.device_types())
    }


def _line(row: BackendRow, chosen: dict[str, str | None]) -> tuple[str, ...]:
    devices = " ".join(kind + ("*" if chosen.get(kind) == row.name else "") for kind in row.device_types)
    manifest = row.manifest
    way = "by-name"
    if manifest is not None:
        way = "automatic" if manifest.auto else "reference" if manifest.reference else "by-name"
    return (row.name, row.state.value, devices or "?", way, f"{row.distribution} {row.version}".strip())


def run_use(arguments: argparse.Namespace) -> int:
    """Writes, shows or clears the user's choice."""
    asked = [bool(arguments.name), arguments.show, arguments.clear]
    if sum(asked) != 1:
        arguments.parser.print_usage()
        print("tenora use: give a backend's name, or --show, or --clear")
        return 2
    if arguments.show:
        return _show()
    if arguments.clear:
        print(f"{tenora_dispatch.clear_choice(device=arguments.device)} holds no choice any more.")
        return 0
    path = tenora_dispatch.write_choice(arguments.name, device=arguments.device)
    print(f"{path} says: {arguments.name}")
    if environment_backends():
        print(f"{BACKEND_VARIABLE}={','.join(environment_backends())} is set and goes before it.")
    return 0


def _show() -> int:
    print(f"configuration: {config_path()}{'' if config_path().exists() else ' (no such file)'}")
    code = 0
    for kind in sorted(tenora_dispatch.device_types()):
        choice = tenora_dispatch.explain_choice(kind)
        print(f"\n{kind}: {choice.name or 'no backend'}, by {choice.source}")
        print(describe_steps(choice))
        if choice.problem is not None:
            print(text.indented(str(choice.problem)))
            code = code if waits_to_be_asked(choice) else 1
        if choice.warning:
            print(text.indented(choice.warning))
    return code


def waits_to_be_asked(choice: Choice) -> bool:
    """Whether nobody chose, and no backend for the device wants to be chosen by itself: that is no fault."""
    rows = [row for row in tenora_dispatch.backends() if choice.device_type in row.device_types]
    nobody_chose = choice.source == choice.steps[-1][0]
    return nobody_chose and all(row.manifest is not None and not row.manifest.auto for row in rows)


def describe_steps(choice: Choice) -> str:
    """The sources that were asked for a device, in order, with their answers."""
    lines = [f"{number}. {source}: {answer}" for number, (source, answer) in enumerate(choice.steps, start=1)]
    return "\n".join(text.indented(line) for line in lines)
