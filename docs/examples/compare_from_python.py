"""Compare the skills of a run on the same tasks, then remove what the best one does not need."""

from skillopt_cli import evaluate, prune, train

train("searchqa", preset="tiny", run_id="mine")

found = evaluate("mine", arms=["none", "seed", "best"], repeats=2, lint=True, run_id="arms")
for name, score in found.test.items():
    print(f"{name}: {score.hard:.2f} on {score.n} test tasks")
result = found.evaluation
assert result is not None
for pair in result["pairs"]:
    low, high = pair["interval"]
    words = f"{pair['gain']:+.2f} ({low:+.2f} to {high:+.2f}), p = {pair['p_value']:.3f}"
    print(f"{pair['first']} -> {pair['second']}: {words}")
print(len(result["lint"]["failed"]), "tasks that every arm fails")

short = prune("mine", out="short.md", run_id="short")
assert short.pruned is not None
for block in short.pruned.blocks:
    print("removed" if block.removed else f"kept, {block.reason}", "|", block.line[:40])
print(short.pruned.chars_before, "->", short.pruned.chars, "characters")
