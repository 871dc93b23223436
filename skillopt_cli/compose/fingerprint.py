"""The fingerprint of a run: what can alter a text or a score, recorded and checked for drift."""

from __future__ import annotations

import hashlib
import json
import platform
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic_core import to_jsonable_python

from skillopt_cli import __version__
from skillopt_cli.compose.fingerprint_files import file_changes, file_digests
from skillopt_cli.compose.run_folder import anchored, dump_config
from skillopt_cli.compose.seed_skill import seed_skill
from skillopt_cli.config import RunConfig
from skillopt_cli.config.declarations import declared, own_settings
from skillopt_cli.config.layers import flatten
from skillopt_cli.core.errors import ConfigError, DataError, DriftRefused
from skillopt_cli.core.events import Degraded, DriftAllowed
from skillopt_cli.core.formatting import count
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.core.task import Task
from skillopt_cli.runlog.view import RunView
from skillopt_cli.safe_files import read_regular
from skillopt_cli.stages import Run
from skillopt_cli.stages.skill_files import PROMPT as SKILL_FILES
from skillopt_cli.store.atomic_files import replace_text
from skillopt_cli.store.codec import UPGRADE
from skillopt_cli.store.files import STATE
from skillopt_cli.store.layout import CONFIG, EVENTS, MANIFEST, SOURCES, STEPS

SCHEMA = 1
"""The schema of the manifests that this program writes."""
_UNMEASURED = "nothing was measured yet, so the run starts under the conditions of now"
_FILE = re.compile(r"\bsha256:[0-9a-f]{64}\b")
_PARTS = {"config", "benchmark", "target", "optimizer", "seed_skill", "prompts", "splits"}
_NONE = "(no such setting)"


@dataclass(frozen=True, slots=True)
class Change:
    """A condition of a run that changed.

    Attributes:
        words: what changed, in a line.
        kind: of those changes that can be undone in a way of their own. A "new setting" is one that
            the version which began the run did not have.
    """

    words: str
    kind: Literal["new setting", "seed skill", "other"] = "other"


_LOST = Change("manifest.json is missing, so that nothing can be compared with it")


def record_fingerprint(
    folder: Path, run: Run, seed: SkillDocument, past: RunView, *, allow_drift: bool
) -> tuple[Degraded, ...]:
    """Write config.yaml and manifest.json, after checking them against what is there.

    Args:
        past: what earlier processes of the run logged.

    Returns:
        What changed in a run in which nothing was measured yet, as such a run may change freely.

    Raises:
        DriftRefused: something changed, which was not allowed, or the manifest is missing.
        DataError: the checkpoints are missing.
        ConfigError: the schedule ends before the steps that are recorded.
    """
    new = manifest(run, seed)
    path = folder / MANIFEST
    _refuse_lost_checkpoint(folder, run, past)
    notices: tuple[Degraded, ...] = ()
    if run.store.load_state() is not None or past.made + past.recalled > 0:
        changes = drift(read_manifest(path), new) if path.is_file() else [_LOST]
        if not allow_drift:
            refuse_drift(changes)
        _refuse_shortening(run)
        if changes:
            run.emit(DriftAllowed(tuple(change.words for change in changes)))
    elif path.is_file() and (changes := drift(read_manifest(path), new)):
        listed = "; ".join(change.words for change in changes)
        notices = (Degraded("resume", f"{_UNMEASURED}: {listed}"),)
    replace_text(folder / CONFIG, dump_config(run.config, folder))
    replace_text(path, json.dumps(new, ensure_ascii=False, indent=1) + "\n")
    return notices


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


def _refuse_lost_checkpoint(folder: Path, run: Run, past: RunView) -> None:
    """Refuse to begin a run again whose log has checkpoints, or whose checkpoint the log lacks.

    Raises:
        DataError: the checkpoints, the log or the end of it are missing.
    """
    state = run.store.load_state()
    decided = [step.number for step in past.steps if step.gate or step.skipped is not None]
    logged = max(decided, default=0)
    if past.run is None and state is not None:
        lost, what = EVENTS, "holds a checkpoint and no log of how it came about"
    elif state is not None and state.done > logged:
        lost = EVENTS
        what = f"holds a checkpoint after step {state.done}, and its log ends with step {logged}"
    elif past.saved is not None and state is None:
        lost = STATE
        what = f"holds no checkpoint, and its log has one after step {past.saved.done}"
    elif past.run is None and (folder / STEPS).exists():
        lost, what = f"{STATE} and {EVENTS}", "holds steps, and neither a checkpoint nor a log"
    else:
        return
    raise DataError(
        f"{folder} {what}",
        f"restore {lost} from a copy, or start a new run with"
        f" `run.cache_dir={folder.absolute()}`, which repeats no rollout",
    )


def _refuse_shortening(run: Run) -> None:
    state = run.store.load_state()
    if state is not None and state.done > run.plan.total:
        raise ConfigError(
            f"the schedule of {run.plan.total} steps ends before step {state.done},"
            " which is recorded already",
            "raise train.num_epochs, or start a new run with the shorter schedule",
        )


def manifest(run: Run, seed: SkillDocument) -> dict[str, Any]:
    """Versions, configuration, split ids with content hashes, and digests.

    They are of the models, the prompts, the seed skill and, for people, the target's file of
    weights, if it is one, and the files of its program and of the seed skill.
    """
    return {
        "schema": SCHEMA,
        "versions": {"skillopt": __version__, "python": platform.python_version()},
        "config": binding(run.config),
        "benchmark": f"{run.benchmark.name}/{run.benchmark.version}",
        "target": _digest(run.target.fingerprint),
        "optimizer": _digest(run.optimizer.fingerprint if run.optimizer else ""),
        **({"judge": _digest(run.judge.fingerprint)} if run.judge else {}),
        **({"weights": files[0]} if (files := _FILE.findall(run.target.fingerprint)) else {}),
        "seed_skill": seed.digest,
        **({"files": named} if (named := file_digests(run.config, seed)) else {}),
        "prompts": {
            name: _digest(text)
            for name, text in sorted(run.prompts.items())
            if name != SKILL_FILES or seed.folder is not None
        },
        "splits": {
            split: {task.id: task.digest[:16] for task in tasks}
            for split, tasks in _task_sets(run).items()
        },
    }


def _task_sets(run: Run) -> dict[str, tuple[Task, ...]]:
    """The tasks of each split, and those set aside where there are any."""
    found: dict[str, tuple[Task, ...]] = dict(run.splits.items())
    return found | ({"confirmation": run.confirmation} if run.confirmation else {})


def read_manifest(path: Path) -> dict[str, Any]:
    """A run's manifest.

    Raises:
        DataError: it is damaged, or a newer version of the program wrote it.
    """
    try:
        found = json.loads(read_regular(path))
    except (OSError, ValueError, RecursionError):
        found = None
    if not (isinstance(found, dict) and found.keys() >= _PARTS):
        raise DataError(f"{path} cannot be read", "restore it from a copy, or start a new run")
    schema = found.get("schema")
    if isinstance(schema, int) and schema > SCHEMA:
        raise DataError(f"{path} has schema {schema}, this version reads up to {SCHEMA}", UPGRADE)
    return found


def begun_by(folder: Path) -> str:
    """The version of the program that wrote a run's manifest; empty where none can be read."""
    try:
        versions = read_manifest(folder / MANIFEST).get("versions")
    except DataError:
        return ""
    return str(versions.get("skillopt", "")) if isinstance(versions, dict) else ""


def drift(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[Change]:
    """What changed between two manifests; versions may change freely."""
    changes = config_drift(old, new["config"])
    for part in ("benchmark", "target", "optimizer", "judge", "seed_skill"):
        if old.get(part) != new.get(part):
            changes.append(_another(part, old, new))
    for name in sorted({*old["prompts"], *new["prompts"]}):
        if old["prompts"].get(name) != new["prompts"].get(name):
            changes.append(Change(f"prompt {name} reads differently"))
    for split, tasks in new["splits"].items():
        changes += _split_changes(split, old["splits"].get(split, {}), tasks)
    return changes


def _another(part: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> Change:
    """That a part is another one, with its files that changed where the manifests have them."""
    files = file_changes(*(found.get("files", {}).get(part, {}) for found in (old, new)))
    words = f"{part.replace('_', ' ')} is another one" + (f": {', '.join(files)}" if files else "")
    return Change(words, "seed skill" if part == "seed_skill" else "other")


def config_drift(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[Change]:
    """The settings in which `new`, as `binding` gives them, differs from an old manifest."""
    before = {key: value for key, value in old["config"].items() if _binds(key, value)}
    changed = []
    for key in sorted({*before, *new}):
        # The sections of backends are written where they differ from their defaults.
        default = _default(key)
        was, now = before.get(key, default), new.get(key, default)
        if was != now:
            known = key in before or not _always_written(key)
            words = f"{key}: {json.dumps(was) if known else _NONE} -> {json.dumps(now)}"
            changed.append(Change(words, "other" if known else "new setting"))
    return changed


def _always_written(key: str) -> bool:
    """Whether each manifest of a version that has the setting holds it."""
    found = declared(key)
    return key in own_settings() and found is not None and not found.setting.left_out_unset


def _default(key: str) -> Any:
    """The default of a setting in a backend's section, as JSON has it; None of any other."""
    found = None if key in own_settings() else declared(key)
    return None if found is None else to_jsonable_python(found.info.default)


def settings_changed(folder: Path, config: RunConfig) -> bool:
    """Whether settings differ from those of a begun run, so that a resume is refused.

    Raises:
        DataError: the manifest is damaged.
    """
    path = folder / MANIFEST
    return path.is_file() and bool(config_drift(read_manifest(path), binding(config)))


def check_given(folder: Path, config: RunConfig, sources: Mapping[str, str]) -> None:
    """Refuse settings, or a seed skill, that are given to a finished run and are not its own.

    Nothing else is compared: such a run has nothing to do with the files that it used.

    Args:
        sources: where the settings come from, by dotted key.

    Raises:
        DriftRefused: one changed.
        DataError: the manifest is damaged.
    """
    old = read_manifest(folder / MANIFEST)
    changes = config_drift(old, binding(config))
    named = config.env.skill_init
    if sources.get("env.skill_init") != CONFIG and named and Path(named).exists():
        seed = seed_skill(config.env, "")
        if seed.digest != old["seed_skill"]:
            changes.append(_another("seed_skill", old, {"files": file_digests(config, seed)}))
    refuse_drift(changes, finished=True)


def refuse_drift(changes: Sequence[Change], *, finished: bool = False) -> None:
    """Stop a resume under changed conditions.

    Args:
        finished: whether the run is, so that nothing is left to do under its own conditions.

    Raises:
        DriftRefused: something changed; the message lists it.
    """
    if changes:
        listed = "".join(f"\n  {change.words}" for change in changes)
        kinds = {change.kind for change in changes}
        undo, begun = "undo the changes", ""
        if "new setting" in kinds:
            undo = "finish it with the version that began it"
            begun = ", as an earlier version of skillopt began it"
        if "seed skill" in kinds:
            undo += " (`skillopt diff-skills --undo SKILL` takes back a skill that was applied)"
        if finished:
            undo = f"a finished run has nothing to resume; {undo}"
        raise DriftRefused(
            f"the run cannot go on under changed conditions{begun}:{listed}",
            f"{undo}, or add --allow-drift to go on and have it recorded",
        )


def binding(config: RunConfig) -> dict[str, Any]:
    """The settings that can alter a text or a score, by dotted key."""
    values = flatten(anchored(config).model_dump(mode="json"))
    return {key: value for key, value in values if _binds(key, value)}


def _binds(key: str, value: object) -> bool:
    found = declared(key)
    if found is None:
        return True
    return not (found.setting.free_on_resume or (found.setting.left_out_unset and value is None))


def _split_changes(split: str, old: Mapping[str, str], new: Mapping[str, str]) -> list[Change]:
    if old == new and list(old) == list(new):
        return []
    changed = sorted(t for t in {*old, *new} if old.get(t) != new.get(t))
    shown = ", ".join(changed[:5]) + (", ..." if len(changed) > 5 else "")
    if not changed:
        return [Change(f"the {split} split has another order")]
    return [Change(f"the {split} split differs in {count(len(changed), 'task')}: {shown}")]


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
