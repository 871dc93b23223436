"""Where each role's model is: its backend, its provider variables, and what must be set."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from skillopt_cli.config import RunConfig
from skillopt_cli.config.environment import file_of
from skillopt_cli.config.layers import (
    ENVIRONMENT,
    Layer,
    Resolved,
    Strength,
    leaf_layer,
)
from skillopt_cli.config.model_section import Endpoint, RoleConfig
from skillopt_cli.config.scalars import is_null
from skillopt_cli.config.section import setting_of
from skillopt_cli.config.validation_messages import canonical
from skillopt_cli.core.errors import ConfigError
from skillopt_cli.core.events import Role
from skillopt_cli.plugins import BACKENDS, load_backend, load_benchmark, names, sound_backends
from skillopt_cli.ports import BackendSpec

DEFAULT_BACKEND = "openai_compatible"
AZURE_BACKEND = "openai_chat"
WITHOUT_KEY = (
    "`skillopt backends list` shows what needs no key, such as `model.target.backend=local` with"
    " `model.optimizer.backend=rules`"
)
"""What the hint of a missing key ends with."""
SET_ADDRESS = "set AZURE_OPENAI_ENDPOINT, OPENAI_COMPATIBLE_BASE_URL or OPENAI_API_KEY"
"""What the hint begins with where neither a backend nor an address is given."""
JUDGE: Role = "judge"
ROLES: tuple[Role, ...] = ("optimizer", "target")
"""The roles of every run; a benchmark may add the judge."""

BACKEND_VARIABLE = "{ROLE}_BACKEND"
MODEL_VARIABLE = "{ROLE}_DEPLOYMENT"
"""Names the model where none of the backend's own variables does."""

_ADDRESSES = (
    ("{ROLE}_AZURE_OPENAI_ENDPOINT", AZURE_BACKEND),
    ("AZURE_OPENAI_{ROLE}_ENDPOINT", AZURE_BACKEND),
    ("{ROLE}_OPENAI_COMPATIBLE_BASE_URL", DEFAULT_BACKEND),
    ("AZURE_OPENAI_ENDPOINT", AZURE_BACKEND),
)
"""Which backend a variable with an address means, where nothing names one; the first counts."""

SPECIAL = tuple(name for name, info in Endpoint.model_fields.items() if setting_of(info).special)
"""Settings that only some backends use."""


def backend_name(config: RunConfig, role: Role) -> str:
    """The backend of a role: its own, else the shared one, else the default."""
    return str(effective(config, role, "backend") or DEFAULT_BACKEND)


def own_settings(config: RunConfig, role: Role) -> RoleConfig:
    """A role's own settings. A judge that names neither backend nor model is the optimizer."""
    own: RoleConfig = getattr(config.model, role)
    if role != "judge" or own.backend or own.name:
        return own
    given = {name: value for name, value in own.model_dump().items() if value not in (None, "")}
    return config.model.optimizer.model_copy(update=given)


def roles_of(config: RunConfig, *, training: bool = True) -> tuple[Role, ...]:
    """The roles that a run asks: the judge where the benchmark has one."""
    env = config.env
    needed = env.name and load_benchmark(env.name).needs_judge(env.options)
    judged: tuple[Role, ...] = ("judge",) if needed else ()
    return (*(ROLES if training else ("target",)), *judged)


def effective(config: RunConfig, role: Role, name: str) -> object:
    """A setting of a role: its own value, else the shared one, else None."""
    own = getattr(own_settings(config, role), name)
    return getattr(config.model, name, None) if own is None else own


def setting_key(resolved: Resolved, role: Role, name: str) -> str:
    """The key that holds the effective value of a role's setting; its own key where none does."""
    keys = [f"model.{role}.{name}", f"model.{name}"]
    if role == JUDGE and own_settings(resolved.config, role) is not resolved.config.model.judge:
        keys.insert(1, f"model.optimizer.{name}")
    return next((key for key in keys if key in resolved.sources), keys[0])


def backend_layers(draft: Resolved, environment: Mapping[str, str]) -> Iterator[Layer]:
    """Which backend variables choose for each role.

    `OPTIMIZER_BACKEND` and `TARGET_BACKEND` name one. Where nothing does, the variable that holds
    the address decides, unless a flag or a variable of ours holds one.
    """
    for role in (*ROLES, JUDGE):
        named = BACKEND_VARIABLE.format(ROLE=role.upper())
        if _is_set(environment, named):
            yield _provider(environment, named, role, "backend")
            continue
        if role == JUDGE or effective(draft.config, role, "backend"):
            continue
        if draft.rank(f"model.{role}.base_url", "model.base_url") > Strength.PROVIDER:
            continue
        forms = ((form.format(ROLE=role.upper()), backend) for form, backend in _ADDRESSES)
        found = next(
            ((name, backend) for name, backend in forms if _is_set(environment, name)), None
        )
        if found and found[1] != DEFAULT_BACKEND:
            yield _provider(environment, found[0], role, "backend", found[1])


def playing(draft: Resolved, roles: Sequence[Role]) -> dict[Role, BackendSpec]:
    """The backend of each role, without those that do not exist and need not.

    Args:
        roles: roles whose backend must exist.

    Raises:
        ConfigError: there is no such backend, or its plug-in is broken; names the source.
    """
    loaded: dict[str, BackendSpec] = {}
    found: dict[Role, BackendSpec] = {}
    own_judge = getattr(draft.config.model, JUDGE) != RoleConfig()
    for role in (*ROLES, JUDGE) if own_judge or JUDGE in roles else ROLES:
        name = backend_name(draft.config, role)
        spec = loaded.get(name) or _spec(draft, role, needed=role in roles)
        if spec is not None:
            loaded[name] = found[role] = spec
    return found


def provider_layers(
    draft: Resolved, environment: Mapping[str, str], specs: Mapping[Role, BackendSpec]
) -> Iterator[Layer]:
    """Layers of each role's model: its provider variables, and the backend's own model.

    The key's variable is taken only when no layer names one: naming it is already a reference to
    the environment.
    """
    said = {name: text for name, text in environment.items() if not is_null(text)}
    for role, spec in specs.items():
        found = spec.variables_set(role, said)
        model = MODEL_VARIABLE.format(ROLE=role.upper())
        if not spec.free and model in said:
            found.setdefault("name", model)
        if spec.default_model and "name" not in found and _lacks_name(draft.config, role):
            source, key = f"default of {spec.name}", f"model.{role}.name"
            yield leaf_layer(source, key, spec.default_model, Strength.DEFAULT)
        for setting, variable in found.items():
            if setting != "api_key_env":
                yield _provider(environment, variable, role, setting)
            elif not effective(draft.config, role, setting):
                # Where a key is says nothing about who is to get it.
                yield replace(_provider(environment, variable, role, setting, variable), file=None)


def backend_flag_layers(
    given: Mapping[str, str], specs: Mapping[Role, BackendSpec]
) -> Iterator[Layer]:
    """What flags of backends set for each role that their backend plays, a layer each.

    Raises:
        ConfigError: the backend of a flag plays no role.
    """
    for flag, text in given.items():
        names = sorted({s.name for s in sound_backends() if flag in s.flags.values()})
        roles = [role for role, spec in specs.items() if flag in spec.flags.values()]
        if not roles:
            raise ConfigError(
                f"the flag {flag} has no effect: no role is played by {' or '.join(names)}",
                f"name it with `model.target.backend={names[0]}`",
            )
        for role in roles:
            setting = next(name for name, own in specs[role].flags.items() if own == flag)
            yield leaf_layer(f"flag {flag}", f"model.{role}.{setting}", text, Strength.FLAG)


def _lacks_name(config: RunConfig, role: Role) -> bool:
    """Whether a role has a backend of its own, or the shared one, and no name of a model."""
    own = getattr(config.model, role)
    return not own.name and (role != JUDGE or own.backend is not None)


def check_roles(
    settled: Resolved, specs: Mapping[Role, BackendSpec], roles: Sequence[Role]
) -> None:
    """One clear error before any call when a role's model cannot be reached as configured.

    Raises:
        ConfigError: a role in `roles` has a backend that cannot play it, or lacks an address, a key
            or a model that its backend needs, or no backend uses a setting.
    """
    for role in roles:
        check_plays(specs[role], role)
        _check_needs(settled, role, specs[role])
    if all(role in specs for role in ROLES):
        _check_used(settled, specs)


def check_plays(spec: BackendSpec, role: Role) -> None:
    """Refuse a backend that cannot play a role.

    Raises:
        ConfigError: it cannot.
    """
    if role == JUDGE and spec.open is not None and "optimizer" in spec.roles:
        return
    if role == JUDGE:
        raise ConfigError(
            f"backend `{spec.name}` cannot be the judge, which this benchmark needs",
            "name one that can with `model.judge.backend=NAME`; see `skillopt backends list`",
        )
    if role not in spec.roles:
        raise ConfigError(
            f"backend `{spec.name}` cannot be the {role}",
            f"it plays {', '.join(sorted(spec.roles))}; see `skillopt backends list`",
        )


def _check_needs(settled: Resolved, role: Role, spec: BackendSpec) -> None:
    settings = {name: effective(settled.config, role, name) for name in RoleConfig.model_fields}
    need = next((need for need in spec.needs if not need.met(settings)), None)
    if need is None:
        return
    words = {"role": role, "ROLE": role.upper()}
    message, hint = need.lack.format(**words), need.hint.format(**words)
    source = _source(settled, role, "backend")
    if {"api_key_env", "base_url"} & set(need.settings):
        if not source and "base_url" in need.settings:
            hint = f"{SET_ADDRESS}, or try `preset=demo`"
        hint = f"{hint}; {WITHOUT_KEY}"
    if source:
        raise ConfigError(f"{message} (backend `{spec.name}`: {source})", hint)
    raise ConfigError(message, hint)


def _check_used(settled: Resolved, specs: Mapping[Role, BackendSpec]) -> None:
    """Refuse settings that would be without effect."""
    for name in Endpoint.model_fields:
        for role, spec in specs.items():
            own = getattr(own_settings(settled.config, role), name)
            if own is not None and not uses(spec, name):
                raise _unused(settled, f"model.{role}.{name}", [spec.name])
        shared = getattr(settled.config.model, name)
        if shared is not None and not any(uses(spec, name) for spec in specs.values()):
            playing = sorted({spec.name for spec in specs.values()})
            raise _unused(settled, f"model.{name}", playing)


def uses(spec: BackendSpec, setting: str) -> bool:
    """Whether a setting of `Endpoint` has an effect with a backend."""
    return setting in spec.honours if setting in SPECIAL else setting not in spec.ignores


def _unused(settled: Resolved, key: str, backends: Sequence[str]) -> ConfigError:
    source = settled.sources.get(key)
    origin = f" ({source})" if source else ""
    setting = key.rsplit(".", 1)[-1]
    special = setting in SPECIAL
    others = [spec.name for spec in sound_backends() if special and uses(spec, setting)]
    return ConfigError(
        f"`{key}`{origin} has no effect with the backend {' or '.join(f'`{b}`' for b in backends)}",
        f"remove it, or use {' or '.join(others)}" if others else "remove it",
    )


def _spec(resolved: Resolved, role: Role, *, needed: bool) -> BackendSpec | None:
    """The backend of a role; None when it cannot be loaded and need not be."""
    name = backend_name(resolved.config, role)
    try:
        return load_backend(name)
    except ConfigError as error:
        if not needed:
            return None
        if name in names(BACKENDS):
            raise
        near = canonical("backend", name)
        source = _source(resolved, role, "backend")
        hint = f"did you mean `{near}`?" if near else error.hint
        raise ConfigError(f"{error.message} ({source})", hint) from None


def _source(resolved: Resolved, role: Role, name: str) -> str:
    """Where a role's setting comes from; empty for a default."""
    return resolved.sources.get(setting_key(resolved, role, name), "")


def _provider(
    environment: Mapping[str, str], variable: str, role: Role, setting: str, text: str = ""
) -> Layer:
    """What a provider variable sets: a text, or its own value."""
    source, key = f"{ENVIRONMENT} {variable}", f"model.{role}.{setting}"
    value = text or environment[variable].strip()
    return leaf_layer(source, key, value, Strength.PROVIDER, file_of(environment, variable))


def _is_set(environment: Mapping[str, str], variable: str) -> bool:
    return not is_null(environment.get(variable, ""))
