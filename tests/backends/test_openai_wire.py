"""The pure parts of the OpenAI-compatible backend: bodies, refusals, headers, scrubbing."""

from datetime import UTC, datetime
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr

from skillopt_cli.backends.openai_errors import Place, public_url, retry_after
from skillopt_cli.backends.openai_wire import OPTIONAL, Sampling, refused_parameter, request_body
from skillopt_cli.core.task import ChatRequest, Message

ASKED = ChatRequest((Message("user", "hi"),), "rollout", {"type": "object"}, "ranking")
FULL = Sampling("m", 100, 0.5, "low")


@pytest.mark.parametrize(
    ("param", "message", "expected"),
    [
        (
            "max_tokens",
            "Unsupported parameter: 'max_tokens' is not supported with this model."
            " Use 'max_completion_tokens' instead.",
            "max_tokens",
        ),
        ("", "Unrecognized request argument supplied: reasoning_effort", "reasoning_effort"),
        (
            "temperature",
            "Unsupported value: 'temperature' does not support 0.5 with this model.",
            "temperature",
        ),
        ("", '[{"type": "extra_forbidden", "loc": ["body", "temperature"]}]', "temperature"),
        ("response_format.json_schema", "Invalid schema", "response_format"),
        ("", "This model does not support response format `json_schema`", "response_format"),
        ("", "This response_format type is unavailable now", "response_format"),
        # About something else, or about a value: leaving the parameter out would hide it.
        ("", "This model's maximum context length is 4096 tokens; max_tokens is 5000", None),
        ("max_tokens", "max_tokens is too large: 100. This model supports at most 50", None),
        ("messages", "Invalid value for messages", None),
        ("", "Something went wrong with temperature", None),
        ("max_completion_tokens", "Unsupported parameter: 'max_completion_tokens'", None),
        ("", "unknown field min_temperature_x", None),
    ],
)
def test_refused_parameter(param, message, expected):
    sent = request_body(ASKED, FULL, frozenset())
    assert refused_parameter(param, message, sent) == expected


@given(st.frozensets(st.sampled_from(OPTIONAL)))
def test_a_refused_parameter_is_not_sent_and_the_rest_stays(refused):
    body = request_body(ASKED, FULL, refused)
    assert not refused & body.keys()
    assert {"model", "messages"} <= body.keys()
    assert {"temperature", "reasoning_effort", "response_format"} - refused <= body.keys()
    caps = {"max_tokens", "max_completion_tokens"}
    assert (not caps & body.keys()) == (caps <= refused)


NOW = datetime(2026, 1, 31, 12, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0.25"}, 0.25),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after": format_datetime(NOW.replace(minute=1), usegmt=True)}, 60.0),
        ({"retry-after": format_datetime(NOW.replace(hour=11), usegmt=True)}, 0.0),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after-ms": "x", "retry-after": "2"}, 2.0),
    ],
)
def test_retry_after(headers, expected):
    assert retry_after(headers, NOW.timestamp()) == expected


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
    st.text(st.characters(codec="ascii", categories=["L", "N"]), min_size=4, max_size=40),
    st.text(max_size=30),
    st.text(max_size=30),
)
def test_scrubbed_text_never_holds_the_key(key, before, after):
    place = Place("m", "http://h/v1", SecretStr(f"{key}-Q"))
    assert f"{key}-Q" not in place.scrubbed(f"{before}{key}-Q{after}")


def test_scrubbed_text_is_one_short_line_without_key_like_words():
    place = Place("m", "http://h/v1", None)
    line = place.scrubbed("bad key\n sk-abc***xyz, Bearer tok.en " + "x" * 5000)
    assert line.startswith("bad key [key], Bearer [key] x")
    assert len(line) < 400
    assert "\n" not in line
