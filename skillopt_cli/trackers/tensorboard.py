"""TensorBoard: an event file in the run folder."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tensorboard.compat.proto import event_pb2, summary_pb2
from tensorboard.plugins.text.summary_v2 import text_pb
from tensorboard.summary.writer.event_file_writer import EventFileWriter

from skillopt_cli.ports import Closing, Point, TrackedRun


class TensorboardTracker:
    """The curves of one run."""

    def __init__(self, run: TrackedRun) -> None:
        self.place = run.folder.name
        self._writer = EventFileWriter(str(run.folder))
        self._begun = False

    def record(self, point: Point) -> None:
        """Write a step; readers discard what an earlier process wrote from this step on."""
        if not self._begun:
            self._begun = True
            begin = event_pb2.SessionLog(status=event_pb2.SessionLog.START)
            self._add(point.step, point.ended, session_log=begin)
        summary = _scalars(point.values)
        for name, text in point.texts.items():
            summary.value.add().MergeFrom(text_pb(name, text).value[0])
        self._add(point.step, point.ended, summary=summary)
        self._writer.flush()

    def close(self, closing: Closing) -> None:
        """Write the summary, under names that begin with `summary/`."""
        values = {f"summary/{name}": value for name, value in closing.values.items()}
        self._add(closing.step, closing.time, summary=_scalars(values))
        self._writer.close()

    def _add(self, step: int, time: float, **content: Any) -> None:
        self._writer.add_event(event_pb2.Event(wall_time=time, step=step, **content))


def _scalars(values: Mapping[str, float]) -> Any:
    entries = [
        summary_pb2.Summary.Value(tag=name, simple_value=value) for name, value in values.items()
    ]
    return summary_pb2.Summary(value=entries)
