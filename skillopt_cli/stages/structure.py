"""Structure: no candidate that breaks a file of its skill folder is measured."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import yaml

from skillopt_cli.core.companion_files import SKILL_FILE, inner
from skillopt_cli.core.edits import Candidate, Edit, EditOutcome, apply_edits, refuse
from skillopt_cli.core.errors import BackendError
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.core.structure import (
    Fault,
    changed_files,
    language_of,
    newly,
    structure_faults,
)
from skillopt_cli.ports import Executor
from skillopt_cli.stages.rewrite import applied
from skillopt_cli.stages.run import Run

_LIMIT = 10.0
"""Seconds for a shell to read a script."""
_LINE = re.compile(r"line (\d+): |^[^:]*: (\d+): ")


async def sound(
    run: Run, skill: SkillDocument, made: Candidate, edits: Sequence[Edit]
) -> Candidate:
    """The candidate without the edits that break a file; refused whole where none can be blamed.

    An edit is `invalid` if its file, changed by it and the edits before it, cannot be parsed any
    more or links to nothing. Skills that are one file pass.

    Args:
        edits: what the candidate was made of, in order.
    """
    if skill.folder is None or made.refused:
        return made
    checker = _Checker(run.executor, run.config.optimizer.append_unmatched)
    blamed: dict[int, EditOutcome] = {}
    replayed = made.rewrite is None and applied(run, skill, edits).skill == made.skill
    while faults := await checker.faults(skill, made.skill):
        culprit = await checker.culprit(skill, made, faults[0]) if replayed else None
        if culprit is None:
            return refuse(skill, made, str(faults[0]))
        places = [i for i in range(len(edits)) if i not in blamed]
        blamed[places[culprit]] = EditOutcome(edits[places[culprit]], "invalid", str(faults[0]))
        made = applied(run, skill, [e for i, e in enumerate(edits) if i not in blamed])
    if not blamed:
        return made
    rest = iter(made.outcomes)
    outcomes = tuple(blamed.get(i) or next(rest) for i in range(len(edits)))
    return replace(made, outcomes=outcomes)


@dataclass(frozen=True, slots=True)
class _Checker:
    """All checks; remembers a shell's verdict on a script."""

    executor: Executor
    append_unmatched: bool
    said: dict[tuple[str, str], Fault | None] = field(default_factory=dict)

    async def faults(self, before: SkillDocument, after: SkillDocument) -> tuple[Fault, ...]:
        faults = list(structure_faults(before, after))
        old = before.texts
        for path, text in changed_files(before, after).items():
            if fault := newly(path, old.get(path), text, _yaml_fault):
                faults.append(fault)
            elif fault := await self._shell_fault(path, text):
                known = old.get(path)
                if known is None or await self._shell_fault(path, known) is None:
                    faults.append(fault)
        return tuple(faults)

    async def culprit(self, skill: SkillDocument, made: Candidate, fault: Fault) -> int | None:
        """Which outcome's edit first brings about a fault in the fault's file.

        The edits of that file are taken one by one; all others are as in the candidate, so that a
        link may lead to a file which a later edit makes.
        """
        there = [
            i
            for i, outcome in enumerate(made.outcomes)
            if outcome.changed and inner(outcome.edit.file or SKILL_FILE) == fault.file
        ]
        others = [o.edit for i, o in enumerate(made.outcomes) if i not in there]
        append = self.append_unmatched
        base = apply_edits(skill, others, append_unmatched=append).skill
        for count, place in enumerate(there, 1):
            tried = [made.outcomes[i].edit for i in there[:count]]
            part = apply_edits(base, tried, append_unmatched=append).skill
            if any(found.file == fault.file for found in await self.faults(skill, part)):
                return place
        return None

    async def _shell_fault(self, path: str, text: str) -> Fault | None:
        if language_of(path, text) != "shell":
            return None
        if (path, text) not in self.said:
            self.said[path, text] = await _asked_of_shell(self.executor, path, text)
        return self.said[path, text]


def _yaml_fault(path: str, text: str) -> Fault | None:
    """What is wrong with a YAML file."""
    if language_of(path, text) != "yaml":
        return None
    try:
        for _ in yaml.compose_all(text, yaml.SafeLoader):
            pass
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        return Fault(path, " ".join(str(error.problem).split()), mark.line + 1 if mark else None)
    except (yaml.YAMLError, RecursionError) as error:
        return Fault(path, " ".join(str(error).split())[:200])
    return None


async def _asked_of_shell(executor: Executor, path: str, text: str) -> Fault | None:
    """A shell's error on a script that it parses but does not run; None without such a shell."""
    first = text.partition("\n")[0]
    shell = "sh" if first.startswith("#!") and "bash" not in first else "bash"
    async with executor.workspace("syntax") as folder:
        try:
            ended = await executor.run([shell, "-n"], cwd=folder, stdin=text, limit=_LIMIT)
        except BackendError:
            return None
    if ended.returncode == 0 or ended.timed_out or ended.stopped:
        return None
    said = (ended.stderr.strip() or "it cannot be parsed").splitlines()[0]
    found = _LINE.search(said)
    line = int(found[1] or found[2]) if found else None
    return Fault(path, said[found.end() :] if found else said, line)
