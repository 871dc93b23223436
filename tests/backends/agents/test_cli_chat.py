"""Programs that are asked, with stubs: what they get, what becomes of what they say."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from agent_rig import (
    CLAUDE_ASKS,
    CODEX_ASKS,
    KEY,
    codex_lines,
    codex_says,
    executor,
    role,
    seen_by,
    stub,
)

from skillopt_cli.backends.agents import claude_code_exec, codex_exec
from skillopt_cli.backends.agents.cli_chat import CliChat, written
from skillopt_cli.backends.agents.codex_exec import strict_schema
from skillopt_cli.core.errors import (
    AuthFailed,
    BackendError,
    CallTimedOut,
    RateLimited,
    RequestRefused,
    ServerFailed,
)
from skillopt_cli.core.task import ChatReply, ChatRequest, Image, Message, Tool, Usage
from skillopt_cli.ports import ChatBackend
from skillopt_cli.stages.answer_schemas import FailureAnalysis
from skillopt_cli.testing import FunctionChat

ASKED = ChatRequest(
    (Message("system", "You analyse failures."), Message("user", "## Trajectory 1\nIt failed.")),
    stage="reflect",
    schema=FailureAnalysis.model_json_schema(),
    schema_name="analyst_error",
)
ANSWER = '{"edits": []}'


def model(request: ChatRequest) -> ChatReply:
    return ChatReply("", Usage(1, 10, 2), wire="{}")


def asked(
    tmp_path: Path, program: Path, chat: FunctionChat | None = None, **options: Any
) -> ChatBackend:
    spec = claude_code_exec.SPEC if "claude" in program.name else codex_exec.SPEC
    assert spec.program_chat is not None
    settings = replace(role(path=str(program), effort="low", **options), role="optimizer")
    inner = chat or FunctionChat(model, "some-model")
    return spec.program_chat(inner, settings, executor(tmp_path / "runs"))


async def test_codex_is_asked_once_with_the_schema_in_an_empty_folder_it_may_only_read(
    tmp_path: Path,
) -> None:
    note = tmp_path / "note"
    program = stub(tmp_path / "codex", codex_says(ANSWER), asks=CODEX_ASKS, note=note)
    chat = FunctionChat(model, "some-model")
    reply = await asked(tmp_path, program, chat).chat(ASKED)

    assert (reply.text, reply.usage, reply.finish) == (ANSWER, Usage(1, 10, 2), "stop")
    (seen,) = seen_by(note)
    own = Path(seen["cwd"]).parent / "own"
    assert seen["argv"] == [
        *("exec", "--json", "--strict-config", "--ephemeral", "--skip-git-repo-check"),
        *("--color", "never", "-C", seen["cwd"], "--output-schema", str(own / "schema.json"), "-"),
    ]
    assert sorted(seen["files"]) == ["own/config.toml", "own/schema.json"]
    config = seen["files"]["own/config.toml"].splitlines()
    assert 'sandbox_mode = "read-only"' in config
    assert 'model_reasoning_effort = "low"' in config
    schema = json.loads(seen["files"]["own/schema.json"])
    assert schema["title"] == "analyst_error"
    assert schema["additionalProperties"] is False
    assert set(schema["required"]) == set(schema["properties"]) > {"edits"}
    prompt = bytes.fromhex(seen["stdin"]).decode()
    assert prompt.startswith("Answer from this text alone")
    assert "\n\nYou analyse failures.\n\n# Request\n\n## Trajectory 1\nIt failed." in prompt
    assert KEY not in str(seen) and "never-to-be-seen" not in str(seen)
    (call,) = chat.requests
    assert (call.stage, call.turn) == ("reflect", 0)
    assert list((tmp_path / "runs").iterdir()) == []


async def test_claude_is_asked_without_tools_and_hands_in_its_answer(tmp_path: Path) -> None:
    note = tmp_path / "note"
    said = {"type": "result", "subtype": "success", "is_error": False, "num_turns": 2}
    out = json.dumps({**said, "result": "Done.", "structured_output": {"edits": []}})
    program = stub(tmp_path / "claude", out, asks=CLAUDE_ASKS, note=note)
    reply = await asked(tmp_path, program).chat(ASKED)

    assert json.loads(reply.text) == {"edits": []}
    (seen,) = seen_by(note)
    argv = seen["argv"]
    assert argv[-2:] == ["--tools", ""] and "--allowedTools" not in argv
    schema = json.loads(argv[argv.index("--json-schema") + 1])
    assert (schema["title"], schema["required"]) == ("analyst_error", ["edits"])
    assert list(seen["files"]) == ["own/skillopt.json"]


async def test_a_question_without_a_schema_names_none(tmp_path: Path) -> None:
    note = tmp_path / "note"
    free = ChatRequest((Message("user", "Reply with the single word: ok"),), stage="preflight")
    for name, out in (("codex", codex_says("ok")), ("claude", "")):
        program = stub(tmp_path / name, out, asks=CODEX_ASKS, note=note)
        chat = asked(tmp_path, program)
        if name == "codex":
            assert (await chat.chat(free)).text == "ok"
        else:
            with pytest.raises(ServerFailed):
                await chat.chat(free)
    for seen in seen_by(note):
        assert not {"--output-schema", "--json-schema"} & set(seen["argv"])


async def test_questions_are_told_apart_and_an_equal_one_is_the_same_call(tmp_path: Path) -> None:
    program = stub(tmp_path / "codex", codex_says("a"), asks=CODEX_ASKS)
    chat = FunctionChat(model, "some-model")
    backend = asked(tmp_path, program, chat)
    for request in (ASKED, ASKED, replace(ASKED, turn=1), replace(ASKED, draw=1)):
        await backend.chat(request)
    keys = [request.identity for request in chat.requests]
    assert keys[0] == keys[1]
    assert len(set(keys)) == 3


@pytest.mark.parametrize(
    ("stubbed", "options", "kind", "words"),
    [
        ({"out": ""}, {}, ServerFailed, "codex_exec gave no answer: codex ended with code 0"),
        ({"out": codex_says("")}, {}, ServerFailed, "without an answer"),
        ({"out": codex_says("x"), "asks": ()}, {}, ServerFailed, "without asking its model"),
        ({"out": "", "asks": CODEX_ASKS * 3}, {"max_turns": 2}, RequestRefused, "its 2 turns"),
        (
            {"out": codex_says("x"), "sleep": 60},
            {"timeout": 1.0},
            CallTimedOut,
            "not done within 1 s",
        ),
    ],
)
async def test_what_is_no_answer_is_an_error(
    tmp_path: Path,
    stubbed: dict[str, Any],
    options: dict[str, Any],
    kind: type[BackendError],
    words: str,
) -> None:
    program = stub(tmp_path / "codex", **{"asks": CODEX_ASKS, **stubbed})
    with pytest.raises(kind, match=words):
        await asked(tmp_path, program, **options).chat(ASKED)


@pytest.mark.parametrize("error", [RateLimited("slow"), RequestRefused("odd"), AuthFailed("no")])
async def test_the_services_own_error_is_raised(tmp_path: Path, error: BackendError) -> None:
    def refuse(request: ChatRequest) -> ChatReply:
        raise error

    failed = codex_lines({"type": "turn.failed", "error": {"message": "unexpected status"}})
    program = stub(tmp_path / "codex", failed, asks=CODEX_ASKS, code=1)
    with pytest.raises(type(error)) as raised:
        await asked(tmp_path, program, FunctionChat(refuse, "some-model")).chat(ASKED)
    assert raised.value is error


def test_a_conversation_is_written_in_turn() -> None:
    talk = (*ASKED.messages, Message("assistant", "{"), Message("user", "That is no JSON."))
    text = written(replace(ASKED, messages=talk))
    assert text.endswith(
        "# Request\n\n## Trajectory 1\nIt failed.\n\n# Your answer so far\n\n{\n\n"
        "# Request\n\nThat is no JSON."
    )


PICTURE = Message("user", "see", images=(Image("a.png", "image/png", "d"),))


@pytest.mark.parametrize(
    "change",
    [
        lambda: replace(ASKED, tools=(Tool("t", "d", {}),)),
        lambda: replace(ASKED, messages=(PICTURE,)),
    ],
)
async def test_what_no_program_can_be_told_is_refused_before_it_runs(
    tmp_path: Path, change: Callable[[], ChatRequest]
) -> None:
    program = stub(tmp_path / "codex", codex_says("a"), asks=CODEX_ASKS)
    chat = FunctionChat(model, "some-model")
    with pytest.raises(RequestRefused, match="text alone"):
        await asked(tmp_path, program, chat).chat(change())
    assert chat.requests == []


def test_program_and_model_both_count(tmp_path: Path) -> None:
    program = stub(tmp_path / "codex")
    one = asked(tmp_path, program)
    other = asked(tmp_path, program, max_turns=3)
    assert isinstance(one, CliChat) and one.fingerprint != other.fingerprint
    assert "codex_exec" in one.fingerprint and one.offers == {"json_schema"}


def test_a_strict_schema_wants_every_property_and_takes_names_as_they_are() -> None:
    schema = {
        "type": "object",
        "properties": {
            "default": {"type": "string", "default": "x"},
            "properties": {"type": "array", "items": {"$ref": "#/$defs/Part"}},
            "either": {"anyOf": [{"type": "null"}, {"type": "object", "properties": {"a": {}}}]},
        },
        "required": ["default"],
        "$defs": {"Part": {"type": "object", "properties": {"n": {"default": 0}}}},
    }
    strict = strict_schema(schema)
    assert strict["required"] == ["default", "properties", "either"]
    assert strict["properties"]["default"] == {"type": "string"}
    assert strict["properties"]["properties"] == schema["properties"]["properties"]  # type: ignore[index]
    assert strict["properties"]["either"]["anyOf"][1]["required"] == ["a"]
    assert strict["$defs"]["Part"]["required"] == ["n"]
    assert strict["$defs"]["Part"]["additionalProperties"] is False
    assert strict["$defs"]["Part"]["properties"] == {"n": {}}
