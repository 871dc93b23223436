"""Secrets are taken out of texts, events and records."""

from __future__ import annotations

import json
from pathlib import Path
from typing import get_args

import pytest

from skillopt_cli.compose.secrets import HIDDEN, DiscreetStore, Secrets, names_a_key
from skillopt_cli.config.layers import assignment_layers, resolve
from skillopt_cli.core.events import Role, RolloutFinished, RunStarted
from skillopt_cli.store.journal import Journal

KEY = "canary-0123456789"
SECRETS = Secrets.of({"OPENAI_API_KEY": KEY, "HOME": "/home/canary-user", "PORT_TOKEN": "EMPTY"})


def test_variables_named_like_a_key_are_known() -> None:
    assert SECRETS.values == (KEY,)
    for name in (
        "A_API_KEY",
        "HF_TOKEN",
        "x_secret",
        "DB_PASSWORD",
        "OPENAI_APIKEY",
        "SEARCH_AUTH",
    ):
        assert names_a_key(name)
    for name in ("HOME", "KEYBOARD", "TOKENIZERS_PARALLELISM", "AZURE_AUTH_MODE"):
        assert not names_a_key(name)


@pytest.mark.parametrize("role", get_args(Role))
def test_a_variable_named_by_the_configuration_is_known(role: Role) -> None:
    config = resolve(assignment_layers([f"model.{role}.api_key_env=MINE"])).config
    environment = {"MINE": "very-own-value", "OTHER": "another-value"}
    assert Secrets.of(environment, config).values == ("very-own-value",)
    of_env = resolve(assignment_layers(["env.search_auth_env=OTHER"])).config
    assert Secrets.of(environment, of_env).values == ("another-value",)


def test_a_password_in_an_address_is_known() -> None:
    secrets = Secrets.of({
        "MLFLOW_TRACKING_URI": "postgresql+psycopg://me:open-sesame@db.example:5432/runs?x=1",
        "HTTPS_PROXY": "http://:let-me-in-1@proxy.example",
        "PLAIN": "http://host.example:8080/a@b and c:d@e http://me@host.example",
    })
    assert secrets.values == ("let-me-in-1", "open-sesame")
    assert secrets.hide("no way to me:open-sesame@db") == f"no way to me:{HIDDEN}@db"


@pytest.mark.parametrize("kind", ["", "TRACES_", "METRICS_", "LOGS_"])
def test_keys_in_headers_are_known_and_other_headers_are_none(kind: str) -> None:
    variable = f"OTEL_EXPORTER_OTLP_{kind}HEADERS"
    text = (
        "Authorization=Bearer%20open%2Dsesame, x-honeycomb-dataset=searchqa,"
        "x-honeycomb-team=hcaik01abcdefghijk,api-key=letmeinplease,tenant=production-cluster,broken"
    )
    secrets = Secrets.of({variable: text})
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


def test_the_longer_of_two_values_is_hidden_whole() -> None:
    secrets = Secrets.of({"A_KEY": "abcdefgh", "B_KEY": "abcdefgh-ijkl"})
    assert secrets.hide("x abcdefgh-ijkl abcdefgh") == f"x {HIDDEN} {HIDDEN}"


def test_what_looks_like_a_key_is_hidden_though_nobody_knows_it() -> None:
    assert Secrets(()).hide("echo sk-proj-0123456789abcdef!") == f"echo {HIDDEN}!"
    assert Secrets(()).hide("task-sk-1 and sk-lm") == "task-sk-1 and sk-lm"


def test_an_events_texts_are_hidden_and_the_rest_stays() -> None:
    event = RolloutFinished(1, "rollout", "t1", 1.0, 1.0, "broken", False, f"failed: {KEY}")
    hidden = SECRETS.hidden(event)
    assert isinstance(hidden, RolloutFinished)
    assert hidden.error == f"failed: {HIDDEN}"
    assert (hidden.task, hidden.hard) == ("t1", 1.0)
    plain = RunStarted("r", "b", 0, 1, 1, "o", "t", "d", 1, 1, 1, "hard")
    assert SECRETS.hidden(plain) is plain


def test_records_are_hidden_and_skills_are_kept_byte_for_byte(tmp_path: Path) -> None:
    with Journal(Path(":memory:")) as journal:
        store = DiscreetStore(tmp_path, journal, SECRETS)
        store.keep("a/results.jsonl", json.dumps({"fail_reason": KEY}))
        store.keep("skills/step_0001.md", f"Say {KEY}.\n")
    assert KEY not in (tmp_path / "a" / "results.jsonl").read_text(encoding="utf-8")
    assert (tmp_path / "skills" / "step_0001.md").read_text(encoding="utf-8") == f"Say {KEY}.\n"
