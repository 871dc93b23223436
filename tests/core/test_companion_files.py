from __future__ import annotations

from dataclasses import replace

import pytest

from skillopt_cli.core.appendix import with_notes
from skillopt_cli.core.companion_files import MOST_FILES, Companion, Folder, Held, excess, inner
from skillopt_cli.core.edits import Edit, apply_edits
from skillopt_cli.core.skill import SLOW_UPDATE, SkillDocument, restored, taught_text

SCRIPT = Companion("scripts/run.py", "print(1)\n", executable=True)
NOTES = Companion("references/notes.md", "---\na: 1\n---\n<!-- APPENDIX_START -->\n")
LOGO = Companion("logo.png", Held("ab" * 32, 5, "/somewhere"))
FOLDER = Folder((LOGO, NOTES, SCRIPT), ("SKILL.md", "scripts/**", "references/notes.md"))
SKILL = SkillDocument("---\nname: x\n---\n# Rules\n\n- one\n", FOLDER)


def test_a_folder_without_files_is_the_same_to_a_target_as_its_text() -> None:
    alone = SkillDocument(SKILL.text)
    assert SkillDocument(SKILL.text, Folder()).digest == alone.digest
    assert taught_text(alone) == SKILL.text
    assert SKILL.digest != alone.digest


@pytest.mark.parametrize(
    "other",
    [
        replace(SCRIPT, content="print(2)\n"),
        replace(SCRIPT, executable=False),
        replace(SCRIPT, path="scripts/walk.py"),
        replace(SCRIPT, content=Held(SCRIPT.digest[::-1], 9, "/x")),
    ],
)
def test_every_part_of_a_file_counts(other: Companion) -> None:
    changed = replace(SKILL, folder=replace(FOLDER, files=(LOGO, NOTES, other)))
    assert changed != SKILL and changed.digest != SKILL.digest


def test_where_a_file_was_read_and_who_may_change_it_do_not_alter_what_a_target_is_given() -> None:
    moved = replace(LOGO, content=Held("ab" * 32, 5, "/elsewhere"))
    there = replace(FOLDER, files=(moved, NOTES, SCRIPT))
    assert replace(SKILL, folder=there) == SKILL
    locked = replace(SKILL, folder=replace(FOLDER, editable=("SKILL.md",)))
    assert locked != SKILL and locked.digest == SKILL.digest


def test_whatever_becomes_of_the_text_keeps_the_files() -> None:
    planted = SKILL.with_region(SLOW_UPDATE, "")
    assert planted.folder == planted.sent.folder == FOLDER
    assert planted.sent.digest == SKILL.sent.digest
    assert SKILL.with_region(SLOW_UPDATE, "x").with_region(SLOW_UPDATE, "y").folder == FOLDER
    assert with_notes(SKILL, ["Do."]).folder == FOLDER
    assert restored(SKILL, "# New\n").folder == FOLDER
    assert restored(SkillDocument("a\n", FOLDER), "b\n").folder == FOLDER


@pytest.mark.parametrize(
    ("pattern", "path", "may"),
    [
        ("scripts/*.py", "scripts/a.py", True),
        ("scripts/*.py", "scripts/deep/a.py", False),
        ("scripts/**", "scripts/deep/a.py", True),
        ("**/*.py", "a.py", True),
        ("**/*.py", "b/c/a.py", True),
        ("*.md", "references/a.md", False),
        ("scripts", "scripts/a.py", False),
        ("a?.py", "ab.py", True),
    ],
)
def test_globs(pattern: str, path: str, may: bool) -> None:
    assert Folder((), (pattern,)).may_change(path) is may


@pytest.mark.parametrize("path", ["", "/etc/passwd", "../x", "a/../../x", "a\0b"])
def test_paths_that_leave_the_folder(path: str) -> None:
    with pytest.raises(ValueError):
        inner(path)
    outcome = apply_edits(SKILL, [Edit("append", "x", file=path or "..")]).outcomes[0]
    assert outcome.state == "invalid" and "leads out" in outcome.reason


def test_edits_change_the_file_they_name_each_after_the_ones_before() -> None:
    made = apply_edits(
        SKILL,
        [
            Edit("replace", "print(2)", "print(1)", file="scripts/run.py"),
            Edit("insert_after", "print(3)", "print(2)", file="./scripts/run.py"),
            Edit("append", "- two", file="SKILL.md"),
            Edit("append", "- two"),
            Edit("append", "print(3)", file="scripts/run.py"),
            Edit("append", "<!-- APPENDIX_END -->", file="references/notes.md"),
        ],
    )
    states = [outcome.state for outcome in made.outcomes]
    assert states == ["applied", "applied", "applied", "duplicate", "applied", "applied"]
    assert made.skill.folder is not None
    run = made.skill.folder.file("scripts/run.py")
    assert run is not None and run.executable and run.text == "print(2)\nprint(3)\nprint(3)\n"
    assert made.skill.text == f"{SKILL.text}- two\n"
    assert made.skill.texts["references/notes.md"].endswith("START -->\n<!-- APPENDIX_END -->\n")


@pytest.mark.parametrize(
    ("edit", "state", "reason"),
    [
        (
            Edit("append", "x", file="logo.png"),
            "read_only",
            "`logo.png` is read-only; `env.editable`",
        ),
        (Edit("append", "x", file="a.md"), "invalid", "no file `a.md`"),
        (Edit("append", "x", file="scripts"), "invalid", "no file `scripts`"),
        (Edit("append", "x", file="scripts/run.py/a"), "invalid", "no file"),
        (Edit("append", "x", file="scripts/RUN.py"), "invalid", "no file"),
        (Edit("replace", "x", "y", file="scripts/new.py"), "invalid", "no file"),
        (Edit("replace", "x", "y", file="scripts/run.py"), "unmatched", "`scripts/run.py`"),
        (Edit("replace", "x", "1", file="scripts/run.py"), "applied", ""),
        (Edit("replace", "p", "p", file="scripts/run.py"), "no_op", "stays the same"),
        (Edit("delete", "", "print(1)\n", file="scripts/run.py"), "invalid", "nothing would be"),
        (Edit("delete", "", "---", file="references/notes.md"), "ambiguous", "2 times"),
        (Edit("append", " ", file="scripts/run.py"), "no_op", "empty"),
    ],
)
def test_every_edit_of_a_file_ends_in_one_state(edit: Edit, state: str, reason: str) -> None:
    made = apply_edits(SKILL, [edit])
    assert (made.outcomes[0].state, reason in made.outcomes[0].reason) == (state, True)
    assert (made.skill == SKILL) is (state != "applied")


def test_a_binary_file_is_not_edited_even_where_a_glob_allows_it() -> None:
    loose = SkillDocument("x\n", Folder((LOGO,), ("*",)))
    (outcome,) = apply_edits(loose, [Edit("append", "x", file="logo.png")]).outcomes
    assert (outcome.state, outcome.reason) == (
        "protected",
        "`logo.png` is no text that can be edited",
    )


def test_a_skill_that_is_one_file_has_no_others() -> None:
    (outcome,) = apply_edits(SkillDocument("x\n"), [Edit("append", "y", file="a.py")]).outcomes
    assert (outcome.state, outcome.reason) == ("invalid", "the skill is one file and has no `a.py`")


def test_a_text_that_may_not_be_changed_is_not() -> None:
    locked = replace(SKILL, folder=replace(FOLDER, editable=("scripts/*",)))
    (outcome,) = apply_edits(locked, [Edit("append", "- two")]).outcomes
    assert (outcome.state, outcome.reason) == (
        "read_only",
        "`SKILL.md` is read-only; `env.editable` names what may be edited",
    )


@pytest.mark.parametrize(
    "edit",
    [
        Edit("append", "print(3)", file="scripts/run.py"),
        Edit("append", "print(3)", file="./scripts/run.py"),
        Edit("replace", "print(2)", "print(1)", file="scripts/run.py"),
        Edit("replace", "print(2)", "of no file", file="scripts/run.py"),
        Edit("replace", "print(2)", "print(1)"),
        Edit("insert_after", "print(2)", "print(1)"),
        Edit("delete", "", "print(1)"),
    ],
)
def test_an_edit_meant_for_a_read_only_file_names_the_setting(edit: Edit) -> None:
    locked = replace(SKILL, folder=replace(FOLDER, editable=("SKILL.md",)))
    made = apply_edits(locked, [edit], append_unmatched=True)
    (outcome,) = made.outcomes
    assert made.skill == locked and outcome.state == "read_only"
    assert outcome.reason == (
        "`scripts/run.py` is read-only; `env.editable` names what may be edited"
    )


def test_a_new_file_is_made_where_a_glob_says_so() -> None:
    made = apply_edits(SKILL, [Edit("append", "#!/bin/sh\necho", file="scripts/sub/new.sh")])
    assert made.skill.folder is not None
    assert made.skill.folder.file("scripts/sub/new.sh") == Companion(
        "scripts/sub/new.sh", "#!/bin/sh\necho\n", executable=True
    )
    paths = [file.path for file in made.skill.folder.files]
    assert paths == sorted(paths)


def test_a_record_names_a_file_only_beside_the_text() -> None:
    assert "file" not in Edit("append", "x").record
    assert Edit("append", "x", file="a").record["file"] == "a"


def test_bounds() -> None:
    many = tuple(Companion(f"{n}.md", "") for n in range(MOST_FILES + 1))
    assert not excess(Folder(many[1:])) and "more than 200 files" in excess(Folder(many))
    assert "characters" in excess(Folder((Companion("a", "x" * 2_000_001),)))


def test_a_target_that_opens_no_files_reads_the_texts() -> None:
    skill = SkillDocument("# A", Folder((LOGO, Companion("b.md", "B"), Companion("c.py", "C\n"))))
    assert taught_text(skill) == "# A\n\n## File `b.md`\n\nB\n\n## File `c.py`\n\nC\n"
