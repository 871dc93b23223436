"""Digests of the files behind a target and a seed skill, by which a drift names what changed."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from skillopt_cli.compose.endpoints import backend_name
from skillopt_cli.config import RunConfig
from skillopt_cli.core.companion_files import SKILL_FILE
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.plugins import load_backend
from skillopt_cli.safe_files import digest_regular

Digests = Mapping[str, str]
"""Hex SHA-256 by the path of a file."""


def file_digests(config: RunConfig, seed: SkillDocument) -> dict[str, Digests]:
    """The digests by part of the manifest; a part without known files is left out."""
    found = {"target": dict(_program(config)), "seed_skill": _skill(config, seed)}
    return {part: digests for part, digests in found.items() if digests}


def file_changes(old: Digests, new: Digests) -> list[str]:
    """The files that changed, are new or are gone, a few words each; none where either is empty."""
    words = []
    for path in sorted({*old, *new}) if old and new else ():
        if path not in old:
            words.append(f"{path} is new")
        elif path not in new:
            words.append(f"{path} is gone")
        elif old[path] != new[path]:
            words.append(f"{path} changed")
    return words


def _program(config: RunConfig) -> Iterator[tuple[str, str]]:
    """The files that the setting of the target's program names by absolute paths."""
    name = backend_name(config, "target")
    source = load_backend(name).program
    if source is None:
        return
    value = getattr(config.model.section(name), source.setting.rpartition(".")[2], ())
    for word in (value,) if isinstance(value, str) else value:
        path = Path(word)
        if path.is_absolute():
            with suppress(OSError):  # no file, or one that may not be read: it has no name here
                yield word, digest_regular(path)


def _skill(config: RunConfig, seed: SkillDocument) -> Digests:
    """The files of a seed skill of the user's, relative to its folder."""
    given = config.env.skill_init
    if not given or config.env.from_scratch:
        return {}
    own = hashlib.sha256(seed.text.encode(errors="surrogatepass")).hexdigest()
    if seed.folder is None:
        return {Path(given).name: own}
    return {SKILL_FILE: own} | {file.path: file.digest for file in seed.folder.files}
