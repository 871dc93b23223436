"""A skill to take away, without the marks of its training."""

from __future__ import annotations

import io
import zipfile
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.reports.diff.named_skill import NamedSkill, named_skill
from skillopt_cli.store.atomic_files import replace_folder

ZIP = ".zip"
"""The ending of a skill folder as an archive."""


def shipped_skill(skill: NamedSkill) -> SkillDocument:
    """The skill without our marks; the seed byte for byte where nothing but marks was added.

    Raises:
        DataError: the seed of its run cannot be read.
    """
    seed = named_skill(f"{skill.run}:seed").text if skill.run else None
    document = SkillDocument(skill.text, skill.folder)
    return replace(document, text=document.shipped(seed))


def zipped(skill: SkillDocument) -> bytes:
    """The archive of a skill that is a folder, with its files at the top."""
    packed = io.BytesIO()
    with TemporaryDirectory() as around, zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as made:
        folder = Path(around) / "skill"
        replace_folder(folder, skill)
        for path in sorted(folder.rglob("*")):
            made.write(path, path.relative_to(folder).as_posix())
    return packed.getvalue()
