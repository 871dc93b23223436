"""Anthropic's interface as pure functions: bodies, refusals, answers."""

import hashlib
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt_cli.backends.chat.anthropic_messages import (
    MessageSampling,
    read_reply,
    read_usage,
    refused_parameter,
    request_body,
)
from skillopt_cli.core.episode import ToolCall
from skillopt_cli.core.errors import RequestRefused, ServerFailed
from skillopt_cli.core.task import ChatRequest, Image, Message, Tool, Usage

PLAIN = MessageSampling("claude", 100)
ASKED = ChatRequest((Message("system", "Be brief."), Message("user", "Hello.")), "rollout")
SCHEMA = {"type": "object", "properties": {}, "title": "Old"}
TOOL = Tool("look", "Look something up.", {"type": "object", "properties": {}})
EVERYTHING = replace(PLAIN, temperature=0.5, effort="low", thinking="enabled")


def body(request=ASKED, sampling=PLAIN, refused=()):
    return request_body(request, sampling, refused)


def text(words):
    return {"type": "text", "text": words}


def turns(*messages):
    return body(replace(ASKED, messages=messages))["messages"]


def test_a_plain_request_holds_only_what_was_set():
    assert body() == {
        "model": "claude",
        "max_tokens": 100,
        "system": "Be brief.",
        "messages": [{"role": "user", "content": [text("Hello.")]}],
        "stream": False,
    }


def test_system_texts_are_joined_and_may_be_absent():
    messages = (Message("system", "One."), Message("user", "Hi."), Message("system", "Two."))
    assert body(replace(ASKED, messages=messages))["system"] == "One.\n\nTwo."
    assert "system" not in body(replace(ASKED, messages=(Message("user", "Hi."),)))


def test_turns_of_one_side_become_one_and_empty_texts_are_left_out():
    assert turns(
        Message("user", "One."),
        Message("user", " \n"),
        Message("assistant", ""),
        Message("user", "Two."),
        Message("assistant", "Three."),
        Message("assistant", "Four."),
    ) == [
        {"role": "user", "content": [text("One."), text("Two.")]},
        {"role": "assistant", "content": [text("Three."), text("Four.")]},
    ]


@given(
    st.lists(
        st.builds(Message, st.sampled_from(["system", "user", "assistant", "tool"]), st.text())
    )
)
def test_the_sides_always_alternate_and_nothing_said_is_lost(messages):
    sent = turns(*messages)
    assert all(a["role"] != b["role"] for a, b in pairwise(sent))
    assert all(turn["content"] for turn in sent)
    said = [block.get("text") for turn in sent for block in turn["content"] if "text" in block]
    assert said == [
        m.content for m in messages if m.role in ("user", "assistant") if m.content.strip()
    ]


def test_pictures_follow_the_text_as_base64_blocks(tmp_path):
    file = tmp_path / "a.png"
    file.write_bytes(b"pixels")
    picture = Image(str(file), "image/png", hashlib.sha256(b"pixels").hexdigest())
    assert turns(Message("user", "What is it?", images=(picture,)))[0]["content"] == [
        text("What is it?"),
        {
            "type": "image",
            "source": {"type": "base64", "media_type": "image/png", "data": "cGl4ZWxz"},
        },
    ]


def test_tool_calls_and_results_are_blocks_of_the_two_sides():
    wishes = (ToolCall("1", "look", '{"word": "zor"}'), ToolCall("2", "look", "half {"))
    assert turns(
        Message("user", "Go."),
        Message("assistant", "I look.", tool_calls=wishes),
        Message("tool", "A mill.", call_id="1"),
        Message("tool", "", call_id="2"),
        Message("user", "And?"),
    )[1:] == [
        {
            "role": "assistant",
            "content": [
                text("I look."),
                {"type": "tool_use", "id": "1", "name": "look", "input": {"word": "zor"}},
                {"type": "tool_use", "id": "2", "name": "look", "input": {"arguments": "half {"}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "1", "content": "A mill."},
                {"type": "tool_result", "tool_use_id": "2"},
                text("And?"),
            ],
        },
    ]


@pytest.mark.parametrize(
    ("choice", "sent"),
    [
        ("auto", {"type": "auto"}),
        ("required", {"type": "any"}),
        ("none", {"type": "none"}),
        ("look", {"type": "tool", "name": "look"}),
    ],
)
def test_the_choice_of_a_tool_has_the_services_words(choice, sent):
    found = body(replace(ASKED, tools=(TOOL,), tool_choice=choice))
    assert found["tools"] == [
        {
            "name": "look",
            "description": "Look something up.",
            "input_schema": {"type": "object", "properties": {}},
        }
    ]
    assert found["tool_choice"] == sent


def test_a_schema_and_an_effort_share_one_parameter():
    found = body(replace(ASKED, schema=SCHEMA, schema_name="ranking"), EVERYTHING)
    assert found["output_config"] == {
        "effort": "low",
        "format": {"type": "json_schema", "schema": {**SCHEMA, "title": "ranking"}},
    }
    assert found["temperature"] == 0.5


@pytest.mark.parametrize(
    ("thinking", "refused", "sent"),
    [
        ("server_default", (), None),
        ("enabled", (), {"type": "adaptive"}),
        ("disabled", (), {"type": "disabled"}),
        ("enabled", ("thinking.adaptive",), {"type": "enabled", "budget_tokens": 4000}),
        ("enabled", ("thinking.adaptive", "thinking"), None),
        ("disabled", ("thinking",), None),
    ],
)
def test_thinking_has_three_states_and_two_ways(thinking, refused, sent):
    sampling = replace(PLAIN, max_tokens=8000, thinking=thinking)
    assert body(sampling=sampling, refused=refused).get("thinking") == sent


def test_thinking_is_not_asked_for_where_a_tool_is_forced():
    forced = replace(ASKED, tools=(TOOL,), tool_choice="required")
    assert "thinking" not in body(forced, EVERYTHING)
    assert "thinking" in body(replace(forced, tool_choice="auto"), EVERYTHING)
    assert body(forced, replace(EVERYTHING, thinking="disabled"))["thinking"]["type"] == "disabled"


REFUSALS = [
    ("`temperature` may only be set to 1 when thinking is enabled.", "temperature"),
    ("temperature: this parameter is deprecated for this model", "temperature"),
    ("adaptive thinking is not supported on this model", "thinking.adaptive"),
    ("thinking: Input tag 'adaptive' does not match any of the expected tags", "thinking.adaptive"),
    ("This model does not support the effort parameter.", "output_config.effort"),
    ("output_config.effort: unexpected value", "output_config.effort"),
    ("output_config.format: Extra inputs are not permitted", "output_config.format"),
    ("This model does not support structured outputs.", "output_config.format"),
    ("output_config: Extra inputs are not permitted", "output_config"),
    ("temperature: range: 0..1", None),
    ("temperature: Input should be less than or equal to 1", None),
    ("`max_tokens` must be greater than `thinking.budget_tokens`", None),
    ("messages: at least one message is required", None),
    ("prompt is too long: 300000 tokens > 200000 maximum", None),
    ("Something about temperature happened", None),
]


@pytest.mark.parametrize(("message", "parameter"), REFUSALS)
def test_a_refusal_names_its_parameter(message, parameter):
    sent = body(replace(ASKED, schema=SCHEMA), EVERYTHING)
    assert refused_parameter(message, sent) == parameter
    assert refused_parameter(message, body()) is None


def test_of_two_ways_to_think_the_second_is_refused_by_its_own_name():
    sent = body(sampling=EVERYTHING, refused=("thinking.adaptive",))
    said = '"thinking.type.enabled" is not supported for this model. Use "output_config.effort"'
    assert refused_parameter(said, sent) == "thinking"


@pytest.mark.parametrize(("message", "parameter"), [case for case in REFUSALS if case[1]])
def test_what_was_refused_is_not_sent_again(message, parameter):
    request = replace(ASKED, schema=SCHEMA)
    before = body(request, EVERYTHING)
    after = body(request, EVERYTHING, {parameter})
    assert after != before
    assert refused_parameter(message, after) != parameter


def answer(*blocks, stop="end_turn", **more):
    return {"type": "message", "content": list(blocks), "stop_reason": stop, **more}


def test_thinking_is_no_part_of_the_text():
    data = answer(
        {"type": "thinking", "thinking": "Hm.", "signature": "s"},
        {"type": "redacted_thinking", "data": "x"},
        text("It is "),
        text("a mill."),
    )
    assert read_reply(data, "here").text == "It is a mill."


@pytest.mark.parametrize(
    ("stop", "finish"),
    [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        (None, "stop"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("tool_use", "tool_calls"),
        ("pause_turn", "pause_turn"),
    ],
)
def test_why_an_answer_ended_has_the_houses_words(stop, finish):
    assert read_reply(answer(text("So"), stop=stop), "here").finish == finish


def test_tool_calls_carry_their_arguments_as_json():
    data = answer({"type": "tool_use", "id": "t1", "name": "look", "input": {"word": "Ä"}})
    reply = read_reply(data | {"stop_reason": "tool_use"}, "here")
    assert reply.tool_calls == (ToolCall("t1", "look", '{"word": "Ä"}'),)
    assert (reply.text, reply.finish) == ("", "tool_calls")


def test_cached_tokens_are_part_of_the_prompts_and_thinking_of_the_completions():
    usage = {
        "input_tokens": 10,
        "cache_read_input_tokens": 200,
        "cache_creation_input_tokens": 30,
        "output_tokens": 50,
        "output_tokens_details": {"thinking_tokens": 40},
    }
    assert read_usage({"usage": usage}) == Usage(1, 240, 50, 200, 40, 30)
    assert read_usage({"usage": {"output_tokens": 5}}) == Usage(1, None, 5)
    assert read_usage({"usage": None}) is None
    assert read_reply(answer(text("a")), "here").usage == Usage(1)


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (answer(), ServerFailed),
        (answer(text("")), ServerFailed),
        (answer({"type": "thinking", "thinking": "Hm."}), ServerFailed),
        ({"content": None}, ServerFailed),
        ({"type": "error", "error": {"message": "no"}}, ServerFailed),
        (answer(text("I"), stop="refusal"), RequestRefused),
    ],
)
def test_an_answer_that_is_none_says_what_it_cost(data, kind):
    with pytest.raises(kind) as caught:
        read_reply({**data, "usage": {"input_tokens": 3, "output_tokens": 4}}, "here")
    assert caught.value.usage == Usage(1, 3, 4)


@pytest.mark.parametrize("data", [None, [], "page", {"usage": 3}])
def test_what_is_no_object_costs_nothing_we_know_of(data):
    with pytest.raises(ServerFailed) as caught:
        read_reply(data, "here")
    assert caught.value.usage is None


def test_an_answer_cut_at_the_limit_is_a_reply_even_when_empty():
    reply = read_reply(answer(stop="max_tokens"), "here")
    assert (reply.text, reply.finish) == ("", "length")
