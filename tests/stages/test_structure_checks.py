from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from skillopt_cli.core.companion_files import Companion, Folder
from skillopt_cli.core.edits import Candidate, Edit, EditOutcome, Rewrite, apply_edits
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.executors.program_executor import LocalExecutor
from skillopt_cli.stages import Run
from skillopt_cli.stages.structure import sound
from skillopt_cli.testing import toy_run

EDITABLE = ("SKILL.md", "**")


def skill(text: str, *files: Companion) -> SkillDocument:
    return SkillDocument(text, Folder(files, EDITABLE))


def run_with_shells() -> Run:
    return replace(toy_run(), executor=LocalExecutor(Path.cwd(), {"PATH": os.environ["PATH"]}))


async def checked(before: SkillDocument, *edits: Edit, run: Run | None = None) -> Candidate:
    return await sound(run or run_with_shells(), before, apply_edits(before, edits), edits)


def told(made: Candidate) -> list[tuple[str, str]]:
    return [(outcome.state, outcome.reason) for outcome in made.outcomes]


async def test_an_edit_is_judged_by_its_own_file() -> None:
    before = skill("# A\n", Companion("a.py", "x = 1\n"), Companion("b.py", "y = 1\n"))
    made = await checked(
        before,
        Edit("replace", "x = (", "x = 1", file="a.py"),
        Edit("replace", "y = 2", "y = 1", file="b.py"),
        Edit("append", "z = 3", file="a.py"),
        Edit("append", "- rule"),
    )
    assert told(made) == [
        ("invalid", "a.py, line 1: '(' was never closed"),
        ("applied", ""),
        ("applied", ""),
        ("applied", ""),
    ]
    assert dict(made.skill.texts) == {
        "SKILL.md": "# A\n- rule\n",
        "a.py": "x = 1\nz = 3\n",
        "b.py": "y = 2\n",
    }


async def test_edits_that_are_sound_together_need_not_be_so_one_by_one() -> None:
    before = skill("# A\n", Companion("a.py", "x = 1\n"))
    edits = (
        Edit("replace", "x = (", "x = 1", file="a.py"),
        Edit("append", "2)", file="a.py"),
        Edit("append", "See [b](b.md)."),
        Edit("append", "# B", file="b.md"),
    )
    made = await checked(before, *edits)
    assert {state for state, _ in told(made)} == {"applied"}


async def test_a_link_to_a_file_whose_making_was_refused_goes_with_it() -> None:
    made = await checked(
        skill("# A\n"),
        Edit("append", "See [b](b.json)."),
        Edit("append", "{", file="b.json"),
        Edit("append", "- rule"),
    )
    assert [state for state, _ in told(made)] == ["invalid", "invalid", "applied"]
    assert made.skill.text == "# A\n- rule\n"


async def test_a_rewrite_is_refused_whole() -> None:
    before = skill("# A\n")
    after = replace(before, text="See [b](b.md).\n")
    edit = Edit("suggest", "Say more.")
    made = Candidate(after, (EditOutcome(edit, "applied"),), Rewrite(after.text))
    ended = await sound(run_with_shells(), before, made, [edit])
    assert ended.skill == before
    assert "`b.md`" in ended.refused and told(ended) == [("invalid", ended.refused)]


@pytest.mark.parametrize(
    ("path", "good", "bad", "said"),
    [
        ("a.yaml", "a: 1\n", "a: [1\nb: 2\n", "a.yaml, line 2: "),
        ("a.yml", "a: !own {b: 1}\n---\nc\n", "a: 'x\n", "a.yml, line 2: "),
        ("a.yml", "a: 1\n", "a: \ufffe\n", "a.yml: "),
        ("a.sh", "if true; then echo; fi\n", "if true; then\n", "a.sh, line "),
        ("a.bash", "x=(1 2)\n", "x=(\n", "a.bash, line "),
        ("run", "#!/bin/sh\necho\n", "#!/bin/sh\nfi\n", "run, line 2: "),
    ],
)
async def test_yaml_and_shell(path: str, good: str, bad: str, said: str) -> None:
    before = skill("# A\n", Companion(path, good))
    made = await checked(before, Edit("replace", bad, good, file=path))
    ((state, reason),) = told(made)
    assert state == "invalid" and reason.startswith(said)
    assert "/" not in reason, "nothing of this machine"
    new = await checked(skill("# A\n"), Edit("append", good, file=path))
    assert told(new) == [("applied", "")]
    broken = skill("# A\n", Companion(path, f"{bad} "))
    assert told(await checked(broken, Edit("replace", bad, f"{bad} ", file=path)))[0][0] in (
        "applied",
        "no_op",
    )


async def test_a_script_is_read_and_not_run(tmp_path: Path) -> None:
    made = await checked(skill("# A\n"), Edit("append", f"touch {tmp_path}/ran", file="a.sh"))
    assert told(made) == [("applied", "")] and not (tmp_path / "ran").exists()


async def test_without_a_shell_a_script_is_not_checked() -> None:
    bare = replace(toy_run(), executor=LocalExecutor(Path.cwd(), {"PATH": "/nowhere"}))
    made = await checked(skill("# A\n"), Edit("append", "fi", file="a.sh"), run=bare)
    assert told(made) == [("applied", "")]


async def test_a_skill_that_is_one_file_is_left_alone() -> None:
    before = SkillDocument("# A\n")
    made = await checked(before, Edit("append", "See [b](nowhere.md)."))
    assert told(made) == [("applied", "")]
