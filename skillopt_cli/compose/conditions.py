"""A run's conditions: written into its folder, and held against what is recorded there."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from skillopt_cli.compose.folder import CONFIG, MANIFEST, SOURCES, dump_config
from skillopt_cli.compose.manifest import drift, manifest, read_manifest, refuse_drift
from skillopt_cli.core.errors import ConfigError
from skillopt_cli.core.events import DriftAllowed, RolloutFinished
from skillopt_cli.core.regular import read_regular
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.ports import Store
from skillopt_cli.stages import Run
from skillopt_cli.store.files import replace_text


def record_conditions(folder: Path, run: Run, seed: SkillDocument, *, allow_drift: bool) -> None:
    """Write config.yaml and manifest.json, after checking them against what is there.

    A run in which nothing was measured yet has nothing that changed conditions could spoil.

    Raises:
        DriftRefused: conditions changed, which was not allowed.
        ConfigError: the schedule ends before the steps that are recorded.
    """
    new = manifest(run, seed)
    path = folder / MANIFEST
    if path.is_file() and _measured_anything(run.store):
        changes = drift(read_manifest(path), new)
        if not allow_drift:
            refuse_drift(changes)
        _refuse_shortening(run)
        if changes:
            run.emit(DriftAllowed(tuple(changes)))
    replace_text(folder / CONFIG, dump_config(run.config))
    replace_text(path, json.dumps(new, ensure_ascii=False, indent=1) + "\n")


def record_sources(folder: Path, sources: Mapping[str, str]) -> None:
    """Write where the settings come from, for people; what a resume finds in config.yaml stays.

    Args:
        sources: by dotted key, as `Resolved` has them.
    """
    path = folder / SOURCES
    try:
        before = json.loads(read_regular(path))
    except (OSError, ValueError):
        before = {}
    known = before if isinstance(before, dict) else {}
    merged = {key: known.get(key, s) if s == CONFIG else s for key, s in sources.items()}
    if merged:
        replace_text(path, json.dumps(merged, ensure_ascii=False, indent=1) + "\n")


def _measured_anything(store: Store) -> bool:
    return store.load_state() is not None or any(
        isinstance(fact.event, RolloutFinished) for fact in store.facts()
    )


def _refuse_shortening(run: Run) -> None:
    state = run.store.load_state()
    if state is not None and state.done > run.plan.total:
        raise ConfigError(
            f"the schedule of {run.plan.total} steps ends before step {state.done},"
            " which is recorded already",
            "raise train.num_epochs, or start a new run with the shorter schedule",
        )
