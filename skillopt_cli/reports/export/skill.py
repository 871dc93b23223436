"""A skill to take away, without the marks of its training."""

from __future__ import annotations

from dataclasses import replace

from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.reports.diff.named_skill import NamedSkill, named_skill


def shipped_skill(skill: NamedSkill) -> SkillDocument:
    """The skill without our marks; the seed byte for byte where nothing but marks was added.

    Raises:
        DataError: the seed of its run cannot be read.
    """
    seed = named_skill(f"{skill.run}:seed").text if skill.run else None
    document = SkillDocument(skill.text, skill.folder)
    return replace(document, text=document.shipped(seed))
