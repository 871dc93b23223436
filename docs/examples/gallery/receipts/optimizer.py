"""An optimizer without a model: it knows four faults and two bad ideas about receipts.

`reply` reads the failed tasks of a prompt and proposes an edit for each fault that it sees, with
the name of a task that shows it. A real optimizer finds such edits itself; this one has them all
written down, so that the example shows what happens to an edit and not who finds it.
"""

import json
import re

SCRIPT = "scripts/total.py"
TRAJECTORY = re.compile(
    r"^## Trajectory \d+: task `([^`]*)`[^\n]*\n(.*?)(?=^## Trajectory|\Z)", re.M | re.S
)

FIND = r"""    found = re.search(r"(\d+\.\d\d)$", line)"""
PRICE = "    price = float(found[1])\n"
TIMES = r"""    price = float(found[1])
    if times := re.match(r"(\d+) x ", line):
        price *= int(times[1])
"""

EDITS = [
    # What shows the fault in a failed task, then the edit.
    (
        r"\d,\d\d$",
        {
            "op": "replace",
            "file": SCRIPT,
            "target": FIND,
            "content": FIND.replace("line)", 'line.replace(",", "."))'),
            "evidence": "the prices have a decimal comma, and the script finds none of them",
        },
    ),
    (
        r"^\d+ x ",
        {
            "op": "replace",
            "file": SCRIPT,
            "target": PRICE,
            "content": TIMES,
            "evidence": "a thing that was bought several times is counted once",
        },
    ),
    (
        r"returned -",
        {
            "op": "replace",
            "file": SCRIPT,
            "target": "    return round(price, 2)\n",
            "content": '    return round(-price if "returned" in line else price, 2)\n',
            "evidence": "what was returned is added and not taken off",
        },
    ),
    (
        r"^How many",
        {
            "op": "append",
            "content": 'If asked "How many", run `python3 scripts/count.py` instead.',
            "evidence": "a number of things was asked for, and the total was given",
        },
    ),
    # Two bad ideas: one solves no task, with the other the script is no Python any more.
    (
        r"returned -",
        {
            "op": "append",
            "content": "Give the answer in whole euros.",
            "evidence": "the answers are off by some cents",
        },
    ),
    (
        r"<answer>0.00",
        {
            "op": "replace",
            "file": SCRIPT,
            "target": "        return 0.0\n",
            "content": "        return float(line.split()[-1]\n",
            "evidence": "the total is 0.00",
        },
    ),
]


def reply(system: str, user: str) -> str:
    """Return the reply to a prompt: edits as JSON, or `ok` where none are asked for."""
    if "## Trajectory" not in user:
        return "ok"
    # What was rejected is shown behind the skill: it may solve another task, and is proposed again.
    skill = re.split(r"^## (?:Earlier steps|Trajectory)", user, flags=re.MULTILINE)[0]
    failed = TRAJECTORY.findall(user)
    edits = []
    for shows, edit in EDITS:
        tasks = [task for task, text in failed if re.search(shows, text, re.MULTILINE)]
        if tasks and edit["content"].strip() not in skill and edit.get("target", "") in skill:
            edits.append({**edit, "tasks": tasks[:1], "support": len(tasks)})
    return json.dumps({"reasoning": "", "failure_summary": [], "edits": edits})
