"""Cache marks: where they are, when there are none, and which of several calls has them."""

import copy
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt_cli.backends.chat.anthropic_messages import (
    MessageSampling,
    refused_parameter,
    request_body,
)
from skillopt_cli.backends.chat.cache_marks import (
    LIFETIME,
    StoredPrefixes,
    has_marks,
    shared_prefix,
    smallest_prefix,
    unmarked,
)
from skillopt_cli.core.task import ChatRequest, Message, Tool

MARK = {"type": "ephemeral"}
LONG = "A rule of the skill. " * 400
SKILL = f"## Current skill\n{LONG}"
TOOL = Tool("look", "Look something up.", {"type": "object", "properties": {}})
TASK = ChatRequest((Message("system", LONG), Message("user", "Which?")), "rollout", shared=0)
ANALYST = ChatRequest(
    (Message("system", "Improve it."), Message("user", f"{SKILL}\n\n## Trajectory")),
    "reflect",
    shared=len(SKILL),
)


def body(request, model="claude-sonnet-4-5", refused=()):
    return request_body(request, MessageSampling(model, 100), refused)


def marks(sent):
    """The texts that end at a mark, in order."""
    blocks = [*(sent["system"] if isinstance(sent.get("system"), list) else ())]
    blocks += [block for turn in sent["messages"] for block in turn["content"]]
    return [b.get("text", b.get("content")) for b in blocks if b.get("cache_control") == MARK]


def texts(sent):
    system = sent.get("system", "")
    if not isinstance(system, str):
        system = "".join(block["text"] for block in system)
    return system, ["".join(b["text"] for b in turn["content"]) for turn in sent["messages"]]


def test_a_long_system_text_is_marked_and_stays_the_same_text():
    sent = body(TASK)
    assert marks(sent) == [LONG]
    assert texts(sent) == texts(body(replace(TASK, shared=None)))


def test_nothing_is_marked_where_no_further_request_is_expected():
    for request in (TASK, ANALYST):
        assert not has_marks(body(replace(request, shared=None)))
        assert isinstance(body(replace(request, shared=None))["system"], str)


@pytest.mark.parametrize(
    ("model", "smallest"),
    [
        ("claude-opus-4-5-20251101", 4096),
        ("anthropic/claude-opus-4-6", 4096),
        ("claude-haiku-4-5", 4096),
        ("claude-opus-4-7", 2048),
        ("claude-3-5-haiku-latest", 2048),
        ("claude-sonnet-4-5", 1024),
        ("claude-sonnet-4-20250514", 1024),
        ("claude-opus-4-1", 1024),
        ("claude-3-7-sonnet-latest", 1024),
        ("my-deployment", 512),
    ],
)
def test_a_text_the_model_would_not_store_is_not_marked(model, smallest):
    assert smallest_prefix(model) == smallest
    few, many = (
        replace(TASK, messages=(Message("system", "x" * n), Message("user", "Which?")))
        for n in (int(smallest * 3.4), int(smallest * 3.6))
    )
    assert not has_marks(body(few, model))
    assert has_marks(body(many, model))


def test_tools_count_since_they_are_read_before_the_system_text():
    short = (Message("system", "Be brief."), Message("user", "Which?"))
    tool = replace(TOOL, description=LONG)
    assert not has_marks(body(replace(TASK, messages=short)))
    assert marks(body(replace(TASK, messages=short, tools=(tool,)))) == ["Be brief."]


def test_the_shared_part_of_a_turn_is_a_block_of_its_own():
    sent = body(ANALYST)
    assert marks(sent) == [SKILL]
    assert [block["text"] for block in sent["messages"][0]["content"]] == [
        SKILL,
        "\n\n## Trajectory",
    ]
    assert texts(sent) == texts(body(replace(ANALYST, shared=None)))


def test_a_conversation_that_continues_is_marked_at_its_end():
    grown = (
        *TASK.messages,
        Message("assistant", "I look."),
        Message("tool", "A mill.", call_id="1"),
    )
    request = replace(TASK, messages=grown, tools=(TOOL,), turn=1)
    assert marks(body(request)) == [LONG]
    assert marks(body(replace(request, continues=True))) == [LONG, "A mill."]


@given(
    st.lists(st.sampled_from([Message("user", "u"), Message("assistant", "a")]), min_size=1),
    st.integers(0, 9000),
    st.booleans(),
)
def test_there_are_at_most_three_marks_and_the_text_never_changes(turns, shared, continues):
    messages = (Message("system", LONG), Message("user", f"{SKILL} end"), *turns)
    request = replace(TASK, messages=messages, shared=shared, continues=continues)
    sent = body(request)
    assert len(marks(sent)) <= 3
    assert texts(sent) == texts(body(replace(request, shared=None)))
    assert all(block["text"].strip() for turn in sent["messages"] for block in turn["content"])


@pytest.mark.parametrize("request_", [TASK, ANALYST, replace(TASK, continues=True)])
def test_marks_are_removed_without_a_trace(request_):
    sent = body(request_)
    before = copy.deepcopy(sent)
    bare = unmarked(sent)
    assert has_marks(sent)
    assert not has_marks(bare)
    assert texts(bare) == texts(sent)
    assert sent == before


def test_a_server_that_refuses_marks_gets_none():
    refusal = "system.0.cache_control: Extra inputs are not permitted"
    assert refused_parameter(refusal, body(TASK)) == "cache_control"
    assert refused_parameter(refusal, unmarked(body(TASK))) is None
    assert not has_marks(body(TASK, refused={"cache_control"}))


def test_calls_share_a_prefix_by_what_is_before_the_last_mark():
    def prefix(request):
        return shared_prefix(body(request))

    other = replace(TASK, messages=(TASK.messages[0], Message("user", "What?")))
    assert prefix(TASK) == prefix(other) is not None
    assert prefix(TASK) != prefix(replace(TASK, tools=(TOOL,)))
    assert prefix(ANALYST) not in (None, prefix(TASK))
    grown = replace(ANALYST, messages=(ANALYST.messages[0], Message("user", f"{SKILL}\n\nB")))
    assert prefix(ANALYST) == prefix(grown)
    assert prefix(replace(TASK, continues=True)) is None
    assert prefix(replace(TASK, shared=None)) is None


def test_only_one_of_several_calls_has_a_prefix_stored_and_later_ones_read_it():
    now = [0.0]
    stored = StoredPrefixes(lambda: now[0])
    with stored.use(b"a") as first, stored.use(b"a") as second, stored.use(b"b") as other:
        assert (first, second, other) == (True, False, True)
    stored.answered(b"a")
    with stored.use(b"a") as third, stored.use(b"a") as fourth:
        assert (third, fourth) == (True, True)
    now[0] = LIFETIME
    with stored.use(b"a") as late, stored.use(b"a") as later:
        assert (late, later) == (True, False)


def test_after_a_failed_call_the_next_one_has_the_prefix_stored():
    stored = StoredPrefixes(lambda: 0.0)
    with pytest.raises(ValueError, match="down"), stored.use(b"a"):
        raise ValueError("down")
    with stored.use(b"a") as next_one, stored.use(b"a") as another:
        assert (next_one, another) == (True, False)
