"""The simulated model's lapses: rules it has but heeds only when the appendix re-states them."""

import json

from skillopt_cli.backends.chat_agent import ChatAgent
from skillopt_cli.backends.simulated import Simulated
from skillopt_cli.backends.simulated.settings import SimulatedConfig
from skillopt_cli.backends.simulated.world import FAMILIES, family_of, harm, needed, rule
from skillopt_cli.core.appendix import with_notes
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.core.task import Brief, ChatRequest, Message, Section
from skillopt_cli.testing import make_items

ITEMS = make_items(80, seed=7)
RULES = [rule(family) for family in range(FAMILIES)]
TAUGHT = SkillDocument("# Skill\n\n" + "".join(f"- {sentence}\n" for sentence in RULES))


async def right(skill, **options):
    """The questions that come right under a skill."""
    agent = ChatAgent(Simulated(SimulatedConfig(**options)))
    found = set()
    for item in ITEMS:
        sections = (Section("Context", item["context"]), Section("Question", item["question"]))
        attempt = await agent.attempt(Brief(item["id"], "Answer.", sections), skill, None)
        if attempt.answer == item["answers"][0]:
            found.add(item["question"])
    return found


async def test_a_share_of_the_tasks_ignores_the_body():
    every = await right(TAUGHT)
    some = await right(TAUGHT, lapse_rate=0.5)
    assert len(every) == len(ITEMS)
    assert 0.3 < len(some) / len(every) < 0.8
    assert await right(TAUGHT, lapse_rate=0.5) == some
    assert await right(TAUGHT, lapse_rate=0.5, seed=1) != some
    untaught = {item["question"] for item in ITEMS if not needed(family_of(item["question"]))}
    assert await right(TAUGHT, lapse_rate=1.0) == untaught


async def test_the_appendix_is_heeded():
    assert await right(with_notes(TAUGHT, RULES), lapse_rate=1.0) == await right(TAUGHT)


def test_the_fingerprint_of_a_target_without_lapses_is_what_it_was():
    plain, lapsing = Simulated(SimulatedConfig()), Simulated(SimulatedConfig(lapse_rate=0.5))
    assert "lapse" not in plain.fingerprint
    assert plain.fingerprint != lapsing.fingerprint


async def analysis(skill, item, *, noting=True):
    """What the analyst says of one failure."""
    system = 'Analyse.\n"appendix_notes": ["..."]' if noting else "Analyse."
    user = (
        f"## Current skill\n{skill.text}\n\n## Trajectory 1: task `t` (x)\n"
        f"### Question\n{item['question']}\n### Answer\nwrong"
    )
    messages = (Message("system", system), Message("user", user))
    request = ChatRequest(messages, "reflect", {}, "analyst_error")
    return json.loads((await Simulated(SimulatedConfig()).chat(request)).text)


async def test_the_analyst_tells_lapses_from_defects():
    item = next(i for i in ITEMS if len(needed(family_of(i["question"]))) == 2)
    one, two = needed(family_of(item["question"]))
    answer = await analysis(TAUGHT, item)
    assert (answer["edits"], answer["appendix_notes"]) == ([], [one, two])
    assert answer["failure_summary"][0]["description"].startswith("EXECUTION_LAPSE")
    half = await analysis(with_notes(TAUGHT, [one]), item)
    assert half["appendix_notes"] == [two]
    lacking = SkillDocument(TAUGHT.text.replace(f"- {two}\n", ""))
    defect = await analysis(lacking, item)
    assert (len(defect["edits"]), defect["appendix_notes"]) == (1, [])
    noted = await analysis(with_notes(lacking, [two]), item)
    assert noted["appendix_notes"] == []


async def test_harm_is_a_defect_whatever_the_rules():
    item = next(i for i in ITEMS if needed(family_of(i["question"])))
    bad = SkillDocument(f"{TAUGHT.text}- {harm(family_of(item['question']))}\n")
    answer = await analysis(bad, item)
    assert ([e["op"] for e in answer["edits"]], answer["appendix_notes"]) == (["delete"], [])


async def test_it_gives_no_notes_unasked():
    answer = await analysis(TAUGHT, ITEMS[0], noting=False)
    assert set(answer) == {"reasoning", "failure_summary", "edits"}
