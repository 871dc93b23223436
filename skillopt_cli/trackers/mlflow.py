"""MLflow: parameters, a metric per number, and files, in a local database or on a server."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, TypeVar

from mlflow import MlflowClient
from mlflow.entities import Metric, Param
from mlflow.exceptions import MlflowException

from skillopt_cli.config.layers import flatten
from skillopt_cli.ports import Closing, Point, TrackedRun
from skillopt_cli.trackers.specs import mlflow_store

EXPERIMENT = "skillopt"
FILES = "mlflow-files"
_RUN = "skillopt.run"
_PARAMS_AT_ONCE = 100
_METRICS_AT_ONCE = 1000
_LONGEST = 6000
_STATUS: Mapping[str, str] = {
    "finished": "FINISHED",
    "stopped_early": "FINISHED",
    "failed": "FAILED",
}
"""MLflow's status of a run's status; KILLED for the others."""

T = TypeVar("T")


class MlflowTracker:
    """One run of an MLflow experiment."""

    def __init__(self, run: TrackedRun) -> None:
        local = not run.environment.get("MLFLOW_TRACKING_URI")
        run.home.mkdir(parents=True, exist_ok=True)
        self.place = mlflow_store(run)
        self._client = MlflowClient(self.place)
        name = run.environment.get("MLFLOW_EXPERIMENT_NAME") or EXPERIMENT
        experiment = self._experiment(name, (run.home / FILES).as_uri() if local else None)
        self._id = self._run(run, experiment)

    def _experiment(self, name: str, files: str | None) -> str:
        found = self._client.get_experiment_by_name(name)
        if found is None:
            try:
                return str(self._client.create_experiment(name, artifact_location=files))
            except MlflowException:
                # Another run may have created it in the meantime.
                found = self._client.get_experiment_by_name(name)
                if found is None:
                    raise
        return str(found.experiment_id)

    def _run(self, run: TrackedRun, experiment: str) -> str:
        ours = f"tags.`{_RUN}` = '{run.identity}'"
        found = self._client.search_runs([experiment], ours, max_results=1)
        if found:
            self._client.update_run(found[0].info.run_id, status="RUNNING")
            known = found[0].data.params
        else:
            tags = {_RUN: run.identity, "benchmark": run.benchmark}
            made = self._client.create_run(
                experiment, int(run.began * 1000), tags=tags, run_name=run.name
            )
            found, known = [made], {}
        key = str(found[0].info.run_id)
        # MLflow's parameters cannot change, so the first process's values stay.
        fresh = [(name, text) for name, text in _parameters(run.settings) if name not in known]
        for some in _pieces(fresh, _PARAMS_AT_ONCE):
            self._client.log_batch(key, params=[Param(*pair) for pair in some])
        return key

    def record(self, point: Point) -> None:
        """Log a step; logging it again changes nothing, since its times are the same."""
        self._log(point.values, point.step, point.ended)

    def close(self, closing: Closing) -> None:
        """Log the summary, the files and the status; values already logged are left out."""
        known = self._client.get_run(self._id).data.metrics
        final = {f"summary/{name}": value for name, value in closing.values.items()}
        values = {name: value for name, value in final.items() if known.get(name) != value}
        self._log(values, closing.step, closing.time)
        self._client.set_tag(self._id, "status", closing.status)
        for path in closing.files:
            if path.is_dir():
                self._client.log_artifacts(self._id, str(path), path.name)
            else:
                self._client.log_artifact(self._id, str(path))
        status = _STATUS.get(closing.status, "KILLED")
        self._client.set_terminated(self._id, status, int(closing.time * 1000))

    def _log(self, values: Mapping[str, float], step: int, time: float) -> None:
        stamp = int(time * 1000)
        for some in _pieces(values.items(), _METRICS_AT_ONCE):
            metrics = [Metric(name, value, stamp, step) for name, value in some]
            self._client.log_batch(self._id, metrics=metrics)


def _pieces(things: Iterable[T], size: int) -> Iterator[list[T]]:
    left = iter(things)
    while piece := list(islice(left, size)):
        yield piece


def _parameters(settings: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Settings with a value, by dotted key."""
    for key, value in flatten(settings):
        if value not in (None, "", {}, []):
            text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            yield key, text[:_LONGEST]
