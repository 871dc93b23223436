"""`diff-skills` on real runs: words, blame, and adopting a skill."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from command_line import TINY, finished_run, refused, skillopt

SLOW = (*TINY, "--seed", "3", "--set", "optimizer.use_slow_update=true")


@pytest.fixture
def run() -> Path:
    return finished_run(*SLOW)


def text(path: Path | str) -> str:
    return Path(path).read_text(encoding="utf-8")


def causes(document: dict[str, Any]) -> list[dict[str, Any]]:
    return [cause for block in document["blocks"] for cause in block["causes"]]


def test_every_changed_line_of_a_run_has_its_cause(run: Path) -> None:
    document = skillopt("diff-skills", f"{run}:seed", run, "--json").json
    accepted = {
        record["step"]
        for record in json.loads(text(run / "history.json"))
        if record["action"].startswith("accept")
    }
    assert accepted
    assert document["blocks"]
    for block in document["blocks"]:
        assert block["causes"], block
        for cause in block["causes"]:
            if cause["edits"]:
                assert cause["step"] in accepted
                said = "".join(edit["content"] for edit in cause["edits"])
                assert all(line in said for line in block["added"])
            else:
                assert cause["what"] == "slow update at the epoch's end"
    applied = [
        edit["content"]
        for step in accepted
        for edit in json.loads(text(run / f"steps/step_{step:04d}/edit_report.json"))
        if edit["state"] == "applied"
    ]
    assert sorted(e["content"] for c in causes(document) for e in c["edits"]) == sorted(applied)


def test_a_patch_with_steps_in_its_heads_still_applies(run: Path) -> None:
    shown = skillopt("diff-skills", f"{run}:seed", run)
    assert " @@ step " in shown.out
    assert "line 4 of outputs/searchqa/a: step " in shown.out
    patch = shutil.which("patch")
    if patch is None:
        pytest.skip("no `patch` on this machine")
    shutil.copy(run / "skills/step_0000.md", "work.md")
    done = subprocess.run([patch, "work.md"], input=shown.out, text=True, capture_output=True)
    assert done.returncode == 0, done.stdout
    assert text("work.md") == text(run / "best_skill.md")


def test_words_are_marked_in_a_pipe_on_request() -> None:
    Path("a.md").write_text("- Give four digits.\n", encoding="utf-8")
    Path("b.md").write_text("- Give two digits.\n", encoding="utf-8")
    assert (
        "- Give [-four-]{+two+} digits." in skillopt("diff-skills", "a.md", "b.md", "--words").out
    )
    plain = skillopt("diff-skills", "a.md", "b.md").out
    assert "[-" not in plain
    assert "\x1b" not in plain


def test_protected_regions_are_marked(run: Path) -> None:
    guided = run / "slow_update/epoch_02/candidate_skill.md"
    shown = skillopt("diff-skills", f"{run}:seed", guided).out
    assert "in the protected region SLOW_UPDATE" in shown
    assert "protected regions touched: SLOW_UPDATE added" in shown


def test_applying_a_best_skill_that_is_the_seed_says_so() -> None:
    """An optimizer whose lessons all do harm: nothing measures better than the seed."""
    harm = ("--set", "model.simulated.right_rate=0", "--set", "model.simulated.harmful_rate=1")
    ended = skillopt("train", "searchqa", *SLOW, *harm, "--epochs", "1", "--run-id", "b")
    assert ended.code == 0, ended.err
    run = Path("outputs/searchqa/b")
    seed = (run / "skills/step_0000.md").read_bytes()
    sentence = "the best skill is the seed, byte for byte; none of "
    for name in ("best_skill.md", "skills/best_skill.md"):
        assert (run / name).read_bytes() == seed
    same = "No change: the best skill is the seed, byte for byte; no candidate was accepted in "
    assert same in ended.err
    assert same in skillopt("gate-report", run).out.replace("\n", " ")
    assert skillopt("gate-report", run, "--json").json["runs"][0]["summary"]["why_no_better"]
    Path("mine.md").write_bytes(seed)
    applied = skillopt("diff-skills", f"{run}:seed", run, "--apply", "mine.md").out.splitlines()
    assert applied[-2] == "mine.md: holds this text already"
    assert applied[-1].startswith(f"Note: {sentence}")
    assert Path("mine.md").read_bytes() == seed
    told = skillopt("diff-skills", f"{run}:seed", run, "--apply", "mine.md", "--json").json
    assert told["applied"]["note"].startswith(sentence)


def test_a_skill_is_written_over_a_file_and_back(run: Path) -> None:
    front = "---\nname: mine\n---\n"
    seed, best = text(run / "skills/step_0000.md"), text(run / "best_skill.md")
    Path("SKILL.md").write_text(front + seed, encoding="utf-8")
    ended = skillopt("diff-skills", f"{run}:seed", run, "--apply", "SKILL.md")
    assert ended.code == 0, ended.err
    assert text("SKILL.md") == front + best
    (backup,) = Path().glob("SKILL.md.*.bak")
    assert ended.out.splitlines()[-1] == f"SKILL.md: written, the old text is in {backup}"
    assert text(backup) == front + seed
    ended = skillopt("diff-skills", "--undo", "SKILL.md")
    assert ended.code == 0
    assert ended.out == f"SKILL.md: restored from {backup}\n"
    assert text("SKILL.md") == front + seed
    assert not list(Path().glob("SKILL.md.*"))
    again = refused(2, "diff-skills", "--undo", "SKILL.md")
    assert "there is no backup of SKILL.md" in again.error
    assert "nothing is left to undo" in again.hint

    skillopt("diff-skills", f"{run}:seed", run, "--apply", "SKILL.md")
    Path("SKILL.md").write_text("# Mine since\n", encoding="utf-8")
    ended = skillopt("diff-skills", "--undo", "SKILL.md")
    (kept,) = Path().glob("SKILL.md.*.undone")
    assert ended.out.endswith(f"; it had changed since --apply, and that text is in {kept}\n")
    assert text(kept) == "# Mine since\n"


def test_a_file_that_is_not_the_seed_any_more_is_refused(run: Path) -> None:
    Path("SKILL.md").write_text("# Mine\n", encoding="utf-8")
    command = ("diff-skills", "SKILL.md", run, "--apply", "SKILL.md")
    ended = refused(2, *command)
    assert "SKILL.md is not the seed of the run any more" in ended.error
    assert "--force" in ended.hint
    assert text("SKILL.md") == "# Mine\n"
    done = skillopt(*command, "--force", "--json").json
    assert text("SKILL.md") == text(run / "best_skill.md")
    assert text(done["applied"]["backup"]) == "# Mine\n"
    again = skillopt(*command, "--force")
    assert again.out.splitlines()[-1] == "SKILL.md: holds this text already"
    restored = skillopt("diff-skills", "--undo", "SKILL.md", "--json").json
    assert restored["target"] == "SKILL.md"
    assert text("SKILL.md") == "# Mine\n"


def test_a_run_alone_is_compared_with_its_seed(run: Path) -> None:
    assert skillopt("diff-skills", run).out == skillopt("diff-skills", f"{run}:seed", run).out
    assert skillopt("diff-skills", f"{run}:seed").out == "the skills are equal\n"


def test_a_skill_outside_of_runs_can_be_applied_too() -> None:
    Path("a.md").write_text("# A\n", encoding="utf-8")
    Path("b.md").write_text("---\nname: b\n---\n# B\n", encoding="utf-8")
    skillopt("diff-skills", "a.md", "b.md", "--apply", "a.md")
    assert text("a.md") == "# B\n"
    skillopt("diff-skills", "a.md", "b.md", "--apply", "a.md", "--with-front-matter")
    assert text("a.md") == text("b.md")


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ((), "two skills to compare are needed"),
        (("a.md",), "two skills to compare are needed"),
        (("a.md", "b.md", "--force"), "belong to --apply"),
        (("a.md", "b.md", "--with-front-matter"), "belong to --apply"),
        (("a.md", "b.md", "--undo", "a.md"), "--undo goes without skills"),
        (("a.md", "b.md", "--apply", "gone.md"), "gone.md does not exist"),
        (("--undo", "gone.md"), "gone.md does not exist"),
        (("--undo", "a.md"), "there is no backup of a.md"),
    ],
)
def test_what_does_not_fit_together_is_refused(arguments: tuple[str, ...], error: str) -> None:
    Path("a.md").write_text("# A\n", encoding="utf-8")
    Path("b.md").write_text("# B\n", encoding="utf-8")
    assert error in refused(2, "diff-skills", *arguments).error
    assert text("a.md") == "# A\n"


def test_an_added_line_has_the_trial_of_its_edit() -> None:
    run = finished_run("--set", "model.backend=simulated", "--set", "env.limit=30", "--epochs", "1")
    shown = skillopt("diff-skills", f"{run}:seed", run)
    assert shown.code == 0, shown.err
    assert re.search(
        r"step 1: add .*, it solved 1 of 1 task it was written for \(\S+\), 1 needed to pass",
        shown.out,
    )
    document = skillopt("diff-skills", f"{run}:seed", run, "--json").json
    tried = [edit["trial"] for cause in causes(document) for edit in cause["edits"]]
    assert tried and all(set(trial["fixed"]) <= set(trial["tried"]) for trial in tried)
    assert all(f"({trial['fixed'][0]}" in shown.out for trial in tried)
    report = skillopt("gate-report", run).out
    assert re.search(r"Verify: \d+ edits tried on failed tasks, \d+ kept", report)
    assert "failed verification (it solved 0 of " in report
    (step,) = re.findall(r"(?s)\nStep 1 .*?\n\n", report)
    tried = sum(int(n) for n in re.findall(r"Verify: (\d+) edits? tried", step))
    (chosen,) = re.findall(r"merged into \d+ edits, (\d+) to be verified", step)
    assert tried <= int(chosen)
