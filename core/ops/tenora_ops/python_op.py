"""Callables for ops that are Python over other ops, with a signature of their own.

- For what the engine's signatures cannot say: as many results as the call asks for (`split`), `*tensors` (`meshgrid`).
- They act as functions and, read through a tensor, as methods; mistakes in the arguments are told as the engine does.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import MethodType
from typing import Any

from tenora_dispatch import errors
from tenora_engine._engine import Tensor
from tenora_ops.schema import Parameter, parse

#: Other names of parameters that PyTorch reads: NumPy's, and those of single forms.
SYNONYMS = {
    "axis": "dim",
    "keepdims": "keepdim",
    "split_size": "split_size_or_sections",
    "indices": "indices_or_sections",
    "sections": "indices_or_sections",
}


#: What fits a parameter, by its type in the signature; the items of lists are looked at by the op itself.
FITTING: dict[str, tuple[type, ...]] = {
    "Tensor": (Tensor,),
    "Tensor[]": (list, tuple),
    "Tensor | Scalar": (Tensor, int, float, complex),
    "int[]": (list, tuple, range, Tensor),
    "Tensor | real": (Tensor, int, float, complex),
    "float": (int, float, list, tuple),
    "bool": (int,),
    "str": (str,),
}


def fits_type(parameter: Parameter, value: object) -> bool:
    """Whether a value may be meant for a parameter."""
    kind = parameter.type.removesuffix("?")
    if value is None:
        return kind != parameter.type or parameter.default is None
    whole = hasattr(type(value), "__index__") and not hasattr(type(value), "__array__")
    if kind in ("int", "int[]") and whole:
        return True
    if kind == "int":
        return False
    return kind not in FITTING or isinstance(value, FITTING[kind])


def expected_type(parameter: Parameter) -> str:
    """A parameter's type in the words of the engine's errors."""
    kind = parameter.type.removesuffix("?")
    words = {"int[]": "ints", "Tensor[]": "list of Tensor"}.get(kind, kind)
    return words if kind == parameter.type else f"{words} or None"


def wrong_type(parameter: Parameter, value: object) -> str:
    """What is wrong with the type of a value, or with that of the first of several ints; "" where it may be meant."""
    if not fits_type(parameter, value):
        return f"{parameter.name} is wrong: got {type(value).__name__}, expected {expected_type(parameter)}"
    if parameter.type.removesuffix("?") == "int[]" and isinstance(value, list | tuple):
        for i, item in enumerate(value):
            if not (hasattr(type(item), "__index__") or isinstance(item, list | tuple)):
                return f"item {i} of {parameter.name} is wrong: got {type(item).__name__}, expected int"
    return ""


class PythonOp:
    """One op of kind `python`."""

    def __init__(
        self,
        text: str,
        display: str,
        function: Callable[..., Any],
        doc: str,
        result_type: type[Any] | None = None,
    ) -> None:
        self.text = text  # the record's signature
        self.ops = (text.partition("(")[0],)
        self.function = function
        self.result_type = result_type  # the named tuple of its results, where the record names them
        self.__signature__ = inspect.signature(function)  # what inspect and help() read
        names = self.__signature__.parameters
        self.synonyms = {a: b for a, b in SYNONYMS.items() if b in names and a not in names}
        self.__name__ = self.__qualname__ = display
        self.__doc__ = doc

    def fits(self, arguments: tuple[Any, ...], options: dict[str, Any]) -> TypeError | None:
        """What is wrong with the number or names of the arguments; None when nothing is."""
        try:
            self.__signature__.bind(*arguments, **options)
        except TypeError as misfit:
            return misfit
        return None

    def misfit(self, arguments: tuple[Any, ...], options: dict[str, Any]) -> str:
        """Which argument is of a wrong type, "" when none is. Asked when a call has failed."""
        given = self.__signature__.bind(*arguments, **options).arguments
        for parameter in parse(self.text).parameters:
            if parameter.name in given and (wrong := wrong_type(parameter, given[parameter.name])):
                return wrong
        return ""

    def __call__(self, /, *arguments: Any, **options: Any) -> Any:
        if options:
            options = {self.synonyms.get(name, name): value for name, value in options.items()}
        try:
            found = self.function(*arguments, **options)
            return self.result_type(found) if self.result_type else found
        except (AttributeError, TypeError, ValueError) as error:
            if str(error).startswith("["):
                raise
            wrong = self.fits(arguments, options)
            told = f"type: {wrong}" if wrong else self.misfit(arguments, options)
            if not told and isinstance(error, AttributeError) and not isinstance(error.obj, Tensor):
                told = f"an argument is no tensor: got {type(error.obj).__name__}, expected a Tensor"
            if not told and isinstance(error, TypeError):
                told = f"arguments do not fit: {error}"
            if not told:
                raise
            raise errors.ArgumentTypeError(f"[{self.__name__}] {told}. Signature: {self.text}.") from error

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else MethodType(self, instance)

    def __repr__(self) -> str:
        return f"<function {self.__name__}>"


def any_signature(takes_out: bool) -> inspect.Signature:
    """What overloads have in common: `(*args, out=None, **kwargs)`."""
    kinds = inspect.Parameter
    parameters = [kinds("args", kinds.VAR_POSITIONAL), kinds("kwargs", kinds.VAR_KEYWORD)]
    if takes_out:
        parameters.insert(1, kinds("out", kinds.KEYWORD_ONLY, default=None))
    return inspect.Signature(parameters)


class Overloads:
    """A native function whose other forms are Python ops: the native one is tried first."""

    def __init__(self, native: Any, python: list[PythonOp], doc: str) -> None:
        self.native = native  # an op function of the engine
        self.python = python
        self.ops = (*native.ops, *(name for op in python for name in op.ops))
        self.result_type = next((op.result_type for op in (native, *python) if op.result_type), None)
        self.__name__ = self.__qualname__ = python[0].__name__
        self.__doc__ = doc
        self.__signature__ = any_signature("out=None" in native.__text_signature__)

    def __call__(self, /, *arguments: Any, **options: Any) -> Any:
        try:
            return self.native(*arguments, **options)
        except TypeError:
            for op in self.python:
                if op.fits(arguments, options) is None:
                    return op(*arguments, **options)
            raise

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else MethodType(self, instance)

    def __repr__(self) -> str:
        return f"<function {self.__name__}>"
