"""Settings as flags of the command line."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping

from skillopt_cli.config.declarations import flag_of, own_flags, own_task_flags
from skillopt_cli.config.layers import Layer, Strength, flatten, leaf_layer
from skillopt_cli.core.errors import ConfigError

_OTHERS = {"preset": "--preset", "run_id": "--run-id", "what": "--what"}
"""Options of commands that are no settings."""
_LITERALS = {"true": "True", "false": "False", "null": "None"}
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_ASSIGNED = re.compile(r"`([a-z_]+(?:\.[a-z0-9_]+)*)=([^`]*)`")

_FLAGGED = re.compile(r"`--set ([^`]+)`|`(--[a-z-]+)(?: ([^`]*))?`")


def flag_layers(flags: Mapping[str, object]) -> Iterator[Layer]:
    """Settings by dotted key from flags of their own, a layer each; texts are read by their key."""
    for key, value in flags.items():
        if value is not None:
            source = f"flag {flag_of(key) or key}"
            yield leaf_layer(source, key, value, Strength.FLAG)


def check_named_once(flags: Iterable[Layer], assigned: Iterable[Layer]) -> None:
    """Refuse a setting with one value by its own flag and another by a general one.

    Raises:
        ConfigError: two values differ; one that is unset is none.
    """
    given = {key: (layer.source, value) for layer in flags for key, value in flatten(layer.values)}
    for layer in assigned:
        for key, value in flatten(layer.values):
            source, other = given.get(key, ("", value))
            if value != other and not any(one is None or one == "" for one in (value, other)):
                first = source.removeprefix("flag ")
                second = layer.source.removeprefix("flag ")
                raise ConfigError(
                    f"`{key}` is given twice, as {other!r} by {first} and as {value!r} by {second}",
                    "leave one of the two out",
                )


def in_shell(text: str) -> str:
    """A hint as a shell needs it.

    Hints write settings as `` `train.num_epochs=3` ``, which holds for a file and for a form; on
    the command line that is `` `--epochs 3` ``.
    """
    return _ASSIGNED.sub(_as_flag, text)


def in_call(text: str) -> str:
    """A hint as a call from Python needs it: that assignment is `epochs=3` there."""
    return _ASSIGNED.sub(_as_argument, text)


def in_form(text: str) -> str:
    """A hint as it was before `in_shell`."""
    return _FLAGGED.sub(_as_setting, text)


def _as_flag(found: re.Match[str]) -> str:
    key, value = found.groups()
    flag = _OTHERS.get(key) or flag_of(key)
    if not flag:
        return f"`--set {key}={value}`" if "." in key else found[0]
    return f"`{flag}`" if value == "true" else f"`{flag} {value}`"


def _as_argument(found: re.Match[str]) -> str:
    key, value = found.groups()
    flag = _OTHERS.get(key) or flag_of(key)
    plain = value.isupper() or _NUMBER.fullmatch(value)  # a placeholder such as NAME is one too
    if plain or value.startswith('"'):
        literal = value
    else:
        literal = _LITERALS.get(value) or json.dumps(value, ensure_ascii=False)
    if flag:
        return f"`{flag.removeprefix('--').replace('-', '_')}={literal}`"
    return f'`settings={{"{key}": {literal}}}`' if "." in key else found[0]


def _as_setting(found: re.Match[str]) -> str:
    assignment, flag, value = found.groups()
    if assignment:
        return f"`{assignment}`"
    settings = {name: found.key for name, found in own_flags().items()}
    settings |= {name: found.declared.key for name, found in own_task_flags().items()}
    key = (settings | {name: key for key, name in _OTHERS.items()}).get(flag)
    return found[0] if key is None else f"`{key}={'true' if value is None else value}`"
