"""The model keys of the published system, in ours: which backend plays a role, and its settings.

That system holds the settings of each backend side by side, shared and per role, and applies those
of the backend that plays. Here a role holds its backend's settings, so only these are carried.
Sources: the published key tables, the high-level backend table, and the sentinel model names.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from skillopt_cli.config.imported_agents import AGENTS, TARGETS_ONLY, agent_reason, import_agent
from skillopt_cli.config.layers import typed
from skillopt_cli.config.scalars import Written, settle_written
from skillopt_cli.config.validation_messages import canonical

ROLES = ("optimizer", "target")
"""Those of the published system."""
_PLAYING = ("model_backend", "optimizer_backend", "target_backend")
"""The high-level backend, and that of each role."""
_OLD_ROLES = {"teacher": "optimizer", "student": "target"}
_AZURE = "openai_chat"
_BACKEND_OF = {
    "azure_openai": "openai_chat",
    "qwen_chat": "qwen_chat",
    "minimax": "minimax_chat",
    "openai_compatible": "openai_compatible",
}
"""The backend whose settings a key's first words announce."""

_SETTINGS = {
    "endpoint": "base_url",
    "base_url": "base_url",
    "api_version": "api_version",
    "auth_mode": "auth_mode",
    "ad_scope": "ad_scope",
    "managed_identity_client_id": "managed_identity_client_id",
    "temperature": "temperature",
    "timeout_seconds": "timeout",
    "max_tokens": "max_completion_tokens",
    "enable_thinking": "thinking",
    "thinking_mode": "thinking",
    "region": "region",
    "model": "name",
}
"""Our setting by what follows those words; a later one of the same setting wins."""

_PLAYERS = {
    "claude_chat": ("claude_chat", "claude_chat"),
    "codex": ("codex_exec", "codex_exec"),
    "codex_exec": ("codex_exec", "codex_exec"),
    "claude_code_exec": (_AZURE, "claude_code_exec"),
    "cursor_exec": (_AZURE, "cursor_exec"),
    "copilot_chat": ("copilot_chat", "copilot_chat"),
    "copilot_exec": (_AZURE, "copilot_exec"),
    "qwen_chat": (_AZURE, "qwen_chat"),
    "minimax_chat": (_AZURE, "minimax_chat"),
    "openai_compatible": ("openai_compatible", "openai_compatible"),
}
"""Optimizer's and target's backend by the high-level name; OpenAI's for both by any other."""

_THINKS_AS_ASKED = (_AZURE, "claude_chat")
_SENTINELS = ("gpt-5.4", "gpt-5.5")
_OWN_MODELS = {
    "claude_chat": "claude-sonnet-4-6",
    "claude_code_exec": "claude-sonnet-4-6",
    "cursor_exec": "composer-2.5",
    "copilot_exec": "",
    "qwen_chat": "Qwen/Qwen3.5-4B",
    "minimax_chat": "MiniMax-M3",
}
"""The model of the published system in the place of a sentinel name; "" names none."""

_DEFAULTS = {
    "api_version": "2024-12-01-preview",
    "ad_scope": "https://cognitiveservices.azure.com/.default",
}
_OMITTED = ("qwen_chat", "enable_thinking", "disabled")
"""The published Qwen client leaves the field out where this switch is off."""

_NO_HOME = {
    "rewrite_reasoning_effort": "a rewrite is asked for with the optimizer's own settings",
    "rewrite_max_completion_tokens": "a rewrite is asked for with the optimizer's own settings",
}
_SECRET = ("api_key", "token", "secret", "password")
_FLAT = ("reasoning_effort", "azure_endpoint", "azure_api_version", "azure_api_key")
_LEGACY = {name: name.replace("azure_", "azure_openai_") for name in _FLAT[1:]}

Left = tuple[str, str]


def model_key(key: str) -> str | None:
    """The flat name of a key about models, with today's roles; None for another key."""
    section, dot, rest = key.partition(".")
    if dot and section != "model":
        return None
    name = rest if dot else key
    for old, new in _OLD_ROLES.items():
        if name == old or name.startswith(f"{old}_"):
            name = new + name.removeprefix(old)
    if dot:
        return {"backend": "model_backend", "optimizer": "optimizer_model"}.get(
            name, "target_model" if name == "target" else name
        )
    known = (*_FLAT, *_NO_HOME, *_PLAYING, *(f"{role}_model" for role in ROLES))
    return name if name in known or name.startswith(AGENTS) or _owned(name) else None


def _owned(name: str) -> tuple[str, str, str] | None:
    """Backend, role and setting of a key that holds a setting of one backend; "" for both roles."""
    for family, backend in _BACKEND_OF.items():
        for role in ("", *ROLES):
            prefix = f"{role}_{family}_" if role else f"{family}_"
            if name.startswith(prefix):
                return backend, role, name.removeprefix(prefix)
    return None


@dataclass(frozen=True, slots=True)
class ImportedKey:
    """One key of the file: how it was written there, and its value."""

    key: str
    value: Any


def import_models(
    given: Mapping[str, ImportedKey], backends: Collection[str]
) -> tuple[dict[str, Any], list[Left]]:
    """Our `model` section, and what was left behind as (key, reason).

    Args:
        given: values that are not empty, by `model_key`.
        backends: names of those that exist here.
    """
    # The older names count where the newer ones are empty.
    given = {_LEGACY[n]: v for n, v in given.items() if n in _LEGACY} | {
        n: v for n, v in given.items() if n not in _LEGACY
    }
    left: list[Left] = []
    playing = _playing(given, backends)
    roles: dict[str, dict[str, Any]] = {role: {} for role in ROLES}
    own: dict[str, Any] = {}
    values = {name: one.value for name, one in given.items()}
    for role in ROLES:
        backend = playing[role]
        named = backend in backends
        if named and _is_given(given, role):
            roles[role]["backend"] = backend
        roles[role] |= _settings(given, role, backend) if named else {}
        name, note = _model_name(given, role, backend)
        if name:
            # A model that was named by its role wins over the backend's own key for it.
            roles[role]["name"] = name
        left += note
        if named:
            section, settings = import_agent(values, backend)
            roles[role] |= settings
            own |= {backend: section} if section else {}
    for key, one in given.items():
        if reason := _reason(key, one.value, playing, backends):
            left.append((one.key, reason))
    return {**_shared(roles), **own}, left


def _playing(given: Mapping[str, ImportedKey], backends: Collection[str]) -> dict[str, str]:
    """Each role's backend, by its own key or the high-level one."""
    high = _backend_name(given, "model_backend")
    pair = _PLAYERS.get(high) or ((high, high) if high in backends else (_AZURE, _AZURE))
    found = {}
    for role, mapped in zip(ROLES, pair, strict=True):
        own = _backend_name(given, f"{role}_backend")
        found[role] = own if own and own != _AZURE else mapped
    if found["optimizer"] in TARGETS_ONLY:
        found["optimizer"] = _AZURE
    return found


def _backend_name(given: Mapping[str, ImportedKey], key: str) -> str:
    name = str(given[key].value).strip().lower() if key in given else ""
    return canonical("backend", name) or name


def _is_given(given: Mapping[str, ImportedKey], role: str) -> bool:
    """Whether the file names who plays the role, if only by settings of one backend."""
    azure = any(name.startswith(("azure_openai_", f"{role}_azure_openai_")) for name in given)
    return azure or "model_backend" in given or f"{role}_backend" in given


def _settings(given: Mapping[str, ImportedKey], role: str, backend: str) -> dict[str, Any]:
    """Settings of a role's backend; the role's own keys win over the shared ones."""
    found: dict[str, Any] = {}
    owned = [(name, *parts) for name in given if (parts := _owned(name))]
    order = {ending: number for number, ending in enumerate(_SETTINGS)}
    owned = [o for o in owned if o[1] == backend and o[2] in ("", role) and o[3] in order]
    for name, _, _, ending in sorted(owned, key=lambda one: (one[2], order[one[3]])):
        setting = _SETTINGS[ending]
        value = _value(setting, given[name].value)
        found[setting] = None if (backend, ending, value) == _OMITTED else value
    if backend in _THINKS_AS_ASKED and "reasoning_effort" in given:
        found["reasoning_effort"] = _value("reasoning_effort", given["reasoning_effort"].value)
    return {n: v for n, v in found.items() if v is not None and v != _DEFAULTS.get(n)}


def _value(setting: str, written: Any) -> Any:
    text = Written(written) if isinstance(written, str) else written
    key = f"model.target.{setting}"
    read = typed(key, text) if isinstance(text, Written) else settle_written(text)
    if isinstance(read, bool):
        return "enabled" if read else "disabled"
    return canonical(setting, read) or (str(read).lower() if setting == "auth_mode" else read)


def _model_name(
    given: Mapping[str, ImportedKey], role: str, backend: str
) -> tuple[str, list[Left]]:
    key = f"{role}_model"
    if backend == "copilot_chat":
        own_key = f"copilot_chat_{role}_model"
        named = str(given[own_key].value) if own_key in given else ""
        note = [(given[key].key, f"copilot_chat uses {own_key} only")] if key in given else []
        return named, note
    if key not in given:
        return "", []
    name = str(given[key].value)
    own = _OWN_MODELS.get(backend)
    if name not in _SENTINELS or own is None:
        return name, []
    if backend == "minimax_chat" and "minimax_model" in given:
        own = str(given["minimax_model"].value)
    stands = own or "the program's own choice"
    return own, [(given[key].key, f"`{name}` stands for {stands} where {backend} plays")]


def _reason(name: str, value: Any, playing: Mapping[str, str], backends: Collection[str]) -> str:
    if name.endswith(_SECRET):
        variable = name.upper()
        return f"keys do not stand in files: set the variable {variable}"
    if name in _PLAYING:
        roles = [role for role in ROLES if name in ("model_backend", f"{role}_backend")]
        player = canonical("backend", value) or str(value).strip().lower()
        if name == "optimizer_backend" and player in TARGETS_ONLY:
            return "an agent that is a program plays the target only"
        absent = sorted({playing[role] for role in roles} - set(backends))
        named = " and no ".join(f"backend `{backend}`" for backend in absent)
        return f"there is no {named} here" if absent else ""
    if name.startswith(AGENTS):
        return agent_reason(name, value, playing)
    if name in (*_FLAT, *(f"{role}_model" for role in ROLES)):
        return ""
    owned = _owned(name)
    if owned and owned[2] in _SETTINGS:
        plays = owned[0] in ([playing[owned[1]]] if owned[1] else playing.values())
        return "" if plays and owned[0] in backends else f"no role is played by {owned[0]}"
    return _NO_HOME.get(name, "no such setting here")


def _shared(roles: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    """The section, with what both roles have in common written once."""
    first, second = (roles[role] for role in ROLES)
    common = {n: v for n, v in first.items() if n != "name" and second.get(n) == v}
    own = {r: {n: v for n, v in values.items() if n not in common} for r, values in roles.items()}
    return {**common, **{role: values for role, values in own.items() if values}}
