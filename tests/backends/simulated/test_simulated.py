"""The simulated model: its world, its determinism, its faults."""

import asyncio
import json
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skillopt_cli.backends.chat_agent import ChatAgent
from skillopt_cli.backends.middleware.retrying import Retrying, TimeLimited
from skillopt_cli.backends.simulated import SPEC, Simulated, open_simulated
from skillopt_cli.backends.simulated.settings import SimulatedConfig
from skillopt_cli.backends.simulated.world import (
    FAMILIES,
    HARMFUL,
    USELESS,
    family_of,
    harm,
    needed,
    rule,
)
from skillopt_cli.config.model_section import RetryConfig
from skillopt_cli.core.errors import (
    AuthFailed,
    CallTimedOut,
    RateLimited,
    ServerFailed,
    TransientError,
)
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.core.task import Brief, ChatRequest, Message, Section
from skillopt_cli.ports import RoleSettings
from skillopt_cli.testing import make_items

ITEMS = make_items(120, seed=7)
ALL_RULES = "\n".join(f"- {rule(family)}" for family in range(FAMILIES))


def simulated(**options):
    return Simulated(SimulatedConfig(**options))


async def solve(item, skill, chat=None, answer_format=""):
    sections = (Section("Context", item["context"]), Section("Question", item["question"]))
    brief = Brief(item["id"], "You answer questions.", sections, answer_format)
    attempt = await ChatAgent(chat or simulated()).attempt(brief, SkillDocument(skill), None)
    return attempt.answer


async def accuracy(skill, **options):
    chat = simulated(**options)
    return sum([await solve(i, skill, chat) == i["answers"][0] for i in ITEMS]) / len(ITEMS)


def trajectory(number, item):
    return (
        f"## Trajectory {number}: task `{item['id']}` ({item['kind']})\n"
        f"### Context\n{item['context']}\n### Question\n{item['question']}\n"
        f"### Answer\nThe text says so.\n### Score\nhard 0, soft 0.300\n### Feedback\ntoo long\n"
        f"### Expected\n{item['answers'][0]}"
    )


def analyst(items, skill="(empty)", name="analyst_error", draw=0):
    blocks = [f"## Current skill\n{skill}", *(trajectory(n, i) for n, i in enumerate(items, 1))]
    messages = (Message("system", "You improve a skill."), Message("user", "\n\n".join(blocks)))
    return ChatRequest(messages, "reflect", {"type": "object"}, name, draw)


async def propose(request, **options):
    return json.loads((await simulated(**options).chat(request)).text)


# The world


def test_rules_are_distinct_and_none_holds_another():
    sentences = [*(rule(f) for f in range(FAMILIES)), *HARMFUL, *USELESS]
    assert len(set(sentences)) == len(sentences)
    assert not [(a, b) for a in sentences for b in sentences if a != b and a in b]


def test_families_need_none_one_or_two_rules():
    assert Counter(len(needed(f)) for f in range(FAMILIES)) == {0: 4, 1: 14, 2: 6}


async def test_the_target_learns_from_rules_and_from_nothing_else():
    untaught = await accuracy("Answer the question.")
    assert 0.05 < untaught < 0.3
    assert await accuracy(ALL_RULES) == 1.0
    assert await accuracy("\n".join(USELESS)) == untaught
    assert await accuracy(ALL_RULES.replace("the", "a")) < 1.0


async def test_a_family_is_right_exactly_when_all_its_rules_stand_in_the_skill():
    for item in ITEMS[:40]:
        right = item["answers"][0]
        rules = needed(family_of(item["question"]))
        assert await solve(item, "\n".join(rules)) == right
        for left_out in rules:
            assert await solve(item, "\n".join(r for r in rules if r != left_out)) != right


@pytest.mark.parametrize("sentence", HARMFUL)
async def test_a_harmful_sentence_spoils_its_families_only(sentence):
    for item in ITEMS[:40]:
        spoilt = harm(family_of(item["question"])) == sentence
        solved = await solve(item, f"{ALL_RULES}\n{sentence}") == item["answers"][0]
        assert solved != spoilt


async def test_answers_are_tagged_when_tags_are_asked_for():
    item = ITEMS[0]
    answer = await solve(item, ALL_RULES, answer_format="Write <answer>...</answer>.")
    assert answer == f"<answer>{item['answers'][0]}</answer>"


async def test_the_last_question_counts_and_a_context_is_optional():
    chat = simulated()
    user = "## Question\nWho?\n\n## Context\nnothing here.\n\n## Question\nWho founded Zor Mill?"
    system = Message("system", ALL_RULES)
    reply = await chat.chat(ChatRequest((system, Message("user", user)), "rollout"))
    assert reply.text == "It cannot be told from the text."
    bare = "## Task\nZor Mill was founded by Ann Lee. Who founded Zor Mill?"
    reply = await chat.chat(ChatRequest((system, Message("user", bare)), "rollout"))
    assert "Ann Lee" in reply.text


async def test_noise_is_a_fixed_share_of_questions():
    noisy = await accuracy(ALL_RULES, noise=0.3)
    assert 0.55 < noisy < 0.85
    assert await accuracy(ALL_RULES, noise=0.3) == noisy
    assert await accuracy(ALL_RULES, noise=1.0) == 0.0


async def test_usage_grows_with_the_texts():
    short = await simulated().chat(ChatRequest((Message("user", "hi"),), "preflight"))
    long = await simulated().chat(ChatRequest((Message("user", "hi" * 400),), "preflight"))
    assert short.text == long.text == "ok"
    assert (short.usage.calls, short.usage.prompt_tokens, long.usage.prompt_tokens) == (1, 1, 200)


async def test_any_text_can_be_a_question():
    user = "## Question\nWho wrote \ud83d?"
    reply = await simulated(noise=0.5).chat(ChatRequest((Message("user", user),), "rollout"))
    assert reply.text


# The optimizer


async def test_the_error_analyst_proposes_right_harmful_and_useless_rules():
    kinds = Counter()
    for start in range(0, len(ITEMS), 4):
        answer = await propose(analyst(ITEMS[start : start + 4]))
        for edit in answer["edits"]:
            assert edit["op"] == "append"
            assert 1 <= edit["support"] <= 4
            sentence = edit["content"].removeprefix("- ").removesuffix("\n")
            kinds[
                "harm" if sentence in HARMFUL else "none" if sentence in USELESS else "right"
            ] += 1
    total = kinds.total()
    assert total > 60
    assert 0.45 < kinds["right"] / total < 0.75
    assert kinds["harm"] / total > 0.08
    assert kinds["none"] / total > 0.08


async def test_a_right_rule_is_one_that_a_failing_family_lacks():
    taught = needed(family_of(ITEMS[0]["question"]))
    request = analyst(ITEMS[:8], skill="\n".join(taught))
    lacking = {s for i in ITEMS[:8] for s in needed(family_of(i["question"]))} - set(taught)
    for edit in (await propose(request))["edits"]:
        sentence = edit["content"].removeprefix("- ").removesuffix("\n")
        assert sentence in lacking | set(HARMFUL) | set(USELESS)


async def test_a_harmful_sentence_in_the_skill_is_struck_where_no_rule_is_missing():
    item = ITEMS[0]
    bad = harm(family_of(item["question"]))
    skill = f"{ALL_RULES}\n- {bad}\n- One more.\n"
    [edit] = (await propose(analyst([item], skill)))["edits"]
    assert (edit["op"], edit["target"]) == ("delete", f"- {bad}\n")
    assert (await propose(analyst([item], ALL_RULES)))["edits"] == []


async def test_failures_are_summed_up_by_family():
    answer = await propose(analyst(ITEMS[:8]))
    assert sum(p["count"] for p in answer["failure_summary"]) == 8
    assert all(
        {"failure_type", "count", "description"} <= p.keys() for p in answer["failure_summary"]
    )


async def test_the_success_analyst_names_patterns():
    answer = await propose(analyst(ITEMS[:8], name="analyst_success"))
    assert answer["success_patterns"]
    assert all(edit["content"][2:-1] in USELESS for edit in answer["edits"])


@pytest.mark.parametrize("name", ["merge_failure", "merge_success", "merge_final"])
async def test_merging_sums_up_equal_edits_and_keeps_the_others(name):
    def patch(*edits):
        return f"```json\n{json.dumps({'edits': edits}, indent=1)}\n```"

    a = {"op": "append", "target": "", "content": "- A\n", "support": 2}
    b = {"op": "delete", "target": "x", "content": "", "support": 1}
    second = patch({**a, "support": 3})
    user = f"## Current skill\n```json\nnot an edit\n```\n\n{patch(a, b)}\n\n{second}"
    request = ChatRequest((Message("user", user),), "aggregate", {}, name)
    assert (await propose(request))["edits"] == [{**a, "support": 5}, b]


@pytest.mark.parametrize(("budget", "expected"), [(1, [2]), (2, [2, 0]), (9, [2, 0, 1])])
async def test_ranking_keeps_the_best_supported_within_the_budget(budget, expected):
    user = (
        f"## Current skill\nx\n\nKeep at most {budget} edits.\n\n[0] append (support 2)\n"
        "    content: 'a [7] b'\n[1] append (support 1)\n[2] delete (support 5)\n    target: 'x'"
    )
    request = ChatRequest((Message("user", user),), "select", {}, "ranking")
    assert (await propose(request))["selected_indices"] == expected


async def test_an_unknown_contract_gets_a_short_word():
    request = ChatRequest((Message("user", "Say ok."),), "preflight", {}, "something")
    assert (await simulated().chat(request)).text == "ok"


# Determinism and faults


def requests():
    system = Message("system", ALL_RULES)
    tasks = [
        ChatRequest(
            (
                system,
                Message("user", f"## Context\n{i['context']}\n\n## Question\n{i['question']}"),
            ),
            "rollout",
        )
        for i in ITEMS[:20]
    ]
    return [*tasks, *(analyst(ITEMS[n : n + 6], draw=n) for n in range(0, 60, 6))]


async def replies(chat, asked):
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(chat.chat(request)) for request in asked]
    return [task.result() for task in tasks]


@settings(max_examples=15)
@given(
    seed=st.integers(0, 1000),
    rate_limits=st.floats(0, 0.3),
    server_errors=st.floats(0, 0.3),
    order=st.randoms(use_true_random=False),
)
def test_retried_faults_never_change_a_reply(seed, rate_limits, server_errors, order):
    asked = requests()
    shuffled = list(range(len(asked)))
    order.shuffle(shuffled)
    faulty = simulated(seed=seed, rate_limit_rate=rate_limits, server_error_rate=server_errors)
    patient = Retrying(faulty, RetryConfig(max_attempts=60, base_seconds=0.0))

    async def both():
        plain = await replies(simulated(seed=seed), asked)
        mixed = await replies(patient, [asked[n] for n in shuffled])
        return plain, [mixed[shuffled.index(n)] for n in range(len(asked))]

    plain, recovered = asyncio.run(both())
    assert recovered == plain


async def outcome(chat, request):
    try:
        return (await chat.chat(request)).text
    except TransientError as error:
        return type(error).__name__


async def test_faults_depend_on_request_and_try_only():
    options = {"rate_limit_rate": 0.3, "server_error_rate": 0.2, "seed": 5}
    first, second = simulated(**options), simulated(**options)
    asked = requests()
    forward = {r.identity: [await outcome(first, r) for _ in range(3)] for r in asked}
    backward = {r.identity: [await outcome(second, r) for _ in range(3)] for r in asked[::-1]}
    assert forward == backward
    seen = Counter(o for tries in forward.values() for o in tries)
    assert seen["RateLimited"] > 5
    assert seen["ServerFailed"] > 3


async def test_another_seed_is_another_world_of_choices_but_the_same_target():
    asked = requests()
    one = [reply.text for reply in await replies(simulated(seed=1), asked)]
    two = [reply.text for reply in await replies(simulated(seed=2), asked)]
    assert one[:20] == two[:20]
    assert one[20:] != two[20:]


async def test_permanent_failures_hit_the_same_tasks_at_every_try():
    chat = simulated(permanent_failure_rate=0.3)
    asked = requests()[:20]
    first = [await outcome(chat, r) for r in asked]
    assert first == [await outcome(chat, r) for r in asked]
    assert 1 <= first.count("ServerFailed") <= 14
    assert await outcome(chat, requests()[-1]) != "ServerFailed"


async def test_a_malformed_answer_is_cut_once_and_right_when_asked_again():
    chat, request = simulated(malformed_rate=1.0), analyst(ITEMS[:4])
    bad = (await chat.chat(request)).text
    with pytest.raises(json.JSONDecodeError):
        json.loads(bad)
    whole = (await simulated().chat(request)).text
    assert whole.startswith(bad)
    complaint = (Message("assistant", bad), Message("user", "That cannot be used."))
    again = replace(request, messages=request.messages + complaint, turn=1)
    assert (await chat.chat(again)).text == whole
    assert (await chat.chat(request)).text == whole


async def test_targets_are_never_malformed():
    chat = simulated(malformed_rate=1.0)
    assert await solve(ITEMS[0], ALL_RULES, chat) == ITEMS[0]["answers"][0]


async def test_a_refused_key_refuses_everything():
    chat = simulated(auth_failure=True)
    for request in (requests()[0], requests()[-1]):
        with pytest.raises(AuthFailed):
            await chat.chat(request)


@pytest.mark.parametrize(
    ("options", "kind"),
    [({"rate_limit_rate": 1}, RateLimited), ({"server_error_rate": 1}, ServerFailed)],
)
async def test_a_rate_of_one_always_fails(options, kind):
    with pytest.raises(kind):
        await simulated(**options).chat(requests()[0])


async def test_the_first_calls_hang_until_they_are_cut():
    chat = TimeLimited(simulated(hangs=2), 0.02)
    for _ in range(2):
        with pytest.raises(CallTimedOut):
            await chat.chat(requests()[0])
    assert (await chat.chat(requests()[0])).text


async def test_latency_takes_time():
    loop = asyncio.get_running_loop()
    start = loop.time()
    await replies(simulated(latency_ms=30), requests())
    assert loop.time() - start >= 0.03


# Opening


def test_the_spec_opens_both_roles_with_their_options():
    role = RoleSettings("optimizer", "", options=SimulatedConfig(noise=0.5).model_dump())
    opened = open_simulated(role)
    assert opened.name == "simulated"
    assert open_simulated(replace(role, model="big")).name == "big"
    assert SPEC.roles == {"optimizer", "target"}
    assert SPEC.missing({}) == ""


def test_the_fingerprint_changes_with_what_can_change_a_reply_only():
    base = simulated().fingerprint
    for change in ({"seed": 1}, {"noise": 0.1}, {"malformed_rate": 0.1}):
        assert simulated(**change).fingerprint != base
    for change in ({"latency_ms": 1}, {"rate_limit_rate": 0.1}, {"hangs": 1}):
        assert simulated(**change).fingerprint == base
