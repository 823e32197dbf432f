"""The handle that hooks are removed with."""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Iterable
from typing import Any


class RemovableHandle:
    """Removes the hook it was returned for: `handle.remove()`, or as a context manager.

    `hooks` is an ordered dict; a `hook` is entered under `handle.id`, at the front with `prepend`. `extra_dict` is
    another table (or a list of them) with an entry of that number. None of them is kept alive by the handle.

    >>> from collections import OrderedDict
    >>> hooks = OrderedDict()
    >>> handle = RemovableHandle(hooks, print)
    >>> len(hooks), handle.remove(), len(hooks)
    (1, None, 0)
    """

    _numbers = itertools.count()
    id: int

    def __init__(
        self, hooks: Any, hook: Any = None, *, prepend: bool = False, extra_dict: Any = None
    ) -> None:
        self.id = next(RemovableHandle._numbers)
        self._tables = [weakref.ref(table) for table in (hooks, *_listed(extra_dict))]
        if hook is not None:
            hooks[self.id] = hook
        if hook is not None and prepend:
            hooks.move_to_end(self.id, last=False)

    def remove(self) -> None:
        """Takes the hook away; a second call does nothing.

        >>> import tenora
        >>> layer = tenora.nn.ReLU()
        >>> handle = layer.register_forward_hook(lambda module, args, output: output + 1)
        >>> handle.remove()
        >>> layer(tenora.zeros(1)).item()
        0.0
        """
        for reference in self._tables:
            table = reference()
            if table is not None:
                table.pop(self.id, None)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *exception: object) -> None:
        self.remove()

    def __getstate__(self) -> tuple[Any, ...]:
        return self.id, *(reference() for reference in self._tables)

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.id = state[0]
        # Tables that were gone, or were not copied along with their owner, are of no use to anybody.
        tables = (table for table in state[1:] if table is not None)
        self._tables = [weakref.ref(table) for table in tables]


def _listed(extra: Any) -> Iterable[Any]:
    if extra is None:
        return ()
    return extra if isinstance(extra, list | tuple) else (extra,)


__all__ = ["RemovableHandle"]
