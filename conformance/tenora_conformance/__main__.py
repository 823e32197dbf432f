"""`python -m tenora_conformance` is the command `tenora-conformance`."""

import sys

from tenora_conformance.cli import main

if __name__ == "__main__":
    sys.exit(main())
