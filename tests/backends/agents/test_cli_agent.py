"""The course of an attempt, with stub programs: what they get, what becomes of what they do."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
from agent_rig import (
    BRIEF,
    CLAUDE_ASKS,
    CODEX_ASKS,
    KEY,
    SKILL,
    codex_lines,
    codex_says,
    executor,
    role,
    seen_by,
    stub,
)
from clock import out_of_time

from skillopt_cli.backends.agents import claude_code_exec, codex_exec
from skillopt_cli.backends.agents.relay import SHOWN
from skillopt_cli.core.errors import AuthFailed, BackendUnusable, DataError, RateLimited
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.core.task import Attempt, Brief, ChatReply, ChatRequest, Image, Section, Usage
from skillopt_cli.ports import RoleSettings
from skillopt_cli.testing import FunctionChat

CLAUDE_SAYS = (
    '{"type": "result", "subtype": "success", "is_error": false, "num_turns": 1,'
    ' "result": "Anna Lee"}\n'
)


def model(request: ChatRequest) -> ChatReply:
    return ChatReply("", Usage(1, 10, 2), wire="{}")


async def attempt(
    tmp_path: Path,
    settings: RoleSettings,
    brief: Brief = BRIEF,
    skill: SkillDocument = SKILL,
    chat: FunctionChat | None = None,
) -> Attempt:
    spec = claude_code_exec.SPEC if "claude" in settings.options["path"] else codex_exec.SPEC
    assert spec.agent is not None
    agent = spec.agent(chat or FunctionChat(model, "some-model"), settings)
    return await agent.attempt(brief, skill, executor(tmp_path / "attempts"))


async def test_codex_gets_its_flags_its_folders_and_nothing_of_ours(tmp_path: Path) -> None:
    note = tmp_path / "note"
    program = stub(tmp_path / "codex", codex_says("Anna Lee"), asks=CODEX_ASKS, note=note)
    made = await attempt(tmp_path, role(path=str(program), effort="low"))

    assert (made.answer, made.ending, made.usage) == ("Anna Lee", "answered", Usage(1, 10, 2))
    (seen,) = seen_by(note)
    work = seen["cwd"]
    assert seen["argv"] == [
        *("exec", "--json", "--strict-config", "--ephemeral", "--skip-git-repo-check"),
        *("--color", "never", "-C", work, "-"),
    ]
    environment = seen["environment"]
    token = environment.pop("SKILLOPT_RELAY_TOKEN")
    assert len(token) >= 32 and token != KEY
    assert KEY not in str(seen) and "never-to-be-seen" not in str(seen)
    own = str(Path(work).parent / "own")
    assert environment["HOME"] == environment["CODEX_HOME"] == own
    assert set(environment) <= {
        *("PATH", "HOME", "TMPDIR", "CODEX_HOME", "LC_CTYPE"),
        *(name for name in environment if name.startswith("SKILLOPT_")),
    }
    assert sorted(seen["files"]) == [
        "own/config.toml",
        "work/.agents/skills/skillopt-target/SKILL.md",
    ]
    assert seen["files"]["work/.agents/skills/skillopt-target/SKILL.md"].endswith(SKILL.text)
    config = seen["files"]["own/config.toml"]
    for line in (
        'model = "some-model"',
        'model_reasoning_effort = "low"',
        'approval_policy = "never"',
        'sandbox_mode = "workspace-write"',
        'web_search = "disabled"',
        "project_root_markers = []",
        "check_for_update_on_startup = false",
        'env_key = "SKILLOPT_RELAY_TOKEN"',
        "request_max_retries = 0",
        "stream_max_retries = 0",
        "unbounded_connection_retries = false",
        'persistence = "none"',
        'inherit = "core"',
    ):
        assert line in config.splitlines()
    assert token not in config


async def test_claude_gets_its_flags_its_folders_and_nothing_of_ours(tmp_path: Path) -> None:
    note = tmp_path / "note"
    program = stub(tmp_path / "claude", CLAUDE_SAYS, asks=CLAUDE_ASKS, note=note)
    chat = FunctionChat(model, "some-model")
    made = await attempt(tmp_path, role(path=str(program), effort="high", max_turns=9), chat=chat)

    assert (made.answer, made.ending) == ("Anna Lee", "answered")
    (seen,) = seen_by(note)
    tools = "Read,Glob,Grep,Skill,Edit,Write,Bash"
    assert seen["argv"] == [
        *("-p", "--output-format", "stream-json", "--verbose", "--model", "some-model"),
        *("--max-turns", "9", "--effort", "high", "--setting-sources", "project"),
        *("--settings", str(Path(seen["cwd"]).parent / "own" / "skillopt.json")),
        *("--strict-mcp-config", "--no-session-persistence"),
        *("--tools", tools, "--allowedTools", tools),
    ]
    environment = seen["environment"]
    assert environment["CLAUDE_CONFIG_DIR"] == environment["HOME"]
    for name in (
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
        "DISABLE_AUTOUPDATER",
        "DISABLE_TELEMETRY",
        "DISABLE_ERROR_REPORTING",
    ):
        assert environment[name] == "1"
    assert environment["CLAUDE_CODE_MAX_RETRIES"] == "0"
    assert environment["ANTHROPIC_BASE_URL"].startswith("http://127.0.0.1:")
    assert environment["ANTHROPIC_API_KEY"] != KEY
    assert KEY not in str(seen) and "never-to-be-seen" not in str(seen)
    assert sorted(seen["files"]) == [
        "own/skillopt.json",
        "work/.claude/skills/skillopt-target/SKILL.md",
    ]
    (asked,) = chat.requests
    head = asked.wire.partition("\n\n")[0]
    assert head == "anthropic-beta: some-beta\nanthropic-version: 2023-06-01"


async def test_read_only_is_passed_on_to_each_program(tmp_path: Path) -> None:
    notes = {name: tmp_path / f"{name}.note" for name in ("codex", "claude")}
    for name, out in (("codex", codex_says("a")), ("claude", CLAUDE_SAYS)):
        program = stub(tmp_path / name, out, note=notes[name])
        await attempt(tmp_path, role(path=str(program), sandbox="read-only"))
    config = seen_by(notes["codex"])[0]["files"]["own/config.toml"]
    assert 'sandbox_mode = "read-only"' in config.splitlines()
    argv = seen_by(notes["claude"])[0]["argv"]
    assert argv[-1] == argv[-3] == "Read,Glob,Grep,Skill"


@pytest.mark.parametrize("name", ["codex", "claude"])
async def test_a_prompt_of_two_lines_arrives_byte_for_byte(tmp_path: Path, name: str) -> None:
    note = tmp_path / "note"
    program = stub(tmp_path / name, codex_says("a"), note=note)
    text = "line one\nline two\r\n$HOME `id` \"quoted\" 'x' — ä \u2028 -\\n"
    brief = Brief("t", "/role", (Section("Question", text),), "Answer.")
    await attempt(tmp_path, role(path=str(program)), brief)
    (seen,) = seen_by(note)
    prompt = bytes.fromhex(seen["stdin"])
    assert prompt.endswith(f"\n\n/role\n\nAnswer.\n\n# Task\n\n## Question\n{text}".encode())
    assert not any("line one" in argument for argument in seen["argv"])


async def test_no_prompt_can_be_taken_for_a_command_of_claudes(tmp_path: Path) -> None:
    note = tmp_path / "note"
    program = stub(tmp_path / "claude", CLAUDE_SAYS, note=note)
    brief = Brief("t", "/clear", (Section("Question", "who?"),))
    await attempt(tmp_path, role(path=str(program)), brief, SkillDocument(""))
    assert bytes.fromhex(seen_by(note)[0]["stdin"]).startswith(b"Do this task.\n\n/clear\n\n")


async def test_the_skill_is_called_by_its_own_name_and_an_empty_one_not_at_all(
    tmp_path: Path,
) -> None:
    note = tmp_path / "note"
    program = stub(tmp_path / "codex", codex_says("a"), note=note)
    named = SkillDocument("---\nname: my-own\ndescription: Says how\n---\nDo it well.\n")
    for skill in (named, SkillDocument(" \n")):
        await attempt(tmp_path, role(path=str(program)), skill=skill)
    taught, untaught = seen_by(note)
    assert bytes.fromhex(taught["stdin"]).startswith(b"$my-own\n\n")
    assert taught["files"]["work/.agents/skills/my-own/SKILL.md"] == named.text
    assert bytes.fromhex(untaught["stdin"]).startswith(b"You answer questions.")
    assert list(untaught["files"]) == ["own/config.toml"]


async def test_the_tasks_files_come_as_copies(tmp_path: Path) -> None:
    note = tmp_path / "note"
    program = stub(tmp_path / "codex", codex_says("a"), note=note)
    (tmp_path / "map.svg").write_text("<svg/>")
    image = Image(str(tmp_path / "map.svg"), "image/svg+xml", "d")
    await attempt(tmp_path, role(path=str(program)), replace(BRIEF, images=(image,)))
    (seen,) = seen_by(note)
    assert seen["files"]["work/attachments/01_map.svg"] == "<svg/>"
    assert b"- attachments/01_map.svg\n" in bytes.fromhex(seen["stdin"])


async def test_no_attempt_sees_anything_of_another(tmp_path: Path) -> None:
    note = tmp_path / "note"
    program = stub(tmp_path / "codex", codex_says("a"), asks=CODEX_ASKS, note=note)
    for _ in range(2):
        await attempt(tmp_path, role(path=str(program)))
    first, second = seen_by(note)
    assert first["cwd"] != second["cwd"]
    tokens = {seen["environment"]["SKILLOPT_RELAY_TOKEN"] for seen in (first, second)}
    assert len(tokens) == 2


async def test_messages_and_trace_speak_of_a_folder_that_never_changes(tmp_path: Path) -> None:
    program = stub(tmp_path / "codex")
    text = program.read_text()
    said = codex_says("@")
    program.write_text(text.replace('told["out"]', f"{said!r}.replace('@', os.getcwd())"))
    asking = stub(tmp_path / "asks", asks=CODEX_ASKS).read_text()
    program.write_text(program.read_text().replace('"asks": []', asks_of(asking)))
    made = await attempt(tmp_path, role(path=str(program)))
    assert made.answer == f"{SHOWN}/work"
    assert f"{SHOWN}/work" in made.trace and str(tmp_path / "attempts") not in made.trace


def asks_of(text: str) -> str:
    start = text.index('"asks": [')
    return text[start : text.index("]]", start) + 2]


FAILED = codex_lines({"type": "turn.failed", "error": {"message": "unexpected status 500"}})


async def ending(
    tmp_path: Path, chat: FunctionChat | None = None, **stubbed: object
) -> tuple[str, str, str]:
    program = stub(tmp_path / "codex", **{"asks": CODEX_ASKS, **stubbed})  # type: ignore[arg-type]
    settings = role(path=str(program), max_turns=2)
    made = await attempt(tmp_path, settings, chat=chat)
    return made.ending, made.answer, made.error


async def test_success_without_a_request_to_the_model_is_broken(tmp_path: Path) -> None:
    said = await ending(tmp_path, asks=(), out=codex_says("I know it anyway"))
    assert said == ("broken", "", "it answered without asking its model")


async def test_an_empty_answer_is_broken(tmp_path: Path) -> None:
    assert (await ending(tmp_path, out=codex_says("")))[:2] == ("broken", "")


async def test_a_failed_turn_is_broken_and_its_words_are_no_answer(tmp_path: Path) -> None:
    kind, answer, error = await ending(tmp_path, out=FAILED, code=1)
    assert (kind, answer) == ("broken", "")
    assert error == "codex ended with code 1: unexpected status 500"


async def test_a_hang_is_broken_when_its_time_is_up(tmp_path: Path) -> None:
    program = stub(tmp_path / "codex", codex_says("too late"), asks=CODEX_ASKS, sleep=600)
    said = program.with_name("codex.said")
    made = await out_of_time(attempt(tmp_path, role(path=str(program))), 600, said.exists)
    assert (made.ending, made.answer) == ("broken", "")
    assert made.error == "it was not done within 600 s"
    assert made.messages[-1].content == "too late"


async def test_the_services_own_error_counts_not_what_the_program_made_of_it(
    tmp_path: Path,
) -> None:
    def slow(request: ChatRequest) -> ChatReply:
        raise RateLimited("model `m` is rate limited")

    chat = FunctionChat(slow, "some-model")
    said = await ending(tmp_path, chat, out=codex_says("Error: 429"))
    assert said == ("broken", "", "RateLimited: model `m` is rate limited")


async def test_what_no_attempt_can_survive_is_raised(tmp_path: Path) -> None:
    for error in (AuthFailed("no"), DataError("disk full")):

        def refuse(request: ChatRequest, error: Exception = error) -> ChatReply:
            raise error

        with pytest.raises(type(error)) as raised:
            await ending(tmp_path, FunctionChat(refuse, "some-model"), out=FAILED, code=1)
        assert raised.value is error


async def test_used_up_turns_are_the_agents_own_failure(tmp_path: Path) -> None:
    said = await ending(tmp_path, asks=CODEX_ASKS * 3, out=FAILED, code=1)
    assert said == ("gave_up", "", "it used up its 2 turns")


async def test_a_program_that_is_gone_is_an_error_of_the_backend(tmp_path: Path) -> None:
    program = stub(tmp_path / "codex", codex_says("a"))
    assert codex_exec.SPEC.agent is not None
    agent = codex_exec.SPEC.agent(FunctionChat(model), role(path=str(program)))
    program.unlink()
    with pytest.raises(BackendUnusable, match="could not be started"):
        await agent.attempt(BRIEF, SKILL, executor(tmp_path))


async def test_a_stopped_program_is_broken(tmp_path: Path) -> None:
    program = stub(tmp_path / "codex", codex_says("x"), asks=CODEX_ASKS)
    text = program.read_text().replace(
        "time.sleep", "pathlib.Path('big').write_bytes(b'x' * 3_000_000); time.sleep"
    )
    program.write_text(text)
    running = executor(tmp_path / "attempts")
    running.limits = replace(running.limits, workspace=1_000_000, disk=8_000_000)
    assert codex_exec.SPEC.agent is not None
    agent = codex_exec.SPEC.agent(FunctionChat(model), role(path=str(program)))
    made = await agent.attempt(BRIEF, SKILL, running)
    assert (made.ending, made.answer) == ("broken", "")
    assert made.error.startswith("it was stopped: the workspace grew")


@pytest.fixture
def own_temporary(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A place for temporary files, short enough for a socket, in which nothing may be left."""
    place = Path(tempfile.mkdtemp(prefix="own-"))
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    yield
    place.rmdir()


@pytest.mark.parametrize("many", [20, pytest.param(200, marks=pytest.mark.slow)])
async def test_attempts_leave_nothing_behind(
    tmp_path: Path, own_temporary: None, many: int
) -> None:
    program = stub(tmp_path / "codex", codex_says("Anna Lee"), asks=CODEX_ASKS)
    assert codex_exec.SPEC.agent is not None
    agent = codex_exec.SPEC.agent(FunctionChat(model), role(path=str(program)))
    running = executor(tmp_path / "attempts")
    await agent.attempt(BRIEF, SKILL, running)
    me = psutil.Process()
    before = (me.num_fds(), len(me.children(recursive=True)))

    queue = iter(range(many))

    async def worker() -> list[str]:
        return [(await agent.attempt(BRIEF, SKILL, running)).ending for _ in queue]

    endings = await asyncio.gather(*(worker() for _ in range(6)))

    assert [ending for some in endings for ending in some] == ["answered"] * many
    assert list((tmp_path / "attempts").iterdir()) == []
    assert me.num_fds() <= before[0] and len(me.children(recursive=True)) <= before[1]
    assert len(asyncio.all_tasks()) == 1
    left = [
        p for p in psutil.process_iter(["cmdline"]) if str(program) in (p.info["cmdline"] or [])
    ]
    assert left == []
