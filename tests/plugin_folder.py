"""Third-party plug-ins for tests: a distribution on `sys.path`, as `pip install` leaves it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from textwrap import dedent

import pytest

GROUPS = {
    "benchmark": "skillopt.benchmarks",
    "backend": "skillopt.backends",
    "tracker": "skillopt.trackers",
}

BENCHMARK = """
    from dataclasses import dataclass

    from skillopt_cli.core.score import Score
    from skillopt_cli.core.task import Brief, Section, Task
    from skillopt_cli.ports import BenchmarkSpec

    class Sums:
        name = "{name}"
        version = "1"
        source = "made up"
        seed_skill = "# Sums\\n\\nAdd the numbers.\\n"
        needs = frozenset()

        def tasks(self, split):
            start = {{"train": 0, "selection": 100, "test": 200}}[split]
            return tuple(
                Task(f"{{split}}-{{n}}", "sum", {{"n": start + n}}) for n in range(4)
            )

        def brief(self, task):
            question = Section("Question", f"{{task.data['n']}} + 1?")
            return Brief(task.id, "You add.", (question,), "")

        async def score(self, task, attempt):
            {score}

    def open_sums(request):
        {open}
        return Sums()

    SPEC = BenchmarkSpec(name="{name}", summary="sums of two numbers", open=open_sums)
"""


def benchmark(name: str, score: str = "return Score(0.0, 0.0)", opening: str = "pass") -> str:
    """The source of a small benchmark; `score` and `opening` are bodies of its functions."""
    return dedent(BENCHMARK).format(name=name, score=score, open=opening)


def install(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    modules: Mapping[str, str],
    points: Mapping[str, Mapping[str, str]],
) -> None:
    """Put a distribution on `sys.path`.

    Args:
        modules: source by module name.
        points: for "benchmark", "backend" and "tracker", what each name points to, such as
            `module:SPEC`.
    """
    for name, source in modules.items():
        (folder / f"{name}.py").write_text(source, encoding="utf-8")
    information = folder / "third_party-1.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: third-party\nVersion: 1.0\n"
    )
    text = "".join(
        f"[{GROUPS[kind]}]\n" + "".join(f"{name} = {target}\n" for name, target in named.items())
        for kind, named in points.items()
    )
    (information / "entry_points.txt").write_text(text, encoding="utf-8")
    monkeypatch.syspath_prepend(folder)
