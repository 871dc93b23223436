"""Train a skill, look at the result, measure the skill on another split."""

from skillopt_cli import evaluate, load_run, train

result = train("searchqa", preset="tiny", seed=1, run_id="from-python")

print(result.status, "improved" if result.improved else "not improved")
for text, score in result.selection.items():
    print(f"{text}: {score.hard:.2f} on {score.n} selection tasks")
for decision in result.decisions:
    print(decision.step, decision.action, decision.candidate)
print(result.spend.calls, "model calls")

failed = [row for row in result.tasks() if row["stage"] == "test" and row["state"] == "failed"]
print(len(failed), "failed attempts in the final tests")

again = evaluate(result.folder, split="selection", run_id="again")
print(f"best skill, measured again: {again.test['selection'].hard:.2f}")

assert load_run("from-python").best_skill == result.best_skill
