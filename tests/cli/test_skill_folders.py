"""Trainings of a skill that is a folder, by the real command line: its script is run as trained."""

from __future__ import annotations

import json
import os
import re
import stat
import sys
from pathlib import Path
from typing import Any

import pytest
from command_line import PUBLISHED, Ended, events, refused, skillopt
from plugin_folder import install

SKILL = """---
name: shouting
description: Says words as they are wanted. Use for every task.
---

# Shouting

Run `scripts/say.py` with the word and answer with what it prints.
See [the forms](references/forms.md).
"""
SCRIPT = """#!/usr/bin/env python3
import sys

print(sys.argv[1].strip())
"""
FORMS = "# Forms\n\nCapital letters throughout.\n"
PICTURE = b"\x89PNG\0\xff"

# What any agent may do: it runs the script of the skill it was given, whose output is the answer.
AGENT = """#!{python} -ISB
import os, pathlib, sys

word = sys.stdin.read().rpartition("Say: ")[2].split()[0]
skill = pathlib.Path(sys.argv[1])
assert (skill.parent / "logo.png").read_bytes() == {picture!r}
script = skill.parent / "scripts" / "say.py"
os.execv(script, [script, word])
"""

OPTIMIZER = '''
import json
import pathlib

from skillopt_cli.core.task import ChatReply, Usage
from skillopt_cli.ports import BackendSpec

class Scripted:
    """Proposes what the test wrote down; keeps what it was asked."""

    name = fingerprint = "scripted"
    offers = frozenset(["json_schema"])

    async def chat(self, request):
        with open("asked.jsonl", "a") as log:
            user = [m.content for m in request.messages]
            log.write(json.dumps([request.schema_name, user, request.schema]) + "\\n")
        answer = {"edits": json.loads(pathlib.Path("edits.json").read_text())}
        if not request.schema_name.startswith("analyst_error"):
            answer = {"edits": [], "selected_indices": [], "slow_update_content": "Go on.",
                      "meta_skill_content": "Nothing."}
        return ChatReply(json.dumps(answer), Usage(1))

SPEC = BackendSpec("scripted", "scripted", frozenset(["optimizer"]), lambda role: Scripted())
'''

REPAIR = {
    "op": "replace",
    "file": "scripts/say.py",
    "target": "sys.argv[1].strip()",
    "content": "sys.argv[1].strip().upper()",
    "support": 2,
}
EDITABLE = ("--set", 'env.editable=["SKILL.md", "scripts/*.py"]')


@pytest.fixture(autouse=True)
def surroundings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site = tmp_path / "site"
    site.mkdir()
    install(
        site,
        monkeypatch,
        {"scripted_optimizer": OPTIMIZER},
        {"backend": {"scripted": "scripted_optimizer:SPEC"}},
    )
    words = ("ash", "birch", "cedar", "elm", "fir", "hazel")
    tasks = [{"id": w, "question": f"Say: {w}", "answer": w.upper()} for w in words]
    Path("tasks.jsonl").write_text("".join(f"{json.dumps(t)}\n" for t in tasks), encoding="utf-8")
    agent = Path("agent.py")
    agent.write_text(AGENT.format(python=sys.executable, picture=PICTURE), encoding="utf-8")
    agent.chmod(0o755)
    make_skill(Path("mine"))
    propose(REPAIR)


def make_skill(folder: Path) -> None:
    for path, content in {
        "SKILL.md": SKILL.encode(),
        "scripts/say.py": SCRIPT.encode(),
        "references/forms.md": FORMS.encode(),
        "logo.png": PICTURE,
    }.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)
    (folder / "scripts" / "say.py").chmod(0o755)


def propose(*edits: dict[str, Any]) -> None:
    Path("edits.json").write_text(json.dumps(edits), encoding="utf-8")


def order(*arguments: object, epochs: int = 1, run_id: str = "a") -> Ended:
    return skillopt(
        *("train", "folder", "--run-id", run_id, "--skill-init", "mine", "--display", "none"),
        *("--set", "env.data_path=tasks.jsonl", "--set", "env.split_ratio=1:1:1"),
        *("--set", "env.scorer=exact", "--epochs", epochs, "--batch-size", 2),
        *("--optimizer-backend", "scripted", "--optimizer-model", "scripted"),
        *("--target-backend", "command", "--set", "model.command.skill_file=.skills/a/SKILL.md"),
        *("--set", f"model.command.argv={Path('agent.py').absolute()} {{skill}}"),
        *("--set", "optimizer.use_meta_skill=false", "--workers", 2),
        *("--set", "evaluation.eval_test=false"),
        *PUBLISHED,
        *arguments,
        PATH=os.environ["PATH"],
    )


def train(*arguments: object, epochs: int = 1, run_id: str = "a") -> Path:
    ended = order(*arguments, epochs=epochs, run_id=run_id)
    assert ended.code == 0, ended.err
    return Path("outputs", "folder", run_id)


def tree(folder: Path) -> dict[str, tuple[bytes, bool]]:
    return {
        path.relative_to(folder).as_posix(): (
            path.read_bytes(),
            bool(path.stat().st_mode & stat.S_IXUSR),
        )
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def asked(name: str) -> list[tuple[str, str, dict[str, Any]]]:
    """System text, material and schema of every request with this schema's name."""
    rows = [json.loads(line) for line in Path("asked.jsonl").read_text("utf-8").splitlines()]
    return [
        (texts[0], texts[1], schema) for schema_name, texts, schema in rows if schema_name == name
    ]


@pytest.mark.slow
def test_the_agent_runs_the_script_as_it_was_trained() -> None:
    ended = order(*EDITABLE, "--set", "evaluation.eval_test=true")
    assert ended.code == 0, ended.err
    run = Path("outputs", "folder", "a")
    assert f"best skill: {run}/best_skill\n" in ended.out
    assert "test: seed 0.00 (n=2), best 1.00 (n=2)" in ended.out

    (gated,) = events(run, "gate_decided")
    assert gated["decision"]["verdict"] == "new_best"
    trained = SCRIPT.replace("strip()", "strip().upper()").encode()
    seed, best = tree(Path("mine")), tree(run / "best_skill")
    assert seed["scripts/say.py"] == (SCRIPT.encode(), True), "the user's own is not changed"
    assert best["scripts/say.py"] == (trained, True)
    assert best["logo.png"] == seed["logo.png"]
    assert best["references/forms.md"] == seed["references/forms.md"]
    assert tree(run / "skills" / "step_0000") == seed
    candidate = tree(run / "steps" / "step_0001" / "candidate_skill")
    # The size of a skill is that of all its texts.
    for event, files in zip(
        [*events(run, "candidate_made"), *events(run, "checkpoint_saved")],
        [candidate, seed, tree(run / "skills" / "step_0001")],
        strict=True,
    ):
        texts = [content for path, (content, _) in files.items() if path != "logo.png"]
        assert event["chars"] == sum(len(text.decode()) for text in texts)
    assert candidate["scripts/say.py"] == (trained, True)
    answers = [
        json.loads(line)["predicted_answer"]
        for line in (run / "test/best/results.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    assert len(answers) == 2 and all(answer.isupper() for answer in answers)

    (analysis,) = asked("analyst_error")
    system, user, schema = analysis
    assert '"file"' in system
    assert f"### File `scripts/say.py`\n```\n{SCRIPT}```" in user
    assert f"- `references/forms.md` ({len(FORMS)} bytes)\n" in user and FORMS not in user
    assert f"- `logo.png` ({len(PICTURE)} bytes)" in user
    assert "To make a new file, `append` to a path that matches `scripts/*.py`.\n" in user
    assert "file" in schema["$defs"]["FiledEdit"]["properties"]


def test_where_only_the_text_may_be_changed_no_file_is_asked_for_and_the_setting_is_named() -> None:
    propose(REPAIR, {k: v for k, v in REPAIR.items() if k != "file"})
    ended = order("--display", "plain", "--set", "optimizer.verify=off")
    assert ended.code == 0, ended.err
    run = Path("outputs", "folder", "a")
    (analysis,) = asked("analyst_error")
    system, user, schema = analysis
    assert '"file"' not in system and "- `scripts/say.py`" in user
    assert list(schema["$defs"]) == ["FailurePattern", "ProposedEdit"]
    setting = "`env.editable` names what may be edited"
    assert f"Note: 2 files beside SKILL.md are read-only; {setting}\n" in ended.err
    assert f"Kept 0 of 2 edits; left out: 2 read-only ({setting})\n" in ended.err
    report = json.loads((run / "steps/step_0001/edit_report.json").read_text(encoding="utf-8"))
    told = ("read_only", f"`scripts/say.py` is read-only; {setting}")
    assert [(edit["state"], edit["reason"]) for edit in report] == [told, told]
    (skipped,) = events(run, "step_skipped")
    assert skipped["reason"] == f"2 edits chosen, 0 applied: 2 read-only ({setting})"


RULES = ("--optimizer-backend", "rules", "--set", "run.preflight=false", "--display", "plain")


def test_an_optimizer_that_edits_the_text_alone_is_named_where_more_may_be_edited() -> None:
    warning = "`rules` edits SKILL.md only; what else `env.editable` names stays as it is\n"
    assert warning in order(*EDITABLE, *RULES).err
    assert warning not in order(*EDITABLE, "--display", "plain", run_id="b").err
    assert warning not in order(*RULES, run_id="c").err
    others = ("--set", "env.editable=scripts/*.py", "--set", "optimizer.use_slow_update=false")
    ended = order(*RULES, *others, run_id="d")
    assert ended.code == 2
    assert "`rules` edits SKILL.md only, which `env.editable` leaves out" in ended.error


def test_a_skill_that_names_files_beside_it_is_told_of_its_folder() -> None:
    left_out = (
        "Degraded: skill: `scripts/say.py` and 1 more file beside mine/SKILL.md are left out,"
        " although the skill names them; give the folder mine instead of its SKILL.md to take all"
        " of it along\n"
    )
    given = ("--skill-init", "mine/SKILL.md", "--display", "plain", "--set", "run.preflight=false")
    assert left_out in order(*given).err
    Path("alone").mkdir()
    Path("alone/SKILL.md").write_text(SKILL, encoding="utf-8")
    Path("alone/tasks.jsonl").write_text("", encoding="utf-8")
    alone = ("--skill-init", "alone/SKILL.md", *given[2:])
    assert "left out" not in order(*alone, run_id="b").err
    measured = ("--skill", "mine/SKILL.md", "--tasks", "tasks.jsonl", "--split", "train")
    simulated = ("--set", "model.backend=simulated", "--display", "plain")
    assert left_out in skillopt("eval", *measured, *simulated).err


def test_files_that_stay_as_they_are_by_the_setting_are_not_told_of() -> None:
    ended = order("--display", "plain", *EDITABLE)
    assert ended.code == 0 and "read-only" not in ended.err


def test_a_script_that_cannot_be_parsed_never_reaches_the_gate() -> None:
    propose({**REPAIR, "content": "sys.argv[1].upper("})
    run = train(*EDITABLE)
    (made,) = events(run, "candidate_made")
    (outcome,) = made["outcomes"]
    assert outcome["state"] == "invalid"
    assert outcome["reason"] == "scripts/say.py, line 4: '(' was never closed"
    # Nothing was measured on the selection split but the seed.
    measured = events(run, "rollout_finished")
    assert [e["step"] for e in measured if e["stage"] == "measure"] == [0, 0]
    assert not events(run, "gate_decided")
    (skipped,) = events(run, "step_skipped")
    assert skipped["step"] == 1
    report = json.loads((run / "steps/step_0001/edit_report.json").read_text(encoding="utf-8"))
    assert (report[0]["file"], report[0]["state"]) == ("scripts/say.py", "invalid")


def test_a_good_edit_survives_a_broken_one() -> None:
    propose(
        {**REPAIR, "target": "import sys\n", "content": "import sys\nimport (\n"},
        REPAIR,
        {"op": "append", "content": "- See [more](references/more.md).", "support": 2},
    )
    run = train(*EDITABLE)
    (made,) = events(run, "candidate_made")
    assert [o["state"] for o in made["outcomes"]] == ["invalid", "applied", "invalid"]
    assert "references/more.md" in made["outcomes"][2]["reason"]
    assert events(run, "gate_decided")[0]["decision"]["verdict"] == "new_best"
    assert b"upper" in tree(run / "best_skill")["scripts/say.py"][0]


@pytest.mark.slow
def test_an_edit_leaves_the_other_files_and_a_run_taken_up_comes_to_the_same() -> None:
    seed = tree(Path("mine"))
    whole = train(*EDITABLE, epochs=2, run_id="whole")
    best = tree(whole / "best_skill")
    assert [name for name in seed if best[name] != seed[name]] == ["scripts/say.py"]
    assert b"upper" in best["scripts/say.py"][0]
    assert tree(whole / "skills/best_skill") == tree(whole / "best_skill")

    capped = order(*EDITABLE, "--max-rollouts", 4, epochs=2, run_id="cut")
    assert capped.code == 5, capped.err
    cut = Path("outputs", "folder", "cut")
    resumed = skillopt("resume", cut, "--max-rollouts", 1000, PATH=os.environ["PATH"])
    assert resumed.code == 0, resumed.err
    assert outcome_of(cut) == outcome_of(whole)


def outcome_of(run: Path) -> Any:
    folders = {p.name: tree(p) for p in (run / "skills").iterdir() if p.is_dir()}
    history = json.loads((run / "history.json").read_text(encoding="utf-8"))
    return folders, tree(run / "best_skill"), [step["action"] for step in history]


def test_a_changed_file_of_the_seed_is_a_changed_condition() -> None:
    capped = order(*EDITABLE, "--max-rollouts", 3)
    assert capped.code == 5, capped.err
    (Path("mine") / "logo.png").write_bytes(b"\0other")
    refusal = refused(2, "resume", "outputs/folder/a", PATH=os.environ["PATH"])
    assert "seed skill is another one: logo.png changed" in refusal.err


def test_a_refusal_names_every_file_that_changed() -> None:
    assert order("--max-rollouts", 3).code == 5
    Path("agent.py").write_text(
        Path("agent.py").read_text(encoding="utf-8") + "# changed\n", encoding="utf-8"
    )
    skill = Path("mine/SKILL.md")
    skill.write_text(f"{skill.read_text(encoding='utf-8')}\nBe brief.\n", encoding="utf-8")
    (Path("mine") / "new.txt").write_text("new", encoding="utf-8")
    refusal = refused(2, "resume", "outputs/folder/a", PATH=os.environ["PATH"])
    assert f"target is another one: {Path('agent.py').absolute()} changed" in refusal.err
    assert "seed skill is another one: SKILL.md changed, new.txt is new" in refusal.err
    assert "`skillopt diff-skills --undo SKILL`" in refusal.hint
    assert "a finished run" not in refusal.hint


@pytest.mark.slow
def test_a_run_of_a_folder_is_evaluated_and_compared_file_by_file() -> None:
    run = train(*EDITABLE, "--set", "optimizer.use_slow_update=false")
    path = {"PATH": os.environ["PATH"]}
    scores = {}
    for named in (run, run / "best_skill", f"{run}:seed", "mine"):
        ended = skillopt(
            "eval", "--config", run / "config.yaml", "--skill", named, "--json", **path
        )
        assert ended.code == 0, ended.err
        scores[str(named)] = (ended.json["hard"], ended.json["skill_digest"])
    assert scores[str(run)] == scores[str(run / "best_skill")]
    assert scores[f"{run}:seed"] == scores["mine"]
    assert (scores[str(run)][0], scores["mine"][0]) == (1.0, 0.0)
    report = skillopt("gate-report", run)
    assert re.search(r"skill: candidate .* characters? of all files", report.out)
    assert report.code == 0 and "scripts/say.py" in report.out
    assert skillopt("runs", "list").code == 0

    shown = skillopt("diff-skills", f"{run}:seed", f"{run}:1")
    assert shown.code == 0, shown.err
    assert f"--- {run}:seed/scripts/say.py\n+++ {run}:1/scripts/say.py\n" in shown.out
    assert "+print(sys.argv[1].strip().upper())\n" in shown.out
    assert "step 1: replace" in shown.out
    assert shown.out.splitlines()[-1] == "1 file changed: 1 line added, 1 removed"
    document = skillopt("diff-skills", "mine", run, "--json").json
    assert [part["path"] for part in document["files"]] == ["scripts/say.py"]
    assert skillopt("diff-skills", "mine", f"{run}:seed").out == "the skills are equal\n"
    assert "{+" in skillopt("diff-skills", "mine", f"{run}:1", "--words").out
    single = skillopt("diff-skills", "mine/SKILL.md", "mine")
    assert "logo.png: the binary file is new" in single.out

    refusal = refused(2, "diff-skills", "mine", f"{run}:best", "--apply", "mine/SKILL.md")
    assert "mine/SKILL.md is no skill folder" in refusal.error
    assert "there is no backup in mine" in refused(2, "diff-skills", "--undo", "mine").error


def test_a_trained_folder_is_written_over_the_users_own_and_back() -> None:
    run = train(*EDITABLE, "--set", "optimizer.use_slow_update=false")
    before = tree(Path("mine"))
    applied = skillopt("diff-skills", "mine", run, "--apply", "mine")
    assert applied.code == 0, applied.err
    script = Path("mine/scripts/say.py")
    assert applied.out.splitlines()[-1].startswith(f"{script}: written, the old text is in say.py.")
    assert skillopt("diff-skills", "mine", run).out == "the skills are equal\n"
    assert script.stat().st_mode & 0o111
    again = skillopt("diff-skills", "mine", run, "--apply", "mine", "--json").json
    assert again["applied"] == {"target": "mine", "files": []}
    (restored,) = skillopt("diff-skills", "--undo", "mine", "--json").json["files"]
    assert restored["target"] == str(script)
    assert {path: held for path, held in tree(Path("mine")).items() if path in before} == before


def test_a_run_that_changed_nothing_leaves_another_text_and_names_it() -> None:
    propose()
    run = train(*EDITABLE, "--set", "optimizer.use_slow_update=false")
    same = skillopt("diff-skills", run, "--apply", "mine")
    assert "mine: holds all of this already" in same.out
    script = Path("mine/scripts/say.py")
    script.write_text("print(1)\n", encoding="utf-8")
    before = tree(Path("mine"))
    applied = skillopt("diff-skills", run, "--apply", "mine")
    assert applied.code == 0, applied.err
    assert "holds all of this already" not in applied.out
    assert "mine: nothing is written, as the two skills are equal" in applied.out
    assert "mine holds another text in scripts/say.py, which stays" in applied.out
    assert f"`skillopt diff-skills {run} mine` shows how they differ" in applied.out
    done = skillopt("diff-skills", run, "--apply", "mine", "--json").json["applied"]
    assert (done["files"], done["differing"]) == ([], ["scripts/say.py"])
    assert tree(Path("mine")) == before


def test_guidance_needs_a_text_that_may_be_changed() -> None:
    ended = order("--set", "env.editable=scripts/*.py")
    assert (ended.code, ended.out) == (2, "")
    assert "`optimizer.use_slow_update` has SKILL.md changed" in ended.err


def test_a_skill_whose_text_may_not_be_changed_learns_by_its_script() -> None:
    without = ("--set", "optimizer.use_slow_update=false")
    propose({"op": "append", "content": "- Shout.", "support": 3}, REPAIR)
    run = train("--set", 'env.editable=["scripts/*.py"]', *without)
    (made,) = events(run, "candidate_made")
    assert [o["state"] for o in made["outcomes"]] == ["read_only", "applied"]
    assert (run / "best_skill" / "SKILL.md").read_text(encoding="utf-8") == SKILL


@pytest.mark.parametrize(
    ("optimizer", "mode"),
    [("simulated", "patch"), ("simulated", "rewrite_from_suggestions"), ("rules", "patch")],
)
def test_other_optimizers_change_the_text_and_keep_the_files(optimizer: str, mode: str) -> None:
    ended = skillopt(
        *("train", "searchqa", "--preset", "tiny", "--skill-init", "mine", "--run-id", "s"),
        *("--optimizer-backend", optimizer, "--set", f"optimizer.skill_update_mode={mode}"),
        *(*EDITABLE, "--set", "evaluation.eval_test=false"),
    )
    assert ended.code == 0, ended.err
    run = Path("outputs", "searchqa", "s")
    assert events(run, "gate_decided")
    beside = {k: v for k, v in tree(Path("mine")).items() if k != "SKILL.md"}
    for copy in (run / "best_skill", *(p for p in (run / "skills").iterdir() if p.is_dir())):
        assert {k: v for k, v in tree(copy).items() if k != "SKILL.md"} == beside
    assert (run / "best_skill.md").read_bytes() == tree(run / "best_skill")["SKILL.md"][0]

    (first, *_) = sorted((run / "selection").glob("*.json"))
    system = json.loads(first.read_text(encoding="utf-8"))["conversation"][0]["content"]
    assert f"## File `references/forms.md`\n\n{FORMS}" in system
    assert f"## File `scripts/say.py`\n\n{SCRIPT}" in system and "logo" not in system
