"""Answers of real servers, read through the SDK as a run reads them."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
import pytest_asyncio
from loopback import Answer
from pydantic import SecretStr
from server_styles import OTHER, STYLES, body

from skillopt_cli.backends.chat.claude_chat import open_claude_chat
from skillopt_cli.backends.chat.openai_chat import open_openai_chat
from skillopt_cli.backends.chat.openai_compatible import open_openai_compatible
from skillopt_cli.backends.chat_agent import ChatAgent
from skillopt_cli.backends.middleware.reading import Reading
from skillopt_cli.core.errors import NetworkFailed, RateLimited, RequestRefused, ServerFailed
from skillopt_cli.core.events import Degraded
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.core.task import (
    CUT_SHORT,
    NO_ANSWER,
    Brief,
    ChatReply,
    ChatRequest,
    Message,
    Section,
    Tool,
)
from skillopt_cli.ports import RoleSettings
from skillopt_cli.testing.model_dialects import message_stream, response_stream

pytestmark = pytest.mark.asyncio(loop_scope="module")

ASKED = ChatRequest((Message("user", "What is item 0?"),), "rollout")
LOOK = Tool("look", "Look.", {"type": "object"})
STREAM = {"content-type": "text/event-stream"}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def backend(running):
    async with open_openai_compatible(RoleSettings("target", "m", f"{running.url}/v1")) as made:
        yield made


async def read(backend, *, request: ChatRequest = ASKED) -> tuple[ChatReply, list[Degraded]]:
    facts: list[Any] = []
    return await Reading(backend, "target", facts.append).chat(request), facts


def call(name: str) -> dict[str, Any]:
    return {"id": "c", "type": "function", "function": {"name": name, "arguments": "{}"}}


@pytest.mark.parametrize("style", STYLES)
async def test_the_answer_is_read_and_nothing_that_was_only_thought(server, backend, style):
    server.script(Answer(200, STYLES[style]))
    reply, facts = await read(backend)
    assert (reply.text.strip(), reply.finish, reply.tool_calls) == ("thing", "stop", ())
    assert (reply.usage.prompt_tokens, reply.usage.completion_tokens) == (11, 9)
    assert server.bodies[0]["stream"] is False
    given = STYLES[style]
    content = "thing" if isinstance(given, str) else given["choices"][0]["message"]["content"]
    assert len(facts) == (content.strip() != "thing")
    assert all(fact.where == "target replies" and not fact.of_step for fact in facts)


async def test_azure_answers_to_the_backend_for_it(server, running):
    server.script(Answer(200, STYLES["Azure"]))
    by_key = {"auth_mode": "api_key"}
    role = RoleSettings("target", "m", running.url, SecretStr("k"), options=by_key)
    async with open_openai_chat(role) as backend:
        reply, facts = await read(backend)
    assert (reply.text, reply.finish, facts) == ("thing", "stop", [])
    assert server.seen[0].path.startswith("/openai/deployments/m/chat/completions")


@pytest.mark.parametrize(
    ("content", "finish", "why"),
    [
        ("<think>first I guess <answer>thing</answer> but", "length", CUT_SHORT),
        ("<think>first I guess <answer>thing</answer> but", "stop", CUT_SHORT),
        ("<|channel|>analysis<|message|>So <answer>thing</answer>", "length", CUT_SHORT),
        ("[THINK]<answer>thing</answer>", "stop", CUT_SHORT),
        ("<think><answer>thing</answer></think>", "stop", NO_ANSWER),
        ("<answer>thing</answer></think>\n", "stop", NO_ANSWER),
        ("<think>thing</think>", "length", CUT_SHORT),
        (None, "length", CUT_SHORT),
    ],
)
async def test_a_thought_alone_is_no_answer(server, backend, content, finish, why):
    server.script(Answer(200, body(content, finish)))
    agent = ChatAgent(Reading(backend, "target", lambda fact: None))
    brief = Brief("q0", "You answer.", (Section("Question", "What is item 0?"),))
    made = await agent.attempt(brief, SkillDocument("# Skill\n"), None)
    assert (made.answer, made.ending, made.error) == ("", "gave_up", why)
    assert "raise" in why


@pytest.mark.parametrize(
    "more",
    [
        {"reasoning_content": "It is thing."},
        {"reasoning": "It is thing."},
        {"reasoning_details": [{"type": "reasoning.text", "text": "It is thing."}]},
        {"thinking": "It is thing."},
    ],
)
@pytest.mark.parametrize("content", [None, "", "\n\n", []])
async def test_an_answer_in_the_place_of_reasoning_is_refused_with_the_cause(
    server, backend, content, more
):
    server.script(Answer(200, body(content, **more)))
    with pytest.raises(RequestRefused, match="reasoning alone") as caught:
        await read(backend)
    assert next(iter(more)) in caught.value.message
    assert "reasoning parser" in caught.value.hint
    assert caught.value.usage.completion_tokens == 9


@pytest.mark.parametrize(
    ("content", "names", "tools"),
    [(None, [""], ()), (None, ["look"], ()), ("", ["a", "b"], ()), (None, [" "], (LOOK,))],
)
async def test_a_tool_call_of_no_use_is_a_failed_call(server, backend, content, names, tools):
    server.script(Answer(200, body(content, "tool_calls", tool_calls=[call(n) for n in names])))
    with pytest.raises(ServerFailed, match="tool call") as caught:
        await read(backend, request=replace(ASKED, tools=tools))
    assert "--tool-call-parser" in caught.value.hint


async def test_a_text_beside_a_call_that_nobody_offered_is_the_answer(server, backend):
    server.script(Answer(200, body("thing", "tool_calls", tool_calls=[call("")])))
    reply, facts = await read(backend)
    assert (reply.text, reply.tool_calls, reply.finish) == ("thing", (), "stop")
    assert "a tool call" in facts[0].reason


@pytest.mark.parametrize(
    "end", ["data: [DONE]", "\n\ndata: [DONE]\n\n", "\n: done\n", "\r\nevent: end\r\ndata: [DONE]"]
)
async def test_the_mark_of_a_stream_below_a_body_is_left_out(server, backend, end):
    server.script(Answer(200, json.dumps(body("thing")) + end))
    assert (await read(backend))[0].text == "thing"


OTHERS = {"index": 1, "message": {"content": "other"}, "finish_reason": "stop"}
FIRST = {"index": 0, "message": {"content": "thing"}, "finish_reason": "stop"}


@pytest.mark.parametrize(
    "wire",
    [
        f": keep-alive\n\n: keep-alive\n\n{json.dumps(body('thing'))}",
        f"Warning: slow upstream\n{json.dumps(body('thing'))}",
        '{"choices": [{"message": {"content": "thing\t"}}]}',
        {"choices": [OTHERS, FIRST]},
        {"choices": [FIRST, OTHERS]},
        body({"type": "text", "text": "thing"}),
        body([{"type": "output_text", "text": "thing"}]),
        body([{"type": "thinking", "thinking": []}, {"type": "text", "text": "thing"}]),
        body("thing", "eos", id=7, created="now", usage="none"),
        body("thing", function_call={"name": "look", "arguments": "{}"}),
    ],
)
async def test_an_odd_body_is_read_as_its_answer(server, backend, wire):
    server.script(Answer(200, wire))
    reply, _ = await read(backend)
    assert reply.text.strip() == "thing"


async def test_a_number_is_an_answer(server, backend):
    server.script(Answer(200, body(42)))
    assert (await read(backend))[0].text == "42"


@pytest.mark.parametrize("finish", ["length", "max_tokens", "MAX_TOKENS"])
async def test_every_name_of_the_token_limit_is_known(server, backend, finish):
    server.script(Answer(200, body("", finish)))
    assert (await read(backend))[0].finish == "length"


@pytest.mark.parametrize(
    "written",
    [
        '<tool_call>\n{"name": "look", "arguments": {}}\n</tool_call>',
        '[TOOL_CALLS][{"name": "look"}]',
        "<|python_tag|>look()",
        "<function=look>{}</function>",
    ],
)
@pytest.mark.parametrize("tools", [(), (LOOK,)])
async def test_a_tool_call_that_the_server_left_in_the_text_is_a_failed_call(
    server, backend, written, tools
):
    server.script(Answer(200, body(written)))
    with pytest.raises(ServerFailed, match="written as text") as caught:
        await read(backend, request=replace(ASKED, tools=tools))
    assert "--tool-call-parser" in caught.value.hint


@pytest.mark.parametrize(
    ("wire", "place"),
    [
        ({"choices": [{"index": 0, "text": "thing"}]}, "`choices.0.message`"),
        ({"choices": [None]}, "`choices.0`"),
        (body(True), "`choices.0.message.content`"),
    ],
)
async def test_what_cannot_be_read_of_an_answer_is_named(server, backend, wire, place):
    server.script(Answer(200, wire))
    with pytest.raises(ServerFailed) as caught:
        await read(backend)
    assert f"whose {place} cannot be read" in caught.value.message


@pytest.mark.parametrize("end", ["x", "{}", "data", "]"])
async def test_anything_else_below_a_body_is_not(server, backend, end):
    server.script(Answer(200, json.dumps(body("thing")) + end))
    with pytest.raises(ServerFailed, match="malformed JSON"):
        await read(backend)


def chunk(finish: str | None = None, **delta: Any) -> str:
    return f"data: {json.dumps({'choices': [{'delta': delta, 'finish_reason': finish}]})}\n\n"


async def test_of_a_stream_with_several_answers_the_first_is_read(server, backend):
    def of(index: int, text: str) -> str:
        choice = {"index": index, "delta": {"content": text}, "finish_reason": "stop"}
        return f"data: {json.dumps({'choices': [choice]})}\n\n"

    server.script(Answer(200, of(1, "oth") + of(0, "thi") + of(1, "er") + of(0, "ng"), STREAM))
    assert (await read(backend))[0].text == "thing"


async def test_content_in_parts_is_joined_from_a_stream(server, backend):
    parts = [{"type": "text", "text": "thing"}]
    server.script(Answer(200, chunk("stop", content=parts), STREAM))
    assert (await read(backend))[0].text == "thing"


@pytest.mark.parametrize(
    "wire",
    [
        "\ufeff" + chunk(content="thi") + chunk("stop", content="ng"),
        (chunk(content="thi") + chunk("stop", content="ng")).replace("\n\n", "\n"),
        (chunk(content="thi") + chunk("stop", content="ng")).replace("\n", "\r\n"),
        (chunk(content="thi") + chunk("stop", content="ng")).replace("\n", "\r"),
        chunk(content="thi") + chunk(content="ng").replace("\n\n", "\n") + chunk("stop"),
        "data: : working\n\n" + chunk("stop", content="thing"),
        chunk(content="thing") + "data:[DONE]\n\n",
        chunk("", content="thing") + "data: [DONE]\n\n" + chunk(content=" other"),
    ],
)
async def test_no_piece_of_an_odd_stream_is_lost(server, backend, wire):
    server.script(Answer(200, wire, STREAM))
    reply, _ = await read(backend)
    assert (reply.text, reply.finish) == ("thing", "stop")


async def test_the_limit_of_a_stream_is_kept_at_its_end(server, backend):
    server.script(Answer(200, chunk("length", content="thi") + "data: [DONE]\n\n", STREAM))
    assert (await read(backend))[0].finish == "length"


async def test_tool_calls_of_a_stream_are_joined(server, backend):
    pieces = [
        {"index": 0, "id": "c", "function": {"name": "look", "arguments": ""}},
        {"index": 0, "function": {"arguments": '{"a": '}},
        {"index": 0, "function": {"arguments": "1}"}},
    ]
    wire = "".join(chunk(tool_calls=[piece]) for piece in pieces) + chunk("tool_calls")
    server.script(Answer(200, wire, STREAM))
    reply, _ = await read(backend, request=replace(ASKED, tools=(LOOK,)))
    assert [(c.id, c.name, c.arguments) for c in reply.tool_calls] == [("c", "look", '{"a": 1}')]


@pytest.mark.parametrize(
    ("wire", "kind"),
    [
        (chunk(content="thi"), NetworkFailed),
        (chunk(content="thing") + 'data: {"choices": 3}\n\n', NetworkFailed),
        (chunk(content="th") + 'data: {"choices": [{"d\n\n' + chunk("stop"), NetworkFailed),
        (chunk("stop", tool_calls=[3]), NetworkFailed),
        (chunk(content="thi") + 'data: {"error": {"message": "x", "code": 429}}\n\n', RateLimited),
        ("data: [DONE]\n\n", ServerFailed),
    ],
)
async def test_a_stream_without_a_whole_answer_is_a_failed_call(server, backend, wire, kind):
    server.script(Answer(200, wire, STREAM))
    with pytest.raises(kind):
        await read(backend)


async def test_streams_of_the_other_interfaces_are_joined_as_well(server, running):
    role = RoleSettings("target", "m", f"{running.url}/v1")
    part = {"type": "output_text", "text": f"<think>{OTHER}</think>thing"}
    item = {"id": "i", "type": "message", "content": [part]}
    made = response_stream({"status": "completed", "output": [item], "usage": None})
    server.script(Answer(200, made, STREAM))
    async with open_openai_compatible(replace(role, options={"api": "responses"})) as backend:
        assert (await read(backend))[0].text == "thing"

    usage = {"input_tokens": 1, "output_tokens": 2}
    content = [{"type": "text", "text": "thing"}]
    made = message_stream({"content": content, "stop_reason": "end_turn", "usage": usage})
    server.script(Answer(200, made, STREAM))
    async with open_claude_chat(replace(role, api_key=SecretStr("sk-of-claude"))) as backend:
        assert (await read(backend))[0].text == "thing"
    assert [seen["stream"] for seen in server.bodies] == [False, False]


async def test_thoughts_that_the_format_asks_for_stay_unless_they_are_cut(server, backend):
    asked = replace(ASKED, asks_thoughts=True)
    whole = "<think>So.</think><action>look</action>"
    server.script(Answer(200, body(whole)), Answer(200, body("<think>So <action>look</action>")))
    assert (await read(backend, request=asked))[0].text == whole
    cut, _ = await read(backend, request=asked)
    assert (cut.text, cut.finish) == ("", "length")
