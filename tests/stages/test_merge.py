"""Aggregate: the shape of the merge tree, and what happens when a merge fails."""

from __future__ import annotations

import asyncio
import json
import re

import pytest

from skillopt_cli.core.edits import Edit, Patch, Source
from skillopt_cli.core.errors import AuthFailed
from skillopt_cli.core.events import Degraded, EditsMerged, StageFinished, StageStarted
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.core.task import ChatRequest
from skillopt_cli.engine.bus import Subscriber
from skillopt_cli.stages import aggregate
from skillopt_cli.stages.merge import concatenated
from skillopt_cli.testing import EventLog, FunctionChat, MemoryStore, Toy, toy_run

SKILL = SkillDocument("# Skill\n")
CONTENT = re.compile(r'"content": "(\w+)"')


def patch(name: str, source: Source = "failure") -> Patch:
    return Patch((Edit("append", name, support=1, source=source),), source=source)


def patches(failures: int, successes: int = 0) -> list[Patch]:
    return [patch(f"f{i}") for i in range(failures)] + [
        patch(f"s{i}", "success") for i in range(successes)
    ]


class Merger:
    """An optimizer that answers a merge with all contents joined, so that the tree can be read."""

    def __init__(self) -> None:
        self.groups: list[tuple[str, list[str]]] = []

    def __call__(self, request: ChatRequest) -> str:
        found = CONTENT.findall(request.messages[1].content)
        self.groups.append((request.schema_name, found))
        edit = {"op": "append", "content": "".join(found), "support": len(found)}
        return json.dumps({"edits": [edit], "reasoning": "joined"})


async def merged(
    given: list[Patch], size: int = 2, function: Merger | None = None
) -> tuple[Patch, list[tuple[str, list[str]]]]:
    merger = function or Merger()
    toy = Toy((f"gradient.merge_batch_size={size}",), optimizer=FunctionChat(merger))
    result = await aggregate(toy_run(toy), SKILL, given)
    return result, merger.groups


async def test_no_patches_and_empty_ones_merge_into_nothing_without_a_call() -> None:
    for given in ([], [Patch(), Patch(source="success")]):
        assert await merged(given) == (Patch(), [])


@pytest.mark.parametrize("source", ["failure", "success"])
async def test_a_single_patch_passes_as_it_is(source: Source) -> None:
    one = patch("only", source)
    assert await merged([one]) == (one, [])
    assert await merged([Patch(), one, Patch()]) == (one, [])


@pytest.mark.parametrize(
    ("n", "size", "levels"),
    [
        (2, 2, [["f0", "f1"]]),
        (3, 2, [["f0", "f1"], ["f0f1", "f2"]]),  # the odd one passes its level without a call
        (4, 2, [["f0", "f1"], ["f2", "f3"], ["f0f1", "f2f3"]]),
        (5, 2, [["f0", "f1"], ["f2", "f3"], ["f0f1", "f2f3"], ["f0f1f2f3", "f4"]]),
        (3, 8, [["f0", "f1", "f2"]]),
        (5, 4, [["f0", "f1", "f2", "f3"], ["f0f1f2f3", "f4"]]),
        (9, 3, [["f0", "f1", "f2"], ["f3", "f4", "f5"], ["f6", "f7", "f8"],
                ["f0f1f2", "f3f4f5", "f6f7f8"]]),
    ],
)  # fmt: skip
async def test_levels_until_one_is_left(n: int, size: int, levels: list[list[str]]) -> None:
    result, groups = await merged(patches(n), size)
    assert groups == [("merge_failure", group) for group in levels]
    (edit,) = result.edits
    assert edit.content == "".join(f"f{i}" for i in range(n))
    assert (edit.source, result.source) == ("failure", "failure")


async def test_failures_and_successes_are_merged_apart_and_last_together() -> None:
    result, groups = await merged(patches(2, 3))
    assert sorted(groups[:3]) == [
        ("merge_failure", ["f0", "f1"]),
        ("merge_success", ["s0", "s1"]),
        ("merge_success", ["s0s1", "s2"]),
    ]
    assert groups[3:] == [("merge_final", ["f0f1", "s0s1s2"])]
    assert result.source == "merged"
    assert result.edits[0].source == "merged"


async def test_one_of_each_kind_need_only_the_last_merge() -> None:
    _, groups = await merged(patches(1, 1))
    assert groups == [("merge_final", ["f0", "s0"])]


async def test_order_is_that_of_the_patches_not_of_the_answers() -> None:
    class Slow:
        name = fingerprint = "slow"
        offers = frozenset[str]()

        def __init__(self) -> None:
            self.merger, self.waiting = Merger(), list[asyncio.Event]()

        async def chat(self, request: ChatRequest):  # type: ignore[no-untyped-def]
            mine = asyncio.Event()
            self.waiting.append(mine)
            if len(self.waiting) == 3:  # the first level is complete: answer it backwards
                for waiter in reversed(self.waiting):
                    waiter.set()
            elif len(self.waiting) > 3:
                mine.set()
            await mine.wait()
            return await FunctionChat(self.merger).chat(request)

    slow = Slow()
    toy = Toy(("gradient.merge_batch_size=2",), optimizer=slow)
    result = await aggregate(toy_run(toy), SKILL, patches(6))
    assert result.edits[0].content == "f0f1f2f3f4f5"


async def test_a_merge_that_leaves_nothing_is_not_merged_again() -> None:
    class Strict(Merger):
        def __call__(self, request: ChatRequest) -> str:
            answer = super().__call__(request)
            return '{"edits": []}' if request.schema_name == "merge_success" else answer

    result, groups = await merged(patches(1, 2), function=Strict())
    assert result == patch("f0")
    assert [name for name, _ in groups] == ["merge_success"]
    result, groups = await merged(patches(0, 4), function=Strict())
    assert result.edits == ()
    assert [name for name, _ in groups] == ["merge_success"] * 2


async def test_a_failed_merge_keeps_all_edits_once_and_says_so() -> None:
    log = EventLog()
    toy = Toy(("gradient.merge_batch_size=4",), optimizer=FunctionChat(lambda request: "no"))
    run = toy_run(toy, observers=[Subscriber("log", log)])
    given = [patch("f0"), patch("f1"), patch("f0")]
    result = await aggregate(run, SKILL, given)
    assert [edit.content for edit in result.edits] == ["f0", "f1"]
    assert result.reasoning == "kept all edits: no usable merge"
    assert [fact.where for fact in log.of(Degraded)] == ["aggregate"]


@pytest.mark.parametrize(
    ("named", "tried"),
    [(["t3", "other"], ("t3",)), ([], ("t1", "t2", "t3")), (["other"], ("t1", "t2", "t3"))],
)
async def test_a_merged_edit_is_for_tasks_of_the_edits_it_is_made_of(
    named: list[str], tried: tuple[str, ...]
) -> None:
    edit = {"op": "append", "content": "joined", "tasks": named}
    same = {"op": "append", "content": "f1"}
    answer = json.dumps({"edits": [edit, same], "reasoning": "joined"})
    given = [
        Patch((Edit("append", "f0", tasks=("t1", "t2")),)),
        Patch((Edit("append", "f1", tasks=("t3",)),)),
    ]
    toy = Toy(("optimizer.verify=edits",), optimizer=FunctionChat(lambda request: answer))
    result = await aggregate(toy_run(toy), SKILL, given)
    assert [edit.tasks for edit in result.edits] == [tried, ("t3",)]
    # Without verification an edit keeps what the optimizer wrote.
    toy = Toy(optimizer=FunctionChat(lambda request: answer))
    result = await aggregate(toy_run(toy), SKILL, given)
    assert [edit.tasks for edit in result.edits] == [tuple(named), ()]


def test_concatenation_keeps_the_first_of_equal_changes() -> None:
    strong, weak = Edit("append", "x", support=3), Edit("append", "x", support=1)
    other = Edit("delete", target="x")
    assert concatenated([Patch((strong, other)), Patch((weak,))]) == (strong, other)


async def test_a_dead_optimizer_ends_the_run_with_its_own_error() -> None:
    def refuse(request: ChatRequest) -> str:
        raise AuthFailed("who are you")

    run = toy_run(Toy(("gradient.merge_batch_size=2",), optimizer=FunctionChat(refuse)))
    with pytest.raises(AuthFailed):
        await aggregate(run, SKILL, patches(4, 4))


async def test_the_stage_is_announced_and_its_result_kept() -> None:
    log, store = EventLog(), MemoryStore()
    run = toy_run(Toy(optimizer=FunctionChat(Merger())), store, [Subscriber("log", log)])
    await aggregate(run, SKILL, [*patches(2), Patch()])
    started, finished = log.of(StageStarted)[0], log.of(StageFinished)[0]
    assert (started.stage, started.total, finished.stage) == ("aggregate", 3, "aggregate")
    assert log.of(EditsMerged) == [EditsMerged(0, 1)]
    assert json.loads(store.files["merged_patch.json"])["edits"][0]["content"] == "f0f1"
