"""Secrets are found in every form that services and programs write them in."""

from __future__ import annotations

import html
import json
from base64 import b64encode, urlsafe_b64encode
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt_cli.core.errors import ServerFailed
from skillopt_cli.core.secrets import HIDDEN, SHORTEST, Secrets, errors_hidden, hidden

KEY = "canary-0123456789"
VALUES = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cs", "Cc", "Z"]), min_size=SHORTEST
)


@given(VALUES, st.text(max_size=5), st.text(max_size=5))
def test_no_form_of_a_value_is_left(value: str, before: str, after: str) -> None:
    secrets = Secrets({value: "MINE"})
    whole = f"{before}{value}{after}"
    once = json.dumps(whole)
    for text in (
        whole,
        once,
        json.dumps(whole, ensure_ascii=False),
        json.dumps(once),
        once.replace("/", "\\/"),
        quote(whole, ""),
        quote(whole),
        quote_plus(whole),
        html.escape(whole),
    ):
        shown = secrets.hide(text)
        assert HIDDEN in shown
        assert value not in shown
        # A second look changes nothing: what was read once is not read in another way later.
        assert secrets.hide(shown) == shown


@given(VALUES, st.binary(max_size=7), st.binary(max_size=7))
def test_a_value_within_base64_is_hidden(value: str, before: bytes, after: bytes) -> None:
    secrets = Secrets({value: "MINE"})
    content = before + value.encode() + after
    for text in (b64encode(content).decode(), urlsafe_b64encode(content).decode()):
        shown = secrets.hide(text)
        # Up to two characters on either side also tell of what stands beside the value.
        kept = len(text.rstrip("=")) - 8 * len(value.encode()) // 6
        assert HIDDEN in shown and len(shown.rstrip("=")) <= kept + 2 + len(HIDDEN)


def test_short_values_are_no_secrets() -> None:
    assert Secrets({"a": "A", "EMPTY": "B", " 1234567 ": "C"}).hide("a EMPTY 1234567") == (
        "a EMPTY 1234567"
    )
    assert Secrets({" 12345678\n": "D"}).hide("a 12345678") == f"a {HIDDEN}"


def test_the_longer_of_two_values_is_hidden_whole() -> None:
    secrets = Secrets({"abcdefgh": "A", "abcdefgh-ijkl": "B"})
    assert secrets.hide("x abcdefgh-ijkl abcdefgh") == f"x {HIDDEN} {HIDDEN}"


def test_what_looks_like_a_key_is_hidden_though_nobody_knows_it() -> None:
    hide = Secrets().hide
    assert hide("echo sk-proj-0123456789abcdef!") == f"echo {HIDDEN}!"
    assert hide("of eyJhbGciOiJI.eyJzdWIi.c2ln_-, then") == f"of {HIDDEN}, then"
    plain = "task-sk-1 and sk-lm, sk-learn-contrib-projects, eyJhbGciOiJI.x"
    assert hide(plain) == plain


def test_a_value_may_become_known_later() -> None:
    secrets = Secrets()
    assert secrets.hide(KEY) == KEY
    secrets.learn(KEY, "a token")
    assert secrets.hide(KEY) == HIDDEN
    assert secrets.names_in(f"x {KEY}") == {"a token"}
    assert secrets.names_in("x") == frozenset()


@dataclass(frozen=True)
class _Part:
    text: str = KEY
    number: int = 3
    more: dict[str, Any] = field(default_factory=dict)


def test_every_text_in_a_value_is_hidden_and_the_rest_is_the_same() -> None:
    hide = Secrets({KEY: "MINE"}).hide
    value = _Part(more={f"/{KEY}": [("x", _Part()), None, 1.5], "kept": (KEY,)})
    shown = hidden(value, hide)
    inner = _Part(HIDDEN)
    assert shown == _Part(HIDDEN, 3, {f"/{HIDDEN}": [("x", inner), None, 1.5], "kept": (HIDDEN,)})
    clean = _Part("fine", more={"a": ["b", ("c",)]})
    assert hidden(clean, hide) is clean


def test_an_error_keeps_its_kind_and_loses_its_secrets() -> None:
    with (
        pytest.raises(ServerFailed) as caught,
        errors_hidden(Secrets({KEY: "MINE"}).hide),
    ):
        raise ServerFailed(f"no {KEY}", f"not {KEY}")
    assert (caught.value.message, caught.value.hint) == (f"no {HIDDEN}", f"not {HIDDEN}")
