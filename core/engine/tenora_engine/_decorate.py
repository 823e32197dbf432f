"""Decoration with grad-mode contexts: functions, generators, coroutines and classes are told apart here."""

import functools
import inspect
from collections.abc import Callable, Generator
from typing import Any, Protocol


class _Context(Protocol):
    def clone(self) -> "_Context": ...
    def __enter__(self) -> object: ...
    def __exit__(self, *exception: object) -> None: ...


def decorate(context: _Context, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return `function` run inside a fresh context at each call.

    A generator is inside the context only while it runs, not while its caller does.

    Example:
        >>> import tenora
        >>> @tenora.no_grad()
        ... def double(x):
        ...     return x * 2
    """
    if isinstance(function, type):
        raise TypeError(
            "[no_grad] a class cannot be decorated: got a class, expected a function. Decorate its methods."
        )
    if inspect.isgeneratorfunction(function):
        return _decorate_generator(context, function)

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        with context.clone():
            return function(*args, **kwargs)

    return call


def _decorate_generator(context: _Context, function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        generator = function(*args, **kwargs)
        try:
            with context.clone():
                value = generator.send(None)
            while True:
                try:
                    answer = yield value
                except GeneratorExit:
                    with context.clone():
                        generator.close()
                    raise
                except BaseException as error:  # handed to the generator, as `yield from` does
                    with context.clone():
                        value = generator.throw(error)
                else:
                    with context.clone():
                        value = generator.send(answer)
        except StopIteration as stop:
            return stop.value

    return call
