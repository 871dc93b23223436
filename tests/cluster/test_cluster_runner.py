from __future__ import annotations

import asyncio
import hashlib
import itertools
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from here_cluster import HereCluster

from skillopt_cli.backends.chat_agent import ChatAgent
from skillopt_cli.cluster import cluster_runner, node_files
from skillopt_cli.cluster.attempt_worker import NodeSite
from skillopt_cli.cluster.cluster_runner import ClusterRunner
from skillopt_cli.cluster.messages import FileContent
from skillopt_cli.core.errors import AuthFailed, BackendUnusable, ConfigError, RateLimited
from skillopt_cli.core.events import Degraded, RunEvent
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.core.task import Attempt, Brief, ChatReply, ChatRequest, Image, Task, TaskFile
from skillopt_cli.executors.program_executor import LocalExecutor
from skillopt_cli.ports import ChatBackend
from skillopt_cli.testing import FunctionChat

SKILL = SkillDocument("# Skill\n\n- Be brief.\n")


@pytest.fixture(autouse=True)
def own_folder_for_temporary_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()


def content(path: str) -> str:
    return Path(path).read_text(encoding="utf-8")


def workspaces() -> list[Path]:
    """Folders of attempts, and those that hold them."""
    return [f for f in Path(tempfile.gettempdir()).iterdir() if "-files-" not in f.name]


async def until(happened: Callable[[], bool]) -> None:
    for _ in itertools.count():
        if happened():
            return
        await asyncio.sleep(0.002)


class HeldChat(FunctionChat):
    """A model that answers once it may."""

    def __init__(self) -> None:
        super().__init__(lambda request: f"reply {len(self.requests)}")
        self.asked, self.may = asyncio.Event(), asyncio.Event()

    async def chat(self, request: ChatRequest) -> ChatReply:
        self.asked.set()
        await self.may.wait()
        return await super().chat(request)


@dataclass(frozen=True)
class AskingRunner:
    """Asks its model once, and tells what it read of files, and where it works."""

    chat: ChatBackend
    read: dict[str, str]
    workspaces: Path

    async def attempt(self, task: Task, brief: Brief, skill: SkillDocument) -> Attempt:
        if task.kind == "program":
            executor = LocalExecutor(self.workspaces)
            async with executor.workspace("w") as folder:
                code = task.data["code"]
                done = await executor.run([sys.executable, "-c", code], cwd=folder, limit=60)
            return Attempt(done.stdout)
        if task.kind == "bug":
            raise ZeroDivisionError("a bug of the plug-in")
        made = await ChatAgent(self.chat).attempt(brief, skill, LocalExecutor(self.workspaces))
        told = [content(path) for path in (*(f.path for f in brief.files), *self.read.values())]
        return replace(made, answer=" ".join([made.answer, *told]))


@dataclass(frozen=True)
class Plan:
    """A node's site; `fault` is what it lacks."""

    fault: str = ""
    read: dict[str, str] = field(default_factory=dict)

    def open(self, chat: ChatBackend, files: Path, workspaces: Path) -> NodeSite:
        if self.fault:
            raise ConfigError(self.fault)

        def read_at(found: Sequence[TaskFile]) -> None:
            self.read.update({file.name: file.path for file in found})

        notice = Degraded("target", "its programs are not isolated")
        return NodeSite(AskingRunner(chat, self.read, workspaces), read_at, (notice,))


@dataclass
class Opened:
    runner: ClusterRunner
    cluster: HereCluster
    facts: list[RunEvent]

    async def attempt(self, name: str = "t", kind: str = "question", **data: str) -> Attempt:
        return await self.runner.attempt(Task(name, kind, data), Brief(name, "role", ()), SKILL)


@asynccontextmanager
async def opened(
    chat: ChatBackend,
    plan: Plan | None = None,
    workers: int = 2,
    files: Callable[[Task], Sequence[TaskFile]] = lambda task: (),
    cluster: HereCluster | None = None,
) -> AsyncIterator[Opened]:
    facts: list[RunEvent] = []
    cluster = cluster or HereCluster()
    runner = ClusterRunner(cluster, workers, plan or Plan(), chat, files, facts.append)
    async with runner:
        yield Opened(runner, cluster, facts)


async def test_an_attempt_equals_one_of_this_process_and_its_calls_are_made_here() -> None:
    chat = FunctionChat(lambda request: "answer")
    here = ChatAgent(FunctionChat(lambda request: "answer"))
    async with opened(chat) as cluster:
        made = await cluster.attempt()
        assert made == await here.attempt(Brief("t", "role", ()), SKILL, LocalExecutor(Path.cwd()))
        assert len(chat.requests) == 1
        # Said once, however many workers say it.
        assert [f.reason for f in cluster.facts if isinstance(f, Degraded)] == [
            "its programs are not isolated"
        ]
    assert not workspaces()


async def test_a_lost_attempt_is_made_again_counted_and_repeats_no_call() -> None:
    chat = HeldChat()
    answers: dict[str, ChatReply] = {}

    class Journaled(FunctionChat):
        async def chat(self, request: ChatRequest) -> ChatReply:
            if request.identity not in answers:
                answers[request.identity] = await chat.chat(request)
            return answers[request.identity]

    async with opened(Journaled(lambda request: "")) as cluster:
        making = asyncio.ensure_future(cluster.attempt())
        await chat.asked.wait()
        busy = next(w for w in cluster.cluster.workers if w.busy)
        busy.lose()
        await asyncio.sleep(0)
        assert not making.done()  # it waits for the call under way: its answer is paid for
        chat.may.set()
        assert (await making).answer == "reply 1"
        assert len(chat.requests) == 1
        again = [f for f in cluster.facts if isinstance(f, Degraded) and f.where == "cluster"]
        assert [f.reason for f in again] == [
            f"a lost attempt is made again ({busy.name}: the node died)"
        ]
        assert len(cluster.cluster.workers) == 3


async def test_an_attempt_that_loses_worker_after_worker_is_broken() -> None:
    cluster = HereCluster()

    def lose(request: ChatRequest) -> str:
        next(worker for worker in cluster.workers if worker.busy).lose("out of memory")
        return "never heard"

    async with opened(FunctionChat(lose), workers=1, cluster=cluster) as found:
        made = await found.attempt()
    assert made.ending == "broken"
    assert made.error == "its worker was lost 3 times, at last on node-2: out of memory"


async def test_workers_that_were_lost_while_idle_break_no_attempt() -> None:
    async with opened(FunctionChat(lambda request: "yes"), workers=5) as cluster:
        await until(lambda: cluster.runner._idle.qsize() == 5)
        for worker in cluster.cluster.workers[:4]:
            worker.lose()
        assert (await cluster.attempt()).answer == "yes"
        assert not [f for f in cluster.facts if isinstance(f, Degraded) and f.where == "cluster"]


async def test_an_error_of_a_call_is_told_to_the_node_and_one_that_ends_the_run_is_raised() -> None:
    error: Exception = RateLimited("slow down", retry_after=3.0)

    def fail(request: ChatRequest) -> str:
        raise error

    async with opened(FunctionChat(fail), workers=1) as cluster:
        made = await cluster.attempt()
        assert (made.ending, made.error) == ("broken", "RateLimited: slow down")
        error = AuthFailed("the key is refused")
        with pytest.raises(AuthFailed, match="the key is refused"):
            await cluster.attempt()
        # Its worker is free again.
        error = RateLimited("slow down")
        assert (await cluster.attempt()).ending == "broken"


async def test_a_cancelled_attempt_ends_its_program_before_the_next_one(tmp_path: Path) -> None:
    started, ended = tmp_path / "started", tmp_path / "ended"
    code = f"""
import pathlib, signal, time
signal.signal(signal.SIGINT, lambda *_: (pathlib.Path({str(ended)!r}).touch(), exit()))
pathlib.Path({str(started)!r}).touch()
while True: time.sleep(60)
"""
    async with opened(FunctionChat(lambda request: "yes"), workers=1) as cluster:
        making = asyncio.ensure_future(cluster.attempt(kind="program", code=code))
        await until(started.exists)
        making.cancel()
        assert (await cluster.attempt()).answer == "yes"
        with pytest.raises(asyncio.CancelledError):
            await making
    assert not workspaces()


async def test_files_are_sent_once_to_a_worker_and_pictures_are_the_drivers_in_its_calls(
    tmp_path: Path,
) -> None:
    def at(name: str, text: str) -> tuple[str, str]:
        (tmp_path / name).write_text(text, encoding="utf-8")
        return str(tmp_path / name), hashlib.sha256(text.encode()).hexdigest()

    path, digest = at("shown.txt", "shown")
    image = Image(*((found := at("a.png", "picture"))[0], "image/png"), found[1])
    episode_path, episode_digest = at("game.json", "game")
    brief = Brief("t", "role", (), images=(image,), files=(TaskFile(path, "in.txt", digest),))

    def files(task: Task) -> Sequence[TaskFile]:
        return [TaskFile(episode_path, "game", episode_digest)]

    chat = FunctionChat(lambda request: "answer")
    async with opened(chat, workers=1, files=files) as cluster:
        for _ in range(2):
            made = await cluster.runner.attempt(Task("t", "question", {}), brief, SKILL)
            assert made.answer == "answer shown game"
            assert made.messages[1].images == (image,)
        names = [key.rpartition("/")[2] for _, key in cluster.cluster.sent]
        assert names == ["shown.txt", "game.json", "a.png", SKILL.digest]
    assert all(request.messages[1].images == (image,) for request in chat.requests)
    # The next run on this node needs the skill alone.
    async with opened(chat, workers=1, files=files) as later:
        await later.runner.attempt(Task("t", "question", {}), brief, SKILL)
        assert [key for _, key in later.cluster.sent] == [SKILL.digest]


async def test_a_file_that_attempts_need_at_once_is_packed_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared = tmp_path / "shared.txt"
    shared.write_text("the content", encoding="utf-8")
    files = (TaskFile(str(shared), "shared.txt", "1" * 64),)
    packs: list[Path] = []

    def packed(file: Path) -> FileContent:
        packs.append(file)
        return node_files.packed(file)

    monkeypatch.setattr(cluster_runner, "packed", packed)
    async with opened(FunctionChat(lambda request: "answer"), files=lambda task: files) as cluster:
        made = await asyncio.gather(cluster.attempt("a"), cluster.attempt("b"))
        assert [attempt.answer for attempt in made] == ["answer the content"] * 2
        assert {worker for worker, _ in cluster.cluster.sent} == {"node-0", "node-1"}
    assert packs == [shared]


async def test_what_a_node_lacks_ends_the_run_before_anything_is_spent() -> None:
    chat = FunctionChat(lambda request: "answer")
    with pytest.raises(ConfigError, match="the program is missing"):
        async with opened(chat, Plan(fault="the program is missing")):
            pass
    assert not chat.requests


async def test_workers_that_never_start_end_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster_runner, "RESTART", 0.0)
    cluster = HereCluster()
    cluster.doomed = 3
    with pytest.raises(BackendUnusable, match=r"no worker can be opened .* it cannot start"):
        async with opened(FunctionChat(lambda request: ""), workers=1, cluster=cluster):
            pass
    cluster.doomed = 2  # twice may be chance
    async with opened(FunctionChat(lambda request: "yes"), workers=1, cluster=cluster) as found:
        assert (await found.attempt()).answer == "yes"


async def test_a_bug_on_a_node_is_raised_with_its_traceback() -> None:
    async with opened(FunctionChat(lambda request: "")) as cluster:
        with pytest.raises(RuntimeError, match="ZeroDivisionError: a bug of the plug-in"):
            await cluster.attempt(kind="bug")
