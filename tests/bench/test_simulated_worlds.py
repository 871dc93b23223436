"""The worlds of the learner's bench: what solves a task, and what the optimizer answers."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from skillopt_cli.backends.chat_agent import render
from skillopt_cli.benchmarks.folder import open_folder
from skillopt_cli.core.edits import Edit, Patch
from skillopt_cli.core.score import Score, Trajectory
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.core.state import Lesson
from skillopt_cli.core.task import Attempt, ChatRequest, Message
from skillopt_cli.ports import BenchmarkRequest
from skillopt_cli.stages import answer_schemas
from skillopt_cli.stages.prompt_text import (
    lessons_text,
    listed,
    patches_text,
    skill_text,
    trajectory_text,
)

BENCH = Path(__file__).parents[2] / "bench"
SEED = 7


@pytest.fixture(scope="module")
def bench() -> Iterator[SimpleNamespace]:
    """The bench's modules."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(BENCH))
        from simulation import optimizer, requests, server, systems, world

        yield SimpleNamespace(
            optimizer=optimizer, requests=requests, server=server, systems=systems, world=world
        )
    for name in [name for name in sys.modules if name.partition(".")[0] in ("simulation", "wall")]:
        del sys.modules[name]


@pytest.fixture
def world(bench: SimpleNamespace):
    return bench.world.World(bench.world.WORLDS["base"], SEED)


def rules(world) -> str:
    """A skill with every rule."""
    return "\n".join(rule for needed in world.needed.values() for rule in needed)


def taught(world) -> list[str]:
    return [kind for kind, needed in world.needed.items() if needed]


def test_every_rule_solves_everything_and_none_only_what_needs_none(world) -> None:
    untaught = [item for item in world.items["test"] if not world.needed[item.kind]]
    assert world.accuracy(rules(world)) == world.ceiling == 1
    assert world.accuracy("") == len(untaught) / 60 < 0.4
    assert len(taught(world)) == 20
    assert sum(len(needed) == 2 for needed in world.needed.values()) == 6


def test_each_kind_is_in_every_split(world) -> None:
    for split, most in (("train", 4), ("selection", 2), ("test", 3)):
        counts = Counter(item.kind for item in world.items[split])
        assert len(counts) == 24
        assert set(counts.values()) == {most - 1, most}


def test_a_harmful_line_breaks_its_kind_and_no_other(world) -> None:
    text = f"{rules(world)}\n{world.harmful('amber')[1]}"
    for item in world.items["train"]:
        assert world.solves(text, item) == (item.kind != "amber")


def test_noise_flips_one_answer_in_twenty_and_the_same_ones_for_a_text(world) -> None:
    texts = [f"{rules(world)}\n{n}" for n in range(20)]
    wrong = [not world.answers(text, item) for text in texts for item in world.items["train"]]
    assert wrong == [not world.answers(t, item) for t in texts for item in world.items["train"]]
    assert 0.03 < sum(wrong) / len(wrong) < 0.07
    assert wrong[:80] != wrong[80:160]


def test_worlds_of_two_seeds_differ(bench: SimpleNamespace, world) -> None:
    other = bench.world.World(world.settings, SEED + 1)
    assert other.items != world.items
    assert other.untaught != world.untaught


def test_a_memorised_answer_solves_one_task(world) -> None:
    items = [item for item in world.items["train"] if world.needed[item.kind]]
    assert [item for item in items if world.solves(world.memory(items[3]), item)] == [items[3]]


def test_altered_worlds_are_harder(bench: SimpleNamespace) -> None:
    def ceiling(name: str) -> float:
        return bench.world.World(bench.world.WORLDS[name], SEED).ceiling

    assert 0.5 < ceiling("partly_effective") < 0.8
    assert 0.6 < ceiling("side_effects") < 1


class Asking:
    """Requests of the stages about the failing tasks of a world, as the program words them."""

    def __init__(self, bench: SimpleNamespace, world, folder: Path) -> None:
        self.bench, self.world = bench, world
        bench.systems.write_tasks(folder, world)
        self.benchmark = open_folder(BenchmarkRequest(split_dir=folder))
        self.tasks = self.benchmark.tasks("train")

    def analysis(self, skill: str = "", tasks=None, lessons=(), system: str = "", schema=None):
        shown = [
            trajectory_text(
                self.benchmark,
                Trajectory(task, Attempt("wrong"), Score(0.0, 0.0, "wrong", ("right",))),
                number,
            )
            for number, task in enumerate(self.tasks[:8] if tasks is None else tasks, 1)
        ]
        parts = (skill_text(SkillDocument(skill)), lessons_text(lessons), *shown)
        user = "\n\n".join(filter(None, parts))
        schema = schema or answer_schemas.FailureAnalysis.model_json_schema()
        return self.answer("analyst_error", user, system or "Give any number of edits", schema)

    def answer(self, stage: str, user: str, system: str = "", schema=None) -> dict:
        messages = (Message("system", system), Message("user", user))
        request = ChatRequest(messages, "", schema or {"type": "object"}, stage)
        kind, text = self.bench.server.reply_to(self.world, "optimizer", request)
        assert kind == f"optimizer {stage}"
        return json.loads(text)

    def item(self, task):
        return self.world.read(self.benchmark.brief(task).prompt)


@pytest.fixture
def asking(bench: SimpleNamespace, world, tmp_path: Path) -> Asking:
    return Asking(bench, world, tmp_path)


def lines_of(answer: dict) -> list[str]:
    return [edit["content"].strip() for edit in answer["edits"]]


def sort_of(world, line: str) -> str:
    return next((name for name, count in world.kept(line).items() if count), "none")


async def test_the_target_reads_skill_and_question_of_a_real_brief(
    bench: SimpleNamespace, asking: Asking
) -> None:
    world, right = asking.world, Counter()
    for task in asking.tasks:
        brief = asking.benchmark.brief(task)
        messages = render(brief, SkillDocument(rules(world)))
        kind, text = bench.server.reply_to(world, "target", ChatRequest(messages, ""))
        assert kind == "target train"
        right[(await asking.benchmark.score(task, Attempt(text))).hard] += 1
    assert right[1.0] > 70


def test_the_optimizer_proposes_one_edit_for_each_kind_with_the_shares_of_the_world(
    asking: Asking,
) -> None:
    world, sorts = asking.world, Counter()
    for start in range(72):
        tasks = asking.tasks[start : start + 8]
        needing = {asking.item(task).kind for task in tasks} - world.untaught
        found = [
            sort_of(world, line)
            for line in lines_of(asking.analysis(tasks=tasks))
            if any(f"register {kind}," in line for kind in needing) or "register" not in line
        ]
        sorts.update(found)
    total = sum(sorts.values())
    assert sorts["right"] / total == pytest.approx(0.6, abs=0.07)
    assert sorts["harmful"] / total == pytest.approx(0.2, abs=0.07)
    assert asking.analysis() == asking.analysis()


def test_nothing_is_proposed_twice_and_what_was_rejected_is_reworded(asking: Asking) -> None:
    world = asking.world
    task = next(t for t in asking.tasks if len(world.needed[asking.item(t).kind]) == 1)
    (rule,) = world.needed[asking.item(task).kind]
    tried = []
    for number in range(40):
        edits = tuple(Edit("append", f"- {line}") for line in tried)
        lesson = Lesson(number, 1, 1, (), "reject", rejected=edits, incumbent=0.5)
        lines = lines_of(asking.analysis(tasks=[task], lessons=[lesson] if tried else []))
        lines = [line.removeprefix("- ") for line in lines]
        assert not set(lines) & set(tried)
        tried += lines
    assert f"{rule}." in tried
    assert any(rule in line and line != f"{rule}." for line in tried)
    held = asking.analysis(skill=f"# S\n\n- {rule}.\n", tasks=[task])
    assert not any(rule in line for line in lines_of(held))


def test_a_harmful_line_of_the_skill_is_deleted(asking: Asking) -> None:
    world, deleted = asking.world, 0
    for task in asking.tasks:
        line = f"- {world.harmful(asking.item(task).kind)[0]}.\n"
        for edit in asking.analysis(skill=f"# S\n\n{line}", tasks=[task])["edits"]:
            deleted += edit["op"] == "delete" and edit["target"].strip() == line.strip()
    assert 35 < deleted < 61


def test_the_budget_is_kept(asking: Asking) -> None:
    assert len(asking.analysis(system="Give at most 2 edits, the best first.")["edits"]) == 2


def test_tasks_are_named_where_the_schema_has_a_key_for_them(
    bench: SimpleNamespace, asking: Asking
) -> None:
    schema = {"$defs": {"Edit": {"properties": {"content": {}, "tasks": {}}}}}
    assert not any("tasks" in edit for edit in asking.analysis(schema={"type": "object"})["edits"])
    for edit in asking.analysis(schema=schema)["edits"]:
        named = [task for task in asking.tasks if task.id in edit["tasks"]]
        assert named
        assert len({asking.item(task).kind for task in named}) == 1
        assert edit["support"] == len(named)
    asking.world = bench.world.World(bench.world.WORLDS["worthless_claims"], SEED)
    for edit in asking.analysis(schema=schema)["edits"]:
        named = [task for task in asking.tasks if task.id in edit["tasks"]]
        assert not any(f"register {asking.item(task).kind}," in edit["content"] for task in named)


def test_success_analysts_claim_every_task(asking: Asking) -> None:
    user = skill_text(SkillDocument("# S\n"))
    shown = [
        trajectory_text(asking.benchmark, Trajectory(t, Attempt("a"), Score(1.0, 1.0)), n)
        for n, t in enumerate(asking.tasks[:5], 1)
    ]
    answer = asking.answer("analyst_success", "\n\n".join((user, *shown)))
    assert [edit["support"] for edit in answer["edits"]] == [5]
    assert sort_of(asking.world, answer["edits"][0]["content"]) == "useless"


def test_merges_join_equal_edits_and_a_ranking_goes_by_support(asking: Asking) -> None:
    one, two, three = (Edit("append", f"- {n}", support=n) for n in (1, 2, 3))
    user = f"{skill_text(SkillDocument(''))}\n\n{patches_text([Patch((one, two)), Patch((one,))])}"
    merged = asking.answer("merge_failure", user)["edits"]
    assert [(edit["content"], edit["support"]) for edit in merged] == [("- 1", 2), ("- 2", 2)]
    user = f"Keep at most 2 edits.\n\n{listed((one, three, two))}"
    assert asking.answer("ranking", user)["selected_indices"] == [1, 2]


def test_guidance_is_about_the_kinds_that_fail(asking: Asking) -> None:
    world = asking.world
    parts = [skill_text(SkillDocument("# S\n")), "## Previous guidance\n- Keep this."]
    for number, task in enumerate(asking.tasks[:20], 1):
        category = "persistent_fail" if number <= 10 else "stable_success"
        question = asking.benchmark.brief(task).prompt
        parts.append(f"## Pair {number}: task `{task.id}` (task), {category}\n{question}")
    text = asking.answer("slow_update", "\n\n".join(parts))["slow_update_content"]
    lines = text.splitlines()
    assert lines[0] == "- Keep this."
    failing = {asking.item(task).kind for task in asking.tasks[:10]}
    about = [kind for line in lines for kind in world.needed if f"register {kind}," in line]
    assert about
    named = {k for kind in failing for k in world.needed if world.rule(k) in world.needed[kind]}
    assert set(about) <= failing | named


def test_a_reflection_keeps_the_instruction_and_adds_to_it(
    bench: SimpleNamespace, asking: Asking
) -> None:
    world = asking.world
    items = [asking.item(task) for task in asking.tasks[:8]]
    examples = [
        f"# Example {n}\n## Inputs\n{item.question}\n\n## Feedback\n{word}"
        for n, item in enumerate(items, 1)
        for word in ["Wrong. The value is x." if n <= 4 else "Right."]
    ]
    prompt = "\n".join(("Instructions:\n```\n# S\n- old\n```\n", *examples))
    chat = ChatRequest((Message("user", prompt),), "")
    kind, text = bench.server.reply_to(world, "optimizer", chat)
    assert kind == "optimizer reflection"
    assert text.startswith("```\n# S\n- old\n- ")
    passed = {item.kind for item in items[4:]} - {item.kind for item in items[:4]}
    passed -= {k for i in items[:4] for k in world.needed if world.rule(k) in world.needed[i.kind]}
    assert not any(f"register {kind}," in text for kind in passed)


def test_other_messages_get_a_word(bench: SimpleNamespace, world) -> None:
    chat = ChatRequest((Message("user", "ping"),), "")
    assert bench.server.reply_to(world, "target", chat) == ("other", "ok")
