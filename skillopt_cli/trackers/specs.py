"""What there is to choose from. Each library is imported only when its tracker is opened."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib.util import find_spec

from skillopt_cli.ports import TrackedRun, Tracker, TrackerSpec
from skillopt_cli.trackers.looks import (
    look_at_mlflow,
    look_at_otel,
    look_at_tensorboard,
    look_at_wandb,
    server_of_mlflow,
    server_of_otel,
    server_of_wandb,
)


def _open_mlflow(run: TrackedRun) -> Tracker:
    from skillopt_cli.trackers.mlflow import MlflowTracker

    return MlflowTracker(run)


def _open_wandb(run: TrackedRun) -> Tracker:
    from skillopt_cli.trackers.wandb import WandbTracker

    return WandbTracker(run)


def _open_tensorboard(run: TrackedRun) -> Tracker:
    from skillopt_cli.trackers.tensorboard import TensorboardTracker

    return TensorboardTracker(run)


def _open_otel(run: TrackedRun) -> Tracker:
    from skillopt_cli.trackers.otel import OtelTracker

    return OtelTracker(run)


def _missing(*modules: str) -> Callable[[], str]:
    return partial(_first_missing, modules)


def _first_missing(modules: tuple[str, ...]) -> str:
    for module in modules:
        try:
            found = find_spec(module)
        except ModuleNotFoundError:
            # A module's own package is not there.
            found = None
        if found is None:
            return f"the module {module}"
    return ""


MLFLOW = TrackerSpec(
    name="mlflow",
    summary="MLflow: a database beside the run folders, or the server of MLFLOW_TRACKING_URI",
    open=_open_mlflow,
    look=look_at_mlflow,
    extra="mlflow",
    missing=_missing("mlflow", "sqlalchemy", "alembic"),
    # Its servers and the stores of its files are signed in to by these.
    variables=("MLFLOW_", "DATABRICKS_", "AWS_", "AZURE_STORAGE_", "GOOGLE_"),
    calm={"MLFLOW_DISABLE_TELEMETRY": "true"},
    server=server_of_mlflow,
)
WANDB = TrackerSpec(
    name="wandb",
    summary="Weights & Biases: offline in the run folder, or as WANDB_MODE says",
    open=_open_wandb,
    look=look_at_wandb,
    extra="wandb",
    missing=_missing("wandb"),
    variables=("WANDB_",),
    calm={"WANDB_ERROR_REPORTING": "false"},
    server=server_of_wandb,
)
TENSORBOARD = TrackerSpec(
    name="tensorboard",
    summary="TensorBoard: event files in the run folder",
    open=_open_tensorboard,
    look=look_at_tensorboard,
    extra="tensorboard",
    missing=_missing("tensorboard"),
)
OTEL = TrackerSpec(
    name="otel",
    summary="OpenTelemetry: spans in a file of the run folder, or to the exporter of OTEL_*",
    open=_open_otel,
    look=look_at_otel,
    extra="otel",
    missing=_missing("opentelemetry.sdk", "opentelemetry.exporter.otlp.proto.http"),
    variables=("OTEL_",),
    server=server_of_otel,
    speaks=lambda environment: environment.get("OTEL_TRACES_EXPORTER") == "console",
)
