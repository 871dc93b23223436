"""`skillopt prune`, and `optimizer.prune` at the end of a training."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from command_line import SMALLEST, calls, events, finished_run, outcome, refused, skillopt, train

from skillopt_cli.backends.simulated.world import FAMILIES, HARMFUL, rule
from skillopt_cli.core.skill import MARKER, SkillDocument

FOLDER = Path("outputs/searchqa/p")
USEFUL = "\n".join(f"- {rule(family)}" for family in range(FAMILIES))
TEXT = f"---\nname: mine\n---\n# Mine\n\n{USEFUL}\n\n## Manners\n\n{HARMFUL[0]}\n\nBe attentive.\n"


def mine(name: str = "mine.md") -> Path:
    path = Path(name)
    path.parent.mkdir(exist_ok=True)
    path.write_text(TEXT, encoding="utf-8")
    return path


def summary(folder: Path) -> Any:
    return json.loads((folder / "summary.json").read_text(encoding="utf-8"))


def test_what_is_not_needed_is_removed_and_counted() -> None:
    ended = skillopt("prune", mine(), "searchqa", *SMALLEST, "--run-id", "p", "--json")
    assert ended.code == 0, ended.err
    found = ended.json
    text = Path("mine.pruned.md").read_text(encoding="utf-8")
    assert Path("mine.md").read_text(encoding="utf-8") == TEXT
    assert text.startswith("---\nname: mine\n---\n")
    assert "attentive" not in text
    assert HARMFUL[0] not in text
    assert found["chars"] == len(text)
    assert found["chars_saved"] == len(TEXT) - len(text)
    assert found["tokens_saved_estimate"] == found["chars_saved"] // 4
    assert found["tokens_estimate"] == "a token per 4 characters"
    assert found["gate_score"] >= found["gate_score_before"]
    assert found["file"] == str(Path("mine.pruned.md").absolute())
    assert json.loads((FOLDER / "eval_summary.json").read_text(encoding="utf-8")) == found
    assert summary(FOLDER)["pruned"]["blocks"] == found["blocks"]
    again = skillopt("resume", "p", "--json")
    assert (again.code, again.json) == (0, found)


def test_a_run_names_skill_benchmark_and_settings() -> None:
    run = finished_run(*SMALLEST)
    ended = skillopt("prune", "a", "--out", "short.md", "--run-id", "p")
    assert ended.code == 0, ended.err
    assert ended.out.startswith("block ")
    assert "a token per 4 characters" in ended.out
    assert "\nwrote short.md\n" in ended.out
    best = (run / "best_skill.md").read_text(encoding="utf-8")
    assert len(Path("short.md").read_text(encoding="utf-8")) <= len(best)


@pytest.mark.parametrize("folder", [False, True])
def test_the_text_to_take_away_holds_no_marks(folder: bool) -> None:
    region = SkillDocument(TEXT).with_region("APPENDIX", "- noted").text
    path = mine("folder/SKILL.md" if folder else "mine.md")
    path.write_text(region, encoding="utf-8")
    given = path.parent if folder else path
    ended = skillopt("prune", given, "searchqa", *SMALLEST)
    assert ended.code == 0, ended.err
    pruned = Path("folder.pruned/SKILL.md" if folder else "mine.pruned.md")
    text = pruned.read_text(encoding="utf-8")
    assert "- noted" in text
    assert MARKER.search(text) is None


def test_a_skill_folder_stays_one() -> None:
    mine("folder/SKILL.md")
    Path("folder/notes.md").write_text("# Notes\n", encoding="utf-8")
    ended = skillopt("prune", "folder", "searchqa", *SMALLEST)
    assert ended.code == 0, ended.err
    assert Path("folder.pruned/notes.md").read_text(encoding="utf-8") == "# Notes\n"
    assert "attentive" not in Path("folder.pruned/SKILL.md").read_text(encoding="utf-8")


def test_a_file_that_nothing_names_any_more_is_stated() -> None:
    path = mine("folder/SKILL.md")
    text = TEXT.replace("Be attentive.", "See [terms](references/terms.md) and notes.md.")
    path.write_text(text.replace("# Mine", "# Mine, by kept.md"), encoding="utf-8")
    Path("folder/references").mkdir()
    for name in ("references/terms.md", "kept.md", "notes.md"):
        Path("folder", name).write_text("# Words\n\nSee notes.md.\n", encoding="utf-8")
    ended = skillopt("prune", "folder", "searchqa", *SMALLEST, "--run-id", "p")
    assert ended.code == 0, ended.err
    assert "terms" not in Path("folder.pruned/SKILL.md").read_text(encoding="utf-8")
    note = "note: references/terms.md is not named in the skill any more; the file itself is kept"
    assert [line for line in ended.out.splitlines() if line.startswith("note:")] == [note]
    assert skillopt("resume", "p").out.count(note) == 1
    assert Path("folder.pruned/references/terms.md").is_file()


def test_a_list_has_a_pruning_as_such_with_its_selection_scores() -> None:
    assert skillopt("prune", mine(), "searchqa", *SMALLEST, "--run-id", "p").code == 0
    row = skillopt("runs", "list").out.splitlines()[-1]
    before, after = (events(FOLDER, "test_measured")[n] for n in (0, 1))
    (found,) = skillopt("runs", "list", "--json").json
    assert found["pruning"] and found["evaluated"] == []
    assert found["baseline_selection_hard"] == before["hard"]
    assert found["best_selection_hard"] == after["hard"]
    assert found["test_hard"] is None
    assert " prune " in row and " -> " in row and "before" not in row
    assert row.rstrip().endswith("-")


def test_a_file_in_the_way_is_found_before_anything_is_spent() -> None:
    Path("mine.pruned.md").write_text("mine", encoding="utf-8")
    ended = refused(2, "prune", mine(), "searchqa", *SMALLEST)
    assert "exists already" in ended.error
    assert not Path("outputs").exists()
    assert ended.hint == "hint: choose another file with --out, or replace it with --force"
    assert skillopt("prune", mine(), "searchqa", *SMALLEST, "--force").code == 0
    assert Path("mine.pruned.md").read_text(encoding="utf-8").startswith("---\nname: mine\n---\n")


def test_a_skill_folder_replaces_no_file() -> None:
    mine("folder/SKILL.md")
    Path("folder.pruned").write_text("mine", encoding="utf-8")
    ended = refused(2, "prune", "folder", "searchqa", *SMALLEST, "--force")
    assert "folder.pruned exists already" in ended.error
    assert ended.hint == "hint: choose another folder with --out"
    assert Path("folder.pruned").read_text(encoding="utf-8") == "mine"


def test_a_skill_folder_is_replaced_on_request_only() -> None:
    mine("folder/SKILL.md")
    given = ("prune", "folder", "searchqa", *SMALLEST)
    Path("folder.pruned").mkdir()
    Path("folder.pruned/SKILL.md").write_text("old", encoding="utf-8")
    ended = refused(2, *given)
    assert "folder.pruned exists already" in ended.error
    assert ended.hint == "hint: choose another folder with --out, or replace it with --force"
    assert skillopt(*given, "--force").code == 0
    assert Path("folder.pruned/SKILL.md").read_text(encoding="utf-8") != "old"


def test_a_folder_of_other_files_is_never_replaced_by_a_skill_folder() -> None:
    mine("folder/SKILL.md")
    Path("folder.pruned").mkdir()
    ended = refused(2, "prune", "folder", "searchqa", *SMALLEST, "--force")
    assert "is no skill folder" in ended.error
    assert Path("folder.pruned").is_dir()


def test_a_pruned_skill_folder_is_not_named_like_a_file() -> None:
    mine("folder/SKILL.md")
    ended = refused(2, "prune", "folder", "searchqa", *SMALLEST, "--out", "px.md")
    assert "px.md names a file, and the skill is a folder" in ended.error
    assert ended.hint == "hint: name a folder with --out, such as px"
    assert not Path("px.md").exists()


def test_a_capped_pruning_is_taken_up_without_repeating_a_call() -> None:
    given = ("prune", mine(), "searchqa", *SMALLEST)
    ended = refused(5, *given, "--run-id", "p", "--max-rollouts", 10)
    assert "`skillopt resume p --max-rollouts N`" in ended.hint
    assert not Path("mine.pruned.md").exists()
    assert calls(FOLDER) == 10
    resumed = skillopt("resume", "p", "--max-rollouts", 999, "--json")
    assert resumed.code == 0, resumed.err
    whole = skillopt(*given, "--run-id", "q", "--out", "other.md", "--json")
    assert resumed.json | {"file": ""} == whole.json | {"file": ""}
    assert calls(FOLDER) == calls(Path("outputs/searchqa/q"))


def test_a_training_ends_with_the_pruned_text_as_its_best() -> None:
    seeded = ("--skill-init", mine(), "--set", "optimizer.use_slow_update=false")
    plain = outcome(train(*SMALLEST, *seeded))
    run = train(*SMALLEST, *seeded, "--set", "optimizer.prune=true", run_id="b")
    (event,) = events(run, "skill_pruned")
    found = summary(run)
    best = (run / "best_skill.md").read_text(encoding="utf-8")
    assert "attentive" not in best
    assert len(best) == event["chars"] < len(plain["best"])
    assert found["pruned"]["digest"] == event["digest"] == found["test_digest"]
    assert found["best_gate_score"] == event["after"] >= event["before"]
    ended = skillopt("resume", run)
    assert ended.code == 0
    assert f"pruned: {event['chars_before']:,} -> {len(best):,} characters, " in ended.out
    assert len(events(run, "skill_pruned")) == 1


def test_a_training_that_is_killed_while_it_prunes_ends_equal() -> None:
    seeded = ("--skill-init", mine(), "--set", "optimizer.use_slow_update=false")
    pruning = (*SMALLEST, *seeded, "--set", "optimizer.prune=true")
    whole = train(*pruning)
    made = summary(whole)["rollouts_made"]
    refused(5, "train", "searchqa", *pruning, "--run-id", "b", "--max-rollouts", made - 5)
    cut = Path("outputs/searchqa/b")
    assert "prune" in {event["stage"] for event in events(cut, "call_made")}
    assert not events(cut, "skill_pruned")
    ended = skillopt("resume", "b", "--max-rollouts", 999)
    assert ended.code == 0, ended.err
    assert (cut / "best_skill.md").read_bytes() == (whole / "best_skill.md").read_bytes()
    assert summary(cut)["rollouts_made"] == made


def test_the_folder_of_a_pruning_names_the_pruned_skill() -> None:
    run = finished_run(*SMALLEST)
    pruned = skillopt("prune", run, "--run-id", "p")
    assert pruned.code == 0, pruned.err
    text = (run / "best_skill.pruned.md").read_text(encoding="utf-8")
    Path("mine.md").write_bytes((run / "skills/step_0000.md").read_bytes())
    applied = skillopt("diff-skills", "p", "--apply", "mine.md")
    assert applied.code == 0, applied.err
    assert Path("mine.md").read_text(encoding="utf-8") == text
    (run / "best_skill.pruned.md").unlink()
    ended = refused(2, "diff-skills", "p", "--apply", "mine.md")
    assert "is not at" in ended.error and "best_skill.pruned.md any more" in ended.error
