"""The gallery and the comparison: small enough to read, and their numbers come from somewhere."""

from __future__ import annotations

import json
import os
import re
import runpy
import signal
import subprocess
import sys
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


def test_a_stand_in_proposes_again_what_was_rejected_for_other_tasks() -> None:
    reply = runpy.run_path(str(GALLERY / "receipts" / "optimizer.py"))["reply"]
    skill, asked = "## Current skill\n# Skill\n\n", "## Trajectory 1: task `t` (x)\nHow many?\n"
    first = json.loads(reply("", skill + asked))["edits"]
    rejected = f"## Earlier steps of this run\n{json.dumps(first)}\n\n"
    assert first and json.loads(reply("", skill + rejected + asked))["edits"] == first


_CHILD = """
import json, os, signal, sys, urllib.request

def ask(number, frame):
    told = {"model": "m", "messages": [{"role": "user", "content": "one"}]}
    url = os.environ["OPENAI_COMPATIBLE_BASE_URL"] + "/chat/completions"
    with urllib.request.urlopen(url, json.dumps(told).encode()) as answer:
        print(json.load(answer)["choices"][0]["message"]["content"])
    sys.exit(7)

signal.signal(signal.SIGINT, ask)
print(os.environ["OPENAI_COMPATIBLE_BASE_URL"], flush=True)
signal.pause()
"""
_KILLED = "import os, signal; os.kill(os.getpid(), signal.SIGTERM)"


def test_a_stand_in_keeps_its_port_and_leaves_ctrl_c_to_the_command(tmp_path: Path) -> None:
    program = tmp_path / "own.py"
    program.write_text("def reply(system, user):\n    return 2 * user\n", encoding="utf-8")
    start = [sys.executable, str(GALLERY / "stand_in.py"), str(program), sys.executable, "-c"]
    addresses = []
    for _ in range(2):
        with subprocess.Popen(
            [*start, _CHILD],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            process_group=0,
        ) as running:
            assert running.stdout is not None
            addresses.append(running.stdout.readline())
            second = subprocess.run([*start, "pass"], capture_output=True, text=True, check=False)
            os.killpg(running.pid, signal.SIGINT)
            left, errors = running.communicate(timeout=60)
        assert (running.returncode, left, errors) == (7, "oneone\n", "")
        assert second.returncode == 1 and "Traceback" not in second.stderr
        assert re.match(rf"port \d+, which belongs to {program}, cannot be used: ", second.stderr)
    assert addresses[0] == addresses[1]
    killed = subprocess.run([*start, _KILLED], capture_output=True, check=False)
    assert (killed.returncode, killed.stderr) == (128 + signal.SIGTERM, b"")


def test_means_of_the_comparison_are_those_that_were_measured() -> None:
    measured = (DOCS / "explanation" / "learner-measured.md").read_text(encoding="utf-8")
    for page in (ROOT / "README.md", DOCS / "explanation" / "comparison.md"):
        means = _MEAN.findall(page.read_text(encoding="utf-8"))
        assert means and [mean for mean in means if mean not in measured] == []
