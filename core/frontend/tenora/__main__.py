"""`python -m tenora` is the command `tenora`."""

import sys

from tenora.cli import main

sys.exit(main())
