"""The program: commands joined together, and errors turned into a message, a hint and a code."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from skillopt_cli import __version__
from skillopt_cli.cli import (
    config,
    ctl,
    data,
    diff_skills,
    doctor,
    evaluate,
    gate_report,
    new,
    plan,
    plugins,
    resume,
    runs,
    sweep,
    train,
    webui,
)
from skillopt_cli.cli.errors import errors_shown
from skillopt_cli.core.errors import UsageError


class Root(TyperGroup):
    """The root command: where every error ends."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any
    ) -> Any:
        """Parse the root's own options."""
        with errors_shown():
            _refuse_shell(args)
            return super().make_context(info_name, args, parent, **extra)

    def invoke(self, ctx: typer.Context) -> object:  # type: ignore[override]
        """Run a command."""
        with errors_shown():
            return super().invoke(ctx)


def dashes(name: str) -> str:
    """Option and command names with `-` for `_`, so that both spellings work everywhere."""
    return name.replace("_", "-")


def _refuse_shell(args: list[str]) -> None:
    """Completion is that of the shell around; another's name would be passed over in silence.

    Raises:
        UsageError: one is named.
    """
    flag = dashes(args[0]) if args else ""
    if flag in {"--show-completion", "--install-completion"} and len(args) > 1:
        raise UsageError(
            f"`{flag}` takes no `{args[1]}`: it is for the shell that it is called from",
            "for another one, keep what `_SKILLOPT_COMPLETE=source_zsh skillopt` prints"
            " (bash, zsh, fish or powershell)",
        )


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
app.command("plan")(plan.plan)
app.command("eval")(evaluate.evaluate)
app.command("resume")(resume.resume)
app.command("sweep")(sweep.sweep)
app.command("doctor")(doctor.doctor)
app.command("gate-report")(gate_report.gate_report)
app.command("diff-skills")(diff_skills.compare_skills)
app.add_typer(ctl.app, name="ctl")
app.command("webui")(webui.webui)
app.add_typer(runs.app, name="runs")
app.add_typer(plugins.benchmarks, name="benchmarks")
app.add_typer(plugins.backends, name="backends")
app.add_typer(data.app, name="data")
app.add_typer(config.app, name="config")
app.add_typer(new.app, name="new")
