"""The real local model: that it answers, and that nothing but the request decides what."""

from __future__ import annotations

import asyncio
import random

import pytest

from skillopt_cli.backends.chat.local import SPEC, open_local
from skillopt_cli.benchmarks.searchqa import SPEC as SEARCHQA
from skillopt_cli.core.errors import RequestRefused
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.core.task import ChatRequest, Message
from skillopt_cli.ports import BenchmarkRequest, RoleSettings

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(SPEC.missing({})), reason="needs the extra `local`"),
]

SKILL = SkillDocument(
    "# Question answering\n\nAnswer the question using the context.\n\n"
    "Context: The bridge was opened in 1932 by the king. It is 300 metres long.\n"
    "Question: In which year was the bridge opened?\nAnswer: 1932\n"
)


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return {"XDG_CACHE_HOME": str(tmp_path_factory.mktemp("cache"))}


async def answers(cache, skills, order, **options):
    """The answers to five train tasks per skill, asked in the order of a shuffle."""
    benchmark = SEARCHQA.open(BenchmarkRequest())
    tasks = [(skill, task) for skill in skills for task in benchmark.tasks("train")[:5]]
    random.Random(order).shuffle(tasks)
    found: dict[tuple[str, str], str] = {}
    role = RoleSettings("target", "", options=options, environment=cache)
    async with open_local(role) as chat:
        agent = SPEC.agent(chat, role)

        async def one(skill, task):
            attempt = await agent.attempt(benchmark.brief(task), skill, None)
            assert attempt.ending != "broken", attempt.error
            found[skill.text, task.id] = attempt.messages[-1].content

        async with asyncio.TaskGroup() as group:
            for skill, task in tasks:
                group.create_task(one(skill, task))
    return found


async def test_answers_do_not_depend_on_order_neighbours_or_threads(cache):
    skills = (SKILL, SkillDocument(""), SkillDocument(SKILL.text + "\nBe brief.\n"))
    first = await answers(cache, skills, order=1, parallel=2, threads=2)
    second = await answers(cache, skills, order=2, parallel=1, threads=2)
    assert first == second
    taught = [first[SKILL.text, key[1]] for key in first if key[0] == SKILL.text]
    assert any("1989" in answer for answer in taught)
    assert all("\n" not in answer for answer in taught)


async def test_the_real_engine_refuses_too_much_text(cache):
    options = {"context": 256, "parallel": 1}
    async with open_local(RoleSettings("target", "", options=options, environment=cache)) as chat:
        for messages in (
            (Message("user", "word " * 400),),
            (Message("system", "word " * 400), Message("user", "x")),
        ):
            with pytest.raises(RequestRefused, match="the window 256"):
                await chat.chat(ChatRequest(messages, "rollout"))
        reply = await chat.chat(ChatRequest((Message("user", "Paris is in"),), "rollout"))
    assert reply.text
