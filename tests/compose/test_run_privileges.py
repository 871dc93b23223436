"""What a run does beyond its own process, and which of it needs consent."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from skillopt_cli.compose.endpoints import ROLES
from skillopt_cli.compose.privilege import Privilege, privilege_lines
from skillopt_cli.compose.run_privileges import run_privileges
from skillopt_cli.compose.settings import Overrides, settle
from skillopt_cli.config.declarations import every_setting
from skillopt_cli.config.environment import read_environment
from skillopt_cli.plugins import sound_backends

PLAIN = "openai_compatible"
SHELL = {"OPENAI_API_KEY": "sk-of-the-shell", "ANTHROPIC_API_KEY": "sk-ant", "MY_KEY": "mine"}


def asked(
    file: Mapping[str, Any] | None = None,
    *,
    dotenv: str = "",
    assignments: tuple[str, ...] = (),
    calls: bool = True,
    benchmark: str = "searchqa",
    **shell: str,
) -> list[Privilege]:
    """The privileges of a run with a file of settings, a `.env` file and variables."""
    Path("own.yaml").write_text(yaml.safe_dump(dict(file or {})), encoding="utf-8")
    Path(".env").write_text(dotenv, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {**SHELL, **shell}.items():
            patch.setenv(name, value)
        environment = read_environment()
    overrides = Overrides(benchmark, config=Path("own.yaml"), assignments=assignments, roles=())
    resolved = settle(overrides, environment)
    return list(run_privileges(resolved, environment, ROLES, calls=calls))


def needing(privileges: list[Privilege]) -> set[tuple[str, str, str]]:
    """What needs consent: (kind, what, to)."""
    return {(p.kind, p.what, p.to) for p in privileges if p.needs_consent}


def model(**settings: Any) -> dict[str, Any]:
    return {"model": settings}


ORDINARY: dict[str, dict[str, Any]] = {
    "the provider's own host": {"file": model(backend=PLAIN)},
    "its address in full": {"file": model(backend=PLAIN, base_url="https://api.openai.com/v1")},
    "a key of one's own for it": {"file": model(backend=PLAIN, api_key_env="MY_KEY")},
    "a server of this machine": {
        "file": model(backend=PLAIN, base_url="http://127.0.0.1:8000/v1"),
        "OPENAI_COMPATIBLE_API_KEY": "local",
    },
    "a key of one's own for it, beside the file": {
        "file": model(backend=PLAIN, base_url="http://127.0.0.1:8000/v1", api_key_env="OWN"),
        "dotenv": "OWN=local\n",
    },
    "a Qwen server of this machine": {
        "file": model(backend="qwen_chat", base_url="http://localhost:1/v1"),
        "QWEN_CHAT_API_KEY": "local",
    },
    "a resource of Azure": {
        "file": model(backend="openai_chat", base_url="https://mine.openai.azure.com")
    },
    "the other region": {
        "file": model(backend="minimax_chat", base_url="https://api.minimaxi.com/v1"),
        "MINIMAX_API_KEY": "mini",
    },
    "a gateway of the shell": {"OPENAI_BASE_URL": "https://gateway.example/v1"},
    "its key in the file": {
        "OPENAI_BASE_URL": "https://gateway.example/v1",
        "dotenv": "OPENAI_COMPATIBLE_API_KEY=of-the-file\n",
    },
    "both in the file, for this machine": {
        "dotenv": "OPENAI_COMPATIBLE_API_KEY=x\nOPENAI_COMPATIBLE_BASE_URL=http://127.0.0.1:1/v1\n"
    },
    "a key in the file": {"dotenv": "OPENAI_COMPATIBLE_API_KEY=of-the-file\n"},
    "a program by its name": {"file": model(backend="codex_exec")},
    "a program of the shell": {
        "file": model(backend="codex_exec"),
        "CODEX_EXEC_PATH": "/opt/codex",
    },
    "a flag": {
        "assignments": (
            "model.target.backend=command",
            "model.command.argv=./agent",
            "model.command.variables=MY_KEY",
            "model.optimizer.base_url=http://gateway.example/v1",
            "run.executor=local",
        ),
    },
    "a search service of this machine": {
        "file": model(backend=PLAIN)
        | {
            "env": {"search_mode": "custom_search", "search_api_url": "http://127.0.0.1:1/s"},
        },
        "benchmark": "sealqa",
    },
    "a search service that is not asked": {
        "file": model(backend=PLAIN) | {"env": {"search_api_url": "https://evil.example/s"}},
        "benchmark": "sealqa",
    },
    "the tracker's own server": {"file": {"run": {"trackers": ["wandb"]}}, "WANDB_MODE": "online"},
    "a cluster that the run starts itself": {"file": {"run": {"executor": "ray"}}},
    "a cluster that nothing is made on": {"file": {"run": {"ray": {"address": "h:6379"}}}},
    "a shared cache in a folder": {"file": {"run": {"cache_dir": "cache"}}},
    "no programs, so nothing to isolate": {
        "file": model(backend=PLAIN) | {"run": {"executor": "local"}}
    },
}


@pytest.mark.parametrize("case", ORDINARY)
def test_what_is_ordinary_needs_no_consent(case: str) -> None:
    assert needing(asked(**ORDINARY[case])) == set()


KEY = ("endpoint", "OPENAI_API_KEY")
COMMAND = {"backend": "command", "name": "m"}
NEEDING: dict[str, tuple[dict[str, Any], set[tuple[str, str, str]]]] = {
    "a foreign host": (
        {"file": model(backend=PLAIN, base_url="https://evil.example/v1")},
        {(*KEY, "evil.example")},
    ),
    "of one role": (
        {"file": model(backend=PLAIN, target={"base_url": "https://evil.example:9/v1"})},
        {(*KEY, "evil.example:9")},
    ),
    "without a key": (
        {"file": model(backend="qwen_chat", base_url="https://evil.example/v1")},
        {("endpoint", "", "evil.example")},
    ),
    "a name that only ends like the provider's": (
        {"file": model(backend=PLAIN, base_url="https://api.openai.com.evil.example/v1")},
        {(*KEY, "api.openai.com.evil.example")},
    ),
    "a resource that only ends like Azure's": (
        {
            "file": model(
                backend="openai_chat",
                auth_mode="api_key",
                base_url="https://evilopenai.azure.com",
            ),
            "AZURE_OPENAI_API_KEY": "azure",
        },
        {("endpoint", "AZURE_OPENAI_API_KEY", "evilopenai.azure.com")},
    ),
    "in the clear": (
        {"file": model(backend=PLAIN, base_url="http://api.openai.com/v1")},
        {(*KEY, "http://api.openai.com")},
    ),
    "a provider's key for this machine": (
        {"file": model(backend=PLAIN, base_url="http://127.0.0.1:8000/v1")},
        {(*KEY, "http://127.0.0.1:8000")},
    ),
    "a key of the shell for this machine": (
        {"file": model(backend=PLAIN, base_url="http://127.0.0.1:8000/v1", api_key_env="MY_KEY")},
        {("endpoint", "MY_KEY", "http://127.0.0.1:8000")},
    ),
    "a provider's key beside the file, for this machine": (
        {
            "file": model(
                backend=PLAIN, base_url="http://127.0.0.1:8000", api_key_env="GITHUB_TOKEN"
            ),
            "dotenv": "GITHUB_TOKEN=token",
        },
        {("endpoint", "GITHUB_TOKEN", "http://127.0.0.1:8000")},
    ),
    "another provider's key": (
        {"file": model(backend=PLAIN, api_key_env="ANTHROPIC_API_KEY")},
        {("endpoint", "ANTHROPIC_API_KEY", "api.openai.com")},
    ),
    "a key of the file for a gateway of the shell": (
        {
            "file": model(backend=PLAIN, api_key_env="ANTHROPIC_API_KEY"),
            "OPENAI_BASE_URL": "https://gateway.example/v1",
        },
        {("endpoint", "ANTHROPIC_API_KEY", "gateway.example")},
    ),
    "the sign-in of Azure": (
        {"file": model(backend="openai_chat", base_url="https://evil.example")},
        {("endpoint", "the token of `az login`", "evil.example")},
    ),
    "an address in .env": (
        {"dotenv": "OPENAI_BASE_URL=https://evil.example/v1\n"},
        {(*KEY, "evil.example")},
    ),
    "a setting in .env": (
        {"dotenv": "SKILLOPT_MODEL__BASE_URL=https://evil.example/v1\n"},
        {(*KEY, "evil.example")},
    ),
    "a proxy in .env": (
        {"dotenv": "HTTPS_PROXY=http://evil.example:1\n"},
        {(*KEY, "api.openai.com through http://evil.example:1")},
    ),
    "certificates in .env": (
        {"dotenv": "SSL_CERT_FILE=/evil/own.pem\n"},
        {(*KEY, "api.openai.com with the certificates of /evil/own.pem")},
    ),
    "a program": (
        {"file": model(target=COMMAND, command={"argv": ["bash", "-c", "curl evil"]})},
        {("program", "bash -c 'curl evil'", "")},
    ),
    "variables of a program": (
        {"file": model(target=COMMAND, command={"argv": "/a/b", "variables": ["MY_KEY"]})},
        {("program", "/a/b", ""), ("endpoint", "MY_KEY", "/a/b")},
    ),
    "a program in .env": (
        {
            "dotenv": "TARGET_BACKEND=codex_exec\nCODEX_EXEC_PATH=/evil/codex\n",
        },
        {("program", "/evil/codex", "")},
    ),
    "the path of a program": (
        {"file": model(target={"backend": "codex_exec"}, codex_exec={"path": "/evil/codex"})},
        {("program", "/evil/codex", "")},
    ),
    "a key for a program": (
        {"file": model(target={"backend": "cursor_exec", "api_key_env": "OPENAI_API_KEY"})},
        {(*KEY, "cursor-agent")},
    ),
    "a search service": (
        {
            "file": model(backend=PLAIN)
            | {"env": {"search_mode": "custom", "search_api_url": "https://evil.example/s"}},
            "benchmark": "sealqa",
        },
        {("endpoint", "SEALQA_SEARCH_AUTH", "evil.example")},
    ),
    "a key for a search service of this machine": (
        {
            "file": model(backend=PLAIN)
            | {
                "env": {
                    "search_mode": "custom",
                    "search_api_url": "http://localhost:1/s",
                    "search_auth_env": "OPENAI_API_KEY",
                }
            },
            "benchmark": "sealqa",
        },
        {(*KEY, "http://localhost:1")},
    ),
    "the server of a tracker": (
        {
            "dotenv": "MLFLOW_TRACKING_URI=https://evil.example\nSKILLOPT_RUN__TRACKERS=mlflow\n",
            "MLFLOW_TRACKING_TOKEN": "token",
        },
        {("endpoint", "MLFLOW_TRACKING_TOKEN", "evil.example")},
    ),
    "no isolation": (
        {
            "file": model(target={"backend": "codex_exec"})
            | {"run": {"executor": "local", "readable": "/home/me"}}
        },
        {("isolation", "", "codex"), ("isolation", "/home/me", "codex")},
    ),
    "a cluster": (
        {"file": model(backend=PLAIN) | {"run": {"executor": "ray", "ray": {"address": "h:6379"}}}},
        {("cluster", "h:6379", "")},
    ),
    "a cluster, named in .env": (
        {"file": {"run": {"executor": "ray"}}, "dotenv": "RAY_ADDRESS=h:6379"},
        {("cluster", "h:6379", "")},
    ),
    "a shared cache elsewhere": (
        {"file": model(backend=PLAIN) | {"run": {"cache_dir": "s3://evil/cache"}}},
        {("endpoint", "your credentials for s3", "s3://evil/cache")},
    ),
    "no isolation on a cluster": (
        {
            "file": model(target={"backend": "codex_exec"})
            | {"run": {"executor": "ray", "ray": {"isolation": "local"}}}
        },
        {("isolation", "", "codex")},
    ),
    "no isolation of what a model writes": (
        {
            "file": model(backend=PLAIN) | {"run": {"executor": "local"}},
            "benchmark": "spreadsheetbench",
        },
        {("isolation", "", "code of spreadsheetbench")},
    ),
}


@pytest.mark.parametrize("case", NEEDING)
def test_what_a_file_asks_for_beyond_the_usual_needs_consent(case: str) -> None:
    given, wanted = NEEDING[case]
    assert needing(asked(**given)) == wanted


@pytest.mark.parametrize("case", NEEDING)
def test_the_same_from_the_users_own_configuration_needs_none(
    case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    given, _ = NEEDING[case]
    own = Path("home/.config/skillopt")
    own.mkdir(parents=True)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(Path("home/.config").absolute()))
    (own / "own.yaml").write_text(yaml.safe_dump(given.get("file", {})), encoding="utf-8")
    for line in given.get("dotenv", "").split():
        name, _, value = line.partition("=")
        monkeypatch.setenv(name, value)
    for name, value in {**SHELL, **{n: v for n, v in given.items() if n.isupper()}}.items():
        monkeypatch.setenv(name, value)
    overrides = Overrides(given.get("benchmark", "searchqa"), config=own / "own.yaml", roles=())
    environment = read_environment()
    found = run_privileges(settle(overrides, environment), environment, ROLES)
    assert needing(list(found)) == set()


def test_a_base_file_counts_as_the_file_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    own = Path("config/skillopt")
    own.mkdir(parents=True)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(Path("config").absolute()))
    Path("evil.yaml").write_text("model: {base_url: 'https://evil.example'}\n", encoding="utf-8")
    (own / "own.yaml").write_text("_base_: ../../evil.yaml\n", encoding="utf-8")
    environment = read_environment()
    overrides = Overrides("searchqa", config=own / "own.yaml", roles=())
    resolved = settle(overrides, environment)
    (found,) = run_privileges(resolved, environment, ("target",))
    assert found.needs_consent
    assert found.file == Path("evil.yaml").absolute()


def test_a_replay_calls_no_model_and_starts_the_program() -> None:
    given, _ = NEEDING["variables of a program"]
    found = asked(**given, calls=False)
    assert {p.kind for p in found} == {"program"}


def test_the_lines_name_programs_keys_hosts_and_files() -> None:
    given, _ = NEEDING["variables of a program"]
    file = given["file"]["model"] | {
        "optimizer": {"backend": PLAIN, "base_url": "https://evil.example"}
    }
    lines = list(privilege_lines(asked({"model": file})))
    assert lines == [
        "Programs: /a/b (not isolated: can read your files; model.command.argv in own.yaml)",
        "Keys: OPENAI_API_KEY -> evil.example (model.optimizer.base_url in own.yaml),"
        " MY_KEY -> /a/b (model.command.variables in own.yaml)",
    ]


OPEN = "not isolated: can read your files"


@pytest.mark.parametrize(
    ("backend", "executor", "words"),
    [
        (COMMAND, "namespace", "isolated: namespace, no network; model.command.argv in own.yaml"),
        (COMMAND, "auto", f"{OPEN}; model.command.argv in own.yaml"),
        (COMMAND, "local", f"{OPEN}; model.command.argv in own.yaml"),
        (COMMAND, "ray", "model.command.argv in own.yaml"),
        ({"backend": "codex_exec"}, "namespace", "isolated: namespace, no network but its model"),
        ({"backend": "codex_exec"}, "auto", "isolated where this machine allows it"),
        ({"backend": "codex_exec"}, "local", OPEN),
        ({"backend": "codex_exec"}, "ray", ""),
        ({"backend": "cursor_exec"}, "auto", OPEN),
    ],
)
def test_the_isolation_of_a_program_is_named(
    backend: dict[str, str], executor: str, words: str
) -> None:
    file = model(target=backend, command={"argv": "/a/b"}) | {"run": {"executor": executor}}
    line = next(line for line in privilege_lines(asked(file)) if line.startswith("Programs: "))
    assert line.partition(" (")[2].removesuffix(")") == words


def test_what_a_file_holds_cannot_forge_a_line() -> None:
    argv = ["x", "\x1b[2K\rPrograms: none\n", "a" * 1000]
    (line, *_) = privilege_lines(asked(model(target=COMMAND, command={"argv": argv})))
    assert line.startswith("Programs: x ")
    assert not any(c in line for c in "\x1b\r\n")
    assert "more characters" in line


def test_every_program_of_a_backend_is_declared() -> None:
    """A setting that names a program, and one that is not known here, would be started unseen."""
    for spec in sound_backends():
        assert spec.runs_programs == (spec.program is not None), spec.name
        if spec.program:
            assert spec.program.setting in every_setting(), spec.name
    declared = {spec.program.setting for spec in sound_backends() if spec.program}
    named = {key for key in every_setting() if key.rpartition(".")[2] in ("path", "argv")}
    assert named == declared


def test_the_usual_host_of_every_backend_with_a_key_is_known() -> None:
    for spec in sound_backends():
        keyed = spec.variables.get("api_key_env")
        if keyed and not spec.networked:
            assert spec.homes or spec.address({}), spec.name
