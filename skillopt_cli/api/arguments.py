"""Checks the arguments of a call from Python against the types it declares."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, wraps
from inspect import Parameter, iscoroutinefunction, signature
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, cast, get_args, get_origin

from pydantic import TypeAdapter, ValidationError

from skillopt_cli.compose.flags import in_call
from skillopt_cli.core.errors import SkillOptError, UsageError
from skillopt_cli.core.task import TASK_SETS, TaskSet

P = ParamSpec("P")
T = TypeVar("T")

_WORDS: Mapping[object, str] = {
    str: "a text",
    Path: "a path",
    int: "a whole number",
    bool: "true or false",
    Sequence: "a list of texts",
    Mapping: "a mapping with texts as keys",
    Callable: "a function",
    type(None): "None",
}


def checked(call: Callable[P, T]) -> Callable[P, T]:
    """The call, which refuses an argument of another type than it declares.

    The hints of the errors that it raises name settings by their arguments.

    Raises:
        UsageError: of the call it makes, for an argument that is missing, unknown or of that kind.
    """
    declared = signature(call, eval_str=True)
    typed = {
        key: found.annotation
        for key, found in declared.parameters.items()
        if found.kind is not Parameter.VAR_KEYWORD and found.annotation is not Parameter.empty
    }
    name = call.__qualname__.removesuffix("_async")
    hint = f"`help(skillopt_cli.{name})` describes every argument"

    @wraps(call)
    def checking(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            given = declared.bind(*args, **kwargs).arguments
        except TypeError as error:
            raise UsageError(f"`{name}` cannot be called like this: {error}", hint) from None
        for key, value in given.items():
            if key in typed and not _fits(typed[key], value):
                words = " or ".join(dict.fromkeys(_words(typed[key])))
                raise UsageError(f"`{key}` must be {words}, not {type(value).__name__}", hint)
        with _hints_of_calls():
            return call(*args, **kwargs)

    if not iscoroutinefunction(call):
        return checking

    @wraps(call)
    async def awaiting(*args: P.args, **kwargs: P.kwargs) -> Any:
        with _hints_of_calls():
            return await cast(Awaitable[Any], checking(*args, **kwargs))

    return cast(Callable[P, T], awaiting)


@contextmanager
def _hints_of_calls() -> Iterator[None]:
    """A block whose errors have hints as a call from Python needs them."""
    try:
        yield
    except SkillOptError as error:
        error.hint = in_call(error.hint)
        raise


def known_split(name: str) -> TaskSet:
    """The split of this name.

    Raises:
        UsageError: there is none.
    """
    if name not in TASK_SETS:
        raise UsageError(f"there is no split `{name}`", f"splits: {', '.join(TASK_SETS)}")
    return name


@cache
def _type(annotation: Any) -> TypeAdapter[Any]:
    """What checks values of an annotation; built at the first of them, as it takes long."""
    return TypeAdapter(annotation)


def _fits(annotation: Any, value: object) -> bool:
    try:
        _type(annotation).validate_python(value, strict=True)
    except ValidationError:
        return False
    return True


def _words(annotation: Any) -> Iterator[str]:
    """What may stand there, in words; one for each member of a union."""
    origin = get_origin(annotation) or annotation
    known = next((words for kind, words in _WORDS.items() if kind is origin), None)
    if known is not None:
        yield known
        return
    for member in get_args(annotation):
        yield from _words(member)
