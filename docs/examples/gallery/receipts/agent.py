#!/usr/bin/env python3
"""An agent without a model: does word for word what the skill's file says.

It reads the skill where `model.command.skill_file` puts it, and runs the command that the skill
names in the skill's folder, with the receipt on standard input.
"""

import re
import subprocess
import sys
from pathlib import Path

FOLDER = Path(".agents/skills/receipts")


def command(skill: str, task: str) -> list[str]:
    """Return the command of the last line of the skill that is for this task.

    A line that begins with `If asked "WORDS"` is for tasks with these words, any other for all.
    """
    found: list[str] = []
    for line in skill.splitlines():
        named = re.search(r"[Rr]un `([^`]+)`", line)
        condition = re.match(r'If asked "([^"]+)"', line)
        if named and (condition is None or condition[1] in task):
            found = named[1].split()
    return found


def main() -> None:
    """Read a task from standard input and print the answer."""
    task = sys.stdin.read()
    receipt = re.search(r"^#+ Context\n(.*?)(?=^#+ |\Z)", task, re.MULTILINE | re.DOTALL)
    skill = (FOLDER / "SKILL.md").read_text(encoding="utf-8")
    run = command(skill, task)
    if receipt is None or not run:
        print("I do not know what to do.")
        return
    text = receipt[1].strip()
    done = subprocess.run(run, cwd=FOLDER, input=text, capture_output=True, text=True, check=False)
    answer = done.stdout.strip() or "the script printed nothing"
    if "whole euros" in skill and re.fullmatch(r"-?[\d.]+", answer):
        answer = f"{float(answer):.0f}"
    print(f"$ {' '.join(run)}\n<answer>{answer}</answer>")


if __name__ == "__main__":
    main()
