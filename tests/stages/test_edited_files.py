"""`of_files`: which file an edit is of, where the model was or was not asked for one."""

from __future__ import annotations

import pytest

from skillopt_cli.core.companion_files import Companion, Folder
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.stages.answer_schemas import ProposedEdit
from skillopt_cli.stages.skill_files import of_files

SCRIPT = Companion("scripts/say.py", "print(1)\n")
ONE_FILE = SkillDocument("# Say\n")
LOCKED = SkillDocument("# Say\n", Folder((SCRIPT,)))
OPEN = SkillDocument("# Say\n", Folder((SCRIPT,), ("SKILL.md", "scripts/*.py")))


@pytest.mark.parametrize(
    ("skill", "named", "kept"),
    [
        (ONE_FILE, "scripts/say.py", ""),
        (LOCKED, "scripts/say.py", "scripts/say.py"),
        (LOCKED, "./scripts/say.py", "./scripts/say.py"),
        (LOCKED, "SKILL.md", ""),
        (LOCKED, "mine/SKILL.md", ""),
        (LOCKED, ["scripts/say.py"], ""),
        (OPEN, "scripts/say.py", "scripts/say.py"),
        (OPEN, "scripts/new.py", "scripts/new.py"),
        (OPEN, "SKILL.md", ""),
        (OPEN, None, ""),
    ],
)
def test_a_named_file_counts_where_it_was_asked_for_or_is_there(
    skill: SkillDocument, named: object, kept: str
) -> None:
    proposed = ProposedEdit.model_validate({"op": "append", "content": "x", "file": named})
    (edit,) = of_files([proposed.edit("failure")], skill)
    assert edit.file == kept


def test_no_answer_is_asked_to_name_a_file_that_may_not_change() -> None:
    assert "file" not in ProposedEdit.model_json_schema()["properties"]
