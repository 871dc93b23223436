"""An optimizer without a model: it has ten edits written down, and proposes four at a time.

Some are rules and some are examples of orders that nobody made. Which of them help a model is not
known here: the run tries each on the failed tasks, and keeps what solves them.
"""

import json
import re

TASK = re.compile(r"^## Trajectory \d+: task `([^`]*)`", re.MULTILINE)
AT_ONCE = 4


def example(text: str, product: str, quantity: int, city: str) -> str:
    """Return an invented order with its answer, as a skill shows it."""
    fields = {"product": product, "quantity": quantity, "city": city}
    return f"\nTask: {text}\nAnswer: {json.dumps(fields)}\n"


EDITS = [
    "Read the order twice before you answer.",
    "Write the quantity in digits: 2, not two.",
    example("We would like 7 pillows, please. Send them to Oslo.", "pillow", 7, "Oslo"),
    "Write the product in the singular: pillow, not pillows.",
    example("A dozen forks for the party in Dublin, as always.", "fork", 12, "Dublin"),
    "Answer in one sentence.",
    example("The ladders are for my aunt in Riga. She needs two of them.", "ladder", 2, "Riga"),
    "Give nothing but the JSON object.",
    example("Could you send 16 knives to Split? The bill is mine.", "knife", 16, "Split"),
    example("I am in Vilnius and want eight brushes sent there.", "brush", 8, "Vilnius"),
]


def reply(system: str, user: str) -> str:
    """Return the reply to a prompt: edits as JSON, or `ok` where none are asked for."""
    tasks = TASK.findall(user)
    if not tasks:
        return "ok"
    skill, _, _ = user.partition("## Trajectory")
    # What the skill holds, and what a prompt shows as rejected, is not proposed again.
    new = [text for text in EDITS if text.strip() not in user.replace(skill, "")]
    new = [text for text in new if text.strip() not in skill][:AT_ONCE]
    edits = [
        {"op": "append", "content": text, "tasks": tasks, "support": len(tasks)} for text in new
    ]
    return json.dumps({"reasoning": "", "failure_summary": [], "edits": edits})
