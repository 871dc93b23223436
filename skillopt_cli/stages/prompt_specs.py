"""The optimizer's prompts: what each is for, when it is used, and what its answer must hold."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from skillopt_cli.core.edits import UpdateMode


@dataclass(frozen=True, slots=True)
class PromptSpec:
    """A prompt of the optimizer.

    Attributes:
        summary: what it asks for, one sentence.
        used: the setting that has it sent.
        keys: of the JSON answer, without which it cannot be used.
    """

    summary: str
    used: str
    keys: tuple[str, ...]

    def unnamed(self, text: str) -> str:
        """The first key that a text for this prompt does not name in quotes; "" if it has all."""
        return next((k for k in self.keys if not re.search(f"[\"'`]{k}[\"'`]", text)), "")


_ANSWERS: Mapping[UpdateMode, tuple[str, str, tuple[str, ...]]] = {
    "patch": ("", "edits", ("edits", "op")),
    "rewrite_from_suggestions": ("_rewrite", "suggestions", ("suggestions", "instruction")),
    "full_rewrite_minibatch": ("_full", "whole texts", ("new_skill",)),
}


def _of_modes() -> Iterator[tuple[str, PromptSpec]]:
    for mode, (suffix, what, keys) in _ANSWERS.items():
        summaries = {
            "analyst_error": f"Read failed tasks and propose {what}.",
            "analyst_success": f"Read solved tasks and propose {what}.",
            "merge_failure": f"Merge {what} of several analysts of failed tasks.",
            "merge_success": f"Merge {what} of several analysts of solved tasks.",
            "merge_final": f"Merge {what} from failed and from solved tasks.",
        }
        for name, summary in summaries.items():
            used = f"optimizer.skill_update_mode={mode}"
            yield f"{name}{suffix}", PromptSpec(summary, used, keys)


PROMPTS: Mapping[str, PromptSpec] = {
    **dict(_of_modes()),
    "ranking": PromptSpec(
        "Choose the edits to apply where there are more than may be applied.",
        "optimizer.verify=off",
        ("selected_indices",),
    ),
    "learning_rate": PromptSpec(
        "Choose how many edits to apply.",
        "optimizer.lr_control_mode=autonomous",
        ("learning_rate",),
    ),
    "rewrite": PromptSpec(
        "Rewrite the skill from the chosen suggestions.",
        "optimizer.skill_update_mode=rewrite_from_suggestions",
        ("new_skill",),
    ),
    "slow_update": PromptSpec(
        "Write the guidance of an epoch.",
        "optimizer.use_slow_update=true",
        ("slow_update_content",),
    ),
    "meta_skill": PromptSpec(
        "Write the optimizer's notes for the next epoch.",
        "optimizer.use_meta_skill=true",
        ("meta_skill_content",),
    ),
    "skill_aware": PromptSpec(
        "Added to what analysts read: ask for notes on rules that were not followed.",
        "optimizer.use_skill_aware_reflection=true",
        ("appendix_notes",),
    ),
    "appendix_consolidation": PromptSpec(
        "Shorten the notes in the appendix of the skill.",
        "optimizer.skill_aware_consolidate_threshold",
        ("notes",),
    ),
    "skill_files": PromptSpec(
        "Added to what analysts and merges read: edits of files beside SKILL.md.",
        "env.editable",
        ("file",),
    ),
}
