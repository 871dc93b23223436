"""Options that several commands share."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer


def _from_home(path: Path | None) -> Path | None:
    """The path with the home folder for `~`, which a shell leaves in `--out-root=~/runs`."""
    with suppress(RuntimeError):  # there is no such user
        return path and path.expanduser()
    return path


def _file(path: Path | None) -> Path | None:
    """The file to write; `-` is stdout, as without the option."""
    return None if path == Path("-") else path


BenchmarkArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="BENCHMARK",
        help="Name of a benchmark, or a file of own tasks; else env.name of --config.",
    ),
]
SkillArgument = Annotated[
    str, typer.Argument(metavar="SKILL", help="Skill file or folder, run, or RUN:best, RUN:3.")
]
SkillOption = Annotated[
    str | None,
    typer.Option("--skill", help="Skill file or folder, run, or RUN:best, RUN:seed, RUN:3."),
]
ConfigOption = Annotated[
    Path | None,
    typer.Option("--config", help="YAML configuration file.", callback=_from_home),
]
PresetOption = Annotated[
    str | None, typer.Option("--preset", help="Named settings: default, quick, paper, demo, tiny.")
]
SetOption = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="<section.key=value>", help="Any setting; may be repeated."),
]
LookupRoot = Annotated[
    Path,
    typer.Option("--out-root", help="Where run ids are looked up.", callback=_from_home),
]
TrustOption = Annotated[
    bool,
    typer.Option("--trust", help="Agree to the programs and keys that files ask for; remembered."),
]
RunId = Annotated[str | None, typer.Option(help="Name of the run folder; else the local time.")]
RecordOption = Annotated[
    Path | None,
    typer.Option(
        "--record",
        help="Record every model call that was used, to this file.",
        callback=_from_home,
    ),
]
ReplayOption = Annotated[
    Path | None,
    typer.Option(
        "--replay", help="Answer every model call from this recording.", callback=_from_home
    ),
]
OutOption = Annotated[
    Path | None,
    typer.Option("--out", "--output", help="Write here; else, and for -, stdout.", callback=_file),
]
ForceOption = Annotated[
    bool, typer.Option("--force", help="Replace the file of --out if it is there.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON on stdout, nothing else.")]
JsonLinesOption = Annotated[
    bool,
    typer.Option(
        "--json", help="Print events, then the summary, as JSON Lines on stdout, nothing else."
    ),
]
AllowDrift = Annotated[
    bool, typer.Option("--allow-drift", help="Continue although conditions changed; recorded.")
]
