"""Every variable of every backend is documented, and none of the published ones is forgotten."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from io import StringIO
from types import ModuleType
from typing import Any

import pytest
import yaml
from doc_pages import DOCS, ROOT
from dotenv import dotenv_values

from skillopt_cli.compose.endpoints import ROLES, backend_name
from skillopt_cli.compose.settings import Overrides, settle
from skillopt_cli.core.events import Role
from skillopt_cli.plugins import BACKENDS, load_backend, names

ENV_EXAMPLE = ROOT / ".env.example"
VALUES = {
    "temperature": "0.5",
    "max_completion_tokens": "12",
    "timeout": "34",
    "auth_mode": "managed_identity",
    "thinking": "enabled",
    "region": "cn_zh",
    "base_url": "http://127.0.0.1:9/v1",
    "api_key_env": "the-key-itself",
}
"""A value that each kind of setting takes; any text will do for the others."""


@pytest.fixture(scope="module")
def pages() -> Iterator[ModuleType]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(DOCS))
        yield importlib.import_module("backend_pages")


@pytest.fixture(scope="module")
def published() -> dict[str, Any]:
    text = (DOCS / "published-variables.yaml").read_text(encoding="utf-8")
    found = yaml.safe_load(text)
    assert isinstance(found, dict)
    return found


def forms(name: str) -> list[str]:
    """A name for each role, or as it is."""
    return sorted({name.format(ROLE=role.upper()) for role in ROLES})


def variables() -> list[tuple[str, str, str]]:
    """Backend, setting and name of each variable there is."""
    return [
        (backend, setting, name)
        for backend in names(BACKENDS)
        for setting, templates in load_backend(backend).variables.items()
        for template in templates
        for name in forms(template)
    ]


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize(
    ("backend", "form"),
    [
        (backend, form)
        for backend in names(BACKENDS)
        for form in range(max(map(len, load_backend(backend).variables.values()), default=0))
    ],
)
def test_every_variable_sets_what_its_backend_says(backend: str, form: int, role: Role) -> None:
    said = {
        setting: templates[form].format(ROLE=role.upper())
        for setting, templates in load_backend(backend).variables.items()
        if form < len(templates)
    }
    overrides = Overrides("searchqa", assignments=[f"model.backend={backend}"], roles=())
    texts = {name: VALUES.get(setting, "some-text") for setting, name in said.items()}
    found = settle(overrides, texts)
    for setting, name in said.items():
        got = getattr(getattr(found.config.model, role), setting)
        assert str(got) == str(name if setting == "api_key_env" else _read(setting, texts[name]))
        assert found.sources[f"model.{role}.{setting}"] == f"environment {name}"
        if role.upper() in name:
            (other,) = set(ROLES) - {role}
            own = load_backend(backend).default_model if setting == "name" else ""
            assert getattr(getattr(found.config.model, other), setting) == (own or None)


def _read(setting: str, value: str) -> object:
    return float(value) if setting == "timeout" else value


def test_every_variable_is_in_the_example_with_a_comment() -> None:
    text = ENV_EXAMPLE.read_text(encoding="utf-8")
    exported = re.findall(r"^# export (\w+)=", text, re.M)
    assert len(exported) == len(set(exported))
    wanted = {name for _, _, name in variables()}
    assert wanted | {*forms("{ROLE}_BACKEND"), *forms("{ROLE}_DEPLOYMENT")} <= set(exported)
    for paragraph in text.split("\n\n"):
        if "# export" in paragraph:
            assert not paragraph.startswith("# export"), paragraph


def test_the_example_with_all_its_lines_taken_up_can_be_read_and_says_nothing_wrong() -> None:
    text = ENV_EXAMPLE.read_text(encoding="utf-8")
    lines = [line[2:] for line in text.splitlines() if line.startswith("# export ")]
    read = dotenv_values(stream=StringIO("\n".join(lines)))
    assert len(read) == len(lines)
    found = settle(Overrides("searchqa", roles=()), {k: v for k, v in read.items() if v})
    assert backend_name(found.config, "target") == "openai_chat"


def test_variables_of_the_published_system_are_used_as_listed(
    pages: ModuleType, published: dict[str, Any]
) -> None:
    ours = pages.used_variables()
    assert [name for name in published["used"] if name not in ours] == []
    assert len(published["used"]) == len(set(published["used"]))


def test_variables_that_are_not_used_have_a_reason_and_indeed_are_not(
    pages: ModuleType, published: dict[str, Any]
) -> None:
    ours = pages.used_variables()
    text = (DOCS / "reference" / "backends.md").read_text(encoding="utf-8")
    for group in published["absent"]:
        assert group["why"]
        assert group["why"] in text
        for name in group["names"]:
            assert name not in ours
            assert name not in published["used"]
            assert f"`{name}`" in text


def test_variables_of_benchmarks_are_used_by_them(published: dict[str, Any]) -> None:
    for benchmark, used in published["benchmarks"].items():
        package = ROOT / "skillopt_cli" / "benchmarks" / benchmark
        code = "".join(path.read_text(encoding="utf-8") for path in package.glob("*.py"))
        page = (DOCS / "benchmarks" / f"{benchmark}.md").read_text(encoding="utf-8")
        for name in used:
            assert f'"{name}"' in code
            assert f"`{name}`" in page


@pytest.mark.parametrize(
    "family",
    [
        "OPENAI_COMPATIBLE_{BASE_URL,API_KEY,MODEL,TIMEOUT_SECONDS,MAX_TOKENS,TEMPERATURE}",
        "AZURE_OPENAI_{ENDPOINT,API_VERSION,API_KEY,AUTH_MODE,AD_SCOPE,MANAGED_IDENTITY_CLIENT_ID}",
        "QWEN_CHAT_{BASE_URL,API_KEY,TIMEOUT_SECONDS,MAX_TOKENS,TEMPERATURE,ENABLE_THINKING,"
        "THINKING_MODE,USE_MAX_COMPLETION_TOKENS,MODEL}",
        "MINIMAX_{REGION,BASE_URL,API_KEY,TIMEOUT_SECONDS,MAX_TOKENS,TEMPERATURE,ENABLE_THINKING}",
        "{OPTIMIZER,TARGET,TEACHER,STUDENT}_{BACKEND,DEPLOYMENT}",
        "CLAUDE_CODE_EXEC_{PATH,PROFILE,USE_SDK,EFFORT,MAX_THINKING_TOKENS}",
        "{OFFICEQA_DOCS_DIR,OFFICEQA_SEARCH_API_URL,OFFICEQA_CUSTOM_SEARCH_AUTH,ALFWORLD_DATA}",
    ],
)
def test_the_list_of_the_published_system_is_whole(family: str, published: dict[str, Any]) -> None:
    absent = [name for group in published["absent"] for name in group["names"]]
    of_benchmarks = [name for names in published["benchmarks"].values() for name in names]
    listed = [*published["used"], *of_benchmarks, *absent]
    known = {form for name in listed for form in forms(name)}
    assert [name for name in _spelt_out(family) if name not in known] == []


def _spelt_out(family: str) -> list[str]:
    """`A_{B,C}` as A_B and A_C."""
    found = re.search(r"{([^}]*)}", family)
    if found is None:
        return [family]
    return [
        name
        for part in found.group(1).split(",")
        for name in _spelt_out(family[: found.start()] + part + family[found.end() :])
    ]


def test_each_backends_settings_stand_on_the_page() -> None:
    text = (DOCS / "reference" / "backends.md").read_text(encoding="utf-8")
    for backend in names(BACKENDS):
        assert f"\n## {backend}\n" in text
        for setting, templates in load_backend(backend).variables.items():
            row = f"| `{setting}` | {', '.join(f'`{name}`' for name in templates)} |"
            assert row in text
