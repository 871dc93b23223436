"""The pages that follow from the backends: `reference/backends.md` and `.env.example`."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import entry_points
from pathlib import Path

import yaml

from skillopt_cli.backends.agents.claude_code_exec import PROGRAM as CLAUDE
from skillopt_cli.backends.agents.codex_exec import PROGRAM as CODEX
from skillopt_cli.backends.agents.codex_exec import SANDBOX_VARIABLES
from skillopt_cli.backends.agents.copilot import PROGRAM as COPILOT
from skillopt_cli.backends.agents.cursor_exec import PROGRAM as CURSOR
from skillopt_cli.cli.plugins import ABILITIES
from skillopt_cli.compose.endpoints import BACKEND_VARIABLE, MODEL_VARIABLE, ROLES, SPECIAL
from skillopt_cli.compose.flags import in_shell
from skillopt_cli.config.model_section import Endpoint, RoleConfig
from skillopt_cli.plugins import BACKENDS, load_backend
from skillopt_cli.ports import BackendSpec, Need

PROGRAMS = (CODEX, CLAUDE, CURSOR, COPILOT)
PUBLISHED = Path(__file__).parent / "published-variables.yaml"


def our_backends() -> list[BackendSpec]:
    """Our own backends, whatever else is installed."""
    points = entry_points(group=BACKENDS)
    ours = {p.name for p in points if p.module.partition(".")[0] == "skillopt_cli"}
    return [load_backend(name) for name in sorted(ours)]


def backends_page() -> Iterator[str]:
    """The reference of backends, in parts."""
    yield (
        "# Backends\n\nWho can play which role, and where each finds its settings. "
        "`skillopt backends list` shows what is ready on your machine.\n"
    )
    rows = ["| backend | what it is | roles | can do | needs |", "|---|---|---|---|---|"]
    for spec in our_backends():
        can = ", ".join(words for name, words in ABILITIES.items() if name in spec.offers) or "-"
        extra = f"; `pip install 'skillopt-cli[{spec.extra}]'`" if spec.extra else ""
        roles = ", ".join(sorted(spec.roles))
        needs = _cell(spec.requires + extra)
        rows.append(f"| `{spec.name}` | {_cell(spec.summary)} | {roles} | {can} | {needs} |")
    yield "\n".join(rows) + "\n"
    yield CHAIN
    for spec in our_backends():
        yield from _backend(spec)
    yield from _published()


CHAIN = f"""## How a value is found

The first one with a value counts; an empty text and `null` are no values.

1. a flag, such as `--target-model` or `--set model.target.timeout=60`
2. a `SKILLOPT_` variable, such as `SKILLOPT_MODEL__TARGET__TIMEOUT`
3. a variable of the backend that plays the role, listed below
4. your YAML file, then a preset, then the benchmark's own file, then a base file
5. the default

Within 1, 2 and 4 a role's own setting (`model.target.timeout`) comes before the shared one
(`model.timeout`); within 3 the variable listed first. In the names below `{{ROLE}}` is
`OPTIMIZER`, `TARGET` or `JUDGE`. `skillopt config show` names the source of every value. The key's
own variable is the one exception: where anything names a variable in `api_key_env`, that one is
read.

`{BACKEND_VARIABLE}` names the backend of a role, above YAML and below `SKILLOPT_` variables. Where
nothing names one, it is `openai_chat` if a variable holds an Azure endpoint for the role, and
`openai_compatible` otherwise. `{MODEL_VARIABLE}` names the model of a role where the backend's own
variables do not.

A setting that only some backends use is an error where it would have no effect: for one role,
where that role's backend does not use it; shared, where neither does.
"""


def _backend(spec: BackendSpec) -> Iterator[str]:
    yield f"## {spec.name}\n\n{_sentence(spec.summary)}\n"
    if spec.honours:
        used = ", ".join(f"`{name}`" for name in SPECIAL if name in spec.honours)
        yield f"Uses beyond what every backend does: {used}.\n"
    if spec.ignores:
        ignored = ", ".join(f"`{name}`" for name in Endpoint.model_fields if name in spec.ignores)
        yield f"Cannot use, so that it is an error to set them for this backend: {ignored}.\n"
    if spec.default_model:
        yield f"The model is `{spec.default_model}` where nothing names one.\n"
    if spec.flags:
        flags = ", ".join(f"`{flag}` (`{setting}`)" for setting, flag in spec.flags.items())
        yield f"Flags, for each role that it plays: {flags}.\n"
    if spec.needs:
        yield "Checked before any call:\n"
        words = {"role": "{role}", "ROLE": "{ROLE}"}
        yield "\n".join(f"- {_need(need, words)}" for need in spec.needs) + "\n"
    if not spec.variables:
        yield "No variables of its own.\n"
        return
    rows = ["| setting | variables, strongest first |", "|---|---|"]
    for setting, names in spec.variables.items():
        rows.append(f"| `{setting}` | {', '.join(f'`{name}`' for name in names)} |")
    yield "\n".join(rows) + "\n"


def _need(need: Need, words: Mapping[str, str]) -> str:
    said = " or ".join(f"`{name}`" for name in need.settings)
    modes = [f"`{k}` is {' or '.join(v or 'unset' for v in vs)}" for k, vs in need.when.items()]
    only = f" while {' and '.join(modes)}" if modes else ""
    return f"{said} must be set{only}; {in_shell(need.hint.format(**words))}"


def used_variables() -> dict[str, str]:
    """The setting of each variable of our backends, by its name with `{ROLE}` in it."""
    found = {
        BACKEND_VARIABLE: "`backend` of the role",
        MODEL_VARIABLE: "`name` of the role, whatever its backend",
    }
    for spec in our_backends():
        for setting, names in spec.variables.items():
            for name in names:
                found.setdefault(name, f"`{setting}` of `{spec.name}`")
    for sought in PROGRAMS:
        found |= dict.fromkeys(sought.variables, f"`{sought.setting}`, where that is empty")
    return found | dict.fromkeys(
        SANDBOX_VARIABLES, "`model.codex_exec.sandbox`, where that is unset"
    )


def _published() -> Iterator[str]:
    listed = yaml.safe_load(PUBLISHED.read_text(encoding="utf-8"))
    ours = used_variables()
    rows = ["| variable | here |", "|---|---|"]
    forms: dict[str, list[str]] = {}
    for name in listed["used"]:
        forms.setdefault(ours[name], []).append(f"`{name}`")
    rows += [f"| {', '.join(names)} | {setting} |" for setting, names in forms.items()]
    for benchmark, variables in listed["benchmarks"].items():
        names = ", ".join(f"`{name}`" for name in variables)
        rows.append(f"| {names} | the benchmark [`{benchmark}`](../benchmarks/{benchmark}.md) |")
    for group in listed["absent"]:
        names = ", ".join(f"`{name}`" for name in group["names"])
        rows.append(f"| {names} | not used: {_cell(group['why'])} |")
    yield (
        "## Variables of the published system\n\nEvery variable that the published system reads, "
        "and what becomes of it here. There YAML wins over variables; here variables win.\n"
    )
    yield "\n".join(rows) + "\n"


ENV_HEAD = """\
# Copy to .env in the directory you run skillopt in, or `source` it. Real variables win over .env.
# Take away the `#` before those you need; --preset tiny and --preset demo need none of them.
# Each OPTIMIZER_ or TARGET_ variable is for that role alone and wins over the shared one; JUDGE_ in
# the place of OPTIMIZER_ is for the judge of benchmarks that have one, else the optimizer. An empty
# one has no effect. Flags and SKILLOPT_ variables win over all of these, and these over YAML files.
# Which is in force, and where it came from, is shown by `skillopt config show`.
#
# Generated from the backends by docs/generate.py; do not edit by hand.
"""
ENV_TAIL = """\
# ---- The program itself ----

# Any setting: SKILLOPT_SECTION__KEY, two underscores between section and key.
# export SKILLOPT_TRAIN__BATCH_SIZE=20

# Organization and project at OpenAI itself; other servers are not told.
# export OPENAI_ORG_ID=
# export OPENAI_PROJECT_ID=

# Cache folder of the local model's weights (default ~/.cache).
# export XDG_CACHE_HOME=

# `skillopt data prepare` only, and to be exported (.env is not enough): a mirror of the data hub,
# or no connection at all.
# export HF_ENDPOINT=
# export HF_HUB_OFFLINE=1
"""
EXAMPLES = {
    "OPENAI_COMPATIBLE_BASE_URL": "http://127.0.0.1:8000/v1",
    "AZURE_OPENAI_ENDPOINT": "https://NAME.openai.azure.com",
    "AZURE_OPENAI_API_VERSION": "2024-12-01-preview",
    "AZURE_OPENAI_AUTH_MODE": "azure_cli",
    "AZURE_OPENAI_AD_SCOPE": "https://cognitiveservices.azure.com/.default",
    "QWEN_CHAT_BASE_URL": "http://localhost:8000/v1",
    "QWEN_CHAT_THINKING_MODE": "server_default",
    "MINIMAX_REGION": "global_en",
}


def env_example() -> Iterator[str]:
    """The example of a `.env` file, in parts."""
    yield ENV_HEAD
    yield from _env_group("Roles")
    backends = ", ".join(spec.name for spec in our_backends())
    yield from _env_setting(f"Who plays each role: {backends}.", (BACKEND_VARIABLE,))
    unnamed = "The model of each role, where no variable of its backend names one."
    yield from _env_setting(unnamed, (MODEL_VARIABLE,))
    told = {MODEL_VARIABLE}
    for spec in our_backends():
        new = {
            setting: tuple(name for name in names if name not in told)
            for setting, names in spec.variables.items()
        }
        told.update(name for names in new.values() for name in names)
        if any(new.values()):
            yield from _env_group(f"{spec.name}: {spec.summary}")
        for setting, names in new.items():
            if names:
                default = spec.default_model if setting == "name" else ""
                unset = f" {default} when unset." if default else ""
                yield from _env_setting(f"{_about(setting)}{unset}", names)
    for sought in PROGRAMS:
        yield from _env_setting(f"Where `{sought.command}` is.", sought.variables)
    yield from _env_setting("What Codex may do.", SANDBOX_VARIABLES)
    yield ENV_TAIL


def _env_group(title: str) -> Iterator[str]:
    yield f"# ---- {title} ----\n"


def _env_setting(about: str, names: Sequence[str]) -> Iterator[str]:
    """A comment, and a line for each form of a variable, the shared ones first."""
    lines = textwrap.wrap(about, 98, initial_indent="# ", subsequent_indent="# ")
    for name in reversed(names):
        roles = ROLES if "{ROLE}" in name else ("",)
        for role in roles:
            full = name.format(ROLE=role.upper())
            lines.append(f"# export {full}={EXAMPLES.get(full, '')}")
    yield "\n".join(lines) + "\n"


def _about(setting: str) -> str:
    if setting == "api_key_env":
        return "The key."
    return " ".join((RoleConfig.model_fields[setting].description or "").split())


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
