"""The real programs, whole attempts against a model server on the loopback."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import psutil
import pytest
from agent_rig import ANSWER, BRIEF, KEY, MODEL, QUESTION, SKILL, role
from sandbox_rig import namespaces_or_skip

from skillopt_cli.backends.agents import claude_code_exec, codex_exec
from skillopt_cli.backends.agents.relay import SHOWN
from skillopt_cli.backends.middleware.recorder import Cached
from skillopt_cli.backends.middleware.wrapper import Wrapper
from skillopt_cli.core.errors import AuthFailed
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.core.task import Attempt, ChatReply, ChatRequest, Image, Message
from skillopt_cli.executors.program_executor import LocalExecutor, ProgramExecutor
from skillopt_cli.executors.sandbox import SandboxExecutor
from skillopt_cli.ports import BackendSpec, ChatBackend
from skillopt_cli.stages.answer_parsing import read_answer
from skillopt_cli.stages.answer_schemas import FailureAnalysis
from skillopt_cli.testing import MemoryStore, ModelServer, ScriptedResponse, run_model_server

WORK = Path(SHOWN) / "work"


@dataclass(frozen=True)
class Kind:
    """A program, and how its model has it run a shell command."""

    spec: BackendSpec
    tool: str
    arguments: Callable[[str], dict[str, Any]]

    def call(self, command: str) -> ScriptedResponse:
        wanted = {"name": self.tool, "arguments": self.arguments(command)}
        return ScriptedResponse(200, wanted, action="call")


KINDS = {
    "codex": Kind(codex_exec.SPEC, "exec_command", lambda command: {"cmd": command}),
    "claude": Kind(
        claude_code_exec.SPEC,
        "Bash",
        lambda command: {"command": command, "description": "does it"},
    ),
}
PATH = {"PATH": os.environ["PATH"]}
KEYS = {"OPENAI_API_KEY": "x", "ANTHROPIC_API_KEY": "x"}


def installed(name: str) -> Any:
    lacking = KINDS[name].spec.missing({**PATH, **KEYS})
    return pytest.param(name, marks=pytest.mark.skipif(bool(lacking), reason=lacking))


@pytest.fixture(params=[installed(name) for name in KINDS])
def kind(request: pytest.FixtureRequest) -> Kind:
    return KINDS[request.param]


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with run_model_server(key=KEY, model=MODEL) as running:
        yield running


def local(root: Path) -> ProgramExecutor:
    return LocalExecutor(root, PATH)


def isolating(root: Path) -> ProgramExecutor:
    return SandboxExecutor(root, PATH, wrapper=namespaces_or_skip())


async def attempt(
    kind: Kind,
    server: ModelServer,
    executor: ProgramExecutor,
    skill: SkillDocument = SKILL,
    **options: Any,
) -> Attempt:
    settings = role(server.url, **options)
    assert kind.spec.open is not None and kind.spec.agent is not None
    chat = kind.spec.open(settings)
    async with chat:  # type: ignore[attr-defined]
        made = await kind.spec.agent(chat, settings).attempt(BRIEF, skill, executor)
    assert list(executor.root.iterdir()) == []
    return made


@pytest.mark.parametrize("where", [local, pytest.param(isolating, marks=pytest.mark.slow)])
async def test_a_skill_makes_the_difference_between_a_wrong_and_a_right_answer(
    kind: Kind, server: ModelServer, tmp_path: Path, where: Callable[[Path], ProgramExecutor]
) -> None:
    untaught = await attempt(kind, server, where(tmp_path / "a"), SkillDocument(""))
    taught = await attempt(kind, server, where(tmp_path / "a"))

    assert (untaught.ending, untaught.skill_loaded) == ("answered", None)
    assert "Anna Lee" in untaught.answer and untaught.answer != ANSWER
    assert (taught.answer, taught.ending, taught.skill_loaded) == (ANSWER, "answered", True)
    requests = server.requests()
    assert {entry["authorization"] for entry in requests} == {f"Bearer {KEY}"}
    assert {entry["model"] for entry in requests} == {MODEL}
    told = sum(made.usage.prompt_tokens or 0 for made in (untaught, taught))
    assert told == sum(entry["prompt_tokens"] for entry in requests)
    assert untaught.usage.calls + taught.usage.calls == len(requests)


@pytest.mark.parametrize("where", [local, pytest.param(isolating, marks=pytest.mark.slow)])
async def test_a_tool_call_edits_a_file_and_the_next_one_finds_it(
    kind: Kind, server: ModelServer, tmp_path: Path, where: Callable[[Path], ProgramExecutor]
) -> None:
    server.script(
        kind.call("printf 'made\\n' > note.txt && pwd && env"), kind.call("cat note.txt missing")
    )
    made = await attempt(kind, server, where(tmp_path / "a"))

    assert (made.answer, made.ending) == (ANSWER, "answered")
    results = [message for message in made.messages if message.role == "tool"]
    assert [result.failed for result in results[:2]] == [False, True]
    assert f"{WORK}" in results[0].content
    assert KEY not in results[0].content and "never-to-be-seen" not in results[0].content
    assert "made" in results[1].content and "No such file" in results[1].content
    calls = [call for message in made.messages for call in message.tool_calls]
    assert any("note.txt" in call.arguments for call in calls)
    wire = json.dumps(server.bodies())
    assert str(tmp_path) not in wire and f"{WORK}" in wire
    assert made.trace.count("\n") >= 5


@pytest.mark.slow
async def test_a_model_writes_to_the_path_it_was_shown(
    kind: Kind, server: ModelServer, tmp_path: Path
) -> None:
    server.script(kind.call(f"echo found > {WORK}/by-path.txt"), kind.call("cat by-path.txt"))
    made = await attempt(kind, server, local(tmp_path / "a"))
    results = [message for message in made.messages if message.role == "tool"]
    assert "found" in results[1].content, results


@pytest.mark.slow
async def test_an_error_answer_is_broken_and_tells_the_services_words(
    kind: Kind, server: ModelServer, tmp_path: Path
) -> None:
    server.script(*[ScriptedResponse(400, {"error": {"message": "your words are odd"}})] * 9)
    made = await attempt(kind, server, local(tmp_path / "a"))
    assert (made.ending, made.answer) == ("broken", "")
    assert made.error.startswith("RequestRefused: ") and "your words are odd" in made.error


@pytest.mark.slow
@pytest.mark.parametrize(
    ("status", "name"), [(429, "RateLimited"), (500, "ServerFailed"), (529, "RateLimited")]
)
async def test_a_service_that_fails_is_asked_once_and_the_attempt_is_broken(
    kind: Kind, server: ModelServer, tmp_path: Path, status: int, name: str
) -> None:
    server.script(*[ScriptedResponse(status, {"error": {"message": "not now"}})] * 9)
    made = await attempt(kind, server, local(tmp_path / "a"))
    assert (made.ending, made.answer) == ("broken", "")
    assert made.error.startswith(f"{name}: ")
    assert len(server.requests()) == 1


@pytest.mark.slow
async def test_a_wrong_key_ends_the_run(kind: Kind, server: ModelServer, tmp_path: Path) -> None:
    server.script(ScriptedResponse(401, {"error": {"message": "who are you"}}))
    with pytest.raises(AuthFailed, match="who are you"):
        await attempt(kind, server, local(tmp_path / "a"))
    assert list((tmp_path / "a").iterdir()) == []


@pytest.mark.slow
async def test_a_stream_that_breaks_off_is_broken(
    kind: Kind, server: ModelServer, tmp_path: Path
) -> None:
    start = 'event: x\ndata: {"type": "response.created", "response": {}}\n\n'
    server.script(ScriptedResponse(200, start, {"content-type": "text/event-stream"}))
    made = await attempt(kind, server, local(tmp_path / "a"))
    assert (made.ending, made.answer) == ("broken", "")
    assert made.error.startswith("NetworkFailed: ")


@pytest.mark.slow
async def test_a_hang_ends_at_the_time_limit_and_leaves_no_process(
    kind: Kind, server: ModelServer, tmp_path: Path
) -> None:
    # So long that nobody else's sleep so.
    sleep = ["sleep", f"1000.{os.getpid()}"]
    server.script(kind.call(" ".join(sleep)), ScriptedResponse(action="hang"))
    made = await attempt(kind, server, local(tmp_path / "a"), timeout=4.0)
    assert (made.ending, made.error) == ("broken", "it was not done within 4 s")
    left = [
        process
        for process in psutil.process_iter(["cmdline"])
        if (process.info["cmdline"] or [])[:2] == sleep
    ]
    assert left == []


@pytest.mark.slow
async def test_an_attempt_that_used_up_its_turns_gave_up(
    kind: Kind, server: ModelServer, tmp_path: Path
) -> None:
    server.script(*[kind.call(f"echo {number}") for number in range(9)])
    made = await attempt(kind, server, local(tmp_path / "a"), max_turns=3)
    assert (made.ending, made.answer, made.usage.calls) == ("gave_up", "", 3)
    assert "turns" in made.error


@pytest.mark.slow
async def test_a_cancelled_attempt_leaves_nothing(
    kind: Kind, server: ModelServer, tmp_path: Path
) -> None:
    server.script(ScriptedResponse(action="hang"))
    task = asyncio.create_task(attempt(kind, server, local(tmp_path / "a")))
    while not server.requests():
        await asyncio.sleep(0.05)
        assert not task.done()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert list((tmp_path / "a").iterdir()) == []


@pytest.mark.slow
async def test_an_attempt_made_again_asks_nothing_anew(
    kind: Kind, server: ModelServer, tmp_path: Path
) -> None:
    """As after a kill: what was answered is journaled, and the workspace is another one."""
    store = MemoryStore()
    settings = role(server.url)
    assert kind.spec.open is not None and kind.spec.agent is not None
    chat = kind.spec.open(settings)
    agent = kind.spec.agent(Cached(chat, store), settings)
    server.script(kind.call(f"echo made > {WORK}/a.txt"), kind.call("cat a.txt; pwd"))
    made = []
    async with chat:  # type: ignore[attr-defined]
        for name in ("one", "two"):
            made.append(await agent.attempt(BRIEF, SKILL, local(tmp_path / name)))
    first, second = made
    assert len(server.requests()) == first.usage.calls
    assert (first.answer, first.usage) == (second.answer, second.usage)
    results = [[m.content for m in one.messages if m.role == "tool"] for one in made]
    assert results[0] == results[1] and "made" in results[0][1]


@pytest.mark.slow
async def test_a_picture_lies_in_the_workspace(
    kind: Kind, server: ModelServer, tmp_path: Path
) -> None:
    (tmp_path / "dot.png").write_bytes(b"\x89PNG not really")
    brief = replace(BRIEF, images=(Image(str(tmp_path / "dot.png"), "image/png", "d"),))
    server.script(kind.call("ls attachments"))
    settings = role(server.url)
    assert kind.spec.open is not None and kind.spec.agent is not None
    async with kind.spec.open(settings) as chat:  # type: ignore[attr-defined]
        made = await kind.spec.agent(chat, settings).attempt(brief, SKILL, local(tmp_path / "a"))
    listed = next(message for message in made.messages if message.role == "tool")
    assert "01_dot.png" in listed.content


def plant(folder: Path, name: str) -> None:
    """Everything that a program may take for notes on its project, each with a mark."""
    for note in (
        *("CLAUDE.md", "CLAUDE.local.md", "AGENTS.md", "AGENTS.override.md"),
        *(".claude/CLAUDE.md", ".claude/rules/r.md"),
    ):
        (folder / note).parent.mkdir(parents=True, exist_ok=True)
        (folder / note).write_text(f"PLANTED in {name} {note}\n", encoding="utf-8")
    for place in (".claude/skills", ".claude/commands", ".agents/skills", ".codex/skills"):
        path = folder / place / f"planted-{name}" / "SKILL.md"
        if place.endswith("commands"):
            path = folder / place / f"planted-{name}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        head = f"---\nname: planted-{name}\ndescription: PLANTED in {name} {place}\n---\n"
        path.write_text(f"{head}Do it.\n", encoding="utf-8")
    config = f'developer_instructions = "PLANTED in {name} .codex/config.toml"\n'
    (folder / ".codex" / "config.toml").write_text(config, encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("repository", [False, True])
async def test_what_lies_above_the_workspace_does_not_reach_the_model(
    kind: Kind, server: ModelServer, tmp_path: Path, repository: bool
) -> None:
    above = tmp_path / "above"
    plant(above / "near", "near")
    plant(above, "far")
    if repository:
        for part in ("objects", "refs"):
            (above / ".git" / part).mkdir(parents=True)
        (above / ".git" / "HEAD").write_text("ref: refs/heads/main\n", encoding="utf-8")
    made = await attempt(kind, server, local(above / "near" / "attempts"))
    assert (made.answer, made.ending, made.skill_loaded) == (ANSWER, "answered", True)
    wire = json.dumps(server.bodies())
    assert "PLANTED in" not in wire and "planted-" not in wire


@pytest.mark.slow
async def test_a_program_that_is_asked_answers_by_the_schema(
    kind: Kind, server: ModelServer, tmp_path: Path
) -> None:
    settings = replace(role(server.url), role="optimizer")
    assert kind.spec.open is not None and kind.spec.program_chat is not None
    schema = FailureAnalysis.model_json_schema()
    material = (
        f"## Current skill\n# Task\n\n## Trajectory 1: task `t` (qa)\n### Question\n{QUESTION}"
    )
    talk = (Message("system", "Propose at most 2 edits."), Message("user", material))
    asked = ChatRequest(talk, "reflect", schema=schema, schema_name="analyst_error")
    chat = kind.spec.program_chat(kind.spec.open(settings), settings, local(tmp_path / "a"))
    async with chat:  # type: ignore[attr-defined]
        reply = await chat.chat(asked)
    assert read_answer(reply.text, FailureAnalysis).failure_summary[0].count == 1
    (request,) = server.requests()
    assert (reply.usage.calls, reply.usage.prompt_tokens) == (1, request["prompt_tokens"])
    assert list((tmp_path / "a").iterdir()) == []


class Listening(Wrapper):
    """Keeps what is asked."""

    def __init__(self, inner: ChatBackend) -> None:
        super().__init__(inner)
        self.requests: list[ChatRequest] = []

    async def chat(self, request: ChatRequest) -> ChatReply:
        self.requests.append(request)
        return await self._inner.chat(request)


@pytest.mark.slow
async def test_codex_loads_the_skill_at_once_and_claude_by_its_tool(
    server: ModelServer, tmp_path: Path
) -> None:
    asked: dict[str, list[ChatRequest]] = {}
    for name, kind in KINDS.items():
        if kind.spec.missing({**PATH, **KEYS}):
            pytest.skip(f"{name} is not installed")
        settings = role(server.url)
        assert kind.spec.open is not None and kind.spec.agent is not None
        async with kind.spec.open(settings) as chat:  # type: ignore[attr-defined]
            heard = Listening(chat)
            await kind.spec.agent(heard, settings).attempt(BRIEF, SKILL, local(tmp_path / name))
        asked[name] = heard.requests
    line = SKILL.text.splitlines()[-1]
    assert line in asked["codex"][0].wire
    assert [line in request.wire for request in asked["claude"]] == [False, True]
    assert "anthropic-beta: " in asked["claude"][0].wire.partition("\n\n")[0]
