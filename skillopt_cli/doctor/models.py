"""Checks of the models: what each role's backend needs is there, and can be reached."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from skillopt_cli.compose.endpoints import effective, roles_of
from skillopt_cli.compose.flags import in_shell
from skillopt_cli.compose.roles import agent_of, role_settings, role_spec
from skillopt_cli.compose.script_paths import CORRECT, missing_scripts, missing_words
from skillopt_cli.compose.settings import Overrides, settle
from skillopt_cli.config import RunConfig
from skillopt_cli.core.errors import BackendUnusable, ConfigError
from skillopt_cli.core.events import Role
from skillopt_cli.doctor.check import Check, failing, passed, warning
from skillopt_cli.doctor.machine import check_address, check_azure_cli
from skillopt_cli.doctor.probe import BENCHMARK, ProbeResult, address_of, probe, public_address
from skillopt_cli.ports import BackendSpec, RoleSettings, lifetime


async def check_role(
    role: Role, overrides: Overrides, draft: RunConfig, environment: Mapping[str, str]
) -> list[Check]:
    """A role's backend exists, its packages and variables are there, its model is named.

    Raises:
        SkillOptError: what a run would say.
    """
    spec = role_spec(draft, role)
    if spec.extra and not spec.runs_programs and (missing := spec.missing(environment)):
        error = BackendUnusable(f"backend `{spec.name}` lacks {missing}")
        return [failing(role, error, f"pip install 'skillopt-cli[{spec.extra}]'")]
    named = overrides if draft.env.name else replace(overrides, benchmark=BENCHMARK)
    config = settle(replace(named, roles=(role,)), environment).config
    settings = role_settings(config, role, environment)
    if spec.open is not None:
        chat = spec.open(settings)
        try:
            if spec.runs_programs:
                # Finds the program, wherever the configuration says it is.
                agent_of(spec, chat, settings)
        finally:
            # Closed without having been entered: entering might load a model.
            await lifetime(chat).__aexit__(None, None, None)
    absent = missing_scripts(config) if role == "target" else []
    rows = [warning(role, missing_words(script), CORRECT) for script in absent]
    return [passed(role, _described(spec, settings, config)), *rows]


async def check_addresses(
    config: RunConfig, environment: Mapping[str, str], ready: Collection[Role], *, calls: bool
) -> list[Check]:
    """Every server that a role would call can be reached, and what signs in to it is there.

    Args:
        ready: roles of which nothing is missing.
        calls: whether every model is called later, which tries its address.
    """
    found: list[Check] = []
    seen: set[str] = set()
    roles = roles_of(config)
    for role in roles:
        spec = playing(config, role)
        url = address_of(config, role)
        if spec is None or spec.open is None or spec.free:
            continue
        if url and url not in seen:
            seen.add(url)
            found += await check_address(url, environment)
        elif not url and role in ready and not calls:
            found.append(_untried(spec))
    found = list(dict.fromkeys(found))  # two roles may have one backend
    if any(_signs_in_with_azure(config, role) for role in roles):
        found += check_azure_cli(environment)
    return found


def _untried(spec: BackendSpec) -> Check:
    """The row on a model whose place the configuration does not name."""
    if spec.networked:
        what = f"the program of `{spec.name}` was not run"
        return warning("program", what, "add --probe to run it once, on a short question")
    own = "a model" if spec.runs_programs else "an address"
    what = f"`{spec.name}` has {own} of its own, which was not tried"
    return warning("address", what, "add --probe to make one short call")


async def check_answers(overrides: Overrides, environment: Mapping[str, str]) -> list[Check]:
    """Every model answers, and its answers can be read. This costs a call each."""
    return [answer_row(probed) for probed in await probe(overrides, environment)]


def _described(spec: BackendSpec, settings: RoleSettings, config: RunConfig) -> str:
    if spec.open is None:
        return f"{spec.name}, which needs no model"
    parts = [spec.name]
    parts += [f"model {settings.model}"] if settings.model != spec.name else []
    place = "" if spec.free else public_address(settings.base_url)
    parts += [f"at {place}"] if place else []
    variable = effective(config, settings.role, "api_key_env")
    parts += [f"key from {variable}"] if variable else []
    return ", ".join(parts)


def playing(config: RunConfig, role: Role) -> BackendSpec | None:
    """The backend of a role; None where none fits, which the role's own row reports."""
    try:
        return role_spec(config, role)
    except ConfigError:
        return None


def _signs_in_with_azure(config: RunConfig, role: Role) -> bool:
    spec = playing(config, role)
    if spec is None or "auth_mode" not in spec.honours:
        return False
    return effective(config, role, "auth_mode") in (None, "azure_cli")


def answer_row(probed: ProbeResult) -> Check:
    """The row on the probe of a role."""
    if probed.failed:
        name = f"{probed.role} answers"
        return Check(name, "failing", probed.error, in_shell(probed.hint), probed.code)
    if probed.seconds is None:
        return passed(f"{probed.role} answers", probed.note)
    what = f'in {probed.seconds:.2f} s, read as "{probed.read}"'
    if probed.note:
        return warning(
            f"{probed.role} answers",
            f"{what}; {probed.note}",
            f"try another by `model.{probed.role}.name=NAME`",
        )
    return passed(f"{probed.role} answers", what)
