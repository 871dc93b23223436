"""Where the numbers of a run went, and what shows them, in words. Imports no tracker's library."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path

from skillopt_cli.ports import Server, TrackedRun

DATABASE = "mlflow.db"
"""Beside the run folders, where no server is named."""
SPANS = "spans.jsonl"
_WANDB = "https://api.wandb.ai"
_HTTP = ("http://", "https://")
_ADDRESSES = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")


def mlflow_store(run: TrackedRun) -> str:
    """The address of MLflow's server or database."""
    return run.environment.get("MLFLOW_TRACKING_URI") or f"sqlite:///{run.home / DATABASE}"


def look_at_mlflow(run: TrackedRun) -> str:
    """A server has a page of its own; a database needs one."""
    store = mlflow_store(run)
    if store.startswith(_HTTP):
        return f"see {store}"
    return _shown_by("mlflow", "ui", "--backend-store-uri", store)


def look_at_wandb(run: TrackedRun) -> str:
    """What is offline can be sent."""
    mode = run.environment.get("WANDB_MODE") or "offline"
    if mode == "offline":
        # The star is for the shell.
        return f"`wandb sync {shlex.quote(str(run.folder))}/wandb/offline-run-*` sends them"
    if mode != "online":
        return ""
    return f"see {run.environment.get('WANDB_BASE_URL') or 'https://wandb.ai'}"


def look_at_tensorboard(run: TrackedRun) -> str:
    """A folder above has the curves of other runs as well."""
    return _shown_by("tensorboard", "--logdir", str(run.folder))


def look_at_otel(run: TrackedRun) -> str:
    """The file, or the address they were sent to."""
    wanted, address = exporter_of(run.environment)
    if wanted in ("", "none"):
        return f"see {run.folder / SPANS}"
    return f"sent to {address}" if address and wanted == "otlp" else ""


def exporter_of(environment: Mapping[str, str]) -> tuple[str, str]:
    """Which exporter of OpenTelemetry the variables ask for, and an address if they name one."""
    address = next((environment[name] for name in _ADDRESSES if environment.get(name)), "")
    return environment.get("OTEL_TRACES_EXPORTER") or ("otlp" if address else ""), address


def server_of_mlflow(environment: Mapping[str, str]) -> Server | None:
    """Where there is one, and not a database."""
    return _named(environment, "MLFLOW_TRACKING_URI")


def server_of_wandb(environment: Mapping[str, str]) -> Server | None:
    """The one that is named, or else the public one, unless the library's own settings name one."""
    if environment.get("WANDB_MODE") != "online":
        return None
    named = _named(environment, "WANDB_BASE_URL")
    return named or (None if _has_settings(environment) else Server(_WANDB, "WANDB_BASE_URL"))


def _has_settings(environment: Mapping[str, str]) -> bool:
    folder = environment.get("WANDB_CONFIG_DIR") or "~/.config/wandb"
    path = Path(folder).expanduser() / "settings"
    try:
        return "base_url" in path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False


def server_of_otel(environment: Mapping[str, str]) -> Server | None:
    """The collector."""
    wanted, address = exporter_of(environment)
    name = next((name for name in _ADDRESSES if environment.get(name) == address), "")
    return _named(environment, name) if wanted == "otlp" and name else None


def _named(environment: Mapping[str, str], variable: str) -> Server | None:
    url = environment.get(variable, "")
    return Server(url, variable) if url.startswith(_HTTP) else None


def _shown_by(*command: str) -> str:
    return f"`{shlex.join(command)}` shows them"
