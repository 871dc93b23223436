"""Verify and check: what edits do to the tasks they are written for, and to solved ones."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import pytest
from scores import Table, answer

from skillopt_cli.core.edits import Edit, Patch
from skillopt_cli.core.events import EditsVerified, PassingChecked
from skillopt_cli.core.score import BROKEN, Mark, Trajectory
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.core.task import Attempt, Brief
from skillopt_cli.core.verification import Draft
from skillopt_cli.core.worked_examples import mark
from skillopt_cli.engine.bus import Subscriber
from skillopt_cli.ports import Executor
from skillopt_cli.runlog.text.edit import trial_words
from skillopt_cli.stages import Run, check, rollout, update, verify
from skillopt_cli.stages.verify import follow_up
from skillopt_cli.testing import EventLog, MemoryStore, Toy, toy_run

SEED = SkillDocument("# Skill\n")
RIGHT, WRONG = Mark(1.0, 1.0), Mark(0.0, 0.0)


class Rules:
    """A target that solves a task if the skill has its rule and no line that breaks it.

    Attributes:
        solves, breaks: lines by task; a task without a line to solve it is solved without one.
        down: tasks whose attempts are broken.
        asked: task and text of each attempt.
    """

    name = fingerprint = "rules"
    offers: frozenset[str] = frozenset()

    def __init__(
        self,
        solves: Mapping[str, Sequence[str]],
        breaks: Mapping[str, str] | None = None,
        down: Sequence[str] = (),
    ) -> None:
        self.solves, self.breaks, self.down = solves, breaks or {}, down
        self.asked: list[tuple[str, str]] = []

    async def attempt(self, brief: Brief, skill: SkillDocument, executor: Executor) -> Attempt:
        self.asked.append((brief.task_id, skill.text))
        if brief.task_id in self.down:
            return answer(BROKEN)
        right = all(line in skill.text for line in self.solves.get(brief.task_id, ()))
        harmed = self.breaks.get(brief.task_id, "(nothing)") in skill.text
        return answer(RIGHT if right and not harmed else WRONG)


class World:
    """A run over a target of rules, with the trajectories of its train tasks."""

    def __init__(self, target: Rules, *settings: str, tasks: int = 8) -> None:
        self.log, self.store, self.target = EventLog(), MemoryStore(), target
        table = Table(train=tasks, selection=2)
        toy = Toy(("train.batch_size=8", *settings), benchmark=table)  # type: ignore[arg-type]
        run = toy_run(toy, self.store, [Subscriber("log", self.log)])
        object.__setattr__(run, "target", target)
        self.run: Run = run.at(run.plan.step(1))
        self.trajectories: list[Trajectory] = []

    async def drafted(self, *edits: Edit, rate: int | None = 8) -> Draft:
        """The draft after the edits were verified."""
        tasks = self.run.splits["train"]
        self.trajectories = await rollout(self.run, SEED, tasks, draw=1)
        self.target.asked.clear()
        draft = Draft(SEED, SEED, tuple(self.trajectories), rate=rate)
        return await verify(self.run, draft, Patch(edits))

    def states(self, draft: Draft) -> dict[str, str]:
        """What became of each edit that was set aside or dropped, by its content."""
        aside = {o.edit.content: o.state for o in draft.patch.set_aside}
        return {**aside, **{e.content: "dropped" for e in draft.patch.dropped}}


def edit(content: str, *tasks: str, op: str = "append", target: str = "") -> Edit:
    return Edit(op, content, target, tasks=tasks)


def chosen(draft: Draft) -> list[str]:
    return [e.content for e in draft.patch.edits]


async def test_only_edits_that_solve_enough_of_their_tasks_are_kept() -> None:
    world = World(Rules({f"t{i}": [f"- r{i % 4}"] for i in range(8)}), "optimizer.verify=edits")
    draft = await world.drafted(
        edit("- r0", "t0", "t4"),
        edit("- r1", "t1", "t2", "t3"),  # solves one of three, two are needed
        edit("- nothing", "t2"),
        edit("- r3", "t3", "t6", "t7"),
    )
    assert sorted(chosen(draft)) == ["- r0", "- r3"]
    assert world.states(draft) == {"- r1": "unverified", "- nothing": "unverified"}
    trials = {t.edit.content: (len(t.tried), len(t.fixed), t.needed) for t in draft.patch.trials}
    assert trials == {
        "- r0": (2, 2, 1),
        "- r1": (3, 1, 2),
        "- nothing": (1, 0, 1),
        "- r3": (3, 2, 2),
    }
    assert [(e.round, e.kept, len(e.trials)) for e in world.log.of(EditsVerified)] == [(1, 2, 4)]
    assert [t.edit.content for t in draft.refuted] == ["- r1", "- nothing"]
    made = await update(world.run, SEED, draft.patch)
    assert made.skill.text == "# Skill\n- r3\n- r0\n" or made.skill.text == "# Skill\n- r0\n- r3\n"
    report = json.loads(world.store.files["steps/step_0001/edit_report.json"])
    assert {r["content"]: len(r["trial"]["tried"]) for r in report} == {
        "- r0": 2, "- r1": 3, "- nothing": 1, "- r3": 3
    }  # fmt: skip


async def test_every_edit_is_tried_alone_on_a_few_tasks() -> None:
    world = World(
        Rules({f"t{i}": ["- r"] for i in range(8)}),
        "optimizer.verify=edits",
        "optimizer.verify_tasks=2",
    )
    draft = await world.drafted(edit("- r", "t0", "t1", "t2"), edit("- s", "t5", "t6", "t7"))
    assert chosen(draft) == ["- r"]
    texts = [text for _, text in world.target.asked]
    assert sorted(texts) == ["# Skill\n- r\n"] * 2 + ["# Skill\n- s\n"] * 2


async def test_without_verification_nothing_is_tried() -> None:
    world = World(Rules({"t0": ["- r"]}))
    draft = await world.drafted(edit("- r", "t0"), edit("- s", "t0"))
    assert chosen(draft) == ["- r", "- s"]
    assert world.target.asked == []
    assert not world.log.of(EditsVerified)


async def test_the_learning_rate_limits_what_passes_not_what_is_tried() -> None:
    world = World(Rules({f"t{i}": [f"- r{i}"] for i in range(8)}), "optimizer.verify=edits")
    draft = await world.drafted(*(edit(f"- r{i}", f"t{i}") for i in range(4)), rate=3)
    assert len(chosen(draft)) == 3
    assert list(world.states(draft).values()) == ["dropped"]
    assert draft.room == 0


async def test_broken_attempts_are_no_evidence() -> None:
    target = Rules({f"t{i}": ["- r"] for i in range(8)}, down=[])
    world = World(target, "optimizer.verify=edits")
    tasks = world.run.splits["train"]
    trajectories = await rollout(world.run, SEED, tasks, draw=1)
    target.down = ["t0", "t1"]
    draft = Draft(SEED, SEED, tuple(trajectories), rate=8)
    draft = await verify(
        world.run, draft, Patch((edit("- r", "t0", "t2"), edit("- s", "t1"), edit("- u", "t3")))
    )
    assert chosen(draft) == ["- r"]
    tried = {t.edit.content: t.tried for t in draft.patch.trials}
    assert tried == {"- r": ("t2",), "- s": (), "- u": ("t3",)}
    # What could not be tried may be proposed again.
    assert [t.edit.content for t in draft.refuted] == ["- u"]


async def test_an_edit_that_names_too_much_is_tried_on_the_tasks_that_a_search_finds() -> None:
    solves = {f"t{i}": [f"- r{i % 4}"] for i in range(8)}
    world = World(Rules(solves), "optimizer.verify=edits")
    every = [f"t{i}" for i in range(8)]
    draft = await world.drafted(*(edit(f"- r{i}", *every) for i in range(3)), edit("- s", *every))
    assert sorted(chosen(draft)) == ["- r0", "- r1", "- r2"]
    found = {t.edit.content: set(t.fixed) for t in draft.patch.trials}
    assert found == {"- r0": {"t0", "t4"}, "- r1": {"t1", "t5"}, "- r2": {"t2", "t6"}, "- s": set()}
    # All tasks once, the six solved ones twice while four edits are halved, and six tries alone.
    assert len(world.target.asked) <= 8 + 12 + 6


async def test_where_few_edits_pass_their_tasks_are_searched_for() -> None:
    solves = {f"t{i}": [f"- r{i}"] for i in range(8)}
    world = World(Rules(solves), "optimizer.verify=edits")
    wrong = [edit(f"- r{i}", f"t{(i + 1) % 8}") for i in range(6)]
    draft = await world.drafted(*wrong)
    assert sorted(chosen(draft)) == [f"- r{i}" for i in range(6)]
    assert all(t.fixed == (f"t{t.edit.content[-1]}",) for t in draft.patch.trials)


async def test_a_worked_example_must_solve_more_than_the_task_it_quotes() -> None:
    """Each example solves its own task alone; one also solves two other tasks."""
    quoted = [f"{mark(f't{i}')}- r{i}" for i in range(3)]
    solves = {f"t{i}": [f"- r{i}"] for i in range(3)}
    solves |= {"t3": ["- r0"], "t4": ["- r0"], "t5": ["- never"]}
    for most in (3, 1):  # tried alone, or found by the search
        world = World(
            Rules(solves), "optimizer.verify=edits", f"optimizer.verify_tasks={most}", tasks=6
        )
        draft = await world.drafted(
            edit(quoted[0], "t0", "t3", "t4", "t5"),
            edit(quoted[1], "t1", "t3", "t4", "t5"),
            edit(quoted[2], "t2"),
        )
        assert chosen(draft) == [quoted[0]]
        tried = {t.edit.content: t for t in draft.patch.trials}
        assert "t0" not in tried[quoted[0]].tried
        (alone,) = (o for o in draft.patch.set_aside if o.edit.content == quoted[2])
        assert alone.reason == "its only failed task is the one it quotes"


async def test_joint_tries_all_edits_in_one_text() -> None:
    solves = {f"t{i}": [f"- r{i % 2}"] for i in range(8)}
    world = World(Rules(solves, {"t1": "- r2"}), "optimizer.verify=joint")
    draft = await world.drafted(
        edit("- r0", "t0", "t2"), edit("- r1", "t1", "t3"), edit("- r2", "t1")
    )
    assert sorted(chosen(draft)) == ["- r0", "- r1"]
    assert len({text for _, text in world.target.asked}) == 1
    assert sorted(task for task, _ in world.target.asked) == ["t0", "t1", "t2", "t3"]
    assert all(trial.joint for trial in draft.patch.trials)


async def test_an_edit_that_changes_nothing_keeps_its_own_state() -> None:
    world = World(Rules({"t0": ["- r"]}), "optimizer.verify=edits")
    lost = edit("- x", "t0", op="replace", target="not there")
    draft = await world.drafted(lost, edit("- r", "t0"))
    assert chosen(draft) == ["- r"]
    assert world.states(draft) == {"- x": "unmatched"}


async def test_a_refuted_edit_is_tried_on_other_tasks_only() -> None:
    world = World(Rules({"t0": ["- q"], "t1": ["- r"]}), "optimizer.verify=edits")
    draft = await world.drafted(edit("- r", "t0"))
    assert chosen(draft) == []
    world.run = world.run.in_round(2, draft.refuted)
    again = await verify(world.run, draft, Patch((edit("- r", "t0"),)))
    assert chosen(again) == []
    # What its trial showed outweighs that there was no other.
    assert [o.reason for o in again.patch.set_aside] == ["it solved 0 of 1 task it was written for"]
    later = Draft(SEED, SEED, tuple(world.trajectories), rate=8)
    later = await verify(world.run, later, Patch((edit("- r", "t0"),)))
    assert later.patch.set_aside[-1].reason == "it was tried on all of its failed tasks before"
    verified = [(len(e.trials), e.untried) for e in world.log.of(EditsVerified)]
    assert verified == [(1, 0), (0, 1), (0, 1)]
    solved = await verify(world.run, draft, Patch((edit("- s", "t7"),)))
    assert solved.patch.set_aside[-1].reason == "it names no failed task to be tried on"
    third = await verify(world.run, draft, Patch((edit("- r", "t0", "t1"),)))
    assert chosen(third) == ["- r"]


async def test_the_next_round_reads_what_still_fails_with_the_edits_so_far() -> None:
    world = World(Rules({f"t{i}": [f"- r{i % 2}"] for i in range(8)}), "optimizer.verify=edits")
    draft = await follow_up(world.run, await world.drafted(edit("- r0", "t0")))
    assert draft.skill.text == "# Skill\n- r0\n"
    assert {t.task.id for t in draft.unread} == {"t1", "t3", "t5", "t7"}


@pytest.mark.parametrize("checked", ["true", "false"])
async def test_an_edit_that_breaks_a_solved_task_is_removed(checked: str) -> None:
    target = Rules({"t0": ["- r0"], "t1": ["- r1"]}, {"t5": "- r1"})
    world = World(target, "optimizer.verify=edits", f"optimizer.check_passing={checked}")
    draft = await world.drafted(edit("- r0", "t0"), edit("- r1", "t1"))
    draft = await check(world.run, world.trajectories, draft)
    if checked == "false":
        assert len(chosen(draft)) == 2
        assert not world.log.of(PassingChecked)
        return
    assert chosen(draft) == ["- r0"]
    (outcome,) = draft.patch.set_aside
    assert (outcome.state, outcome.reason) == ("harmful", "it broke 1 of 6 solved tasks")
    (event,) = world.log.of(PassingChecked)
    assert outcome.trial is not None
    said = (
        "it solved 1 of 1 task it was written for (t1), 1 needed to pass,"
        " broke 1 of 6 solved tasks (t5)"
    )
    assert trial_words(outcome.trial, event.checked) == said
    assert (event.checked, event.broke, event.noise) == (6, ("t5",), ())
    assert [e.content for e in event.removed] == ["- r1"]


async def test_what_no_single_edit_explains_is_noise() -> None:
    class Moody(Rules):
        """Fails t7 under a text of all three edits alone, as noise would."""

        async def attempt(self, brief: Brief, skill: SkillDocument, executor: Executor) -> Attempt:
            made = await super().attempt(brief, skill, executor)
            unlucky = brief.task_id == "t7" and skill.text.count("- r") == 3
            return answer(WRONG) if unlucky else made

    world = World(
        Moody({f"t{i}": [f"- r{i}"] for i in range(3)}),
        "optimizer.verify=edits",
        "optimizer.check_passing=true",
    )
    draft = await world.drafted(*(edit(f"- r{i}", f"t{i}") for i in range(3)))
    draft = await check(world.run, world.trajectories, draft)
    assert len(chosen(draft)) == 3
    (event,) = world.log.of(PassingChecked)
    assert (event.broke, event.noise, event.removed) == (("t7",), ("t7",), ())


async def test_the_gate_decides_on_what_a_single_edit_breaks() -> None:
    target = Rules({"t0": ["- r0"]}, {"t5": "- r0"})
    world = World(target, "optimizer.verify=edits", "optimizer.check_passing=true")
    draft = await world.drafted(edit("- r0", "t0"))
    draft = await check(world.run, world.trajectories, draft)
    assert chosen(draft) == ["- r0"]
    assert world.log.of(PassingChecked)[0].broke == ("t5",)


async def test_an_edit_that_passed_by_noise_and_holds_its_task_back_is_left_out() -> None:
    class Lucky(Rules):
        """Solves t1 with the harmful line once, as noise would."""

        async def attempt(self, brief: Brief, skill: SkillDocument, executor: Executor) -> Attempt:
            made = await super().attempt(brief, skill, executor)
            lucky = brief.task_id == "t1" and skill.text == "# Skill\n- harm\n"
            return answer(RIGHT) if lucky else made

    world = World(
        Lucky({"t0": ["- r0"], "t1": ["- r1"]}),
        "optimizer.verify=edits",
        "optimizer.reflect_rounds=2",
    )
    draft = await world.drafted(edit("- r0", "t0"), edit("- harm", "t1"))
    assert chosen(draft) == ["- r0"]
    assert draft.skill.text == "# Skill\n- r0\n"
    (outcome,) = draft.patch.set_aside
    assert (outcome.edit.content, outcome.state) == ("- harm", "unverified")
    assert outcome.reason == "with the other edits, it solved none of the tasks it solved alone"
    assert [t.edit.content for t in draft.refuted] == ["- harm"]


async def test_a_task_that_was_solved_by_noise_blames_no_edit() -> None:
    class Noisy(Rules):
        """Solves t7 with the seed and without the first edit alone; else it fails."""

        async def attempt(self, brief: Brief, skill: SkillDocument, executor: Executor) -> Attempt:
            made = await super().attempt(brief, skill, executor)
            if brief.task_id != "t7":
                return made
            solved = skill.text == SEED.text or sorted(skill.text.split("\n")) == ODD
            return answer(RIGHT if solved else WRONG)

    ODD = sorted(["# Skill", "- r1", "- r2", ""])
    world = World(
        Noisy({f"t{i}": [f"- r{i}"] for i in range(3)}),
        "optimizer.verify=edits",
        "optimizer.check_passing=true",
    )
    draft = await world.drafted(*(edit(f"- r{i}", f"t{i}") for i in range(3)))
    draft = await check(world.run, world.trajectories, draft)
    assert len(chosen(draft)) == 3
    (event,) = world.log.of(PassingChecked)
    assert (event.broke, event.removed) == (("t7",), ())
