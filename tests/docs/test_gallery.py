"""The gallery and the comparison: small enough to read, and their numbers come from somewhere."""

from __future__ import annotations

import json
import re
import runpy
from pathlib import Path

import pytest
from doc_pages import DOCS, EXAMPLES, ROOT

GALLERY = EXAMPLES / "gallery"
_MEAN = re.compile(r"0\.\d{3} ± 0\.\d{3}")


@pytest.mark.parametrize("report", sorted(GALLERY.glob("*/report.html")), ids=str)
def test_a_report_is_small_and_names_no_path_of_the_machine_it_was_made_on(report: Path) -> None:
    text = report.read_text(encoding="utf-8")
    assert len(text) < 300_000
    assert not re.search(r"/(?:tmp|home|root|work)/", text)


@pytest.mark.parametrize("name", ["orders", "receipts"])
def test_a_stand_in_proposes_only_what_the_skill_lacks(name: str) -> None:
    reply = runpy.run_path(str(GALLERY / name / "optimizer.py"))["reply"]
    assert reply("", "Reply with the single word: ok") == "ok"
    trajectory = (
        "## Trajectory 1: task `t-1` (count)\n### Task\nHow many things were bought?\n"
        "### Answer\n<answer>3.50</answer>\n"
    )
    first = json.loads(reply("", f"## Current skill\n# Skill\n\n{trajectory}"))["edits"]
    assert first and all(edit["tasks"] == ["t-1"] for edit in first)
    skill = "# Skill\n\n" + "\n".join(edit["content"] for edit in first)
    second = json.loads(reply("", f"## Current skill\n{skill}\n\n{trajectory}"))["edits"]
    assert {e["content"] for e in first}.isdisjoint(e["content"] for e in second)


def test_means_of_the_comparison_are_those_that_were_measured() -> None:
    measured = (DOCS / "explanation" / "learner-measured.md").read_text(encoding="utf-8")
    for page in (ROOT / "README.md", DOCS / "explanation" / "comparison.md"):
        means = _MEAN.findall(page.read_text(encoding="utf-8"))
        assert means and [mean for mean in means if mean not in measured] == []
