"""What is wrong with a value, in our words instead of the validating library's.

Other spellings of values are suggested, never accepted: a file or a variable means the same to
everyone who reads it. A value is shown only where it cannot be a key: numbers, true and false, and
plain words.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, get_args

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails, InitErrorDetails, PydanticCustomError
from pydantic_core.core_schema import ErrorType

CLASH = "clash"
"""Type of a fault that lies in several settings of a section together."""

MEANING = "it means: "
"""Begins a hint that explains a setting."""

_SENTENCES = {
    "missing": " is missing",
    "extra_forbidden": " is not known",
    "greater_than": " must be above {gt}",
    "greater_than_equal": " must be at least {ge}",
    "less_than": " must be below {lt}",
    "less_than_equal": " must be at most {le}",
    "literal_error": " must be {expected}",
    "enum": " must be {expected}",
    "union_tag_invalid": " must be {expected_tags}",
    "int_parsing_size": " has too many digits",
    "too_short": " must have at least {min_length} entries",
    "too_long": " must have at most {max_length} entries",
    "string_too_short": " must have at least {min_length} characters",
    "string_too_long": " must have at most {max_length} characters",
    "model_type": " must be a group of settings",
    "model_attributes_type": " must be a group of settings",
    "int": " must be a whole number",
    "float": " must be a number",
    "finite": " must be a finite number",
    "bool": " must be true or false",
    "string": " must be a text",
    "path": " must be a path",
    "list": " must be a list",
    "tuple": " must be a list",
    "set": " must be a list",
    "dict": " must be a mapping",
    "mapping": " must be a mapping",
}
"""Message by the type of a fault, or by the first word of that type."""
_OTHERWISE = " is nothing that can stand there"
_LIBRARY = frozenset(get_args(ErrorType)) - {"value_error", "assertion_error"}
_RAISED = ("Value error, ", "Assertion failed, ")
# Keys hold digits; a word of letters is a misspelling.
_WORD = re.compile(r"[A-Za-z_ -]{1,24}\Z")
_QUOTED = re.compile(r"'([^']*)'")
_ON = dict.fromkeys(("1", "true", "yes", "on", "enable"), "enabled")
_OFF = dict.fromkeys(("0", "false", "no", "off", "disable"), "disabled")
_UNSAID = dict.fromkeys(("server-default", "unset", "auto", "none", "default"), "server_default")

BACKENDS: Mapping[str, str] = {
    "azure": "openai_chat",
    "azure-openai": "openai_chat",
    "azure_openai": "openai_chat",
    "openai": "openai_chat",
    "openai-compatible": "openai_compatible",
    "openai_compatible_chat": "openai_compatible",
    "compat": "openai_compatible",
    "claude": "claude_chat",
    "anthropic": "claude_chat",
    "qwen": "qwen_chat",
    "minimax": "minimax_chat",
}
SYNONYMS: Mapping[str, Mapping[str, str]] = {
    "auth_mode": {
        "key": "api_key",
        "aad": "managed_identity",
        "azure_ad": "managed_identity",
        "cli": "azure_cli",
        "compat": "openai_compatible",
        "openai": "openai_compatible",
    },
    "thinking": {**_ON, **_OFF, **_UNSAID, "adaptive": "enabled"},
    "temperature": dict.fromkeys(("none", "off", "false"), "server_default"),
    "region": {"global": "global_en", "en": "global_en", "cn": "cn_zh", "zh": "cn_zh"},
    "api": {"chat": "chat_completions", "response": "responses"},
    "backend": BACKENDS,
}
"""Another spelling to ours, by setting."""


def clash(message: str, names: Sequence[str], hint: str) -> PydanticCustomError:
    """The error of settings that do not fit together, to be raised in a section's validator.

    Args:
        message: names each setting in backticks, without its section.
        names: those settings.
        hint: what to do.
    """
    # The library would read braces of a template as fields.
    return PydanticCustomError(CLASH, "{said}", {"said": message, "names": names, "hint": hint})


def clash_words(fault: ErrorDetails, origin: Callable[[str], str]) -> tuple[str, str]:
    """A clash as message and hint; `origin` returns where the value of a dotted key comes from."""
    context = fault["ctx"]
    section = ".".join(str(part) for part in fault["loc"])
    message = str(context["said"])
    for name in context["names"]:
        key = f"{section}.{name}" if section else name
        message = message.replace(f"`{name}`", f"`{key}`{origin(key)}", 1)
    return message, str(context["hint"])


def within(error: ValidationError, name: str) -> list[InitErrorDetails]:
    """The faults of a section, as those of the group that holds it under a name."""
    return [
        InitErrorDetails(
            type=fault["type"]
            if fault["type"] in _LIBRARY
            else PydanticCustomError(
                fault["type"], "{message}", {**fault.get("ctx", {}), "message": fault["msg"]}
            ),
            loc=(name, *fault["loc"]),
            input=fault["input"],
            ctx=fault.get("ctx", {}),
        )
        for fault in error.errors(include_url=False)
    ]


def first_fault(error: ValidationError) -> ErrorDetails:
    """The fault to report; a misspelt name first, for it is missing under its own as well."""
    faults = error.errors(include_url=False)
    return next((fault for fault in faults if fault["type"] == "extra_forbidden"), faults[0])


def fault_words(fault: ErrorDetails) -> str:
    """What to put behind the name of the setting: ` must be at least 1, not 0`."""
    kind = fault["type"]
    known = _SENTENCES.get(kind) or _SENTENCES.get(kind.split("_", maxsplit=1)[0])
    if known is None and kind not in _LIBRARY:
        # A validator's own words.
        message = fault["msg"]
        for begun in _RAISED:
            message = message.removeprefix(begun)
        return (
            f" {message}"
            if message.startswith("must ")
            else f": {message[:1].lower()}{message[1:]}"
        )
    said = (known or _OTHERWISE).format_map(_shown(fault.get("ctx", {})))
    return said + _instead(fault) if " must be " in said else said


def advice(
    fault: ErrorDetails, model: type[BaseModel], place: Sequence[int | str] | None = None
) -> str:
    """A hint: the allowed word that is meant or comes nearest, else what the setting is for.

    Args:
        place: of the setting in the group `model`, where that is not the fault's own.
    """
    if near := _nearest(fault):
        return f"did you mean `{near}`?"
    field = _field(model, fault["loc"] if place is None else place)
    about = " ".join((field.description or "").split()) if field else ""
    first = re.split(r"(?<=[a-z)])\. ", about, maxsplit=1)[0].removesuffix(".")
    return f"{MEANING}{first}" if first else ""


def names_within(model: type[BaseModel], place: Sequence[int | str]) -> list[str]:
    """The settings of the group at a place, none where no group is."""
    field = _field(model, place)
    group = _group(field.annotation) if field else None if place else model
    return list(group.model_fields) if group else []


def _field(model: type[BaseModel], place: Sequence[int | str]) -> FieldInfo | None:
    """The setting at a place; the list for what is in it."""
    found, group = None, model
    for part in place:
        if isinstance(part, str):
            found = group.model_fields.get(part) if group else None
            if found is None:
                return None
            group = _group(found.annotation)
    return found


def _group(annotation: Any) -> Any:
    """The group of settings in an annotation, itself or in a list; None without one."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next(filter(None, map(_group, get_args(annotation))), None)


def _nearest(fault: ErrorDetails) -> str | None:
    given = fault.get("input")
    if not isinstance(given, str | int) or not fault["loc"]:
        return None
    meant = canonical(
        str(fault["loc"][-1]), json.dumps(given) if isinstance(given, bool) else given
    )
    if meant is None and fault["type"] == "literal_error":
        words = _QUOTED.findall(str(fault["ctx"]["expected"]))
        meant = next(iter(difflib.get_close_matches(str(given).lower(), words, n=1)), None)
    return meant


def _shown(context: Mapping[str, Any]) -> dict[str, str]:
    return {
        name: f"{value:,.10g}"
        if isinstance(value, int | float)
        else _QUOTED.sub(r"`\1`", str(value))
        for name, value in context.items()
    }


def _instead(fault: ErrorDetails) -> str:
    given = fault.get("input")
    if isinstance(given, bool | int | float):
        return f", not {json.dumps(given)}"
    if isinstance(given, str) and _WORD.match(given):
        return f", not `{given}`"
    return ""


def canonical(setting: str, given: object) -> str | None:
    """How a value is spelt here, if it is a known other spelling of one."""
    return SYNONYMS.get(setting, {}).get(str(given).strip().lower())
