"""Exactly what goes over the wire in both of OpenAI's interfaces, and what is read from it."""

import base64
import hashlib
from dataclasses import replace

import pytest
import pytest_asyncio
from loopback import Answer, loopback
from pydantic import SecretStr

from skillopt_cli.backends.chat.openai_compatible import open_openai_compatible
from skillopt_cli.backends.simulated import Simulated
from skillopt_cli.backends.simulated.settings import SimulatedConfig
from skillopt_cli.core.episode import ToolCall
from skillopt_cli.core.errors import RequestRefused
from skillopt_cli.core.task import ChatReply, ChatRequest, Image, Message, Tool, Usage
from skillopt_cli.ports import RoleSettings
from skillopt_cli.testing import run_model_server

pytestmark = pytest.mark.asyncio(loop_scope="module")

SCHEMA = {"type": "object", "properties": {"edits": {"type": "array"}}}
ASKED = ChatRequest((Message("system", "Be brief."), Message("user", "Hello.")), "rollout")
LOOK = Tool("look", "Looks it up.", {"type": "object", "properties": {"what": {"type": "string"}}})
PIXELS = b"\x89PNG not really"
CHAT, RESPONSES = "chat_completions", "responses"
GOOD = {
    CHAT: {"choices": [{"message": {"content": "fine"}, "finish_reason": "stop"}]},
    RESPONSES: {
        "status": "completed",
        "output": [{"type": "message", "content": [{"type": "output_text", "text": "fine"}]}],
    },
}


@pytest_asyncio.fixture(loop_scope="module")
async def server():
    async with loopback() as running:
        yield running


@pytest.fixture
def picture(tmp_path):
    path = tmp_path / "chart.png"
    path.write_bytes(PIXELS)
    return Image(str(path), "image/png", hashlib.sha256(PIXELS).hexdigest())


async def ask(server, form, request, body=None, **changes):
    """The reply, and the request as it came."""
    role = RoleSettings("target", "model-a", f"{server.url}/v1", SecretStr("key"))
    role = replace(role, options={"api": form}, max_completion_tokens=77, **changes)
    server.script(Answer(body=body or GOOD[form]))
    async with open_openai_compatible(role) as backend:
        reply = await backend.chat(request)
    return reply, server.seen[-1]


async def test_a_plain_chat_completion_holds_only_what_was_set(server):
    reply, seen = await ask(server, CHAT, ASKED)
    assert reply == ChatReply("fine")
    assert (seen.method, seen.path) == ("POST", "/v1/chat/completions")
    assert seen.headers["authorization"] == "Bearer key"
    assert seen.headers["content-type"] == "application/json"
    assert seen.body == {
        "model": "model-a",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Hello."},
        ],
        "max_tokens": 77,
        "stream": False,
    }


async def test_a_plain_response_holds_only_what_was_set(server):
    two = (Message("system", "One."), Message("system", "Two."), Message("user", "Hello."))
    reply, seen = await ask(server, RESPONSES, replace(ASKED, messages=two))
    assert reply == ChatReply("fine")
    assert (seen.method, seen.path) == ("POST", "/v1/responses")
    assert seen.headers["authorization"] == "Bearer key"
    assert seen.body == {
        "model": "model-a",
        "instructions": "One.\n\nTwo.",
        "input": [{"role": "user", "content": "Hello."}],
        "max_output_tokens": 77,
        "stream": False,
        "store": False,
    }


async def test_without_a_system_text_there_are_no_instructions(server):
    _, seen = await ask(server, RESPONSES, replace(ASKED, messages=ASKED.messages[1:]))
    assert "instructions" not in seen.body


async def test_sampling_and_schema_in_chat_completions(server):
    request = replace(ASKED, schema=SCHEMA, schema_name="merge_final")
    _, seen = await ask(server, CHAT, request, temperature=0.0, reasoning_effort="low")
    wanted = {"name": "merge_final", "schema": SCHEMA}
    assert seen.body["temperature"] == 0.0
    assert seen.body["reasoning_effort"] == "low"
    assert seen.body["response_format"] == {"type": "json_schema", "json_schema": wanted}


async def test_sampling_and_schema_in_responses(server):
    request = replace(ASKED, schema=SCHEMA)
    _, seen = await ask(server, RESPONSES, request, temperature=0.0, reasoning_effort="low")
    assert seen.body["temperature"] == 0.0
    assert seen.body["reasoning"] == {"effort": "low"}
    assert seen.body["text"] == {
        "format": {"type": "json_schema", "name": "answer", "schema": SCHEMA}
    }


async def test_pictures_are_read_when_they_are_sent(server, picture):
    uri = f"data:image/png;base64,{base64.b64encode(PIXELS).decode()}"
    close = replace(picture, detail="high")
    request = replace(ASKED, messages=(Message("user", "What?", (picture, close)),))

    _, seen = await ask(server, CHAT, request)
    assert seen.body["messages"][0]["content"] == [
        {"type": "text", "text": "What?"},
        {"type": "image_url", "image_url": {"url": uri}},
        {"type": "image_url", "image_url": {"url": uri, "detail": "high"}},
    ]
    _, seen = await ask(server, RESPONSES, request)
    assert seen.body["input"] == [
        {
            "role": "user",
            "content": [
                {"type": "input_text", "text": "What?"},
                {"type": "input_image", "image_url": uri, "detail": "auto"},
                {"type": "input_image", "image_url": uri, "detail": "high"},
            ],
        }
    ]


@pytest.mark.parametrize("form", [CHAT, RESPONSES])
async def test_a_picture_that_is_gone_or_another_is_refused_by_name(server, picture, form):
    gone = replace(picture, path=f"{picture.path}.gone")
    other = replace(picture, digest="0" * 64)
    for image, words in ((gone, "cannot read"), (other, "has changed")):
        request = replace(ASKED, messages=(Message("user", "What?", (image,)),))
        with pytest.raises(RequestRefused, match=words) as caught:
            await ask(server, form, request)
        assert image.path in caught.value.message
    assert server.seen == []


CONVERSATION = (
    Message("user", "How deep?"),
    Message("assistant", "Let me see.", tool_calls=(ToolCall("c1", "look", '{"what": "sea"}'),)),
    Message("tool", "11 km", call_id="c1"),
    Message("assistant", "", tool_calls=(ToolCall("c2", "look", "{}"),)),
    Message("tool", "", call_id="c2"),
    Message("assistant", "Hm."),
)


async def test_tools_and_their_results_in_chat_completions(server):
    request = ChatRequest(CONVERSATION, "rollout", tools=(LOOK,))
    _, seen = await ask(server, CHAT, request)

    def call(name, arguments):
        function = {"name": "look", "arguments": arguments}
        return [{"id": name, "type": "function", "function": function}]

    assert seen.body["tools"] == [
        {
            "type": "function",
            "function": {
                "name": "look",
                "description": "Looks it up.",
                "parameters": dict(LOOK.parameters),
            },
        }
    ]
    assert "tool_choice" not in seen.body
    assert seen.body["messages"] == [
        {"role": "user", "content": "How deep?"},
        {
            "role": "assistant",
            "content": "Let me see.",
            "tool_calls": call("c1", '{"what": "sea"}'),
        },
        {"role": "tool", "tool_call_id": "c1", "content": "11 km"},
        {"role": "assistant", "content": None, "tool_calls": call("c2", "{}")},
        {"role": "tool", "tool_call_id": "c2", "content": ""},
        {"role": "assistant", "content": "Hm."},
    ]


async def test_tools_and_their_results_in_responses(server):
    request = ChatRequest(CONVERSATION, "rollout", tools=(LOOK,))
    _, seen = await ask(server, RESPONSES, request)
    assert seen.body["tools"] == [
        {
            "type": "function",
            "name": "look",
            "description": "Looks it up.",
            "parameters": dict(LOOK.parameters),
            "strict": False,
        }
    ]
    assert "tool_choice" not in seen.body
    wish = {"type": "function_call", "name": "look"}
    assert seen.body["input"] == [
        {"role": "user", "content": "How deep?"},
        {"role": "assistant", "content": "Let me see."},
        wish | {"call_id": "c1", "arguments": '{"what": "sea"}'},
        {"type": "function_call_output", "call_id": "c1", "output": "11 km"},
        wish | {"call_id": "c2", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c2", "output": ""},
        {"role": "assistant", "content": "Hm."},
    ]


@pytest.mark.parametrize(
    ("choice", "chat", "responses"),
    [
        ("required", "required", "required"),
        ("none", "none", "none"),
        (
            "look",
            {"type": "function", "function": {"name": "look"}},
            {"type": "function", "name": "look"},
        ),
    ],
)
async def test_the_choice_of_a_tool(server, choice, chat, responses):
    request = replace(ASKED, tools=(LOOK,), tool_choice=choice)
    assert (await ask(server, CHAT, request))[1].body["tool_choice"] == chat
    assert (await ask(server, RESPONSES, request))[1].body["tool_choice"] == responses


async def test_wishes_for_tools_are_read_from_chat_completions(server):
    def wished(*calls, finish="tool_calls", content=None):
        message = {"content": content, "tool_calls": list(calls)}
        return {"id": "a9", "choices": [{"message": message, "finish_reason": finish}]}

    one = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{not json"}}
    bare = {"function": {"name": "look", "arguments": {"what": "ä"}}}
    reply, _ = await ask(server, CHAT, ASKED, wished(one, bare))
    # A server that names no id, or writes arguments as an object, is understood as well.
    wishes = (ToolCall("c1", "look", "{not json"), ToolCall("a9_1", "look", '{"what": "ä"}'))
    assert reply == ChatReply("", Usage(1), "tool_calls", wishes)

    reply, _ = await ask(server, CHAT, ASKED, wished(one, finish="stop", content="Hm."))
    assert reply == ChatReply("Hm.", Usage(1), "tool_calls", wishes[:1])


async def test_wishes_for_tools_are_read_from_responses(server):
    wish = {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "look"}
    body = {"status": "completed", "output": [{"type": "reasoning"}, wish | {"arguments": "{}"}]}
    reply, _ = await ask(server, RESPONSES, ASKED, body)
    assert reply == ChatReply("", Usage(1), "tool_calls", (ToolCall("c1", "look", "{}"),))


USAGES = {
    CHAT: [
        (None, Usage(1)),
        ({"prompt_tokens": 5}, Usage(1, 5)),
        ({"prompt_tokens": "five"}, Usage(1)),
        (
            {
                "prompt_tokens": 9,
                "completion_tokens": 7,
                "total_tokens": 16,
                "prompt_tokens_details": {"cached_tokens": 4},
                "completion_tokens_details": {"reasoning_tokens": 5},
            },
            Usage(1, 9, 7, 4, 5),
        ),
    ],
    RESPONSES: [
        (None, Usage(1)),
        ({"output_tokens": 5}, Usage(1, None, 5)),
        (
            {
                "input_tokens": 9,
                "output_tokens": 7,
                "input_tokens_details": {"cached_tokens": 4},
                "output_tokens_details": {"reasoning_tokens": 5},
            },
            Usage(1, 9, 7, 4, 5),
        ),
    ],
}


@pytest.mark.parametrize("form", [CHAT, RESPONSES])
async def test_usage_is_read_as_far_as_it_is_told(server, form):
    for told, usage in USAGES[form]:
        reply, _ = await ask(server, form, ASKED, {**GOOD[form], "usage": told})
        assert reply == ChatReply("fine", usage)


async def test_texts_in_parts_are_put_together(server):
    parts = [
        {"type": "thinking", "thinking": "hm", "text": "no part of it"},
        {"type": "text", "text": "fi"},
        {"type": "text", "text": "ne"},
    ]
    reply, _ = await ask(server, CHAT, ASKED, {"choices": [{"message": {"content": parts}}]})
    assert reply.text == "fine"


async def test_over_http_the_simulated_model_answers_as_in_process():
    user = "## Context\nZor Mill was founded by Ann Lee.\n\n## Question\nWho founded Zor Mill?"
    request = ChatRequest((Message("system", "Answer."), Message("user", user)), "rollout")
    here = await Simulated(SimulatedConfig()).chat(request)
    with run_model_server() as server:
        role = RoleSettings("target", "model-a", server.url)
        async with open_openai_compatible(role) as backend:
            assert await backend.chat(request) == here
