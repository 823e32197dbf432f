"""An interpreter of pickles that calls only what is on a list.

- Python's own unpickler would do with a restricted `find_class`, but a few bytes make it reserve gigabytes (its memo
  is an array) or overflow the stack (it hashes what it is told to). Here the memo is a dict, keys are small, and a
  value takes about as much memory as its bytes in the file. What calls and states copy is noted in a `Ledger`.
- `pickletools` decodes the opcodes; its sizes are checked against the data.
- Names are resolved by `find`, storages by `lend`; a class that the user added may be built and given a state.
"""

from __future__ import annotations

import pickletools
from collections import Counter, OrderedDict
from collections.abc import Callable, Mapping
from typing import Any, BinaryIO

from .allowed import Allowed, checked_key, set_state
from .bounds import Ledger, weight
from .errors import refused, unreadable

_STATE = "Save its tensors and numbers instead."
_LONGEST_NAME = 1000


class Unpickler:
    """Runs one pickle. `trusted` says of a callable that is not an `Allowed` whether it may be called.

    `ledger` bounds what its calls copy; a run that calls nothing needs none.
    """

    def __init__(
        self,
        find: Callable[[str], Any],
        lend: Callable[[Any], Any],
        trusted: Callable[[Any], bool] = lambda value: False,
        ledger: Ledger | None = None,
    ) -> None:
        self._find, self._lend, self._trusted = find, lend, trusted
        self._ledger = ledger or Ledger(0, 0)
        self._stack: list[Any] = []
        self._marks: list[list[Any]] = []
        self._memo: dict[int, Any] = {}

    def load(self, data: bytes | BinaryIO) -> Any:
        """The value; a file is read up to the end of the pickle."""
        for opcode, argument, _ in pickletools.genops(data):
            name = opcode.name
            if name == "STOP":
                return self._stack.pop()
            if name in _VALUES:
                self._stack.append(argument)
            elif name in _CONSTANTS:
                self._stack.append(_CONSTANTS[name]())
            else:
                step = _STEPS.get(name)
                if step is None:
                    raise refused(
                        f"the pickle opcode {name}", "Write the file with torch.save or tenora.save."
                    )
                step(self, argument)
        raise unreadable("a pickle without an end", "one that stops")

    # ---- the stack -----------------------------------------------------------------------------------------------

    def _push(self, value: Any) -> None:
        self._stack.append(value)

    def _mark(self, argument: Any) -> None:
        self._marks.append(self._stack)
        self._stack = []

    def _since_mark(self) -> list[Any]:
        items, self._stack = self._stack, self._marks.pop()
        return items

    def _pop(self, argument: Any) -> None:
        if self._stack:
            self._stack.pop()
        else:
            self._since_mark()

    def _pop_mark(self, argument: Any) -> None:
        self._since_mark()

    def _take(self, count: int) -> list[Any]:
        if len(self._stack) < count:
            raise unreadable("a pickle that takes more than it has put down", "one that fits together")
        items = self._stack[len(self._stack) - count :]
        del self._stack[len(self._stack) - count :]
        return items

    # ---- the memo ------------------------------------------------------------------------------------------------

    def _put(self, argument: int) -> None:
        self._memo[argument] = self._stack[-1]

    def _memoize(self, argument: Any) -> None:
        self._memo[len(self._memo)] = self._stack[-1]

    def _get(self, argument: int) -> None:
        self._push(self._memo[argument])

    # ---- containers ----------------------------------------------------------------------------------------------

    def append(self, items: list[Any]) -> None:
        """Adds to the list on top."""
        target = self._stack[-1]
        if type(target) is not list:
            raise unreadable(f"elements for a {type(target).__name__}", "a list")
        target.extend(items)

    def update(self, items: list[Any]) -> None:
        """Sets items of the dict on top."""
        target = self._stack[-1]
        if type(target) not in (dict, OrderedDict, Counter) and not self._trusted(type(target)):
            raise unreadable(f"items for a {type(target).__name__}", "a dict")
        for key, value in _pairs(items):
            target[checked_key(key)] = value

    def add(self, items: list[Any]) -> None:
        """Adds to the set on top."""
        target = self._stack[-1]
        if type(target) is not set:
            raise unreadable(f"elements for a {type(target).__name__}", "a set")
        target.update(checked_key(item) for item in items)

    # ---- names and calls -----------------------------------------------------------------------------------------

    def _global(self, argument: str) -> None:
        self._push(self._find(argument.replace(" ", ".", 1)))

    def _stack_global(self, argument: Any) -> None:
        module, name = self._take(2)
        if type(module) is not str or type(name) is not str:
            raise unreadable("a name that is no text", "a module and a name")
        if len(module) + len(name) > _LONGEST_NAME:  # put together again for each use
            raise unreadable(f"a name of {len(module) + len(name)} letters", f"at most {_LONGEST_NAME}")
        self._push(self._find(f"{module}.{name}"))

    def call(self, function: Any, args: Any, kwargs: Any = None) -> Any:
        """The result of what is on the list; nothing else is called."""
        if type(args) is not tuple:
            raise unreadable("arguments that are no tuple", "a tuple")
        if isinstance(function, Allowed):
            self._ledger.spend(weight(args))
            return function(*args)
        if not self._trusted(function):
            raise refused(f"a call of {type(function).__name__}", _STATE)
        return function(*args, **(kwargs or {}))

    def _reduce(self, argument: Any) -> None:
        self._push(self.call(*self._take(2)))

    def _new(self, argument: Any) -> None:
        kind, args = self._take(2)
        self._push(self._create(kind, args))

    def _new_with_names(self, argument: Any) -> None:
        kind, args, kwargs = self._take(3)
        self._push(self._create(kind, args, kwargs))

    def _create(self, kind: Any, args: Any, kwargs: Any = None) -> Any:
        if isinstance(kind, type) and self._trusted(kind) and type(args) is tuple:
            return kind.__new__(kind, *args, **(kwargs or {}))
        return self.call(kind, args)

    def _instance(self, argument: str) -> None:
        items = self._since_mark()
        self._push(self.call(self._find(argument.replace(" ", ".", 1)), tuple(items)))

    def _object(self, argument: Any) -> None:
        kind, *items = self._since_mark()
        self._push(self.call(kind, tuple(items)))

    def build(self, state: Any) -> None:
        """Gives what is on top its state."""
        value = self._stack[-1]
        if not self._trusted(type(value)):
            self._ledger.spend(weight([state]))
            set_state(value, state)
        elif hasattr(value, "__setstate__"):
            value.__setstate__(state)
        else:
            attributes, slots = state if isinstance(state, tuple) and len(state) == 2 else (state, None)
            if attributes:
                value.__dict__.update(attributes)
            for name, each in (slots or {}).items():
                setattr(value, name, each)

    def _persistent(self, argument: Any) -> None:
        self._push(self._lend(self._stack.pop()))


class Blank:
    """Stands for what a first run over a pickle would build."""


class Scout(Unpickler):
    """A first run over a pickle, which builds nothing: `names` and `idents` are what it asks for."""

    def __init__(self, known: Mapping[str, Any]) -> None:
        self.names: dict[str, None] = {}
        self.idents: list[Any] = []
        self._known = known
        super().__init__(self._note_name, self._note_ident)

    def _note_name(self, name: str) -> Any:
        self.names[name] = None
        return self._known.get(name, Blank())

    def _note_ident(self, ident: Any) -> Blank:
        self.idents.append(ident)
        return Blank()

    def call(self, function: Any, args: Any, kwargs: Any = None) -> Any:
        return Blank()

    def append(self, items: list[Any]) -> None:
        pass

    def update(self, items: list[Any]) -> None:
        pass

    def add(self, items: list[Any]) -> None:
        pass

    def build(self, state: Any) -> None:
        pass


def _pairs(items: list[Any]) -> zip[tuple[Any, Any]]:
    if len(items) % 2:
        raise unreadable("a key without a value", "pairs")
    return zip(items[::2], items[1::2], strict=True)


def _dict(items: list[Any]) -> dict[Any, Any]:
    return {checked_key(key): value for key, value in _pairs(items)}


_VALUES = frozenset(
    "INT BININT BININT1 BININT2 LONG LONG1 LONG4 FLOAT BINFLOAT STRING BINSTRING SHORT_BINSTRING BINBYTES "
    "SHORT_BINBYTES BINBYTES8 BYTEARRAY8 UNICODE BINUNICODE SHORT_BINUNICODE BINUNICODE8".split()
)
_CONSTANTS: dict[str, Callable[[], Any]] = {
    "NONE": lambda: None,
    "NEWTRUE": lambda: True,
    "NEWFALSE": lambda: False,
    "EMPTY_LIST": list,
    "EMPTY_TUPLE": tuple,
    "EMPTY_DICT": dict,
    "EMPTY_SET": set,
}


def _made(make: Callable[[list[Any]], Any]) -> Callable[[Unpickler, Any], None]:
    return lambda u, _: u._push(make(u._since_mark()))


def _tuple_of(count: int) -> Callable[[Unpickler, Any], None]:
    return lambda u, _: u._push(tuple(u._take(count)))


_STEPS: dict[str, Callable[[Unpickler, Any], None]] = {
    "PROTO": lambda u, _: None,
    "FRAME": lambda u, _: None,
    "MARK": Unpickler._mark,
    "POP": Unpickler._pop,
    "POP_MARK": Unpickler._pop_mark,
    "DUP": lambda u, _: u._push(u._stack[-1]),
    "LIST": _made(list),
    "TUPLE": _made(tuple),
    "TUPLE1": _tuple_of(1),
    "TUPLE2": _tuple_of(2),
    "TUPLE3": _tuple_of(3),
    "DICT": _made(_dict),
    "FROZENSET": _made(lambda items: frozenset(checked_key(item) for item in items)),
    "APPEND": lambda u, _: u.append(u._take(1)),
    "APPENDS": lambda u, _: u.append(u._since_mark()),
    "SETITEM": lambda u, _: u.update(u._take(2)),
    "SETITEMS": lambda u, _: u.update(u._since_mark()),
    "ADDITEMS": lambda u, _: u.add(u._since_mark()),
    "PUT": Unpickler._put,
    "BINPUT": Unpickler._put,
    "LONG_BINPUT": Unpickler._put,
    "MEMOIZE": Unpickler._memoize,
    "GET": Unpickler._get,
    "BINGET": Unpickler._get,
    "LONG_BINGET": Unpickler._get,
    "GLOBAL": Unpickler._global,
    "STACK_GLOBAL": Unpickler._stack_global,
    "REDUCE": Unpickler._reduce,
    "NEWOBJ": Unpickler._new,
    "NEWOBJ_EX": Unpickler._new_with_names,
    "INST": Unpickler._instance,
    "OBJ": Unpickler._object,
    "BUILD": lambda u, _: u.build(u._stack.pop()),
    "PERSID": lambda u, argument: u._push(u._lend(argument)),
    "BINPERSID": Unpickler._persistent,
}
