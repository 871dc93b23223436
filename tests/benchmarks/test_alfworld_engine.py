"""ALFWorld's real engine: our games can be won, not by chance, and nothing is left behind."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import psutil
import pytest
from task_files import write_json, write_splits

from skillopt_cli.backends.simulated.world import FAMILIES, family_of, needed, rule
from skillopt_cli.benchmarks.alfworld import SPEC, Alfworld
from skillopt_cli.benchmarks.alfworld.engine import EngineFailed, GameEngine
from skillopt_cli.benchmarks.kit.data_check import check_data
from skillopt_cli.core.errors import NetworkFailed
from skillopt_cli.core.score import Trajectory
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.core.task import SPLITS, Task
from skillopt_cli.executors.program_executor import LocalExecutor
from skillopt_cli.ports import BenchmarkRequest, Interactive
from skillopt_cli.stages.attempts import Purpose, attempt
from skillopt_cli.store.memory import MemoryStore
from skillopt_cli.testing import ScriptedChat, Toy, check_benchmark, toy_run

if lacking := SPEC.missing():
    pytest.skip(f"the extra [alfworld] is not installed: {lacking}", allow_module_level=True)

AT_ONCE = 2
TAUGHT = "# Games\n\n" + "".join(f"- {rule(family)}\n" for family in range(FAMILIES))
EXECUTOR = LocalExecutor(Path(), {})
MAKE = Path(__file__).parents[2] / "docs" / "examples" / "samples" / "make_alfworld.py"


@pytest.fixture(scope="module")
def sample() -> Alfworld:
    """With one engine for all tests, which is seconds in the loading."""
    opened = SPEC.open(BenchmarkRequest())
    assert isinstance(opened, Alfworld)
    return opened


def every(benchmark: Alfworld) -> list[Task]:
    return [task for split in SPLITS for task in benchmark.tasks(split)]


async def each(tasks: list[Task], play: Callable[[Task], Any]) -> list[Any]:
    """What comes of playing each task, two at once."""
    free = asyncio.Semaphore(AT_ONCE)

    async def one(task: Task) -> Any:
        async with free:
            return await play(task)

    return await asyncio.gather(*map(one, tasks))


@pytest.mark.slow
async def test_an_expert_wins_every_game_and_the_episode_stops_there(sample: Alfworld) -> None:
    async def follow(task: Task) -> tuple[bool, bool, int]:
        steps = task.data["walkthrough"]
        async with sample.episode(task, EXECUTOR) as played:
            heard = [await played.hear(f"<action>{action}</action>") for action in steps]
            left = await played.outcome("")
        return left["won"], [h is None for h in heard] == [*[False] * (len(steps) - 1), True], 1

    assert await each(every(sample), follow) == [(True, True, 1)] * 32
    score = await sample.score(
        sample.tasks("test")[0], await sample.prove(sample.tasks("test")[0], EXECUTOR)
    )
    assert score.hard == 1.0


@pytest.mark.slow
async def test_a_random_player_hardly_ever_wins(sample: Alfworld) -> None:
    async def wander(task: Task) -> bool:
        chance = Random(task.id)
        async with sample.episode(task, EXECUTOR) as played:
            shown: str | None = await played.opening()
            while shown:
                actions = shown.rpartition("## Admissible actions\n")[2].splitlines()
                action = chance.choice(actions).removeprefix("- ")
                heard = await played.hear(f"<action>{action}</action>")
                shown = heard.text if heard else None
            left = await played.outcome("")
        assert left["steps"] == 50 or left["won"]
        return bool(left["won"])

    wins = await each(every(sample), wander)
    assert sum(wins) <= 0.2 * len(wins), sum(wins)


def trouble(words: str) -> str:
    return f"<think>Hm.</think><action>{words}</action>"


async def told(sample: Alfworld, task: Task, replies: list[str]) -> list[str]:
    async with sample.episode(task, EXECUTOR) as played:
        heard = [await played.opening()]
        for reply in replies:
            answer = await played.hear(reply)
            heard.append(answer.text if answer else "(end)")
        return heard


async def test_the_engine_says_the_same_at_the_same_moves(sample: Alfworld) -> None:
    task = sample.tasks("train")[3]
    replies = [trouble(action) for action in (*task.data["walkthrough"][:4], "dance", "look")]
    first = await told(sample, task, [*replies, "nothing"])
    other = SPEC.open(BenchmarkRequest())
    assert isinstance(other, Alfworld)
    assert await told(other, task, [*replies, "nothing"]) == first
    assert "Nothing happens." in first[5]
    assert "You are facing" in first[6]
    assert "Your answer held no action" in first[7]


PLAIN = """
import json, sys
from skillopt_cli.benchmarks.alfworld import game_process as host
sent = json.load(sys.stdin)
environment, first = host._begun({"household": sent["household"]})
views = [first]
for action in sent["actions"]:
    state, _, _ = environment.step(action)
    views.append(host._told(state))
print("VIEWS " + json.dumps(views))
"""


def in_a_child(script: str, sent: Any) -> str:
    done = subprocess.run(
        [sys.executable, "-c", script],
        input=json.dumps(sent),
        env={**os.environ, "PYTHONHASHSEED": "0"},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.rpartition("VIEWS ")[2]


@pytest.mark.slow
async def test_what_the_engine_remembers_changes_nothing_it_says() -> None:
    task = SPEC.open(BenchmarkRequest()).tasks("train")[4]
    household = {key: task.data[key] for key in ("task", "goal", "household")}
    actions = [*task.data["walkthrough"][:3], "dance", "inventory", *task.data["walkthrough"][3:]]
    plain = json.loads(in_a_child(PLAIN, {"household": household, "actions": actions}))
    async with GameEngine().play({"household": household}) as game:
        views = [game.first, *[await game.act(action) for action in actions]]
    shown = [(v.observation, list(v.actions), v.won) for v in views]
    assert shown == [(v["observation"], v["actions"], v["won"]) for v in plain]
    assert shown[-1][2] is True


def forks(engine: GameEngine) -> list[psutil.Process]:
    assert engine._host is not None
    return psutil.Process(engine._host.process.pid).children()


async def gone(processes: list[psutil.Process]) -> bool:
    for _ in range(60_000):
        if not any(p.is_running() and p.status() != psutil.STATUS_ZOMBIE for p in processes):
            return True
        await asyncio.sleep(0.01)
    return False


async def test_a_games_process_ends_with_its_episode_and_the_engine_with_its_owner(
    sample: Alfworld,
) -> None:
    engine = GameEngine()
    content = await sample._games.content(sample.tasks("test")[0])
    with pytest.raises(ZeroDivisionError):
        async with engine.play(content), engine.play(content) as game:
            await game.act("look")
            playing = forks(engine)
            assert len(playing) == 2
            raise ZeroDivisionError
    assert await gone(playing)
    host = engine._host
    assert host is not None
    assert forks(engine) == []
    del engine
    assert host.process.poll() is not None


async def test_an_engine_that_fails_is_no_fault_of_the_player(sample: Alfworld) -> None:
    engine = GameEngine()
    bad = {"household": {"task": "a", "goal": {"type": "fly"}, "household": {"Bed 1": []}}}
    with pytest.raises(EngineFailed, match="KeyError"):
        async with engine.play(bad):
            pass
    content = await sample._games.content(sample.tasks("test")[0])
    with pytest.raises(EngineFailed, match="gone"):
        async with engine.play(content) as game:
            (fork,) = forks(engine)
            fork.kill()
            await gone([fork])
            await game.act("look")
    assert engine._host is not None
    engine._host.process.kill()
    engine._host.process.wait()
    async with engine.play(content) as game:  # by a new process
        assert (await game.act("look")).observation


async def roll(
    sample: Alfworld,
    task: Task,
    chat: ScriptedChat | None,
    store: MemoryStore,
    skill: str = "Play.\n",
) -> Trajectory:
    settings = ("model.retry.max_attempts=1",)
    run = toy_run(Toy(settings, chat, benchmark=sample), store)
    return await attempt(run, SkillDocument(skill), task, Purpose("test", "t"))


async def test_an_api_error_breaks_the_attempt_and_a_resume_repeats_no_call(
    sample: Alfworld,
) -> None:
    assert isinstance(sample, Interactive)
    task = sample.tasks("train")[0]
    steps = [trouble(action) for action in task.data["walkthrough"]]
    store = MemoryStore()
    broken = await roll(sample, task, ScriptedChat([*steps[:2], NetworkFailed("down")]), store)
    assert broken.attempt.ending == "broken"
    assert broken.score is None
    assert not any("did `look`" in message.content for message in broken.attempt.messages)
    chat = ScriptedChat(steps[2:])
    made = await roll(sample, task, chat, store)
    assert [request.turn for request in chat.requests] == list(range(2, len(steps)))
    assert made.score is not None
    assert made.score.hard == 1.0
    assert [message.role for message in chat.requests[0].messages] == ["system", "user"]
    assert "Step 2: saw" in chat.requests[0].messages[1].content


async def test_a_target_that_was_taught_wins_and_one_that_was_not_does_not(
    sample: Alfworld,
) -> None:
    task = next(t for t in sample.tasks("train") if needed(family_of(t.data["task"])))
    made = await roll(sample, task, None, MemoryStore(), TAUGHT)
    assert made.score is not None
    assert made.score.hard == 1.0
    made = await roll(sample, task, None, MemoryStore())
    assert made.score is not None
    assert made.score.feedback == (
        "the task was not done in 50 steps; 50 answers held no action between the tags"
    )


async def test_the_sample_keeps_the_contract_and_has_no_faults(sample: Alfworld) -> None:
    await check_benchmark(sample)
    findings = await check_data(sample, EXECUTOR, at_most=6)
    assert [finding for finding in findings if finding.level == "error"] == []


def test_a_published_game_file_is_played(tmp_path: Path) -> None:
    written = """
import json, sys
from skillopt_cli.benchmarks.alfworld.household import game_of
for path, item in json.load(sys.stdin):
    game = game_of(item["task"], item["goal"], item["household"])
    game |= {"solvable": True, "walkthrough": item["walkthrough"]}
    with open(path, "w", encoding="utf-8") as file:
        json.dump(game, file)
"""
    tasks = SPEC.open(BenchmarkRequest()).tasks("train")[:3]
    paths = [tmp_path / f"pick_and_place_simple-{n}.tw-pddl" for n in range(3)]
    in_a_child(written, [(str(p), dict(t.data)) for p, t in zip(paths, tasks, strict=True)])
    rows = [[{"id": f"train:{n}", "gamefile": path.name}] for n, path in enumerate(paths)]
    folder = write_splits(tmp_path / "splits", *rows)
    options = {"games_dir": str(tmp_path)}
    filed = SPEC.open(BenchmarkRequest(split_dir=folder, options=options))
    assert isinstance(filed, Alfworld)
    (task,) = filed.tasks("test")
    assert task.data["task"] == tasks[2].data["task"]

    async def proven() -> bool:
        return bool((await filed.prove(task, EXECUTOR)).outcome["won"])

    assert asyncio.run(proven())
    game = json.loads(paths[2].read_text(encoding="utf-8"))
    write_json(paths[2], {**game, "walkthrough": None})
    stale = replace(task, data={**task.data})
    with pytest.raises(Exception, match="holds no walkthrough"):
        asyncio.run(filed.prove(stale, EXECUTOR))


PROGRAM = (sys.executable, "-c", "from skillopt_cli.cli.main import main; main()")


@pytest.mark.slow
def test_a_run_killed_in_a_game_plays_on_where_it_was(tmp_path: Path) -> None:
    (tmp_path / "skill.md").write_text(TAUGHT, encoding="utf-8")
    common = ("train", "alfworld", "--preset", "tiny", "--display", "none", "--epochs", "1")
    more = ("--skill-init", "skill.md", "--batch-size", "1", "--set", "train.train_size=1")
    one = ("--set", "run.workers=1")
    few = ("--set", "evaluation.sel_env_num=1", "--set", "evaluation.test_env_num=1")
    for name, after in (("whole", 0), ("killed", 4)):
        command = [*PROGRAM, *common, *more, *few, *one, "--run-id", name]
        # Long enough that it is killed in a game.
        command += ["--set", "model.simulated.latency_ms=1000"] if after else []
        process = subprocess.Popen(command, cwd=tmp_path)
        log = tmp_path / "outputs" / "alfworld" / name / "events.jsonl"
        if after:
            while process.poll() is None and calls(log) < after:
                time.sleep(0.005)
            children = psutil.Process(process.pid).children(recursive=True)
            os.kill(process.pid, signal.SIGKILL)
            assert process.wait() == -signal.SIGKILL
            assert children
            assert asyncio.run(gone(children))
            subprocess.run(
                [*PROGRAM, "resume", str(log.parent), "--display", "none"],
                cwd=tmp_path,
                check=True,
            )
        else:
            assert process.wait() == 0
    whole, killed = (
        tmp_path / "outputs" / "alfworld" / name / "events.jsonl" for name in ("whole", "killed")
    )
    assert calls(whole) > 6
    # What was in flight at the kill may have been answered without being noted.
    assert calls(whole) <= calls(killed) <= calls(whole) + 1


def calls(log: Path) -> int:
    """Calls of attempts, the first checks left out."""
    if not log.exists():
        return 0
    facts = [json.loads(line)["event"] for line in log.read_bytes().split(b"\n")[:-1]]
    return sum(f["kind"] == "call_made" and f["stage"] != "preflight" for f in facts)


@pytest.mark.slow
def test_the_script_makes_the_games_that_are_there(tmp_path: Path) -> None:
    subprocess.run([sys.executable, MAKE, tmp_path], check=True)
    assert SPEC.sample is not None
    for split in ("train", "val", "test"):
        made = (tmp_path / split / "items.json").read_bytes()
        assert made == (SPEC.sample / split / "items.json").read_bytes()
