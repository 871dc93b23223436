"""Blame: every changed line goes back to the step, and the edit, that changed it."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from skillopt_cli.core.edits import SUGGEST, Edit, apply_edits
from skillopt_cli.core.errors import DataError
from skillopt_cli.core.skill import SLOW_UPDATE, SkillDocument
from skillopt_cli.reports.diff.blame import versions
from skillopt_cli.reports.diff.named_skill import named_skill
from skillopt_cli.reports.diff.patch import origins, patch_text
from skillopt_cli.reports.diff.skill_diff import SkillDiff, diff_skills

SEED = "# Rules\n\n- Answer.\n- Be kind.\n"
SHORT = Edit("replace", "- Answer in three words.", "- Answer.", 3)
YEARS = Edit("append", "- Years have four digits.", support=2)
TIDY = Edit("delete", target="- Be kind.\n", source="success")


class Folder:
    """A run folder as `train` leaves it, as far as texts are concerned."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.text = SEED
        self.number = 0
        self._write("config.yaml", "")
        self._write("skills/step_0000.md", SEED)
        self._write("best_skill.md", SEED)

    def step(
        self, *edits: Edit, text: str | None = None, accepted: bool = True, end: str = ""
    ) -> None:
        """A step with these edits; `text` in the place of what they make, `end` after its epoch."""
        self.number += 1
        made = apply_edits(SkillDocument(self.text), edits).skill.text if text is None else text
        report = [{"index": 1, "state": "applied", "reason": "", **asdict(e)} for e in edits]
        folder = f"steps/step_{self.number:04d}"
        self._write(f"{folder}/candidate_skill.md", made)
        self._write(f"{folder}/edit_report.json", json.dumps(report))
        epoch = (self.number + 1) // 2
        self._write(f"{folder}/step_record.json", json.dumps({"epoch": epoch}))
        self.text = made if accepted else self.text
        self.text = end or self.text
        self._write(f"skills/step_{self.number:04d}.md", self.text)
        self._write("best_skill.md", self.text)

    def diff(self, a: str, b: str) -> SkillDiff:
        return diff_skills(*(named_skill(f"{self.path}{name}") for name in (a, b)))

    def _write(self, name: str, text: str) -> None:
        (self.path / name).parent.mkdir(parents=True, exist_ok=True)
        (self.path / name).write_text(text)


@pytest.fixture
def run(tmp_path: Path) -> Folder:
    return Folder(tmp_path / "run")


def told(diff: SkillDiff) -> list[tuple[int, tuple[Edit, ...]]]:
    return [(c.step, c.edits) for block in diff.blocks for c in block.causes]


def test_each_block_names_the_edit_that_made_it(run: Folder) -> None:
    run.step(SHORT, YEARS)
    run.step(TIDY)
    assert sorted(told(run.diff(":seed", "")), key=str) == sorted(
        [(1, (SHORT,)), (1, (YEARS,)), (2, (TIDY,))], key=str
    )


def test_neighbouring_lines_of_different_steps_are_told_apart(run: Folder) -> None:
    run.step(YEARS)
    run.step(Edit("append", "- No sentences."), Edit("append", "- No guesses.\n- No lists."))
    diff = run.diff(":seed", ":best")
    assert [(list(b.new), b.causes[0].step) for b in diff.blocks] == [
        ([4], 1),
        ([5], 2),
        ([6, 7], 2),
    ]
    assert origins(diff)[0] == (
        f'line 5 of {run.path}:best: step 1: add "- Years have four digits."'
        " [from 2 failed attempts]"
    )
    assert origins(diff)[2].startswith("lines 7-8 of ")


def test_only_steps_between_the_two_texts_are_named(run: Folder) -> None:
    run.step(YEARS)
    run.step(SHORT)
    run.step(TIDY)
    assert told(run.diff(":1", ":2")) == [(2, (SHORT,))]
    assert told(run.diff(":2", ":1")) == [(2, (SHORT,))]
    assert told(run.diff(":3", ":3")) == []


def test_a_rejected_step_made_nothing(run: Folder) -> None:
    run.step(SHORT, accepted=False)
    run.step(YEARS)
    assert told(run.diff(":seed", "")) == [(2, (YEARS,))]


def test_a_line_that_was_changed_twice_names_both(run: Folder) -> None:
    run.step(SHORT)
    again = Edit("replace", "one word", "three words")
    run.step(again)
    assert told(run.diff(":seed", "")) == [(1, (SHORT,)), (2, (again,))]


def test_the_end_of_an_epoch_is_told_from_the_edits_of_its_last_step(run: Folder) -> None:
    run.step(SHORT, accepted=False)
    made = apply_edits(SkillDocument(SEED), [YEARS]).skill
    run.step(YEARS, end=made.with_region(SLOW_UPDATE, "- guidance").text)
    diff = run.diff(":seed", "")
    lines = [line for block in diff.blocks for c in block.causes for line in c.lines]
    assert lines[0].startswith('step 2: add "- Years')
    assert set(lines[1:]) == {"end of epoch 1: slow update"}
    (guidance,) = [b for b in diff.blocks if "SLOW_UPDATE" in b.regions]
    assert any(run.text.split("\n")[n] == "- guidance" for n in guidance.new)


def test_the_end_of_an_epoch_is_not_attributed_to_the_rejected_step_before_it(run: Folder) -> None:
    run.step(YEARS)
    guided = SkillDocument(run.text).with_region(SLOW_UPDATE, "- guidance").text
    run.step(SHORT, accepted=False, end=guided)
    diff = run.diff(":1", "")
    assert diff.blocks
    for block in diff.blocks:
        assert [cause.lines for cause in block.causes] == [("end of epoch 1: slow update",)]
        assert diff.block_document(block)["causes"] == [
            {"step": 2, "epoch_end": 1, "what": "slow update", "edits": []}
        ]
    assert "@@ end of epoch 1" in patch_text(diff)
    assert "step 2" not in patch_text(diff)


def test_a_rewrite_comes_in_one_piece(run: Folder) -> None:
    wish = Edit(SUGGEST, "Be brief", "Brevity")
    run.step(wish, text="# New rules\n\n- Be brief.\n")
    assert {cause for block in run.diff(":seed", "").blocks for cause in block.causes} == {
        versions(run.path)[-1].cause
    }
    assert versions(run.path)[-1].cause.edits == (wish,)


def test_guidance_in_a_best_skill_that_was_not_the_current_one(run: Folder) -> None:
    run.step(YEARS)
    best = SkillDocument(run.text).with_region(SLOW_UPDATE, "- guidance").text
    run.step(SHORT)
    (run.path / "best_skill.md").write_text(best)
    causes = [c for block in run.diff(":1", "").blocks for c in block.causes]
    assert {(c.step, c.what) for c in causes} == {(2, "slow update")}


def test_texts_of_other_runs_and_of_none_have_no_blame(run: Folder, tmp_path: Path) -> None:
    run.step(YEARS)
    other = Folder(tmp_path / "other")
    other.step(SHORT)
    assert told(diff_skills(named_skill(str(run.path)), named_skill(str(other.path)))) == []
    (tmp_path / "a.md").write_text(SEED)
    assert told(diff_skills(named_skill(str(tmp_path / "a.md")), named_skill(str(run.path)))) == []
    candidate = run.path / "steps" / "step_0001" / "candidate_skill.md"
    candidate.write_text("never in force\n")
    odd = diff_skills(named_skill(f"{run.path}:seed"), named_skill(str(candidate)))
    assert told(odd) == []


def test_a_damaged_report_is_named(run: Folder) -> None:
    run.step(YEARS)
    report = run.path / "steps" / "step_0001" / "edit_report.json"
    report.write_text('[{"state": "applied"}]')
    with pytest.raises(DataError, match=r"edit_report\.json"):
        run.diff(":seed", "")
    report.write_text("{")
    with pytest.raises(DataError, match=r"edit_report\.json"):
        run.diff(":seed", "")
