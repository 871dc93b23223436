"""Any program as an agent: the task on standard input, the answer in its output."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from skillopt_cli.backends.agents.agent_settings import IN_PROMPT, CommandConfig, is_script
from skillopt_cli.backends.agents.program import (
    AGENT_OFFERS,
    LOOK,
    Program,
    ProgramResult,
    Workspace,
    broken,
    result_of,
    skill_text,
    task_text,
)
from skillopt_cli.backends.agents.program_backend import UNUSED, with_own_model
from skillopt_cli.backends.agents.skill_files import place_files
from skillopt_cli.config.model import ENV_PREFIX, NESTING
from skillopt_cli.core.companion_files import SKILL_FILE
from skillopt_cli.core.errors import BackendUnusable
from skillopt_cli.core.task import Brief
from skillopt_cli.ports import BackendSpec, Finished, ProgramSource, RoleSettings
from skillopt_cli.safe_files import digest_regular

NAME = "command"
_ARGV = f"{ENV_PREFIX}MODEL{NESTING}COMMAND{NESTING}ARGV"
_VALUE = re.compile(r"^([ \t]*)(?=[{\[])", re.MULTILINE)
_PLACE = re.compile(r"\{(workspace|skill|model)\}")
_INTERPRETERS = {".py": "python3", ".sh": "sh", ".js": "node", ".rb": "ruby", ".pl": "perl"}
"""What runs scripts, by their suffix."""


@dataclass(frozen=True, kw_only=True)
class CommandProgram(Program):
    """A program of the user's own; its version is the digest of its file.

    Attributes:
        template: the program's path and its arguments, with placeholders.
        answer: the path to the answer in its JSON; empty takes all of its output.
        skill_file: where the skill is written, relative to the workspace; empty puts it into the
            prompt.
        variables: environment variables it gets.
        scripts: digests of the scripts among its arguments, by their paths.
    """

    template: tuple[str, ...]
    answer: str
    skill_file: str
    variables: Mapping[str, str]
    scripts: Mapping[str, str] = field(default_factory=dict)

    @property
    def settings(self) -> Mapping[str, object]:
        """See `Program`."""
        return {
            "arguments": [self.scripts.get(word, word) for word in self.template[1:]],
            "model": self.model,
            "answer": self.answer,
            "skill_file": self.skill_file,
        }

    def prompt(self, brief: Brief, workspace: Workspace) -> str:
        """Return the task with the path of the skill's file, or with the skill itself."""
        filed = workspace.skill is not None and self.skill_file
        opening = LOOK.format(self.skill_file) if filed else skill_text(workspace)
        return task_text(brief, workspace, opening)

    def prepare(self, workspace: Workspace) -> None:
        """See `Program`. A file named SKILL.md keeps its front matter, any other has none.

        The skill's other files are placed beside it; if the prompt holds the skill, directly in
        the workspace.

        Raises:
            FatalBackendError: one of them would overwrite the skill, or as `place_files`.
        """
        if workspace.skill is None:
            return
        path = workspace.work / (self.skill_file or SKILL_FILE)
        path.parent.mkdir(parents=True, exist_ok=True)
        for file in workspace.skill.folder.files if workspace.skill.folder else ():
            if file.path == path.name or (path.parent / file.path).exists():
                raise BackendUnusable(
                    f"the skill's file `{file.path}` would overwrite another one where"
                    " model.command.skill_file puts the skill",
                    "put it into a folder of its own, such as .agents/skills/mine/SKILL.md",
                )
        place_files(workspace.skill, path.parent)
        if self.skill_file:
            text = workspace.skill.text if path.name == SKILL_FILE else workspace.skill.body
            path.write_bytes(text.encode(errors="backslashreplace"))

    def argv(self, workspace: Workspace) -> list[str]:
        """See `Program`."""
        places = {
            "workspace": str(workspace.work),
            "skill": str(workspace.work / self.skill_file) if self.skill_file else "",
            "model": self.model,
        }
        first, *others = self.template
        return [first, *(_PLACE.sub(lambda found: places[found[1]], word) for word in others)]

    def environment(self, workspace: Workspace) -> Mapping[str, str]:
        """See `Program`."""
        return self.variables

    def parse(self, finished: Finished) -> ProgramResult:
        """Return its output, or the answer within it."""
        answer: str | None = finished.stdout
        if self.answer and not finished.returncode:
            answer = _found(finished.stdout, self.answer)
            if answer is None:
                return broken(f"its output holds no `{self.answer}`")
        return result_of(finished, "it", (), (answer or "").strip())


def _found(output: str, path: str) -> str | None:
    """Return the text at a path in the whole output, or in the last JSON value that has it.

    Such a value begins a line, so that notices may come before it; an indented line may be a part
    of another value.
    """
    starts = [(bool(found[1]), -found.end(1)) for found in _VALUE.finditer(output)]
    for _, start in (*starts[:1], *sorted(starts)):
        try:
            value, _ = json.JSONDecoder().raw_decode(output, -start)
            for step in path.split("."):
                value = value[int(step)] if isinstance(value, list) else value[step]
        except (ValueError, KeyError, IndexError, TypeError, RecursionError):
            continue
        if value is not None:
            return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return None


def _instead(first: str) -> str:
    """What to write where the program is a script that needs an interpreter; "" for any other."""
    interpreter = _INTERPRETERS.get(Path(first).suffix)
    if interpreter is None:
        return ""
    # The program is started in a folder of its own, so the path of the script must be whole.
    script = Path(first).expanduser()
    return f"write argv: [{interpreter}, {script.absolute() if script.is_file() else first}]"


def command(role: RoleSettings) -> CommandProgram:
    """Return the program of a role.

    Raises:
        BackendUnusable: none is named, it does not exist, or one of its variables is not set.
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
            _instead(first) or "check its path, and that it may be executed",
        )
    absent = [name for name in options.variables if name not in role.environment]
    if absent:
        raise BackendUnusable(
            f"the variable {absent[0]}, which model.command.variables names, is not set",
            f"export {absent[0]}=..., or write it into .env",
        )
    path = Path(program).absolute()
    digest = digest_regular(path)
    scripts = [word for word in others if is_script(word) and Path(word).is_absolute()]
    return CommandProgram(
        name=NAME,
        version=digest,
        template=(str(path), *others),
        model="" if role.model == NAME else role.model,
        answer=options.answer,
        skill_file="" if options.skill_file == IN_PROMPT else options.skill_file,
        variables={name: role.environment[name] for name in options.variables},
        limit=options.timeout,
        scripts={word: digest_regular(Path(word)) for word in scripts if Path(word).is_file()},
    )


def missing(environment: Mapping[str, str]) -> str:
    """Return what is not configured by variables; "" when ready."""
    return "" if environment.get(_ARGV, "").strip() else "model.command.argv is not set"


SPEC = with_own_model(
    BackendSpec(
        name=NAME,
        summary="Any program as the agent whose skill is trained: a task in, an answer out",
        options=CommandConfig,
        program=ProgramSource("model.command.argv", gets="model.command.variables"),
        roles=frozenset({"target"}),
        offers=AGENT_OFFERS,
        requires="a program, named in model.command.argv",
        missing=missing,
        ignores=UNUSED | {"api_key_env", "reasoning_effort"},
    ),
    command,
)
