"""A finished run leaves every path of the documented run folder."""

from __future__ import annotations

import json
from pathlib import Path

from command_line import skillopt, train

ONCE = (
    *("config.yaml", "manifest.json", "events.jsonl", "state.json", "state.prev.json"),
    *("journal.sqlite", "history.json", "best_skill.md", "summary.json"),
    *("skills/best_skill.md", "skills/step_0000.md", "selection/results.jsonl"),
    *("slow_update/epoch_01/slow_result.json", "slow_update/epoch_02/slow_result.json"),
    *("slow_update/epoch_02/comparison_pairs.json", "slow_update/epoch_02/candidate_skill.md"),
    "meta_skill/epoch_02/meta_skill_result.json",
    *("test/seed/results.jsonl", "test/best/results.jsonl"),
)
EACH_STEP = (
    *("candidate_skill.md", "step_record.json", "trajectory_digest.json", "merged_patch.json"),
    *("ranked_edits.json", "edit_report.json", "rollout/results.jsonl"),
)
SKIPPING = (
    *("--preset", "tiny", "--seed", "5", "--set", "optimizer.use_slow_update=true"),
    *("--set", "optimizer.use_meta_skill=true"),
    *("--set", "optimizer.lr_control_mode=autonomous", "--set", "model.simulated.right_rate=0.3"),
)


def test_a_finished_run_holds_every_documented_path() -> None:
    run = train(*SKIPPING)
    missing = [name for name in ONCE if not (run / name).is_file()]
    history = json.loads((run / "history.json").read_text(encoding="utf-8"))
    assert any(record["action"].startswith("skip_") for record in history)
    for record in history:
        number = record["step"]
        step = Path("steps", f"step_{number:04d}")
        names = [f"skills/step_{number:04d}.md", *(str(step / name) for name in EACH_STEP)]
        if not record["action"].startswith("skip_"):
            names.append(str(step / "selection/results.jsonl"))
        missing += [name for name in names if not (run / name).is_file()]
        digest = json.loads((run / step / "trajectory_digest.json").read_text(encoding="utf-8"))
        assert [len(digest["attempts"]), digest["n_total"]] == [
            record["rollout_n"],
            record["rollout_scored"],
        ]
        assert all(entry["text"] for entry in digest["attempts"] if entry["shown"])
    assert missing == []
    best = (run / "best_skill.md").read_bytes()
    assert (run / "skills/best_skill.md").read_bytes() == best
    measured = skillopt("eval", "--skill", run / "skills/best_skill.md", "--json")
    assert measured.code == 0, measured.err
    assert measured.json["benchmark"] == "searchqa"
