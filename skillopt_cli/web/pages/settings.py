"""What a run was set to, and where each value came from."""

from __future__ import annotations

import json
from typing import Any

import yaml
from starlette.requests import Request

from skillopt_cli.compose.folder import CONFIG, MANIFEST, SOURCES
from skillopt_cli.config import RunConfig
from skillopt_cli.config.layers import DEFAULT, flatten
from skillopt_cli.config.scalars import read_yaml, settle_written
from skillopt_cli.core.errors import DataError
from skillopt_cli.core.regular import read_regular
from skillopt_cli.web.pages.framed import framed
from skillopt_cli.web.places import Missing
from skillopt_cli.web.runs import Seen
from skillopt_cli.web.site import Page, Site, named

MOST_BYTES = {CONFIG: 100_000, SOURCES: 1_000_000, MANIFEST: 20_000_000}
"""Of the files that the page reads. YAML takes long, and ours are some kilobytes."""


def page(site: Site, request: Request) -> Page:
    """The settings that differ from the defaults, then all; versions and what was preflighted."""
    seen = site.runs.seen(named(request))
    values = dict(flatten(_mapping(site, seen, CONFIG)))
    sources = _mapping(site, seen, SOURCES)
    defaults = dict(flatten(RunConfig().model_dump(mode="json")))
    rows = [
        {
            "key": key,
            "value": json.dumps(value, ensure_ascii=False, default=str),
            "source": str(sources.get(key, DEFAULT if sources else "-")),
            "set": sources.get(key, DEFAULT) != DEFAULT if sources else defaults.get(key) != value,
        }
        for key, value in values.items()
        if value not in (None, {})
    ]
    versions = _mapping(site, seen, MANIFEST).get("versions")
    return framed(
        seen,
        "settings.html",
        "Settings",
        rows=rows,
        known=bool(sources),
        versions=versions if isinstance(versions, dict) else {},
        models=seen.view.preflight,
        drift=seen.view.drift,
    )


def _mapping(site: Site, seen: Seen, file: str) -> dict[str, Any]:
    """A file of settings as a mapping, empty where there is no such file."""
    try:
        path = site.outputs.file(seen.name, file)
        text = read_regular(path, MOST_BYTES[file]).decode()
        found = settle_written(read_yaml(text)) if file == CONFIG else json.loads(text)
    except Missing:
        return {}
    except (OSError, ValueError, RecursionError, yaml.YAMLError) as error:
        why = (isinstance(error, OSError) and error.strerror) or error
        raise DataError(f"{file} cannot be read: {why}", "restore it from a copy") from error
    return found if isinstance(found, dict) else {}
