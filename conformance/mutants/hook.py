"""Comes first on the path of a process as `sitecustomize.py`: tenora's packages then come from a sandbox.

- `MUTANTS_PACKAGES`: JSON, package -> folder. `MUTANTS_OVERLAY`: a folder whose files go before those.
- `MUTANTS_ENTERED`: packages whose functions note that they are entered (`entered.py`).
- It imports nothing of tenora, and stands in front of what editable installs put on the path.
"""

import importlib.abc
import importlib.machinery
import importlib.util
import json
import os
import sys
from collections.abc import Sequence
from types import ModuleType


class Finder(importlib.abc.MetaPathFinder):
    """Finds a module in the overlay, then in its package's folder."""

    def __init__(self, packages: dict[str, str], overlay: str) -> None:
        self.packages = packages
        self.overlay = overlay

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """The spec of a module of ours; None for any other."""
        top, *below = fullname.split(".")
        if top not in self.packages:
            return None
        home = self.packages[top]
        folders = [os.path.join(self.overlay, top)] if self.overlay else []
        for folder in [*folders, home]:
            where = os.path.join(folder, *below)
            if os.path.isfile(os.path.join(where, "__init__.py")) or (where == home and os.path.isdir(where)):
                inside = [os.path.join(home, *below)]
                if self.overlay and not below:
                    inside.insert(0, os.path.join(self.overlay, top))
                return importlib.util.spec_from_file_location(
                    fullname, os.path.join(where, "__init__.py"), submodule_search_locations=inside
                )
            for suffix in (".py", *importlib.machinery.EXTENSION_SUFFIXES):
                if os.path.isfile(where + suffix):
                    return importlib.util.spec_from_file_location(fullname, where + suffix)
        return None


if "MUTANTS_PACKAGES" in os.environ:
    sys.meta_path.insert(
        0, Finder(json.loads(os.environ["MUTANTS_PACKAGES"]), os.environ.get("MUTANTS_OVERLAY", ""))
    )
if "MUTANTS_ENTERED" in os.environ:
    from mutants import entered

    entered.install()
