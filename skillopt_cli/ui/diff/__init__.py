"""`diff-skills`: how one skill text differs from another, and which step made each change."""

from skillopt_cli.ui.diff.blame import Blame, Cause, blame, versions
from skillopt_cli.ui.diff.compare import Block, SkillDiff, compare, diff_skills
from skillopt_cli.ui.diff.folders import FolderDiff, diff_folders
from skillopt_cli.ui.diff.named import NamedSkill, named_skill, seed_of
from skillopt_cli.ui.diff.patch import document, origins, patch_text
from skillopt_cli.ui.diff.screen import EQUAL, Screen, words_text

__all__ = [
    "EQUAL",
    "Blame",
    "Block",
    "Cause",
    "FolderDiff",
    "NamedSkill",
    "Screen",
    "SkillDiff",
    "blame",
    "compare",
    "diff_folders",
    "diff_skills",
    "document",
    "named_skill",
    "origins",
    "patch_text",
    "seed_of",
    "versions",
    "words_text",
]
