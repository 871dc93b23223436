"""Flags of commands that run: of every run, of declared settings, of installed backends."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from copy import copy
from functools import partial, wraps
from inspect import Parameter, Signature, signature
from typing import Annotated, Any, get_args, get_origin

import typer
from typer.core import TyperCommand

from skillopt_cli.cli.consent import TerminalConsent
from skillopt_cli.cli.options import ConfigOption, PresetOption, SetOption, TrustOption
from skillopt_cli.compose.settings import Overrides
from skillopt_cli.config.declarations import Declared, PluginFlag, own_flags, plugin_flags
from skillopt_cli.config.section import FlagGroup

_GENERAL: dict[str, Any] = {
    "config": ConfigOption,
    "preset": PresetOption,
    "set_": SetOption,
    "trust": TrustOption,
}
FILES = ("config", "preset")
SCORED = "scored"
"""The group of flags about tasks that have answers."""
DATA = ("set_", "data", SCORED)
ASKING = ("set_", "trust", "optimizer", "target")
MEASURING = (*DATA, "trust", "target", "measuring", "caps")
EVERY = (*_GENERAL, *get_args(FlagGroup))
"""Groups of flags, for the help of a command in which the others have no effect."""
_CONTEXT = "context"
_PLUGINS = "skillopt.plugin_flags"
"""Where the context of a command keeps the flags that plug-ins declare."""
_GIVEN = "skillopt.plugin_flags_given"
"""Where it keeps what was given by them."""
_SHOWN = "shown_flags"
"""Where a command keeps the groups of flags that its help lists."""


def option_of(found: Declared) -> Any:
    """The option of a setting; its value comes as a text, which the configuration reads."""
    flag, help = found.setting.flag, found.setting.brief or found.about
    if found.takes(bool):
        return Annotated[bool, typer.Option(flag, help=help)]
    if get_origin(found.info.annotation) is tuple:
        return Annotated[list[str] | None, typer.Option(flag, metavar="<str>", help=help)]
    if words := found.words:
        shown = f"<{'|'.join(words)}>"
        option = typer.Option(flag, metavar=shown, help=help, autocompletion=lambda: list(words))
    else:
        kind = next((kind for kind in (int, float) if found.takes(kind)), str)
        option = typer.Option(flag, metavar=f"<{kind.__name__}>", help=help)
    return Annotated[str | None, option]


class RunCommand(TyperCommand):
    """A command that also takes flags of plug-ins, which are loaded only when they are used."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments, with the plug-ins' flags where one is given or help is wanted."""
        known = {name for param in super().get_params(ctx) for name in param.opts}
        normal = ctx.token_normalize_func or str
        given = {normal(arg.partition("=")[0]) for arg in args if arg.startswith("-")}
        wanted = given & set(ctx.help_option_names)
        if wanted or any(flag.startswith("--") for flag in given - known):
            ctx.meta[_PLUGINS] = plugin_flags()
        left = super().parse_args(ctx, args)
        names = (_parameter(flag) for flag in ctx.meta.get(_PLUGINS, {}))
        ctx.meta[_GIVEN] = {name: ctx.params.pop(name, None) for name in names}
        return left

    def get_params(self, ctx: Any) -> list[Any]:
        """The command's parameters, those of plug-ins before the last, which is the help."""
        params = super().get_params(ctx)
        added = _params(ctx.meta.get(_PLUGINS, {}).values(), getattr(self.callback, _SHOWN))
        return [*params[:-1], *added, *params[-1:]]


def _params(flags: Collection[PluginFlag], shown: Collection[str]) -> list[Any]:
    """Flags of plug-ins, as the parameters of a command; the help lists those of groups `shown`."""
    if not flags:
        return []

    def command(**given: Any) -> None: ...

    added = []
    for found in flags:
        option = option_of(found.declared)
        (details,) = option.__metadata__
        details.help = f"{found.plugin}: {found.about.removesuffix('.')}."
        group = found.declared.setting.group
        details.hidden = ("target" if group == "training" else group) not in shown
        default = False if option.__origin__ is bool else None
        kind = Parameter.KEYWORD_ONLY
        added.append(Parameter(_parameter(found.flag), kind, default=default, annotation=option))
    command.__signature__ = Signature(added)  # type: ignore[attr-defined]
    command.__annotations__ = {p.name: p.annotation for p in added}
    app = typer.Typer(add_completion=False)
    app.command()(command)
    return list(typer.main.get_command(app).params)


def _parameter(flag: str) -> str:
    return flag.strip("-").replace("-", "_")


def with_run_flags(
    *shown: str,
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the flags of a run; it receives them as one `overrides` argument.

    The command's own `benchmark` parameter, if it has one, goes into the overrides as well.

    Args:
        shown: groups of flags its help lists. The others are taken all the same, so that the flags
            of a training can be given to the commands around it.
    """
    return partial(_with_flags, shown=shown)


def _with_flags(command: Callable[..., None], shown: tuple[str, ...]) -> Callable[..., None]:
    own = [
        p for p in signature(command, eval_str=True).parameters.values() if p.name != "overrides"
    ]
    settings = {_parameter(flag): found for flag, found in own_flags().items()}
    kinds = _GENERAL | {name: option_of(found) for name, found in settings.items()}
    groups = {name: found.setting.group for name, found in settings.items()}
    added = [
        Parameter(
            name,
            Parameter.KEYWORD_ONLY,
            default=False if option.__origin__ is bool else None,
            annotation=option if groups.get(name, name) in shown else _hidden(option),
        )
        for name, option in kinds.items()
    ]

    added.append(Parameter(_CONTEXT, Parameter.KEYWORD_ONLY, annotation=typer.Context))

    @wraps(command)
    def wrapped(**given: Any) -> None:
        shared = {name: given.pop(name) for name in kinds}
        flags, for_roles = _by_key(given.pop(_CONTEXT).meta.get(_GIVEN, {}))
        # A switch that is not given is unset, rather than False.
        flags |= {found.key: shared[name] or None for name, found in settings.items()}
        overrides = Overrides(
            benchmark=given.get("benchmark") or "",
            preset=shared["preset"] or "",
            config=shared["config"],
            flags={key: value for key, value in flags.items() if value is not None},
            backend_flags=for_roles,
            assignments=tuple(shared["set_"] or ()),
            trust=shared["trust"],
            consent=TerminalConsent(quiet=bool(given.get("json")), trusts=shared["trust"]),
        )
        command(**given, overrides=overrides)

    keyword = [p.replace(kind=Parameter.KEYWORD_ONLY) for p in own]
    wrapped.__signature__ = signature(command).replace(parameters=[*keyword, *added])  # type: ignore[attr-defined]
    wrapped.__annotations__ = {p.name: p.annotation for p in [*keyword, *added]}
    setattr(wrapped, _SHOWN, shown)
    return wrapped


def _by_key(given: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """What was given by flags of plug-ins: by dotted key, and by flag where a role decides that."""
    keyed: dict[str, Any] = {}
    for_roles: dict[str, Any] = {}
    if any(given.values()):
        for flag, found in plugin_flags().items():
            value = given.get(_parameter(flag))
            if value not in (None, False):
                into, name = (for_roles, flag) if found.of_roles else (keyed, found.declared.key)
                into[name] = value
    return keyed, for_roles


def _hidden(option: Any) -> Any:
    """An option that the help leaves out."""
    (details,) = option.__metadata__
    details = copy(details)
    details.hidden = True
    return Annotated[option.__origin__, details]
