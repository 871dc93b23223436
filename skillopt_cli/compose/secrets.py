"""Which variables hold secrets, and that no setting does: decision 7 of the method.

Secrets are hidden where a text enters the program (decision 0047): in the replies of models, in the
output of programs, in attempts and scores. Beyond those, facts and errors may hold the words of
foreign code.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from skillopt_cli.config import RunConfig
from skillopt_cli.config.declarations import declared
from skillopt_cli.config.layers import DEFAULT, Resolved, flatten
from skillopt_cli.core.errors import ConfigError
from skillopt_cli.core.events import SECRETS, Degraded
from skillopt_cli.core.secrets import HIDDEN, Hide, Secrets
from skillopt_cli.ports import Emit

_HEADERS = r"OTEL_EXPORTER_OTLP_(?:\w+_)?HEADERS"
_NAMES = re.compile(
    r"(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIALS?|_PASS|_PWD|_PAT|_AUTH"
    rf"|AUTHORIZATION|\A{_HEADERS})\Z",
    re.IGNORECASE,
)
# Names of headers say less than those of variables: what is no word is a key as well.
_NO_WORD = re.compile(r"(?=[^\s\d]*\d)\S{16,}")
_SCHEME = re.compile(r"(?:Bearer|Basic|Token)\s+(\S+)\s*\Z", re.IGNORECASE)
_IN_ADDRESS = re.compile(
    r"://[^\s/?#:@]*:([^\s/?#@]+)@"
    r"|[?&][^\s=&]*(?:key|token|secret|password|sig)[^\s=&]*=([^\s&#]+)",
    re.IGNORECASE,
)
"""The password of an address, or a key among its parameters."""
_IN_CONNECTION = re.compile(
    r"(?:;|\A)\s*\w*(?:key|password|pwd|signature)=([^\s;]+)", re.IGNORECASE
)
"""The key of a connection string: `Endpoint=...;AccountKey=...`."""


def names_a_key(variable: str) -> bool:
    """Whether a variable is named like one that holds a key."""
    return bool(_NAMES.search(variable))


def secret_variables(environment: Mapping[str, str], config: RunConfig) -> frozenset[str]:
    """The variables that a configuration names as holding a secret.

    One that is handed to a program holds none where its value is a path, or occurs in the
    configuration.
    """
    settings = [t for _, value in flatten(config.model_dump(mode="json")) for t in _texts(value)]
    found: set[str] = set()
    for key, names in flatten(config.model_dump()):
        if not names or not ((known := declared(key)) and known.setting.secret):
            continue
        if isinstance(names, str):
            found.add(names)
        else:
            values = {name: environment.get(name, "") for name in names}
            told = {n for n, value in values.items() if any(value in text for text in settings)}
            found |= {n for n, value in values.items() if n not in told and not _is_path(value)}
    options = config.env.options.items()
    return frozenset(found | {str(name) for key, name in options if key.endswith("_env")})


def known_secrets(environment: Mapping[str, str], config: RunConfig | None = None) -> Secrets:
    """The values of variables named like a key, and of those that the configuration names.

    Of any other variable that holds an address it is the password or the key in that.
    """
    return Secrets(dict(_values(environment, config)))


def announced(secrets: Secrets, emit: Emit) -> Hide:
    """`secrets.hide`, which states once for each variable that its value was found."""
    told: set[str] = set()

    def hide(text: str) -> str:
        shown = secrets.hide(text)
        if shown != text:
            for name in sorted(secrets.names_in(text) - told):
                told.add(name)
                what = f"the value of {name} was read, and replaced by {HIDDEN}"
                emit(Degraded(SECRETS, what))
        return shown

    return hide


def refuse_keys(resolved: Resolved, environment: Mapping[str, str]) -> None:
    """Check that no setting holds a key.

    Raises:
        ConfigError: one does; names the setting, never the value.
    """
    secrets = known_secrets(environment, resolved.config)
    for key, value in flatten(resolved.config.model_dump(mode="json")):
        for text in _texts(value):
            if secrets.hide(text) != text or _IN_ADDRESS.search(text):
                source = resolved.sources.get(key, DEFAULT)
                raise ConfigError(
                    f"`{key}` ({source}) holds a key",
                    "keys stay in environment variables; name the variable in `api_key_env`",
                )


def _values(environment: Mapping[str, str], config: RunConfig | None) -> Iterator[tuple[str, str]]:
    """Each secret with the name of its variable."""
    named = secret_variables(environment, config) if config else frozenset[str]()
    for name, value in environment.items():
        if name in named or names_a_key(name):
            yield value, name
            # Of `Bearer KEY`, and of the lines of a certificate's key, each by itself as well.
            for word in (*_SCHEME.findall(value), *_NO_WORD.findall(value)):
                yield word, name
        if re.fullmatch(_HEADERS, name):
            yield from ((key, name) for key in _keys_in_headers(value))
        # Trackers' libraries repeat the address they cannot reach.
        for found in (*_IN_ADDRESS.finditer(value), *_IN_CONNECTION.finditer(value)):
            key = next(filter(None, found.groups()))
            yield from ((form, name) for form in (key, unquote(key)))


def _texts(value: Any) -> Iterator[str]:
    """The texts in a setting's value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        yield from (text for inner in value.values() for text in _texts(inner))
    elif isinstance(value, list | tuple):
        yield from (text for inner in value for text in _texts(inner))


def _is_path(value: str) -> bool:
    try:
        return value.startswith("/") and Path(value).exists()
    except (OSError, ValueError):
        return False


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
