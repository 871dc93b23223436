"""The built-in trackers, links to their numbers, addresses and health of their servers.

Each library is imported only when its tracker is opened.
"""

from __future__ import annotations

import re
import shlex
import ssl
from collections.abc import Iterator, Mapping
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from skillopt_cli.config.connection import connection_to
from skillopt_cli.core.errors import ConfigError, TrackerFailed
from skillopt_cli.ports import Server, TrackedRun, Tracker, TrackerSpec
from skillopt_cli.safe_files import MOST_SETTINGS, read_regular

DATABASE = "mlflow.db"
"""Database beside the run folders, used when no server is named."""
SPANS = "spans.jsonl"
_WANDB = "https://api.wandb.ai"
_HTTP = ("http://", "https://")
_ADDRESSES = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
SECONDS = 10.0
"""Timeout of the check; a sleeping server may have to start first."""
_LOGIN = re.compile(r"//[^/]*@")


def unreachable(server: Server, environment: Mapping[str, str]) -> TrackerFailed | None:
    """The failure of a server that does not answer; None for one that does, whatever it answers."""
    # Only the library may send the name and password of an address.
    address = _LOGIN.sub("//", server.url, count=1)
    why = _failure(address, environment)
    if not why:
        return None
    return TrackerFailed(
        f"no server answers at {address}: {why}",
        f"start it, or set `{server.variable}` to where it is; the run folder has all numbers",
    )


def _failure(url: str, environment: Mapping[str, str]) -> str:
    import httpx2

    try:
        # The library decides about trust: an untrusted certificate is an answer too.
        proxy = connection_to(url, environment).proxy or None
        client = httpx2.Client(verify=False, timeout=SECONDS, proxy=proxy, trust_env=False)
        with client, client.stream("GET", url):
            return ""
    except httpx2.TimeoutException:
        return f"no answer in {SECONDS:.0f} s"
    except httpx2.ConnectError as error:
        causes = list(_causes(error))
        if any(isinstance(cause, ssl.SSLError) for cause in causes):
            return ""
        reasons = [c.strerror for c in causes if isinstance(c, OSError) and c.strerror]
        return reasons[-1].lower() if reasons else str(error)
    except (httpx2.HTTPError, httpx2.InvalidURL, ConfigError, ValueError, OSError):
        # Another protocol, a proxy or an invalid address: the library reports what is wrong.
        return ""


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def mlflow_store(run: TrackedRun) -> str:
    """The address of MLflow's server or database."""
    return run.environment.get("MLFLOW_TRACKING_URI") or f"sqlite:///{run.home / DATABASE}"


def mlflow_link(run: TrackedRun) -> str:
    """The server's page, or the command that shows a database."""
    store = mlflow_store(run)
    if store.startswith(_HTTP):
        return f"see {store}"
    return _shown_by("mlflow", "ui", "--backend-store-uri", store)


def wandb_link(run: TrackedRun) -> str:
    """The command that sends offline files, or the server's page."""
    mode = run.environment.get("WANDB_MODE") or "offline"
    if mode == "offline":
        # The shell expands the star.
        return f"`wandb sync {shlex.quote(str(run.folder))}/wandb/offline-run-*` sends them"
    if mode != "online":
        return ""
    return f"see {run.environment.get('WANDB_BASE_URL') or 'https://wandb.ai'}"


def tensorboard_link(run: TrackedRun) -> str:
    """The command that shows the curves; for several runs name a folder above."""
    return _shown_by("tensorboard", "--logdir", str(run.folder))


def otel_link(run: TrackedRun) -> str:
    """The file of spans, or the address they were sent to."""
    wanted, address = exporter_of(run.environment)
    if wanted in ("", "none"):
        return f"see {run.folder / SPANS}"
    return f"sent to {address}" if address and wanted == "otlp" else ""


def exporter_of(environment: Mapping[str, str]) -> tuple[str, str]:
    """The OpenTelemetry exporter that the variables name, and its address if they name one."""
    address = next((environment[name] for name in _ADDRESSES if environment.get(name)), "")
    return environment.get("OTEL_TRACES_EXPORTER") or ("otlp" if address else ""), address


def mlflow_server(environment: Mapping[str, str]) -> Server | None:
    """The server of the tracking address, None for a database."""
    return _server(environment, "MLFLOW_TRACKING_URI")


def wandb_server(environment: Mapping[str, str]) -> Server | None:
    """The named server, else the public one unless the library's own settings name another."""
    if environment.get("WANDB_MODE") != "online":
        return None
    named = _server(environment, "WANDB_BASE_URL")
    return named or (None if _has_settings(environment) else Server(_WANDB, "WANDB_BASE_URL"))


def _has_settings(environment: Mapping[str, str]) -> bool:
    folder = environment.get("WANDB_CONFIG_DIR") or "~/.config/wandb"
    path = Path(folder).expanduser() / "settings"
    try:
        return "base_url" in read_regular(path, MOST_SETTINGS).decode(errors="replace")
    except OSError:
        return False


def otel_server(environment: Mapping[str, str]) -> Server | None:
    """The collector that spans are sent to."""
    wanted, address = exporter_of(environment)
    name = next((name for name in _ADDRESSES if environment.get(name) == address), "")
    return _server(environment, name) if wanted == "otlp" and name else None


def _server(environment: Mapping[str, str], variable: str) -> Server | None:
    url = environment.get(variable, "")
    return Server(url, variable) if url.startswith(_HTTP) else None


def _shown_by(*command: str) -> str:
    return f"`{shlex.join(command)}` shows them"


def _open(module: str, name: str, run: TrackedRun) -> Tracker:
    """Opens the class of a module of this package, which is imported at the first call."""
    tracker: Tracker = getattr(import_module(f"{__package__}.{module}"), name)(run)
    return tracker


def _missing(*modules: str) -> str:
    """Names the first of some modules that is not installed, "" if all are."""
    return next((f"the module {name}" for name in modules if not _installed(name)), "")


def _installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # a parent package is missing
        return False


MLFLOW = TrackerSpec(
    name="mlflow",
    summary="MLflow: a database beside the run folders, or the server of MLFLOW_TRACKING_URI",
    open=partial(_open, "mlflow", "MlflowTracker"),
    look=mlflow_link,
    extra="mlflow",
    missing=partial(_missing, "mlflow", "sqlalchemy", "alembic"),
    # Credentials of its servers and artifact stores.
    variables=("MLFLOW_", "DATABRICKS_", "AWS_", "AZURE_STORAGE_", "GOOGLE_"),
    calm={"MLFLOW_DISABLE_TELEMETRY": "true"},
    server=mlflow_server,
)
WANDB = TrackerSpec(
    name="wandb",
    summary="Weights & Biases: offline in the run folder, or as WANDB_MODE says",
    open=partial(_open, "wandb", "WandbTracker"),
    look=wandb_link,
    extra="wandb",
    missing=partial(_missing, "wandb"),
    variables=("WANDB_",),
    calm={"WANDB_ERROR_REPORTING": "false"},
    server=wandb_server,
)
TENSORBOARD = TrackerSpec(
    name="tensorboard",
    summary="TensorBoard: event files in the run folder",
    open=partial(_open, "tensorboard", "TensorboardTracker"),
    look=tensorboard_link,
    extra="tensorboard",
    missing=partial(_missing, "tensorboard"),
)
OTEL = TrackerSpec(
    name="otel",
    summary="OpenTelemetry: spans in a file of the run folder, or to the exporter of OTEL_*",
    open=partial(_open, "otel", "OtelTracker"),
    look=otel_link,
    extra="otel",
    missing=partial(_missing, "opentelemetry.sdk", "opentelemetry.exporter.otlp.proto.http"),
    variables=("OTEL_",),
    server=otel_server,
    speaks=lambda environment: environment.get("OTEL_TRACES_EXPORTER") == "console",
)
