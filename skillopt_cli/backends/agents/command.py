"""Any program as an agent: the task on standard input, the answer in its output."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from skillopt_cli.backends.agents.binaries import fingerprint
from skillopt_cli.backends.agents.cli_agent import CliAgent
from skillopt_cli.backends.agents.own_model import IGNORED, OwnModel
from skillopt_cli.backends.agents.program import (
    LOOK,
    Layout,
    Told,
    broken,
    last_words,
    task_text,
    taught,
)
from skillopt_cli.backends.agents.skill_files import place_files
from skillopt_cli.config.agent_sections import CommandConfig
from skillopt_cli.config.model import ENV_PREFIX, NESTING
from skillopt_cli.core.errors import BackendUnusable
from skillopt_cli.core.folder import SKILL_FILE
from skillopt_cli.core.task import Brief
from skillopt_cli.ports import BackendSpec, ChatBackend, Finished, RoleSettings

NAME = "command"
_ARGV = f"{ENV_PREFIX}MODEL{NESTING}COMMAND{NESTING}ARGV"
_PLACE = re.compile(r"\{(workspace|skill|model)\}")


@dataclass(frozen=True, slots=True)
class Command:
    """A program of the user's own.

    Attributes:
        template: the program, by its path, and its arguments, with places to be filled.
        answer: the path to the answer in its JSON; empty takes all of its output.
        skill_file: where the skill is written, relative to the workspace; empty puts it into the
            prompt.
        variables: what it sees of the environment.
    """

    template: tuple[str, ...]
    model: str
    answer: str
    skill_file: str
    variables: Mapping[str, str]
    limit: float
    name: str = NAME
    form: None = None
    max_turns: int = 0

    @property
    def fingerprint(self) -> str:
        """See `Program`. The program itself counts by its bytes, since nobody knows its version."""
        counting = {
            "arguments": list(self.template[1:]),
            "model": self.model,
            "answer": self.answer,
            "skill_file": self.skill_file,
        }
        return fingerprint(NAME, _digest(Path(self.template[0])), counting)

    def prompt(self, brief: Brief, layout: Layout) -> str:
        """Says where the skill is, or holds it."""
        filed = layout.skill is not None and self.skill_file
        opening = LOOK.format(self.skill_file) if filed else taught(layout)
        return task_text(brief, layout, opening)

    def lay_out(self, layout: Layout) -> None:
        """See `Program`. A file called SKILL.md keeps its front matter, any other has none.

        The files beside it lie beside it here too; where the prompt holds the skill, in the
        workspace itself.

        Raises:
            FatalBackendError: one of them would take the skill's own place, or as `place_files`.
        """
        if layout.skill is None:
            return
        path = layout.work / (self.skill_file or SKILL_FILE)
        path.parent.mkdir(parents=True, exist_ok=True)
        for file in layout.skill.folder.files if layout.skill.folder else ():
            if file.path == path.name or (path.parent / file.path).exists():
                raise BackendUnusable(
                    f"the skill's file `{file.path}` would stand in the place of another one where"
                    " model.command.skill_file puts the skill",
                    "put it into a folder of its own, such as .agents/skills/mine/SKILL.md",
                )
        place_files(layout.skill, path.parent)
        if self.skill_file:
            text = layout.skill.text if path.name == SKILL_FILE else layout.skill.body
            path.write_bytes(text.encode(errors="backslashreplace"))

    def argv(self, layout: Layout) -> list[str]:
        """See `Program`."""
        places = {
            "workspace": str(layout.work),
            "skill": str(layout.work / self.skill_file) if self.skill_file else "",
            "model": self.model,
        }
        first, *others = self.template
        return [first, *(_PLACE.sub(lambda found: places[found[1]], word) for word in others)]

    def environment(self, layout: Layout) -> Mapping[str, str]:
        """See `Program`."""
        return self.variables

    def told(self, finished: Finished) -> Told:
        """Its output is its answer, if it ended well."""
        if finished.returncode:
            return broken(f"it ended with code {finished.returncode}: {last_words(finished)}")
        answer = finished.stdout.strip()
        if self.answer:
            found = _found(finished.stdout, self.answer)
            if found is None:
                return broken(f"its output holds no `{self.answer}`")
            answer = found.strip()
        return Told(answer) if answer else broken("it ended without an answer")


def _digest(program: Path) -> str:
    with program.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _found(output: str, path: str) -> str | None:
    """The text at a path in the whole output, or in its last line that has it."""
    for text in (output, *reversed(output.splitlines())):
        try:
            value: Any = json.loads(text)
            for step in path.split("."):
                value = value[int(step)] if isinstance(value, list) else value[step]
        except (ValueError, KeyError, IndexError, TypeError):
            continue
        return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return None


def command(role: RoleSettings) -> Command:
    """The program of a role.

    Raises:
        BackendUnusable: none is named, it does not exist, or a variable it shall see is not set.
    """
    options = CommandConfig.of(role.options)
    if not options.argv:
        raise BackendUnusable(
            "model.command.argv names no program",
            'write it like argv: ["my-agent", "--workspace", "{workspace}"]',
        )
    first, *others = options.argv
    program = shutil.which(first, path=role.environment.get("PATH", os.defpath))
    if program is None:
        raise BackendUnusable(
            f"there is no program `{first}`, which model.command.argv names",
            "check its path, and that it may be executed",
        )
    absent = [name for name in options.variables if name not in role.environment]
    if absent:
        raise BackendUnusable(
            f"the variable {absent[0]}, which model.command.variables names, is not set",
            f"export {absent[0]}=..., or write it into .env",
        )
    return Command(
        template=(str(Path(program).absolute()), *others),
        model="" if role.model == NAME else role.model,
        answer=options.answer,
        skill_file=options.skill_file,
        variables={name: role.environment[name] for name in options.variables},
        limit=options.timeout,
    )


def open_command(role: RoleSettings) -> OwnModel:
    """What stands for the program's own model; raises as `command`."""
    command(role)
    return OwnModel(role.model or NAME, NAME)


def agent(chat: ChatBackend, role: RoleSettings) -> CliAgent:
    """The agent of a role; raises as `command`."""
    return CliAgent(chat, command(role))


def missing(environment: Mapping[str, str]) -> str:
    """What is not configured, as far as variables tell; "" when ready."""
    if environment.get(_ARGV, "").strip():
        return ""
    return "model.command.argv is not set"


SPEC = BackendSpec(
    name=NAME,
    summary="Any program as the agent whose skill is trained: a task in, an answer out",
    roles=frozenset({"target"}),
    open=open_command,
    agent=agent,
    offers=CliAgent.offers,
    runs_programs=True,
    networked=True,
    requires="a program, named in model.command.argv",
    missing=missing,
    ignores=IGNORED | {"api_key_env", "reasoning_effort"},
)
