"""The command `tenora`.

    tenora doctor                        every backend tried in a process of its own, with root causes
    tenora backends                      what is installed
    tenora kernels NAME                  the ops that a backend computes with kernels of its own
    tenora use NAME | --show | --clear   the backend of this user
    tenora ops [NAME] [--count]          the operations; how many distinct public ones there are
    tenora explain OP --device D         which code runs, and why
    tenora new-backend NAME [--native]   a package for a backend of your own, in ./NAME
    tenora --version | --include | --cmakedir

Exit codes: 0 well, 1 something is wrong and was printed, 2 the command line cannot be understood.
Other distributions add commands through the hook `tenora_cli_commands`.
"""

from tenora.cli.main import main

__all__ = ["main"]
