"""Calls from Python: an argument of the wrong kind is refused, and the remedy says what to call.

A message names the kind of an argument and never its content, which can be patients.
"""

from collections.abc import Callable
from functools import wraps
from inspect import Parameter, signature
from numbers import Integral
from types import GenericAlias, UnionType
from typing import Any, ParamSpec, TypeVar, get_args, get_origin

from longsynth.system.errors import Code, Refused

P = ParamSpec("P")
R = TypeVar("R")


def checked(**remedies: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Check that nothing is missing in a call, and that the named arguments are of the annotated
    kinds. Each name comes with the remedy for it."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        expected, name = signature(function), function.__qualname__.removesuffix(".__init__")

        @wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            given = expected.bind_partial(*args, **kwargs).arguments
            for argument, remedy in remedies.items():
                kind = _kind(expected.parameters[argument].annotation)
                if argument in given and not isinstance(given[argument], kind):
                    wrong = type(given[argument]).__name__
                    problem = f"{name} cannot use a {wrong} as {argument}."
                    raise Refused(Code.ARGUMENT_WRONG, problem, remedy)
            for argument, parameter in expected.parameters.items():
                if argument not in given and parameter.default is Parameter.empty:
                    remedy = remedies.get(argument, f"See help(longsynth.{name}).")
                    raise Refused(Code.ARGUMENT_WRONG, f"{name} needs {argument}.", remedy)
            return function(*args, **kwargs)

        return call

    return decorate


def _kind(annotation: Any) -> Any:
    """What `isinstance` understands; whole numbers of NumPy are whole numbers too."""
    if annotation is Any:
        return object
    if isinstance(annotation, UnionType):
        return tuple(map(_kind, get_args(annotation)))
    if isinstance(annotation, GenericAlias):
        return get_origin(annotation)
    return Integral if annotation is int else annotation
