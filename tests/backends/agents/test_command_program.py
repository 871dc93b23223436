from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from agent_rig import BRIEF, SKILL, executor, role, seen_by, stub

from skillopt_cli.backends.agents.command import SPEC
from skillopt_cli.core.companion_files import Companion, Folder
from skillopt_cli.core.errors import BackendUnusable
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.core.task import (
    CUT_SHORT,
    NO_ANSWER,
    Attempt,
    ChatReply,
    ChatRequest,
    Usage,
)
from skillopt_cli.ports import RoleSettings
from skillopt_cli.testing import FunctionChat


def settings(program: Path | str, *arguments: str, **options: Any) -> RoleSettings:
    made = role(model=str(options.pop("model", "command")))
    argv = [str(program), *arguments]
    return replace(made, options={"argv": argv, **options})


async def attempt(
    tmp_path: Path,
    told: RoleSettings,
    skill: SkillDocument = SKILL,
    chat: FunctionChat | None = None,
) -> Attempt:
    assert SPEC.open is not None and SPEC.agent is not None
    agent = SPEC.agent(chat or SPEC.open(told), told)
    return await agent.attempt(BRIEF, skill, executor(tmp_path / "attempts"))


async def test_places_are_filled_the_task_comes_by_stdin_and_the_output_is_the_answer(
    tmp_path: Path,
) -> None:
    note = tmp_path / "note"
    program = stub(tmp_path / "agent", "  Anna Lee\n", note=note)
    told = settings(
        program, "-C={workspace}", "{skill}", "--model", "{model}", "{other}", model="m"
    )
    made = await attempt(tmp_path, told)

    assert (made.answer, made.ending) == ("Anna Lee", "answered")
    assert (made.usage, made.skill_loaded) == (Usage(1), None)
    (seen,) = seen_by(note)
    work = seen["cwd"]
    assert seen["argv"] == [f"-C={work}", f"{work}/AGENTS.md", "--model", "m", "{other}"]
    prompt = bytes.fromhex(seen["stdin"]).decode()
    assert prompt.startswith(
        "What you were taught for tasks of this kind is in the file `AGENTS.md`."
    )
    assert prompt.endswith(f"# Task\n\n{BRIEF.prompt}")
    assert seen["files"] == {"work/AGENTS.md": SKILL.text}


async def test_a_model_that_is_not_named_is_empty(tmp_path: Path) -> None:
    note = tmp_path / "note"
    await attempt(tmp_path, settings(stub(tmp_path / "agent", "a", note=note), "[{model}]"))
    assert seen_by(note)[0]["argv"] == ["[]"]


async def test_the_skill_goes_where_it_is_wanted(tmp_path: Path) -> None:
    note = tmp_path / "note"
    program = stub(tmp_path / "agent", "a", note=note)
    place = ".claude/skills/mine/SKILL.md"
    await attempt(tmp_path, settings(program, skill_file=place))
    await attempt(tmp_path, settings(program, "{skill}", skill_file="prompt"))
    await attempt(tmp_path, settings(program), SkillDocument(""))
    filed, told, untaught = seen_by(note)
    assert filed["files"][f"work/{place}"].startswith("---\nname: skillopt-target\n")
    assert (told["files"], told["argv"]) == ({}, [""])
    assert bytes.fromhex(told["stdin"]).decode().startswith(f"# Skill\n\n{SKILL.text.strip()}\n\n")
    assert untaught["files"] == {}
    assert bytes.fromhex(untaught["stdin"]).startswith(b"You answer questions.")


FOLDER = Folder((Companion("AGENTS.md", "mine\n"), Companion("scripts/x.py", "x = 1\n")))


async def test_the_files_of_a_folder_lie_beside_the_skill(tmp_path: Path) -> None:
    note = tmp_path / "note"
    program = stub(tmp_path / "agent", "a", note=note)
    skill = replace(SKILL, folder=FOLDER)
    await attempt(tmp_path, settings(program, skill_file=".skills/a/SKILL.md"), skill)
    await attempt(tmp_path, settings(program, skill_file="prompt"), skill)
    filed, told = seen_by(note)
    assert filed["files"]["work/.skills/a/scripts/x.py"] == "x = 1\n"
    assert set(told["files"]) == {"work/AGENTS.md", "work/scripts/x.py"}
    assert "The files that belong to this skill are in" in bytes.fromhex(told["stdin"]).decode()

    with pytest.raises(BackendUnusable, match=r"file `AGENTS\.md` would overwrite"):
        await attempt(tmp_path, settings(program), skill)


async def test_only_named_variables_are_seen(tmp_path: Path) -> None:
    note = tmp_path / "note"
    program = stub(tmp_path / "agent", "a", note=note)
    told = settings(program, variables=["OPENAI_API_KEY"])
    await attempt(tmp_path, told)
    await attempt(tmp_path, settings(program))
    first, second = (seen["environment"] for seen in seen_by(note))
    assert first["OPENAI_API_KEY"] == "never-to-be-seen"
    assert "OPENAI_API_KEY" not in second
    assert first["HOME"] != str(Path.home())


@pytest.mark.parametrize(
    ("out", "path", "answer"),
    [
        ('{"result": " Anna Lee "}', "result", "Anna Lee"),
        ('{"result": {"text": ["a", "b"]}}', "result.text.-1", "b"),
        ('log\n{"type": "x"}\n{"result": "old"}\n{"result": "new"}\nbye\n', "result", "new"),
        ('{"result": 42}', "result", "42"),
        ('{\n "result": "over lines"\n}', "result", "over lines"),
        (
            'Update available!\n{\n "result": "thing",\n "by": {"result": "other"}\n}\n',
            "result",
            "thing",
        ),
        ('[info] begun\n{"result": "thing"} 0.2 s\n', "result", "thing"),
        ('{"result": "thing"}\n{"result": null}\n', "result", "thing"),
        ('10%\r50%\r\x1b[32m{"result": "thing"}\x1b[0m\r\n', "result", "thing"),
        ('{"result": "\\u001b[1mthing\\u001b[0m\\u0000"}', "result", "thing"),
        ("\x1b]0;agent\x07 10%\r 99%\r\x1b[Kthing\x1b[0m\n", "", "thing"),
        ("<think>Perhaps other.</think>\nthing\n", "", "thing"),
        ("Perhaps other.\n</think>\n\nthing<|im_end|>\n", "", "thing"),
    ],
)
async def test_the_answer_is_found_in_json(
    tmp_path: Path, out: str, path: str, answer: str
) -> None:
    made = await attempt(tmp_path, settings(stub(tmp_path / "agent", out), answer=path))
    assert (made.answer, made.ending) == (answer, "answered")


@pytest.mark.parametrize(
    ("out", "path", "ending", "error"),
    [
        ('{"result": null}', "result", "broken", "its output holds no `result`"),
        ('{"result": ""}', "result", "broken", "ended without an answer"),
        ("<think>So <answer>thing</answer>", "", "gave_up", CUT_SHORT),
        ("<think><answer>thing</answer></think>", "", "gave_up", NO_ANSWER),
    ],
)
async def test_an_output_without_an_answer_is_none(
    tmp_path: Path, out: str, path: str, ending: str, error: str
) -> None:
    made = await attempt(tmp_path, settings(stub(tmp_path / "agent", out), answer=path))
    assert (made.answer, made.ending) == ("", ending)
    assert error in made.error


@pytest.mark.parametrize(
    ("stubbed", "options", "error"),
    [
        (
            {"out": "Error: rate limited", "code": 3},
            {},
            "it ended with code 3: Error: rate limited",
        ),
        ({"out": "x", "err": "why\nthis\n", "code": 1}, {}, "it ended with code 1: this"),
        ({"out": " \n"}, {}, "it ended without an answer"),
        ({"out": "no json"}, {"answer": "result"}, "its output holds no `result`"),
        ({"out": '{"result": ""}'}, {"answer": "result"}, "it ended without an answer"),
        ({"out": "late", "sleep": 30}, {"timeout": 1.0}, "it was not done within 1 s"),
    ],
)
async def test_what_is_no_answer_is_broken(
    tmp_path: Path, stubbed: dict[str, Any], options: dict[str, Any], error: str
) -> None:
    made = await attempt(tmp_path, settings(stub(tmp_path / "agent", **stubbed), **options))
    assert (made.ending, made.answer, made.error) == ("broken", "", error)


async def test_the_trace_of_a_broken_attempt_ends_with_its_errors(tmp_path: Path) -> None:
    errors = "Traceback:\n  File agent.py, line 7\nKeyError: 'city'"
    told = settings(stub(tmp_path / "agent", out="begun\n", err=errors, code=1))
    made = await attempt(tmp_path, told)
    assert made.error == "it ended with code 1: KeyError: 'city'"
    assert made.trace == f"begun\n[standard error]\n{errors}\n"
    long = settings(stub(tmp_path / "long", err=f"{'x' * 9_000}end", code=1))
    made = await attempt(tmp_path, long)
    assert made.trace == f"[standard error]\n{'x' * 7_997}end\n"
    answered = await attempt(tmp_path, settings(stub(tmp_path / "well", out="a", err="aside")))
    assert answered.trace == "a"


async def test_each_attempt_is_one_call_for_caps_and_doors(tmp_path: Path) -> None:
    chat = FunctionChat(lambda request: ChatReply("", Usage(1)))
    await attempt(tmp_path, settings(stub(tmp_path / "agent", "a")), chat=chat)
    (asked,) = chat.requests
    assert (asked.stage, asked.turn, asked.wire) == ("rollout", 0, "")
    assert isinstance(asked, ChatRequest)


@pytest.mark.parametrize(
    ("told", "words"),
    [
        (role(), "names no program"),
        (settings("no-such-agent"), "no program `no-such-agent`"),
        (settings("sh", variables=["MISSING"]), "the variable MISSING"),
    ],
)
def test_what_cannot_work_is_said_before_anything_begins(told: RoleSettings, words: str) -> None:
    assert SPEC.open is not None
    with pytest.raises(BackendUnusable, match=words):
        SPEC.open(told)


def test_another_program_at_the_same_place_is_another_target(tmp_path: Path) -> None:
    assert SPEC.open is not None and SPEC.agent is not None
    marks = set()
    for out in ("a", "b", "b"):
        told = settings(stub(tmp_path / "agent", out))
        marks.add(SPEC.agent(SPEC.open(told), told).fingerprint)
    told = settings(tmp_path / "agent", answer="result")
    marks.add(SPEC.agent(SPEC.open(told), told).fingerprint)
    assert len(marks) == 3
    assert not any(str(tmp_path) in mark for mark in marks)
    assert json.loads(next(iter(marks)).split(" ", 1)[1].rsplit(" ", 1)[0])["agent"] == "command"


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A script `agent.py` in the working folder that is no program."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "agent.py"
    path.write_text("print('Anna Lee')\n", encoding="utf-8")
    return path


def test_another_script_at_the_same_place_is_another_target(script: Path, tmp_path: Path) -> None:
    assert SPEC.open is not None and SPEC.agent is not None
    moved = tmp_path / "moved.py"
    marks = []
    for path, text in ((script, "print(1)"), (script, "print(2)"), (moved, "print(2)")):
        path.write_text(text, encoding="utf-8")
        told = settings("python3", str(path))
        marks.append(SPEC.agent(SPEC.open(told), told).fingerprint)
    assert marks[0] != marks[1] == marks[2]


async def test_a_script_that_is_no_program_gets_its_interpreter_named(
    tmp_path: Path, script: Path
) -> None:
    with pytest.raises(BackendUnusable) as caught:
        await attempt(tmp_path, settings("agent.py"))
    assert caught.value.hint == f"write argv: [python3, {script}]"
    # Who does so has an agent.
    made = await attempt(tmp_path, settings("python3", str(script)))
    assert made.answer == "Anna Lee"


@pytest.mark.parametrize(
    ("first", "hint"),
    [("gone.sh", "write argv: [sh, gone.sh]"), ("gone", "check its path")],
)
def test_a_program_that_is_not_there_is_told_with_what_to_write(first: str, hint: str) -> None:
    assert SPEC.open is not None
    with pytest.raises(BackendUnusable) as caught:
        SPEC.open(settings(first))
    assert caught.value.hint.startswith(hint)
