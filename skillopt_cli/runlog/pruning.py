"""What pruning removed from a skill: as JSON, in a line of words, and as a table."""

from __future__ import annotations

from dataclasses import asdict

from skillopt_cli.core.events import BlockTried, SkillPruned
from skillopt_cli.runlog.costs import Document
from skillopt_cli.runlog.text.format import change, count, one_line, pair, score, shorten

CHARS_PER_TOKEN = 4
"""The estimate behind every number of tokens of a text that no model has counted."""
TITLES = ("block", "kind", "chars", "gain", "won", "lost", "outcome")
_WIDEST = 48
_LINE_ENDS = 4
"""Most characters that go with the last line of a block: two line ends of two characters."""


def pruned_document(event: SkillPruned) -> Document:
    """The entry `pruned` of `summary.json`."""
    saved = event.chars_before - event.chars
    return {
        "digest_before": event.digest_before,
        "digest": event.digest,
        "gate_score_before": event.before,
        "gate_score": event.after,
        "chars_before": event.chars_before,
        "chars": event.chars,
        "chars_saved": saved,
        "tokens_saved_estimate": saved // CHARS_PER_TOKEN,
        "tokens_estimate": f"a token per {CHARS_PER_TOKEN} characters",
        "blocks": [asdict(block) for block in event.blocks],
    }


def pruned_words(event: SkillPruned) -> str:
    """The result in a line."""
    if event.before == 0:
        return (
            f"nothing was removed: the skill scores {score(event.before)} on the selection split,"
            " where no removal scores lower, so none can be judged"
        )
    removed = sum(block.removed for block in event.blocks)
    saved = event.chars_before - event.chars
    before, after = pair(event.before, event.after)
    return (
        f"{removed} of {count(len(event.blocks), 'block')} removed,"
        f" {event.chars_before:,} -> {count(event.chars, 'character')}, about"
        f" {count(saved // CHARS_PER_TOKEN, 'token')} less per attempt (a token per"
        f" {CHARS_PER_TOKEN} characters), score {before} -> {after}"
    )


def whole_paragraph_words(event: SkillPruned) -> str:
    """How to have the lines of a paragraph tried singly; empty where none was kept with several."""
    kept = (block for block in event.blocks if block.block == "paragraph" and not block.removed)
    # What goes with a paragraph of one line is its line end and a blank line.
    if event.before == 0 or all(block.chars <= len(block.line) + _LINE_ENDS for block in kept):
        return ""
    return "a paragraph is tried as a whole: write rules as list items to have each tried alone"


def unnamed_words(path: str) -> str:
    """That a file of a skill folder lost what led to it."""
    return f"{one_line(path)} is not named in the skill any more; the file itself is kept"


def block_row(block: BlockTried) -> list[str]:
    """A block that was tried, under `TITLES`."""
    measured = block.gain is not None
    counts = [str(len(block.fixed)), str(len(block.broke))] if measured else ["", ""]
    outcome = "removed" if block.removed else f"kept: {block.reason}"
    gain = change(block.gain) if measured else ""
    return [shorten(block.line, _WIDEST), block.block, f"{block.chars:,}", gain, *counts, outcome]
