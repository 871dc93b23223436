"""A real llama.cpp server with a real model, asked through both of OpenAI's interfaces."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from skillopt_cli.backends.chat.local import SPEC as LOCAL
from skillopt_cli.backends.chat.openai_compatible import open_openai_compatible
from skillopt_cli.core.errors import RequestRefused
from skillopt_cli.core.task import ChatRequest, Message
from skillopt_cli.ports import RoleSettings

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(LOCAL.missing({})), reason="needs the extra `local`"),
]

SCHEMA = {
    "type": "object",
    "properties": {"year": {"type": "integer"}, "what": {"enum": ["bridge", "tower"]}},
    "required": ["year", "what"],
    "additionalProperties": False,
}
FORMS = ("chat_completions", "responses")
ASKED = ChatRequest(
    (
        Message("system", "Answer in JSON."),
        Message("user", "The bridge was opened in 1932. When was what opened?"),
    ),
    "rollout",
)


@pytest.fixture
def role(real_model):
    """Settings for it."""
    return RoleSettings(
        "target",
        "gemma",
        real_model,
        temperature=0.0,
        reasoning_effort="low",
        max_completion_tokens=40,
        timeout=120.0,
    )


async def ask(role, form, request):
    async with open_openai_compatible(replace(role, options={"api": form})) as backend:
        return await backend.chat(request)


async def test_a_schema_is_kept_to(role):
    reply = await ask(role, "chat_completions", replace(ASKED, schema=SCHEMA, schema_name="fact"))
    answer = json.loads(reply.text)
    assert answer.keys() == {"year", "what"}
    assert isinstance(answer["year"], int)
    assert answer["what"] in {"bridge", "tower"}
    assert reply.finish == "stop"


@pytest.mark.parametrize("form", FORMS)
async def test_both_interfaces_answer_and_tell_what_they_cost(role, form):
    reply = await ask(role, form, ASKED)
    assert reply.text
    assert reply.usage.calls == 1
    assert reply.usage.prompt_tokens > 20
    assert 0 < reply.usage.completion_tokens <= 40


@pytest.mark.parametrize("form", FORMS)
async def test_a_prompt_beyond_the_window_is_refused_as_such(role, form):
    request = replace(ASKED, messages=(Message("user", "word " * 20_000),))
    with pytest.raises(RequestRefused, match="no room"):
        await ask(role, form, request)
