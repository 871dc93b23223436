from __future__ import annotations

import pytest

from skillopt_cli.core.companion_files import Companion, Folder
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.core.structure import language_of, structure_faults


def skill(text: str = "# A\n", **files: str) -> SkillDocument:
    """A folder; `__` in a name stands for a slash and `_` before an ending for its dot."""
    named = {name.replace("__", "/").replace("_", "."): said for name, said in files.items()}
    return SkillDocument(text, Folder(tuple(Companion(p, t) for p, t in sorted(named.items()))))


@pytest.mark.parametrize(
    ("path", "text", "language"),
    [
        ("a/b.py", "", "python"),
        ("B.YML", "", "yaml"),
        ("x", "#!/usr/bin/env python3\n", "python"),
        ("x", "#!/usr/bin/env -S python3.11 -I\n", "python"),
        ("x", "#!/bin/bash -e\n", "shell"),
        ("x", "#!/usr/bin/perl\n", None),
        ("x.txt", "text", None),
    ],
)
def test_languages(path: str, text: str, language: str | None) -> None:
    assert language_of(path, text) == language


@pytest.mark.parametrize(
    ("file", "good", "bad", "said"),
    [
        ("a_py", "x = 1\n", "x = 1\nif x\n", "a.py, line 2: expected ':'"),
        ("a_py", "\ufeffx = 1\n", "def f():\npass\n", "a.py, line 2: expected an indented block"),
        ("a_py", "x = 1\n", "return\n", "a.py, line 1: 'return' outside function"),
        ("a_py", "x = 1\n", "x = '\0'\n", "a.py"),
        ("a_py", "x = '\\d'\n", "(" * 300 + "\n", "a.py"),
        ("d_json", '{"a": 1}\n', '{\n"a": 1,}\n', "d.json, line 2: "),
        ("d_json", "[]", "[" * 100_000, "d.json"),
    ],
)
def test_what_a_change_breaks_is_told_with_file_and_line(
    file: str, good: str, bad: str, said: str
) -> None:
    before, after = skill(**{file: good}), skill(**{file: bad})
    (fault,) = structure_faults(before, after)
    assert str(fault).startswith(said)
    assert structure_faults(skill(), skill(**{file: good})) == (), "new and sound"
    assert structure_faults(skill(), after), "new and broken"
    assert structure_faults(after, before) == (), "mended"
    assert structure_faults(skill(**{file: f"{bad} "}), after) == (), "broken before"


def test_files_that_did_not_change_are_not_looked_at() -> None:
    broken = {"a_py": "if\n"}
    assert structure_faults(skill("# A\n", **broken), skill("# B\n", **broken)) == ()


def test_python_is_never_run() -> None:
    assert structure_faults(skill(), skill(a_py="raise SystemExit(1)\n")) == ()


@pytest.mark.parametrize(
    "link",
    [
        "[a](b.md)",
        "[a](<b.md> 'title')",
        "![a](./b.md#part)",
        "[a](r/../b.md?x=1)",
        "[a](r)",
        "[a](r/)",
        "[a](r/c%20d.md)",
        "[a]: b.md",
        "[a](#part)",
        "[a](https://example.org/x.md)",
        "[a](mailto:x@example.org)",
        "`[a](nowhere.md)`",
        "```\n[a](nowhere.md)\n```",
        "~~~\n```\n[a](nowhere.md)\n~~~",
        "[a]({path}.md)",
        "[^1]: nowhere.md",
        "a](b [c]",
    ],
)
def test_links_that_lead_somewhere(link: str) -> None:
    files = (Companion("b.md", ""), Companion("r/c d.md", ""))
    before = SkillDocument("# A\n", Folder(files))
    assert structure_faults(before, SkillDocument(f"# A\n\n{link}\n", Folder(files))) == ()


@pytest.mark.parametrize(
    ("link", "target"),
    [
        ("[a](x.md)", "x.md"),
        ("![a](<x y.png>)", "x y.png"),
        ("see [a](b.md) and [c](B.md)", "B.md"),
        ("[a]: x.md", "x.md"),
        ("[a](../b.md)", "../b.md"),
        ("[a](f(1).md)", "f(1).md"),
    ],
)
def test_links_that_lead_nowhere(link: str, target: str) -> None:
    (fault,) = structure_faults(skill("# A\n", b_md=""), skill(f"# A\n\n{link}\n", b_md=""))
    assert str(fault) == f"SKILL.md, line 3: the link to `{target}` leads to no file of the skill"


def test_links_are_read_from_the_folder_of_their_file_and_old_ones_may_stay() -> None:
    before = skill("[a](gone.md)\n", r__b_md="# B\n", c_md="")
    assert (
        structure_faults(before, skill("[a](gone.md)\nx\n", r__b_md="[c](../c.md)\n", c_md=""))
        == ()
    )
    (fault,) = structure_faults(before, skill("[a](gone.md)\n", r__b_md="[c](c.md)\n", c_md=""))
    assert fault.file == "r/b.md"


def test_front_matter_has_to_stay() -> None:
    (fault,) = structure_faults(skill("---\nname: x\n---\nA\n"), skill("A\n"))
    assert str(fault) == "SKILL.md, line 1: its front matter is gone"
