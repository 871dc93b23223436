"""Bodies that real servers and routers send beside what their manuals say."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from odd_shapes import INTERFACES, completion, item, told
from pydantic import SecretStr

from skillopt_cli.backends.chat import anthropic_messages, chat_completions, responses
from skillopt_cli.backends.chat.claude_chat import open_claude_chat
from skillopt_cli.backends.chat.http_errors import HttpFailure
from skillopt_cli.backends.chat.openai_chat import open_openai_chat
from skillopt_cli.backends.chat.openai_compatible import open_openai_compatible
from skillopt_cli.backends.chat.qwen_chat import open_qwen_chat
from skillopt_cli.backends.chat.reply import arguments_text, count, usage_in
from skillopt_cli.core.errors import (
    BackendError,
    ConfigError,
    ServerFailed,
)
from skillopt_cli.core.task import Usage
from skillopt_cli.ports import RoleSettings

KEY = "sk-canary-51c4b2"


@pytest.mark.parametrize(
    ("body", "text", "codes"),
    [
        ([told("in a list", status="INVALID_ARGUMENT", code=400)], "in a list", {"400"}),
        (told("within", type="a", code="b"), "within", {"a", "b"}),
        (told("deeper", details={"error_code": "c"}), "deeper", {"c"}),
        ({"message": "around", "type": "a", "code": None}, "around", {"a"}),
        ({"error": "a word"}, "a word", set()),
        ({"detail": "of a framework"}, "of a framework", set()),
        ({"detail": [{"loc": ["body", "x"]}]}, '{"detail": [{"loc": ["body", "x"]}]}', set()),
        ("plain words", "plain words", set()),
        ("", "", set()),
        (None, "", set()),
        ([], "", set()),
    ],
)
def test_what_an_error_says_is_found_in_every_form_of_its_body(body, text, codes):
    failure = HttpFailure.of(400, body, {}, "chat completions")
    assert (failure.text, failure.codes) == (text, codes)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from([
                "error",
                "message",
                "code",
                "type",
                "usage",
                "details",
                "param",
                "id",
            ]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=9,
)


@settings(max_examples=60)
@given(JSON)
def test_no_body_breaks_the_reading_of_errors_and_of_costs(body):
    assert isinstance(HttpFailure.of(500, body, {}, "chat completions").text, str)
    for form in (chat_completions, responses, anthropic_messages):
        form.read_usage(body)
        with pytest.raises(BackendError):
            form.read_reply(body, "somewhere")


@pytest.mark.parametrize("more", [{}, {"usage": {"prompt_tokens": 7, "completion_tokens": 3}}])
@pytest.mark.parametrize(
    "body",
    [
        completion({"content": "half an ans"}, "error", error={"code": 502, "message": "died"}),
        completion({"content": "half an ans"}, "error"),
        completion({"content": "half an ans"}, "abort"),
        completion({"content": ""}, None, error={"code": 502, "message": "died"}),
    ],
)
def test_an_answer_that_was_broken_off_is_none_and_costs_what_it_cost(body, more):
    with pytest.raises(ServerFailed, match="broke off") as caught:
        chat_completions.read_reply(body | more, "somewhere")
    assert caught.value.usage == (Usage(1, 7, 3) if more else None)


OPENAI = {
    chat_completions: ("prompt_tokens", "completion_tokens"),
    responses: ("input_tokens", "output_tokens"),
}


@pytest.mark.parametrize("form", OPENAI, ids=["chat_completions", "responses"])
@pytest.mark.parametrize(
    ("read", "written", "more", "expected"),
    [
        (7, 3, {}, Usage(1, 7, 3)),
        (7, 3, {"total_tokens": 10}, Usage(1, 7, 3)),
        (7, 3, {"total_tokens": 110}, Usage(1, 7, 103)),
        (7, None, {"total_tokens": 10}, Usage(1, 7, 3)),
        (7, 3, {"total_tokens": 0}, Usage(1, 7, 3)),
        ("7", 3.0, {"total_tokens": None}, Usage(1, 7, 3)),
        (7, 3.5, {}, Usage(1, 7)),
        (-7, 3, {}, Usage(1, None, 3)),
        (True, 3, {}, Usage(1, None, 3)),
        (7, [3], {"total_tokens": {}}, Usage(1, 7)),
        (None, None, {}, Usage(1)),
    ],
)
def test_odd_counts_are_read_as_far_as_they_are_counts(form, read, written, more, expected):
    names = OPENAI[form]
    counted = dict(zip(names, (read, written), strict=True)) | more
    assert form.read_usage({"usage": counted}) == expected
    for details in (None, [], "none", {"cached_tokens": "many", "reasoning_tokens": -1}):
        odd = {f"{name}_details": details for name in names}
        assert form.read_usage({"usage": counted | odd}) == expected


def test_thoughts_that_stand_in_the_total_alone_are_paid_for():
    counted = {
        "prompt_tokens": 30,
        "completion_tokens": 9,
        "total_tokens": 139,
        "completion_tokens_details": {"reasoning_tokens": 100},
    }
    assert chat_completions.read_usage({"usage": counted}) == Usage(1, 30, 109, None, 100)


@pytest.mark.parametrize("usage", [None, [], "none", 3])
def test_a_usage_that_is_none_says_nothing(usage):
    for form in (*OPENAI, anthropic_messages):
        assert form.read_usage({"usage": usage}) is None


@given(st.integers(0, 10**6), st.integers(0, 10**6), st.integers(0, 10**6))
def test_nothing_that_was_paid_for_gets_lost(read, written, thoughts):
    total = read + written + thoughts
    usage = usage_in(
        {"usage": {"r": read, "w": written, "total_tokens": total}}, read="r", written="w"
    )
    assert (usage.prompt_tokens, usage.completion_tokens) == (read, written + thoughts)


def test_a_count_is_a_whole_number_that_can_be_one():
    assert count({"a": {"b": 3}}, "a", "b") == 3
    assert count({"a": [3]}, "a", "b") is None
    for odd in (float("nan"), float("inf"), "x", "", 10**400, {}):
        assert count({"a": odd}, "a") is None


CALLS = {
    "chat_completions": lambda **more: completion({"tool_calls": [{"function": more}]}),
    "responses": lambda arguments=None, **more: {
        "output": [item("function_call", arguments=arguments, call_id=None, **more)]
    },
    "messages": lambda arguments=None, **more: {
        "content": [item("tool_use", input=arguments, id=None, **more)]
    },
}
READERS = dict(zip(INTERFACES, (chat_completions, responses, anthropic_messages), strict=True))


@pytest.mark.parametrize("interface", INTERFACES)
@pytest.mark.parametrize(
    ("arguments", "text"),
    [(None, ""), ("", ""), ("{}", "{}"), ({"a": "é"}, '{"a": "é"}'), ([1], "[1]")],
)
def test_a_wish_is_read_however_its_arguments_came_and_has_an_id(interface, arguments, text):
    body = CALLS[interface](name="look", arguments=arguments)
    (call,) = READERS[interface].read_reply(body, "somewhere").tool_calls
    assert (call.name, call.arguments) == ("look", text)
    assert call.id
    assert arguments_text(arguments) == text


@pytest.mark.parametrize("name", [None, ""])
def test_a_tool_call_may_have_no_name(name):
    body = CALLS["chat_completions"](name=name, arguments="{}")
    (call,) = chat_completions.read_reply(body, "somewhere").tool_calls
    assert call.name == ""


def test_numbers_may_be_ids_and_texts_may_be_parts():
    wish = {"id": 5, "function": {"name": "look", "arguments": "{}"}}
    reply = chat_completions.read_reply(
        completion({
            "content": ["Let me ", {"type": "text", "text": "look."}],
            "tool_calls": [wish],
        })
        | {"id": 17},
        "somewhere",
    )
    assert (reply.text, reply.tool_calls[0].id) == ("Let me look.", "5")
    plain = {"output": [item("reasoning", name=None), item("message", content="fine")]}
    assert responses.read_reply(plain, "somewhere").text == "fine"


@pytest.mark.parametrize("query", ["?api-version=1", "#top"])
@pytest.mark.parametrize(
    "opener", [open_openai_compatible, open_claude_chat, open_qwen_chat, open_openai_chat]
)
def test_an_address_with_a_query_is_refused_since_no_call_would_send_it(opener, query):
    role = RoleSettings("target", "m", f"http://h/v1{query}", SecretStr(KEY))
    with pytest.raises(ConfigError, match="must end before"):
        opener(
            replace(role, options={"auth_mode": "api_key"} if opener is open_openai_chat else {})
        )
