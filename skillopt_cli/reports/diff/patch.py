"""A comparison as a patch, and as a document for programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from skillopt_cli.reports.diff.lines import Opcode
from skillopt_cli.reports.diff.skill_diff import Block, SkillDiff


def patch_text(diff: SkillDiff) -> str:
    """The comparison as a unified diff, exact down to white space; empty when nothing differs.

    The steps that made a change stand in the head of its hunk, where `patch` allows any text.
    """
    if diff.equal:
        return ""
    lines = [f"--- {diff.a}", f"+++ {diff.b}"]
    for hunk in diff.hunks:
        blocks = [b for code in hunk if code[0] != "equal" for b in diff.blocks_in(code)]
        causes = sorted((c for block in blocks for c in block.causes), key=lambda c: c.step)
        said = ", ".join(dict.fromkeys(cause.place for cause in causes))
        lines.append(f"{range_line(hunk)} {said}" if said else range_line(hunk))
        for kind, i, k, j, m in hunk:
            if kind == "equal":
                lines += [f" {line}" for line in diff.old[i:k]]
            else:
                lines += [f"-{line}" for line in diff.old[i:k]]
                lines += [f"+{line}" for line in diff.new[j:m]]
    return "".join(f"{line}\n" for line in lines)


def origins(diff: SkillDiff) -> tuple[str, ...]:
    """What made each changed block and where it is protected, a line each, for below a patch."""
    found = []
    for block in diff.blocks:
        place = block.new if len(block.new) else block.old
        side = diff.b if len(block.new) else diff.a
        lines = f"line {place.start + 1}" if len(place) == 1 else f"lines {_span(place)}"
        found += [f"{lines} of {side}: {note}" for note in notes(block)]
    return tuple(found)


def document(diff: SkillDiff) -> dict[str, Any]:
    """The comparison as one JSON document."""
    return {
        "a": diff.a,
        "b": diff.b,
        "equal": diff.equal,
        "added": diff.added,
        "removed": diff.removed,
        "chars_a": diff.chars_a,
        "chars_b": diff.chars_b,
        "protected": diff.protected,
        "diff": patch_text(diff),
        "blocks": [diff.block_document(block) for block in diff.blocks],
    }


def notes(block: Block) -> Iterator[str]:
    """What made a block, and in which protected region it is, a line each."""
    for cause in block.causes:
        yield from cause.lines
    for name in block.regions:
        yield f"in the protected region {name}"


def range_line(hunk: Sequence[Opcode]) -> str:
    """The head of a hunk."""
    first, last = hunk[0], hunk[-1]
    return f"@@ -{_range(first[1], last[2])} +{_range(first[3], last[4])} @@"


def _range(start: int, stop: int) -> str:
    """Lines of a hunk as unified diffs write them."""
    length = stop - start
    if length == 1:
        return f"{start + 1}"
    return f"{start + (1 if length else 0)},{length}"


def _span(place: range) -> str:
    return f"{place.start + 1}-{place.stop}"
