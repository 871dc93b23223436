"""Which variables hold secrets, and what is done about those that come back."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import pytest

from skillopt_cli.compose.secrets import (
    announced,
    known_secrets,
    names_a_key,
    refuse_keys,
)
from skillopt_cli.config.layers import assignment_layers, resolve
from skillopt_cli.core.errors import ConfigError
from skillopt_cli.core.events import Degraded, Role, RunEvent
from skillopt_cli.core.secrets import HIDDEN

KEY = "canary-0123456789"
SECRETS = known_secrets({"OPENAI_API_KEY": KEY, "HOME": "/home/canary-user", "PORT_TOKEN": "EMPTY"})


def shown(environment: dict[str, str], *assignments: str, text: str = "") -> str:
    config = resolve(assignment_layers(list(assignments))).config
    return known_secrets(environment, config).hide(text or " ".join(environment.values()))


def test_variables_named_like_a_key_are_known() -> None:
    assert SECRETS.hide(f"{KEY} EMPTY /home/canary-user") == f"{HIDDEN} EMPTY /home/canary-user"
    for name in (
        "A_API_KEY",
        "HF_TOKEN",
        "x_secret",
        "DB_PASSWORD",
        "PGPASSWD",
        "GITHUB_PAT",
        "OPENAI_APIKEY",
        "SEARCH_AUTH",
    ):
        assert names_a_key(name)
    for name in ("HOME", "KEYBOARD", "TOKENIZERS_PARALLELISM", "AZURE_AUTH_MODE", "PWD", "OLDPWD"):
        assert not names_a_key(name)


@pytest.mark.parametrize("role", get_args(Role))
def test_a_variable_named_by_the_configuration_is_known(role: Role) -> None:
    environment = {"MINE": "very-own-value", "OTHER": "another-value"}
    assert shown(environment, f"model.{role}.api_key_env=MINE") == f"{HIDDEN} another-value"
    assert shown(environment, "env.search_auth_env=OTHER") == f"very-own-value {HIDDEN}"
    assert shown(environment, "env.my_own_env=OTHER") == f"very-own-value {HIDDEN}"


def test_variables_that_a_program_is_given_are_known_but_for_what_is_none(tmp_path: Path) -> None:
    environment = {"LOGIN": "very-own-value", "PLACE": str(tmp_path), "MODEL": "model-of-mine"}
    named = ("model.command.variables=LOGIN PLACE MODEL GONE", "model.target.name=model-of-mine")
    assert shown(environment, *named) == f"{HIDDEN} {tmp_path} model-of-mine"


def test_a_password_in_an_address_is_known() -> None:
    secrets = known_secrets({
        "MLFLOW_TRACKING_URI": "postgresql+psycopg://me:open%2Fsesame@db.example:5432/runs?x=1",
        "HTTPS_PROXY": "http://:let-me-in-1@proxy.example",
        "BLOBS": "https://h/c?sv=1&sig=abcd1234efgh&x=production",
        "STORE": "Endpoint=https://h/;AccountKey=Zm9vYmFyCg==;Name=production",
        "PLAIN": "http://host.example:8080/a@b and c:d@e http://me@host.example",
    })
    kept = "no way to me:{}@db, {}, {}, {} or production, http://host.example:8080/a@b"
    for form in ("open/sesame", "open%2Fsesame"):
        told = kept.format(form, "let-me-in-1", "abcd1234efgh", "Zm9vYmFyCg==")
        assert secrets.hide(told) == kept.format(*[HIDDEN] * 4)


@pytest.mark.parametrize("kind", ["", "TRACES_", "METRICS_", "LOGS_"])
def test_keys_in_headers_are_known_and_other_headers_are_none(kind: str) -> None:
    variable = f"OTEL_EXPORTER_OTLP_{kind}HEADERS"
    text = (
        "Authorization=Bearer%20open%2Dsesame, x-honeycomb-dataset=searchqa,"
        "x-honeycomb-team=hcaik01abcdefghijk,api-key=letmeinplease,tenant=production-cluster,broken"
    )
    secrets = known_secrets({variable: text})
    assert names_a_key(variable)
    for key in (
        "open-sesame",
        "Bearer%20open%2Dsesame",
        "hcaik01abcdefghijk",
        "letmeinplease",
        text,
    ):
        hidden = secrets.hide(f"cannot send {key}")
        assert hidden.startswith("cannot send ") and key not in hidden
    kept = "Bearer searchqa production-cluster broken"
    assert secrets.hide(kept) == kept


def test_of_a_longer_value_the_key_alone_is_known_as_well() -> None:
    pem = "-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEF\nshort\n-----END KEY-----"
    secrets = known_secrets({"SEARCH_AUTH": "Bearer open-sesame", "TLS_KEY": pem})
    told = "I got open-sesame and MIIEvQIBADANBgkqhkiG9w0BAQEF, in short, as a Bearer"
    assert secrets.hide(told) == f"I got {HIDDEN} and {HIDDEN}, in short, as a Bearer"


def test_a_variable_whose_value_comes_back_is_named_once() -> None:
    told: list[RunEvent] = []
    hide = announced(SECRETS, told.append)
    assert [hide(text) for text in ("fine", f"a {KEY}", f"b {KEY}")] == ["fine", "a ***", "b ***"]
    assert told == [
        Degraded("secrets", "the value of OPENAI_API_KEY was read, and replaced by ***")
    ]


@pytest.mark.parametrize(
    "assignment",
    [
        f"model.target.name={KEY}",
        f'model.command.argv=["agent", "--key", "{KEY}"]',
        "env.search_api_url=https://h/search?api_key=abcd",
        "env.search_api_url=https://me:abcd@h/search",
    ],
)
def test_a_setting_that_holds_a_key_is_refused_and_not_quoted(assignment: str) -> None:
    resolved = resolve(assignment_layers([assignment]))
    with pytest.raises(ConfigError) as caught:
        refuse_keys(resolved, {"OPENAI_API_KEY": KEY})
    assert caught.value.message.startswith(f"`{assignment.partition('=')[0]}` (")
    assert caught.value.message.endswith("holds a key")
    assert "abcd" not in caught.value.message
