"""Draw the screens of `gate-report` and `diff-skills` for the docs, from a run folder.

The same run gives the same files, byte for byte:

    python docs/images/make_screens.py outputs/searchqa/demo
"""

from __future__ import annotations

import argparse
import io
import re
import sys
from pathlib import Path

from rich.console import Console, RenderableType
from rich.terminal_theme import MONOKAI

from skillopt_cli.core.errors import SkillOptError
from skillopt_cli.reports.diff.named_skill import NamedSkill, named_skill
from skillopt_cli.reports.diff.skill_diff import diff_skills
from skillopt_cli.reports.diff.terminal import Screen
from skillopt_cli.reports.run.run_report import run_report
from skillopt_cli.reports.run.subject import Subject
from skillopt_cli.reports.terminal import as_rich
from skillopt_cli.runlog.run_log import read_view

WIDTH = 110
HERE = Path(__file__).parent

# Rich names a font on a server; a picture in our docs calls nobody.
_FONT_FACE = re.compile(r"\s*@font-face \{.*?\}", re.DOTALL)


def screens(run: Path) -> dict[str, str]:
    """File name to SVG text, for both screens of a run.

    Raises:
        SkillOptError: the folder holds no run that can be read.
    """
    name = run.resolve().name
    seed, best = (
        NamedSkill(f"{name}:{which}", named.text, named.run, named.step)
        for which in ("seed", "best")
        for named in (named_skill(f"{run}:{which}"),)
    )
    report = as_rich(run_report(Subject(name, read_view(run))))
    return {
        "gate-report.svg": _svg(report, f"skillopt gate-report {name}"),
        "diff-skills.svg": _svg(
            Screen(diff_skills(seed, best)), f"skillopt diff-skills {name}:seed {name}:best"
        ),
    }


def _svg(screen: RenderableType, title: str) -> str:
    console = Console(
        file=io.StringIO(),
        width=WIDTH,
        record=True,
        force_terminal=True,
        color_system="truecolor",
        legacy_windows=False,
        highlight=False,
        _environ={},
    )
    console.print(screen)
    # An id of ours, for else it would change with every change of the content.
    drawn = console.export_svg(title=title, theme=MONOKAI, unique_id="skillopt")
    return _FONT_FACE.sub("", drawn)


def main() -> int:
    """Write the files. Returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("run", type=Path, help="run folder")
    parser.add_argument("--out", type=Path, default=HERE, help="where the files go")
    arguments = parser.parse_args()
    try:
        drawn = screens(arguments.run)
    except SkillOptError as error:
        print(f"error: {error.message}\nhint: {error.hint}", file=sys.stderr)
        return error.exit_code
    arguments.out.mkdir(parents=True, exist_ok=True)
    for name, text in drawn.items():
        (arguments.out / name).write_text(text, encoding="utf-8")
        print(arguments.out / name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
