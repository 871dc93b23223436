"""The program: commands joined together, and errors turned into a message, a hint and a code."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text
from typer.core import TyperGroup

from skillopt_cli import __version__
from skillopt_cli.cli import config, data, evaluate, plugins, resume, runs, skill, train
from skillopt_cli.core.errors import SkillOptError


class Root(TyperGroup):
    """The root command: where every expected error ends."""

    def invoke(self, ctx: typer.Context) -> object:  # type: ignore[override]
        """Run a command; an error becomes one sentence, a hint and its exit code."""
        try:
            return super().invoke(ctx)
        except SkillOptError as error:
            show_error(error)
            raise typer.Exit(error.exit_code) from None


def show_error(error: SkillOptError) -> None:
    """One sentence on stderr, then `hint:` with what to do."""
    console = Console(stderr=True, soft_wrap=True, highlight=False)
    console.print(Text("error: ", style="bold red") + Text(error.message))
    if error.hint:
        console.print(Text("hint: ", style="bold cyan") + Text(error.hint))


def dashes(name: str) -> str:
    """Option and command names with `-` for `_`, so that both spellings work everywhere."""
    return name.replace("_", "-")


app = typer.Typer(
    cls=Root,
    name="skillopt",
    help="Train skill documents: Markdown instructions for a frozen language model or agent.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={
        "token_normalize_func": dashes,
        "help_option_names": ["-h", "--help"],
    },
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"skillopt {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Train skill documents: Markdown instructions for a frozen language model or agent."""


app.command("train")(train.train)
app.command("eval")(evaluate.evaluate)
app.command("resume")(resume.resume)
app.command("gate-report")(skill.gate_report)
app.command("diff-skills")(skill.diff_skills)
app.add_typer(runs.app, name="runs")
app.add_typer(plugins.benchmarks, name="benchmarks")
app.add_typer(plugins.backends, name="backends")
app.add_typer(data.app, name="data")
app.add_typer(config.app, name="config")


def main() -> None:
    """Entry point of the console script."""
    app()
