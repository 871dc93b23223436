"""Failures over HTTP, told apart without any SDK; and that no message holds a key."""

import ssl

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt_cli.backends.chat.endpoint import ModelAddress, public_url
from skillopt_cli.backends.chat.http_errors import HttpFailure, connection_error, response_error
from skillopt_cli.core.errors import (
    AuthFailed,
    BackendError,
    CallTimedOut,
    FatalBackendError,
    NetworkFailed,
    QuotaExhausted,
    RateLimited,
    TransientError,
    UnknownModel,
)
from skillopt_cli.core.secrets import Secrets

PLACE = ModelAddress("m", "http://h/v1", keyed=True, variables=("A_KEY", "B_KEY"))


@pytest.mark.parametrize(
    ("failure", "kind"),
    [
        (HttpFailure(400, "Your credit balance is too low to access the API."), QuotaExhausted),
        (HttpFailure(402, "no"), QuotaExhausted),
        (HttpFailure(403, "no", frozenset({"billing_not_active"})), QuotaExhausted),
        (HttpFailure(403, "Insufficient Balance"), QuotaExhausted),
        (HttpFailure(429, "no", frozenset({"insufficient_quota"})), QuotaExhausted),
        (HttpFailure(429, "You exceeded your current quota, check your billing."), QuotaExhausted),
        (
            HttpFailure(429, "You exceeded your current quota", headers={"retry-after": "3"}),
            RateLimited,
        ),
        (HttpFailure(429, "Limit 20 / min; see https://h/account/billing"), RateLimited),
        (HttpFailure(404, "no", frozenset({"DeploymentNotFound"})), UnknownModel),
        (HttpFailure(404, "The API deployment for this resource does not exist."), UnknownModel),
        (HttpFailure(404, "model: claude-x", frozenset({"not_found_error"})), UnknownModel),
        (HttpFailure(404, "Resource not found", frozenset({"404"})), FatalBackendError),
    ],
)
def test_what_is_missing_is_told_from_what_will_come_back(failure, kind):
    assert isinstance(response_error(failure, PLACE), kind)


@given(st.integers(100, 599), st.text(max_size=60), st.sampled_from(["", "rate_limit_error", "x"]))
def test_every_status_has_an_error_with_a_message_of_one_line(status, text, code):
    error = response_error(HttpFailure(status, text, frozenset({code})), PLACE)
    assert isinstance(error, BackendError)
    assert "\n" not in error.message
    assert str(PLACE) in error.message


def test_a_missing_key_a_wrong_key_and_a_refused_identity_get_their_own_hints():
    keyless = ModelAddress("m", "http://h/v1", variables=("A_KEY", "B_KEY"))
    identity = ModelAddress("m", "http://h/v1", credentials="check the role")
    told = [response_error(HttpFailure(401, "no"), place) for place in (keyless, PLACE, identity)]
    assert all(type(error) is AuthFailed for error in told)
    assert "A_KEY, B_KEY" in told[0].hint
    assert "api_key_env holds a valid key" in told[1].hint
    named = ModelAddress("m", "http://h/v1", keyed=True, key_from="B_KEY")
    assert response_error(HttpFailure(401, "no"), named).hint.startswith(
        "check that B_KEY holds a valid key"
    )
    assert told[2].hint == "check the role"
    assert type(response_error(HttpFailure(403, "no"), identity)) is AuthFailed


def caused(outer, inner):
    outer.__cause__ = inner
    return outer


class RemoteProtocolError(Exception):
    """Named as the HTTP library's own."""


@pytest.mark.parametrize(
    ("error", "kind", "words"),
    [
        (caused(Exception("x"), TimeoutError()), CallTimedOut, "in time"),
        (caused(Exception("x"), ConnectionRefusedError()), NetworkFailed, "refused"),
        (
            caused(Exception("x"), ExceptionGroup("g", [ConnectionRefusedError()])),
            NetworkFailed,
            "refused",
        ),
        (caused(Exception("x"), ssl.SSLCertVerificationError()), NetworkFailed, "certificate"),
        (caused(Exception("x"), RemoteProtocolError()), NetworkFailed, "broke off"),
        (OSError("no route"), NetworkFailed, "could not be reached"),
    ],
)
def test_a_lost_connection_is_told_by_its_root(error, kind, words):
    found = connection_error(error, PLACE)
    assert type(found) is kind
    assert isinstance(found, TransientError)
    assert words in found.message


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://user:secret@host:80/v1/?api-key=secret#secret", "http://host:80/v1"),
        ("host:8000/v1", "host:8000/v1"),
        ("user:secret@host", "host"),
    ],
)
def test_public_url_holds_no_secret(url, expected):
    assert public_url(url) == expected


@given(
    st.text(st.characters(codec="ascii", categories=["L", "N"]), min_size=6, max_size=40),
    st.text(max_size=30),
    st.text(max_size=30),
)
def test_scrubbed_text_never_holds_the_key(key, before, after):
    place = ModelAddress("m", "http://h/v1", secrets=Secrets({f"{key}-Q": "K"}))
    assert f"{key}-Q" not in place.scrubbed(f"{before}{key}-Q{after}")


def test_scrubbed_text_is_one_short_line_without_key_like_words():
    place = ModelAddress("m", "http://h/v1")
    line = place.scrubbed(
        "bad key\n sk-abc0123456789xyz, or eyJhbGciOiJI.eyJzdWIi.c2ln " + "x" * 5000
    )
    assert line.startswith("bad key ***, or *** x")
    assert len(line) < 400
    assert "\n" not in line
