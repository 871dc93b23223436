"""ALFWorld without its engine: answers, scores, records, prepared games."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from task_files import write_json, write_splits

from skillopt_cli.benchmarks.alfworld import SPEC, Alfworld, benchmark, prepare
from skillopt_cli.benchmarks.alfworld.engine import View
from skillopt_cli.benchmarks.alfworld.episode import UNUSABLE, GameEpisode, action_of
from skillopt_cli.benchmarks.alfworld.tasks import KINDS, kind_of
from skillopt_cli.benchmarks.kit.splits import Splits
from skillopt_cli.core.episode import Heard, ToolCall
from skillopt_cli.core.errors import ConfigError, DataError
from skillopt_cli.core.task import Attempt, Split, Task
from skillopt_cli.ports import BenchmarkRequest

NAME = "pick_heat_then_place_in_recep-Egg-None-Fridge-13/trial_T1/game.tw-pddl"


@pytest.mark.parametrize(
    ("reply", "action"),
    [
        ("<action>look</action>", "look"),
        ("<think>so</think><action>go to cabinet 1</action>", "go to cabinet 1"),
        ("<action>look</action> or <action>inventory</action>", "inventory"),
        ("<Action>Go To Cabinet 1</ACTION>", "go to cabinet 1"),
        ("<action>\n open   fridge 1 \n</action>", "open fridge 1"),
        ("<action>open fridge 1", "open fridge 1"),
        ("<action>`open fridge 1`</action>", "open fridge 1"),
        ('<action>"open fridge 1."</action>', "open fridge 1"),
        ("Put it between <action> and </action>: <action>look</action>", "look"),
        ("<action></action>", ""),
        ("<action>  </action>", ""),
        ("", ""),
        ("look", ""),
        ("I will go to cabinet 1", ""),
        ("</action>look<action>", ""),
        ("<think>look</think>", ""),
        ("<answer>look</answer>", ""),
        ("a long answer that ends with: take apple 1 from fridge 1", ""),
    ],
)
def test_an_action_is_what_stands_between_the_tags_and_nothing_else(
    reply: str, action: str
) -> None:
    assert action_of(reply) == action


def scorer() -> Alfworld:
    return Alfworld(BenchmarkRequest())


def left(**more: Any) -> dict[str, Any]:
    return {"won": False, "steps": 50, "unusable": 0, "idle": 0, **more}


@pytest.mark.parametrize(
    ("outcome", "hard", "feedback"),
    [
        (left(won=True, steps=1), 1.0, ""),
        (left(won=True, steps=50, unusable=3, idle=2), 1.0, ""),
        (left(), 0.0, "the task was not done in 50 steps"),
        (left(steps=1), 0.0, "the task was not done in 1 step"),
        (left(unusable=1), 0.0, "in 50 steps; 1 answer held no action between the tags"),
        (left(idle=2), 0.0, "in 50 steps; 2 actions could not be done and changed nothing"),
        (left(unusable=2, idle=1), 0.0, "2 answers held no action between the tags; 1 action"),
        (left(steps=0), 0.0, "the task was not done: no step was taken"),
        ({}, 0.0, "the task was not done: no step was taken"),
    ],
)
async def test_a_game_counts_when_it_is_won(
    outcome: dict[str, Any], hard: float, feedback: str
) -> None:
    attempt = Attempt("<action>look</action>", outcome=outcome)
    score = await scorer().score(Task("a", "other", {}), attempt)
    assert (score.hard, score.soft) == (hard, hard)
    assert score.feedback == feedback or (feedback and feedback in score.feedback)
    assert score.expected == ()


class Room:
    """A game of one room that is won by "win"; records what is done in it."""

    first = View(
        "-= Welcome =-\n\nYou see a door.\n\nYour task is to: win.", ("help", "win"), False
    )

    def __init__(self) -> None:
        self.done: list[str] = []

    async def act(self, action: str) -> View:
        self.done.append(action)
        if action == "win":
            return View("You win.", (), True)
        return View("Nothing happens.", self.first.actions, False)


def episode(steps: int) -> tuple[GameEpisode, Room]:
    room = Room()

    async def begin() -> Any:
        return room

    return GameEpisode("win.", steps, begin), room


async def test_the_opening_shows_the_room_without_banner_and_help() -> None:
    played, _ = episode(3)
    assert await played.opening() == (
        "## Observation\nYou see a door.\n\n## Admissible actions\n- win"
    )


async def test_each_message_stands_for_itself_and_tells_the_last_two_steps() -> None:
    played, _ = episode(9)
    for number in range(1, 4):
        heard = await played.hear(f"<action>push {number}</action>")
    assert heard == Heard(
        "## Task\nwin.\n\n## Past\nSteps taken: 3. The last ones:\n"
        'Step 2: saw "Nothing happens.", did `push 2`\n'
        'Step 3: saw "Nothing happens.", did `push 3`\n\n'
        "## Observation\nNothing happens.\n\n## Admissible actions\n- win",
        afresh=True,
    )
    assert await played.outcome("") == left(steps=3, idle=3)


async def test_an_answer_without_an_action_costs_a_step_and_does_nothing() -> None:
    played, room = episode(3)
    heard = await played.hear("I look around.")
    assert heard is not None
    assert f"## Observation\n{UNUSABLE}" in heard.text
    assert "did `(nothing)`" in heard.text
    assert "- win" in heard.text
    assert room.done == []
    assert await played.outcome("") == left(steps=1, unusable=1)


async def test_an_episode_stops_when_it_is_won_or_the_steps_are_used_up() -> None:
    played, room = episode(3)
    assert await played.hear("<action>win</action>") is None
    assert await played.outcome("") == left(won=True, steps=1)
    played, room = episode(2)
    assert await played.hear("<action>a</action>") is not None
    assert await played.hear("") is None
    assert room.done == ["a"]
    assert await played.outcome("") == left(steps=2, unusable=1, idle=1)


WIN, PUSH, IDLE = "<action>win</action>", "<action>push</action>", "I think."


@pytest.mark.parametrize(
    ("replies", "outcome", "hard"),
    [
        ([WIN], left(won=True, steps=1), 1.0),
        (["<think>now</think><action>win</action>"], left(won=True, steps=1), 1.0),
        (["<action>WIN</action>"], left(won=True, steps=1), 1.0),
        (["<action>`win`.</action>"], left(won=True, steps=1), 1.0),
        (["<action>win"], left(won=True, steps=1), 1.0),
        (["<action>push</action> no: <action>win</action>"], left(won=True, steps=1), 1.0),
        ([PUSH, WIN], left(won=True, steps=2, idle=1), 1.0),
        ([IDLE, WIN], left(won=True, steps=2, unusable=1), 1.0),
        ([PUSH, PUSH, WIN], left(won=True, steps=3, idle=2), 1.0),
        ([IDLE, PUSH, WIN], left(won=True, steps=3, unusable=1, idle=1), 1.0),
        ([WIN, PUSH, PUSH], left(won=True, steps=1), 1.0),  # what is won stays won
        ([PUSH, PUSH, PUSH], left(steps=3, idle=3), 0.0),
        ([PUSH, PUSH, PUSH, WIN], left(steps=3, idle=3), 0.0),  # a step too late
        (["win"], left(steps=1, unusable=1), 0.0),
        (["I win: win"], left(steps=1, unusable=1), 0.0),
        (["</action>win<action>"], left(steps=1, unusable=1), 0.0),
        (["<think><action>win</action> next</think>look"], left(steps=1, unusable=1), 0.0),
        (["<think><action>win</action> next"], left(steps=1, unusable=1), 0.0),
        (["<action>win</action><action></action>"], left(steps=1, unusable=1), 0.0),
        (["<answer>win</answer>"], left(steps=1, unusable=1), 0.0),
        ([""], left(steps=1, unusable=1), 0.0),
        (["", " ", "<action> </action>"], left(steps=3, unusable=3), 0.0),
        (["<action>win the game</action>"], left(steps=1, idle=1), 0.0),
        (["<action>wins</action>"], left(steps=1, idle=1), 0.0),
        (["<action>help</action>"], left(steps=1, idle=1), 0.0),
        (["<action>look</action>", ""], left(steps=2, unusable=1, idle=1), 0.0),
        ([], left(steps=0), 0.0),
    ],
)
async def test_what_a_game_of_three_steps_scores(
    replies: list[str], outcome: dict[str, Any], hard: float
) -> None:
    played, room = episode(3)
    for reply in replies:
        if await played.hear(reply) is None:
            break
    made = await played.outcome("")
    assert made == outcome
    assert len(room.done) == outcome["steps"] - outcome["unusable"]
    score = await scorer().score(Task("a", "other", {}), Attempt("", outcome=made))
    assert (score.hard, score.soft, score.feedback == "") == (hard, hard, bool(hard))


async def test_a_tool_call_is_told_that_there_are_none() -> None:
    played, _ = episode(2)
    assert (await played.use(ToolCall("1", "act", "{}"))).failed


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_is_the_name_in_the_path(kind: str) -> None:
    assert kind_of(f"json_2.1.1/train/{kind}_simple-Mug-None-Desk-1/trial/game.tw-pddl") == kind
    assert kind_of("json_2.1.1/train/dance-Mug/trial/game.tw-pddl") == "other"


def game_file(root: Path, name: str, goal: str = "put a hot egg in fridge", **more: Any) -> Path:
    grammar = f'"task": [{{"rhs": "Your task is to: {goal}."}}]'
    content = {"pddl_problem": f"(define {name})", "grammar": grammar, "solvable": True, **more}
    return write_json(root / name, content)


def records(tmp_path: Path, name: str) -> Path:
    rows = [[{"id": f"{s}:0", "gamefile": name.replace("T1", s)}] for s in ("T1", "T2", "T3")]
    return write_splits(tmp_path / "splits", *rows)


def loaded(folder: Path, games: Path | str) -> Splits:
    request = BenchmarkRequest(split_dir=folder, options={"games_dir": str(games)})
    return Alfworld(request).load(request)


@pytest.mark.parametrize("start", ["", "$ALFWORLD_DATA/", "~/games/"])
def test_a_published_manifest_is_used_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, start: str
) -> None:
    root = tmp_path / "games"
    monkeypatch.setenv("ALFWORLD_DATA", str(root))
    monkeypatch.setenv("HOME", str(tmp_path))
    for trial in ("T1", "T2", "T3"):
        game_file(root, NAME.replace("T1", trial))
    found = loaded(records(tmp_path, start + NAME), "$ALFWORLD_DATA")
    (task,) = found.of("train")
    assert task.kind == "pick_heat_then_place_in_recep"
    assert task.data["task"] == "put a hot egg in fridge"
    assert task.data["gamefile"] == start + NAME
    assert str(tmp_path) not in json.dumps(dict(task.data))


def test_one_game_in_two_splits_is_refused_whatever_its_path(tmp_path: Path) -> None:
    for trial in ("T1", "T2", "T3"):
        game_file(tmp_path, NAME.replace("T1", trial))
    (tmp_path / NAME.replace("T1", "T2")).write_bytes((tmp_path / NAME).read_bytes())
    with pytest.raises(DataError, match="share a task"):
        loaded(records(tmp_path, NAME), tmp_path)


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({}, "holds neither a `gamefile` nor a `goal`"),
        ({"gamefile": "nowhere.tw-pddl"}, "nowhere.tw-pddl is not there"),
        ({"gamefile": "bad.tw-pddl"}, "bad.tw-pddl is no game file"),
        ({"gamefile": "half.tw-pddl"}, "half.tw-pddl is no game file"),
        ({"gamefile": 3}, "`gamefile` is a number, not text"),
        ({"goal": {"type": "pick"}, "household": {}}, "`household` is no object"),
        ({"goal": {"type": "pick"}, "household": {"Bed 1": []}}, "`task` is missing"),
        (
            {"goal": {"type": "pick"}, "household": {"Bed 1": []}, "task": "a"},
            "`walkthrough` is missing",
        ),
    ],
)
def test_an_unusable_record_is_named(tmp_path: Path, record: dict[str, Any], message: str) -> None:
    (tmp_path / "bad.tw-pddl").write_text("{", encoding="utf-8")
    write_json(tmp_path / "half.tw-pddl", {"grammar": "none"})
    rows = [{"id": "a", **record}]
    with pytest.raises(DataError, match="record 1: ") as caught:
        loaded(write_splits(tmp_path, rows, rows, rows), tmp_path)
    assert message in caught.value.message


def test_options_are_checked_and_a_missing_engine_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pytest.raises(ConfigError, match=r"env\.max_steps"):
        SPEC.open(BenchmarkRequest(options={"max_steps": 0}))
    with pytest.raises(ConfigError, match=r"env\.max_step"):
        SPEC.open(BenchmarkRequest(options={"max_step": 5}))
    monkeypatch.setattr(benchmark, "find_spec", lambda name: None)
    assert SPEC.missing() == "the packages textworld and alfworld"
    with pytest.raises(DataError) as caught:
        SPEC.open(BenchmarkRequest())
    assert "pip install 'skillopt-cli[alfworld]'" in caught.value.hint


def test_no_engine_is_loaded_by_looking_at_the_benchmark() -> None:
    assert not {"textworld", "alfworld"} & set(sys.modules)


def test_the_sample_holds_every_kind_in_every_split() -> None:
    assert SPEC.sample is not None
    found = loaded(SPEC.sample, "unused")
    for split, size in (("train", 12), ("selection", 8), ("test", 12)):
        tasks = found.of(split)
        assert len(tasks) == size
        assert {task.kind for task in tasks} == set(KINDS)


@pytest.fixture
def release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A stand-in for the downloaded games, and smaller counts to be drawn."""
    root = tmp_path / "alfworld"
    monkeypatch.setenv("ALFWORLD_DATA", str(root))
    counts: dict[Split, int] = {"train": 3, "selection": 2, "test": 2}
    monkeypatch.setattr(prepare, "COUNTS", counts)
    for part in ("train", "valid_seen", "valid_unseen"):
        for n in range(4):
            game_file(root, f"json_2.1.1/{part}/pick_and_place_simple-{n}/t/game.tw-pddl")
        game_file(root, f"json_2.1.1/{part}/pick_Sliced-A/t/game.tw-pddl")
        game_file(root, f"json_2.1.1/{part}/pick_hopeless-A/t/game.tw-pddl", solvable=False)
    return root


def items(folder: Path, name: str) -> list[dict[str, str]]:
    found: list[dict[str, str]] = json.loads((folder / name / "items.json").read_text("utf-8"))
    return found


def test_games_are_drawn_from_the_releases_own_parts(release: Path, tmp_path: Path) -> None:
    folder = tmp_path / "data"
    assert prepare.prepare(folder) == {"train": 3, "selection": 2, "test": 2}
    for name, part in (("train", "train"), ("val", "valid_seen"), ("test", "valid_unseen")):
        for item in items(folder, name):
            assert item["gamefile"].startswith(f"json_2.1.1/{part}/pick_and_place_simple-")
            assert item["task_type"] == "pick_and_place"
    assert items(folder, "train")[0]["id"] == "train:0000"
    found = loaded(folder, "$ALFWORLD_DATA")
    assert [task.id for task in found.of("test")] == ["valid_unseen:0000", "valid_unseen:0001"]


def test_a_manifest_keeps_its_order_and_must_fit(release: Path, tmp_path: Path) -> None:
    name = "json_2.1.1/train/pick_and_place_simple-{}/t/game.tw-pddl"
    rows = [[{"id": f"x{n}", "gamefile": name.format(n)}] for n in (2, 0, 3)]
    manifest = write_splits(tmp_path / "m", *rows)
    prepare.prepare(tmp_path / "data", manifest)
    assert items(tmp_path / "data", "train")[0]["gamefile"] == name.format(2)
    rows[1] = [{"id": "x0", "gamefile": name.format(77)}]
    with pytest.raises(DataError, match="lacks 1 of the 3 wanted games"):
        prepare.prepare(tmp_path / "data", write_splits(tmp_path / "m", *rows))


def test_games_that_are_not_there_come_with_a_hint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, release: Path
) -> None:
    monkeypatch.setitem(prepare.COUNTS, "test", 5)  # type: ignore[arg-type]
    with pytest.raises(DataError, match="holds 4 playable games, 5 are wanted"):
        prepare.prepare(tmp_path / "data")
    monkeypatch.setenv("ALFWORLD_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(DataError) as caught:
        prepare.prepare(tmp_path / "data")
    assert "alfworld-download" in caught.value.hint
