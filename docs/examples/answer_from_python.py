"""Train on tickets with known queues, then apply the skill to new ones."""

from pathlib import Path

from skillopt_cli import answer, train

QUEUES = {"billing": "The invoice shows a wrong sum", "access": "The password is not accepted"}
known = [f"{text} again: case {n},{queue}" for n in range(9) for queue, text in QUEUES.items()]
Path("known.csv").write_text("\n".join(["body,queue", *known]), encoding="utf-8")
Path("new.csv").write_text("body\nI was billed twice\nI cannot sign in\n", encoding="utf-8")

simulated = {"model.backend": "simulated"}
train("known.csv", preset="tiny", settings=simulated, run_id="queues")

for row in answer("new.csv", "queues:best").answers():
    print(row["id"], row["answer"] or row["error"])
