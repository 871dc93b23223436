"""Secrets stay out of everything that is shown or kept: decision 7 of the method.

Backends hold their keys and translate errors without them. What this module adds is for text that
comes from elsewhere: errors of foreign plug-ins, tracebacks, a key typed in the wrong place.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from skillopt_cli.config import RunConfig
from skillopt_cli.config.layers import Resolved
from skillopt_cli.core.errors import ConfigError
from skillopt_cli.core.events import RunEvent
from skillopt_cli.ports import Emit
from skillopt_cli.store.files import FileStore
from skillopt_cli.store.journal import Journal

HIDDEN = "***"
_HEADERS = r"OTEL_EXPORTER_OTLP_(?:\w+_)?HEADERS"
_NAMES = re.compile(
    rf"(?:KEY|TOKEN|SECRET|PASSWORD|CREDENTIALS?|_AUTH|AUTHORIZATION|\A{_HEADERS})\Z", re.IGNORECASE
)
# Names of headers say less than those of variables: what is no word is a key as well.
_NO_WORD = re.compile(r"(?=\D*\d)\S{16,}")
_PASSWORD = re.compile(r"://[^\s/?#:@]*:([^\s/?#@]+)@")
_KEY_LIKE = re.compile(r"\b(?:sk|pk|rk)-[A-Za-z0-9_-]{16,}")
# Placeholders such as `none` or `EMPTY` are no secrets, and blanking them would spoil other words.
_SHORTEST = 8


def names_a_key(variable: str) -> bool:
    """Whether a variable's name says that it holds a key."""
    return bool(_NAMES.search(variable))


def named_by(config: RunConfig) -> frozenset[str]:
    """The variables that a configuration says hold a key."""
    model, options = config.model, config.env.options
    roles = (model, model.optimizer, model.target, model.judge)
    named = {role.api_key_env for role in roles if role.api_key_env}
    named |= {str(name) for key, name in options.items() if key.endswith("_auth_env")}
    return frozenset(named)


@dataclass(frozen=True, slots=True)
class Secrets:
    """The values of all variables that hold a key, and those within others; longest first."""

    values: tuple[str, ...]

    @classmethod
    def of(cls, environment: Mapping[str, str], config: RunConfig | None = None) -> Secrets:
        """Those of variables named like a key, or named as one by the configuration.

        Of any other variable that holds an address it is the password in that; of a list of headers
        also each key in it.
        """
        named = named_by(config) if config else frozenset()
        found = {
            value.strip()
            for name, value in environment.items()
            if name in named or names_a_key(name)
        }
        for name, value in environment.items():
            if re.fullmatch(_HEADERS, name):
                found.update(_keys_in_headers(value))
        # Trackers' libraries repeat the address they cannot reach.
        found |= {word for value in environment.values() for word in _PASSWORD.findall(value)}
        kept = (value for value in found if len(value) >= _SHORTEST)
        return cls(tuple(sorted(kept, key=lambda value: (-len(value), value))))

    def hide(self, text: str) -> str:
        """`text` without any of the values, and without what looks like a key."""
        for value in self.values:
            text = text.replace(value, HIDDEN)
        # Most texts hold no such thing, which a plain search tells sooner than the pattern.
        return _KEY_LIKE.sub(HIDDEN, text) if "k-" in text else text

    def hidden(self, event: RunEvent) -> RunEvent:
        """An event whose texts hold none of the values."""
        changed: dict[str, Any] = {}
        for field in fields(event):
            text = getattr(event, field.name)
            if isinstance(text, str) and (shown := self.hide(text)) != text:
                changed[field.name] = shown
        return replace(event, **changed) if changed else event

    def guard(self, emit: Emit) -> Emit:
        """`emit` for events as `hidden` gives them."""
        return lambda event: emit(self.hidden(event))

    def refuse(self, resolved: Resolved) -> None:
        """Check that no setting holds a key.

        Raises:
            ConfigError: one does; names the setting, never the value.
        """
        for row in resolved.rows():
            text = row["value"]
            if isinstance(text, str) and self.hide(text) != text:
                raise ConfigError(
                    f"`{row['key']}` ({row['source']}) holds a key",
                    "keys stay in environment variables; name the variable in `api_key_env`",
                )


def _keys_in_headers(text: str) -> Iterator[str]:
    """The keys in `name=value,name=value`, as they stand there and as they are sent.

    Other values, such as the name of a data set, are no secrets.
    """
    for header in text.split(","):
        name, _, value = (part.strip() for part in header.partition("="))
        sent = unquote(value)
        said = _NAMES.search(name.replace("-", "_"))
        # Of `Bearer KEY` the key alone.
        yield from (word for word in (value, *sent.split()) if said or _NO_WORD.fullmatch(word))


class DiscreetStore(FileStore):
    """A run folder whose records hold no secret, whatever a foreign error said.

    Skills are kept byte for byte: only the program's own documents are looked through.
    """

    def __init__(self, folder: Path, journal: Journal, secrets: Secrets) -> None:
        super().__init__(folder, journal)
        self._secrets = secrets

    def keep(self, path: str, text: str) -> None:
        """Write a copy for people; see `FileStore.keep`."""
        record = path.endswith((".json", ".jsonl"))
        super().keep(path, self._secrets.hide(text) if record else text)
