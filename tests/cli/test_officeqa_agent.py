"""An agent's program finds the documents of OfficeQA in its working folder, and no others."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from command_line import skillopt

AGENT = """
import pathlib, re, sys

task = sys.stdin.read()
files = sorted(pathlib.Path().rglob("docs/*.txt"))
month = re.search(r"[A-Z][a-z]+ 19[0-9][0-9]", task.split("## Question")[-1])[0]
rows = [
    line.split("|")
    for file in files
    for line in file.read_text(encoding="utf-8").splitlines()
    if line.startswith(f"| {month} ")
]
print(f"{len(files)} files <answer>{rows[0][2].strip()}</answer>")
"""
CONFIG = """
model:
  target: {backend: command, name: mine}
  command:
    argv: [%s, %s]
    skill_file: AGENTS.md
run: {executor: local}
"""


def test_an_agent_reads_the_documents_of_its_task(tmp_path: Path) -> None:
    program, config = tmp_path / "agent.py", tmp_path / "agent.yaml"
    program.write_text(AGENT, encoding="utf-8")
    config.write_text(
        CONFIG % (json.dumps(sys.executable), json.dumps(str(program))), encoding="utf-8"
    )
    args = ("--split", "test", "--from-scratch", "--set", "env.limit=3", "--display", "none")
    done = skillopt("eval", "officeqa", "--config", str(config), "--trust", *args)
    assert done.code == 0, done.err
    (folder,) = Path("outputs", "officeqa").iterdir()
    rows = (folder / "test" / "eval" / "results.jsonl").read_text(encoding="utf-8").splitlines()
    made = {row["id"]: row for row in map(json.loads, rows)}
    assert {row["ending"] for row in made.values()} == {"answered"}
    # The first asks for the first column of a month; the third names no document.
    assert made["test-01"]["hard"] == 1.0
    assert [made[f"test-0{n}"]["predicted_answer"][:7] for n in (1, 3)] == ["1 files", "6 files"]
