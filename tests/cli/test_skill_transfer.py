"""A skill from elsewhere is trained on: another run's best skill, or a SKILL.md of an agent's."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import TINY, events, skillopt

from skillopt_cli.core.skill import FRONT_MATTER, SLOW_UPDATE, SkillDocument

MODES = ("patch", "rewrite_from_suggestions", "full_rewrite_minibatch")
FRONT = """\
---
name: reading-comprehension
description: >-
  Answers questions about short texts. Use when the user gives a text and asks: who, when, where?
license: "Apache-2.0"   # of the text below
allowed-tools: [Read, Grep]
metadata:
  version: '1.0'

  tags: ["q&a", 'größe', --- ]
---
"""
BODY = """
# Reading comprehension

Answer the question from the text.

## When unsure

1. Read the question again.
   - Then the text.

---

```yaml
---
name: not front matter
---
```
"""
SETTINGS = (
    *TINY, "--seed", "3", "--display", "none", "--set", "evaluation.test_env_num=1",
    "--set", "optimizer.slow_update_samples=4",
)  # fmt: skip
BOTH_LEARNED = ("--epochs", "3", "--seed", "2")
"""With these the gate accepts guidance, and after it an edit that makes the best skill."""


def train_from(skill: Path, name: str, mode: str, *options: str) -> Path:
    """The folder of a small run that started from the skill."""
    chosen = ("--skill-init", str(skill), "--set", f"optimizer.skill_update_mode={mode}")
    ended = skillopt("train", "searchqa", *SETTINGS, *chosen, "--run-id", name, *options)
    assert ended.code == 0, ended.err
    return Path("outputs/searchqa", name)


def check_front_matter(folder: Path, front: bytes) -> None:
    """Every text of the run begins with the front matter, and holds it once."""
    texts = [*folder.glob("skills/*.md"), *folder.glob("steps/*/candidate_skill.md")]
    texts += [*folder.glob("slow_update/*/candidate_skill.md"), folder / "best_skill.md"]
    steps = {path.name for path in folder.glob("skills/step_*.md")}
    assert len(steps) == len(json.loads((folder / "history.json").read_text())) + 1 > 2
    for path in texts:
        data = path.read_bytes()
        assert data.startswith(front), path
        assert data.count(front) == 1, path
        (region, *_) = SkillDocument(data.decode()).regions
        assert (region.name, region.inner.encode()) == (FRONT_MATTER, front), path


def body(path: Path) -> str:
    return SkillDocument(path.read_bytes().decode()).body


@pytest.mark.parametrize(("mode", "ends"), [*((mode, "\n") for mode in MODES), (MODES[1], "\r\n")])
def test_front_matter_stays_byte_for_byte(mode: str, ends: str) -> None:
    front = FRONT.replace("\n", ends).encode()
    Path("SKILL.md").write_bytes(front + BODY.replace("\n", ends).encode())
    first = train_from(Path("SKILL.md"), "first", mode)
    assert (first / "skills/step_0000.md").read_bytes() == Path("SKILL.md").read_bytes()
    check_front_matter(first, front)
    assert body(first / "best_skill.md") != body(Path("SKILL.md"))
    # Another mode takes it up, so that each trains what each has left behind.
    other = MODES[(MODES.index(mode) + 1) % len(MODES)]
    second = train_from(first / "best_skill.md", "second", other)
    seed = (second / "skills/step_0000.md").read_bytes()
    assert seed == (first / "best_skill.md").read_bytes()
    check_front_matter(second, front)


@pytest.mark.parametrize("mode", MODES)
def test_what_one_run_learned_another_goes_on_from(mode: str) -> None:
    Path("seed.md").write_bytes(b"# Reading\n\nAnswer the question from the text.\n")
    first = train_from(Path("seed.md"), "first", "patch", *BOTH_LEARNED)
    best = (first / "best_skill.md").read_bytes()
    assert SkillDocument(best.decode()).region(SLOW_UPDATE)
    assert body(first / "best_skill.md").strip() != body(Path("seed.md")).strip()
    second = train_from(first / "best_skill.md", "second", mode, *BOTH_LEARNED)
    told = json.loads((first / "summary.json").read_text())
    (start,) = (e["hard"] for e in events(second) if e["kind"] == "baseline_measured")
    assert start == told["best_gate_score"]
    assert (second / "skills/step_0000.md").read_bytes() == best
    for text in second.glob("skills/*.md"):
        assert SkillDocument(text.read_text()).region(SLOW_UPDATE) is not None
