"""The reference page on benchmarks, from what each says of itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from skillopt_cli.cli.plugins import sample_sizes
from skillopt_cli.core.task import SPLITS
from skillopt_cli.plugins import BENCHMARKS, load_benchmark, names
from skillopt_cli.ports import BenchmarkSpec

PAGES = Path(__file__).parent / "benchmarks"


def benchmarks_page() -> Iterator[str]:
    """The page, line by line."""
    yield from (
        "# Benchmarks",
        "",
        "What a skill can be trained on. `skillopt benchmarks list` shows what is ready on your"
        " machine. Sizes are tasks for training / selection / test.",
        "",
        "| benchmark | what it is | consists of | bundled sample | full data | packages |",
        "|---|---|---|---|---|---|",
    )
    for name in names(BENCHMARKS):
        spec = load_benchmark(name)
        if spec.open.__module__.startswith("skillopt_cli."):
            yield _row(spec)
    yield from (
        "",
        "`data check BENCHMARK` looks at the data in use: does a reference score 1 and an empty"
        " answer 0, does a task stand in two splits, does a position or an option give answers"
        " away. `data prepare BENCHMARK` downloads the full data and cuts it; with"
        " `--manifest-dir` it takes the tasks that published lists of ids name.",
        "",
        "In a judged benchmark a third model compares answers with references: the role `judge`,"
        " which is the optimizer's model unless `model.judge` names another. Its calls have rows of"
        " their own in every account of spend, and `evaluation.judge_twice` sets which share of"
        " answers it judges a second time; how often both verdicts agree is part of the summary."
        " The judge sees the answer as a quotation, whose words about verdicts are no instruction;"
        " a verdict is one of the words asked for, alone, labelled or in JSON, and anything else is"
        " asked for once more.",
    )


def _row(spec: BenchmarkSpec) -> str:
    page = PAGES / f"{spec.name}.md"
    name = f"[`{spec.name}`](../benchmarks/{page.name})" if page.is_file() else f"`{spec.name}`"
    kinds = [*spec.modality, *(["a judge"] if spec.judged else [])]
    full = f"{_sizes(spec.sizes)}, `data prepare`" if spec.sizes and spec.prepare else "-"
    if spec.prepare and not spec.sizes:
        full = "`data prepare`"
    extra = f"`pip install 'skillopt-cli[{spec.extra}]'`" if spec.extra else "-"
    sample = _sizes(sample_sizes(spec.sample)) if spec.sample else "-"
    cells = (name, spec.summary, ", ".join(kinds), sample, full, extra)
    return f"| {' | '.join(cells)} |"


def _sizes(sizes: Mapping[str, int]) -> str:
    return " / ".join(str(sizes[split]) for split in SPLITS)
