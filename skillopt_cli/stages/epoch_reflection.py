"""Guidance and memory, with a model: both read the pairs of an epoch."""

from __future__ import annotations

from skillopt_cli.core.epoch_pairs import Pair, counts
from skillopt_cli.core.skill import SLOW_UPDATE
from skillopt_cli.ports import Benchmark
from skillopt_cli.stages.answer_schemas import Guidance, Notes
from skillopt_cli.stages.ask import Question, ask
from skillopt_cli.stages.prompt_text import lessons_text, skill_text
from skillopt_cli.stages.run import Comparison, Run


async def guide_with_model(run: Run, comparison: Comparison) -> str | None:
    """Guidance for the skill's own region, with the previous guidance in view."""
    previous = comparison.after.region(SLOW_UPDATE) or "(none yet)"
    parts = [
        skill_text(comparison.after),
        f"## Previous guidance\n{previous}",
        pairs_text(run.benchmark, comparison.pairs),
    ]
    question = Question("slow_update", "\n\n".join(parts), Guidance, "slow_update")
    answer = await ask(run, question)
    return answer.slow_update_content if answer else None


async def remember_with_model(run: Run, comparison: Comparison) -> str | None:
    """Notes for the optimizer itself, with the previous notes in view."""
    parts = [
        f"## Skill at the start of the epoch\n{comparison.before.text}",
        skill_text(comparison.after),
        pairs_text(run.benchmark, comparison.pairs),
        lessons_text(comparison.lessons),
    ]
    user = "\n\n".join(part for part in parts if part)
    answer = await ask(run, Question("meta_skill", user, Notes, "meta_skill"))
    return answer.meta_skill_content if answer else None


def pairs_text(benchmark: Benchmark, pairs: tuple[Pair, ...]) -> str:
    """Pairs as Markdown: the task, and what was answered before and after."""
    told = ", ".join(f"{n} {category}" for category, n in counts(pairs))
    parts = [f"## {len(pairs)} tasks under the last epoch's and this epoch's skill: {told}"]
    for number, pair in enumerate(pairs, 1):
        task, after = pair.before.task, pair.after
        parts.append(f"## Pair {number}: task `{task.id}` ({task.kind}), {pair.category}")
        parts += [f"### {s.title}\n{s.text}" for s in benchmark.brief(task).sections]
        parts.append(f"### Answer before\n{pair.before.attempt.answer or '(nothing)'}")
        parts.append(f"### Answer now\n{after.attempt.answer or '(nothing)'}")
        if after.score and after.score.expected:
            parts.append(f"### Expected\n{' | '.join(after.score.expected)}")
    return "\n".join(parts)
