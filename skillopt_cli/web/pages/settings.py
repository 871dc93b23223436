"""The settings of a run and the source of each value."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import yaml
from starlette.requests import Request

from skillopt_cli.config import RunConfig
from skillopt_cli.config.declarations import declared, settings_in
from skillopt_cli.config.files import RUN_FOLDER
from skillopt_cli.config.layers import DEFAULT, flatten
from skillopt_cli.config.scalars import read_yaml, settle_written
from skillopt_cli.core.errors import DataError, SkillOptError
from skillopt_cli.plugins import load_benchmark
from skillopt_cli.runlog.text.header import drift_words
from skillopt_cli.safe_files import read_regular
from skillopt_cli.store.layout import CONFIG, MANIFEST, SOURCES
from skillopt_cli.web.context import Page, WebContext, run_name
from skillopt_cli.web.pages.run_page import run_page
from skillopt_cli.web.paths import NotFound
from skillopt_cli.web.runs import RunSnapshot

MOST_BYTES = {CONFIG: 100_000, SOURCES: 1_000_000, MANIFEST: 20_000_000}
"""Size limits of the files that the page reads. YAML parses slowly; ours has some kilobytes."""


def page(context: WebContext, request: Request) -> Page:
    """Settings that differ from the defaults, then all settings, versions and checked models."""
    snapshot = context.runs.snapshot(run_name(request))
    rows, sources_known = setting_rows(context, snapshot)
    versions = _mapping(context, snapshot, MANIFEST).get("versions")
    return run_page(
        snapshot,
        "settings.html",
        "Settings",
        rows=rows,
        known=sources_known,
        versions=versions if isinstance(versions, dict) else {},
        models=snapshot.view.preflight,
        drift=[drift_words([change]) for change in snapshot.view.drift],
    )


def setting_rows(context: WebContext, snapshot: RunSnapshot) -> tuple[list[dict[str, Any]], bool]:
    """The settings of a run, with whether each differs from the default.

    Returns:
        The rows, and whether the run recorded where its values come from.
    """
    values, sources = stored_settings(context, snapshot)
    defaults = _defaults(values)
    rows = [
        {
            "key": key,
            "value": json.dumps(value, ensure_ascii=False, default=str),
            "source": str(sources.get(key, DEFAULT if sources else "-")),
            "set": (not sources or key in sources)
            and defaults.get(key) != value
            and not _is_anchored(key, value, defaults.get(key), sources.get(key)),
        }
        for key, value in values.items()
        if value not in (None, {}) and key != RUN_FOLDER
    ]
    return rows, bool(sources)


def _is_anchored(key: str, value: object, default: object, source: object) -> bool:
    """Whether a value is the default path as a run folder keeps it, which a resume reads there."""
    found = declared(key)
    paths = found is not None and found.setting.path and bool(default)
    return paths and source == CONFIG and Path(str(value)).parts[1:][-1:] == (default,)


def stored_settings(
    context: WebContext, snapshot: RunSnapshot
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The settings of a run by dotted key, and the source of each, as far as that is recorded.

    Raises:
        DataError: they cannot be read.
    """
    values = dict(flatten(_mapping(context, snapshot, CONFIG)))
    return values, _mapping(context, snapshot, SOURCES)


def _defaults(values: Mapping[str, Any]) -> dict[str, Any]:
    """The defaults of settings, those of their backends and their benchmark included."""
    found = dict(flatten(RunConfig().model_dump(mode="json")))
    # A plug-in that is broken or gone keeps nobody from looking at a run.
    with suppress(SkillOptError):
        options = load_benchmark(str(values.get("env.name", ""))).options
        known = {one.key: one for one in settings_in(options, "env")} if options else {}
        for key in values.keys() - found.keys():
            if one := known.get(key) or declared(key):
                found[key] = one.info.get_default(call_default_factory=True)
    return found


def _mapping(context: WebContext, snapshot: RunSnapshot, file: str) -> dict[str, Any]:
    """Read a settings file of the run as a mapping, empty where there is no such file."""
    try:
        path = context.outputs.file(snapshot.name, file)
        content = read_regular(path, MOST_BYTES[file])
        if file == CONFIG:
            found = snapshot.derived.get(file, content, lambda: _configuration(content))
        else:
            found = json.loads(content)
    except NotFound:
        return {}
    except (OSError, ValueError, RecursionError, yaml.YAMLError) as error:
        why = (isinstance(error, OSError) and error.strerror) or error
        raise DataError(f"{file} cannot be read: {why}", "restore it from a copy") from error
    return found if isinstance(found, dict) else {}


def _configuration(content: bytes) -> Any:
    return settle_written(read_yaml(content.decode()))
