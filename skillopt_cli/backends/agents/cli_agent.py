"""The agent backend over a command-line program, and one run of such a program."""

from __future__ import annotations

import asyncio
import hashlib
import json
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from skillopt_cli.backends.agents.program import Program, ProgramResult, Workspace, broken
from skillopt_cli.backends.agents.relay import SHOWN, RelayEndpoint, RelaySession, relay
from skillopt_cli.backends.agents.skill_files import skill_file
from skillopt_cli.core.control_characters import terminal_text
from skillopt_cli.core.errors import (
    BackendError,
    BackendUnusable,
    FatalBackendError,
    RequestRefused,
    TransientError,
)
from skillopt_cli.core.secrets import Hide
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.core.task import Attempt, Brief, ChatRequest, Message, Usage
from skillopt_cli.ports import ChatBackend, Executor, Finished
from skillopt_cli.safe_files import open_regular

RENDERING = "cli_agent/1"
"""Changes whenever a program would get the same brief and skill in another form."""
_ATTACHMENTS = "attachments"
_ERRORS = "[standard error]"
"""The line before them."""
_LONGEST_ANSWER = 1 << 20
_LONGEST_ERROR = 8_000
"""Characters of standard error that the trace of a broken attempt ends with."""


@dataclass(frozen=True, slots=True)
class FinishedRun:
    """How a run ended.

    Attributes:
        result: what relay and executor observed counts before the output.
        endpoint: the closed relay; None for a program that brings its own model.
    """

    result: ProgramResult
    finished: Finished
    endpoint: RelayEndpoint | None

    @property
    def usage(self) -> Usage:
        """What its model requests cost; a program with its own model is one call."""
        return self.endpoint.usage if self.endpoint else Usage(1)


@dataclass(frozen=True, slots=True)
class AgentRun:
    """One run of a program.

    Attributes:
        chat: answers the program's model requests. A program that brings its own model calls it
            once per run, before the program starts.
        workspace: with its folders, still without url and token.
    """

    program: Program
    chat: ChatBackend
    session: RelaySession
    workspace: Workspace
    executor: Executor

    async def outcome(self, prompt: str) -> FinishedRun:
        """Run the program to its end. Its output shows the folder under the name `SHOWN`.

        Raises:
            BackendUnusable: it could not be started.
            FatalBackendError: the model service reports that no call can succeed.
        """
        program, workspace = self.program, self.workspace
        hide: Hide = str
        async with self._endpoint() as endpoint:
            if endpoint is not None:
                hide = endpoint.hide
                workspace = replace(workspace, url=endpoint.url, token=endpoint.token)
            await asyncio.to_thread(program.prepare, workspace)
            folders = {"HOME": str(workspace.own), "TMPDIR": str(workspace.temporary)}
            try:
                finished = await self.executor.run(
                    program.argv(workspace),
                    cwd=workspace.work,
                    stdin=prompt,
                    limit=program.limit,
                    environment={**folders, **program.environment(workspace)},
                    service=endpoint.address if endpoint else None,
                )
            except BackendError as error:
                raise BackendUnusable(error.message, error.hint) from error
        # The folder has another name in every run.
        stdout, stderr = (
            hide(terminal_text(text)).replace(str(workspace.folder), SHOWN)
            for text in (finished.stdout, finished.stderr)
        )
        finished = replace(finished, stdout=stdout, stderr=stderr)
        return FinishedRun(self._result(finished, endpoint), finished, endpoint)

    @asynccontextmanager
    async def _endpoint(self) -> AsyncIterator[RelayEndpoint | None]:
        api, session = self.program.api, self.session
        if api is None:
            asked = (Message("user", session.key),)
            await self.chat.chat(ChatRequest(asked, stage=session.stage, draw=session.draw))
            yield None
            return
        async with relay(self.chat, api, session) as endpoint:
            yield endpoint

    def _result(self, finished: Finished, endpoint: RelayEndpoint | None) -> ProgramResult:
        if endpoint is not None:
            if endpoint.fault is not None:
                raise endpoint.fault
            if isinstance(endpoint.failure, FatalBackendError):
                raise endpoint.failure
        parsed = self.program.parse(finished)
        if finished.stopped:
            return broken(f"it was stopped: {finished.stopped}", parsed.messages)
        if finished.timed_out:
            reason = f"it was not done within {self.program.limit:g} s"
            return broken(reason, parsed.messages)
        return parsed if endpoint is None else self._with_relay(endpoint, parsed)

    def _with_relay(self, endpoint: RelayEndpoint, parsed: ProgramResult) -> ProgramResult:
        if endpoint.closed:
            reason = f"it used up its {self.program.max_turns} turns"
            return replace(parsed, answer="", ending="gave_up", error=reason)
        failed = endpoint.failure
        if isinstance(failed, TransientError) or (
            isinstance(failed, RequestRefused) and parsed.ending != "answered"
        ):
            result = broken(f"{type(failed).__name__}: {failed}", parsed.messages)
            return replace(result, service_failed=isinstance(failed, TransientError))
        if parsed.ending == "answered" and not endpoint.turns:
            return broken("it answered without asking its model", parsed.messages)
        return parsed


class CliAgent:
    """An `AgentBackend` that runs a program in a workspace of its own.

    `chat` answers the program's requests to its model. For a program that brings its own model,
    `chat` is called once per attempt, before the program starts.
    """

    def __init__(self, chat: ChatBackend, program: Program) -> None:
        self.offers = program.offers
        self.name = chat.name
        self.fingerprint = f"{RENDERING} {program.fingerprint} {chat.fingerprint}"
        self._chat = chat
        self._program = program

    async def attempt(self, brief: Brief, skill: SkillDocument, executor: Executor) -> Attempt:
        """Attempt a brief with `skill` placed where the program looks for skills.

        Using up the turns is the agent's own failure (`gave_up`). An attempt that was ended from
        outside, whose program failed or gave no answer is ours (`broken`).

        Raises:
            FatalBackendError: no attempt can succeed.
        """
        async with executor.workspace(brief.task_id) as folder:
            workspace = Workspace(folder.resolve(), skill_file(skill), isolated=executor.isolates)
            workspace = await asyncio.to_thread(_prepared, workspace, brief)
            session = RelaySession(
                key=self._key(brief, skill),
                stage=brief.stage,
                draw=brief.draw,
                model=self._chat.name,
                folder=workspace.folder,
                skill=workspace.skill.body if workspace.skill else "",
                max_turns=self._program.max_turns,
            )
            run = AgentRun(self._program, self._chat, session, workspace, executor)
            prompt = self._program.prompt(brief, workspace)
            outcome = await run.outcome(prompt)
            left = await asyncio.to_thread(_left, workspace, brief.answer_file)
        result, endpoint = outcome.result, outcome.endpoint
        if left is not None and result.ending == "answered":
            result = replace(result, answer=endpoint.hide(left) if endpoint else left)
        return Attempt(
            answer=result.answer if result.ending == "answered" else "",
            messages=(Message("user", prompt), *result.messages),
            usage=outcome.usage,
            ending=result.ending,
            error=result.error,
            skill_loaded=endpoint.skill_loaded if endpoint and workspace.skill else None,
            trace=_report(outcome),
            service_failed=result.service_failed,
        )

    def _key(self, brief: Brief, skill: SkillDocument) -> str:
        """Digest of everything that decides what an attempt asks, except its draw."""
        asked = [
            self.fingerprint,
            brief.task_id,
            brief.role,
            [(section.title, section.text) for section in brief.sections],
            brief.answer_format,
            [image.digest for image in brief.images],
            skill.digest,
            *([(file.name, file.digest) for file in brief.files] if brief.files else ()),
        ]
        content = json.dumps(asked, ensure_ascii=False)
        return hashlib.sha256(content.encode(errors="surrogatepass")).hexdigest()


def _report(outcome: FinishedRun) -> str:
    """Return what the program printed; where that broke the attempt, with its last errors."""
    finished = outcome.finished
    errors = finished.stderr.strip()[-_LONGEST_ERROR:]
    if outcome.result.ending != "broken" or not errors:
        return finished.stdout
    printed = finished.stdout.rstrip("\n")
    return f"{printed}\n{_ERRORS}\n{errors}\n" if printed else f"{_ERRORS}\n{errors}\n"


def _prepared(workspace: Workspace, brief: Brief) -> Workspace:
    """Create the folders and copy the task's files into them."""
    workspace.make_folders()
    files = []
    for number, image in enumerate(brief.images, 1):
        source = Path(image.path)
        name = f"{_ATTACHMENTS}/{number:02d}_{source.name}"
        (workspace.work / _ATTACHMENTS).mkdir(exist_ok=True)
        shutil.copyfile(source, workspace.work / name)
        files.append(name)
    for file in brief.files:
        target = workspace.work / file.name
        target.parent.mkdir(parents=True, exist_ok=True)
        if Path(file.path).is_dir():
            shutil.copytree(file.path, target, symlinks=True)
        else:
            shutil.copyfile(file.path, target)
        files.append(file.name)
    return replace(workspace, files=tuple(files))


def _left(workspace: Workspace, name: str) -> str | None:
    """Return the content of the answer file; None without one."""
    path = workspace.work / name
    if not name or not path.is_file() or not path.resolve().is_relative_to(workspace.work):
        return None
    with open_regular(path) as file:
        return file.read(_LONGEST_ANSWER).decode(errors="replace")
