"""An agent that is a program: the one course that every attempt of every such program takes."""

from __future__ import annotations

import asyncio
import hashlib
import json
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from skillopt_cli.backends.agents.course import Course
from skillopt_cli.backends.agents.program import Layout, Program
from skillopt_cli.backends.agents.relay import Door, Errand, relay
from skillopt_cli.backends.agents.skill_files import skill_file
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.core.task import Attempt, Brief, ChatRequest, Message, Usage
from skillopt_cli.ports import ChatBackend, Executor

RENDERING = "cli_agent/1"
"""Changes whenever the same brief and skill would be put before a program in other ways."""
_ATTACHMENTS = "attachments"
_LONGEST_ANSWER = 1 << 20


class CliAgent:
    """An `AgentBackend` that runs a program in a workspace of its own.

    The program's requests to its model become calls of `chat`. For a program that brings its own
    model, `chat` is asked once per attempt, before it begins.
    """

    offers = frozenset({"images", "workspace"})

    def __init__(
        self, chat: ChatBackend, program: Program, offers: frozenset[str] = offers
    ) -> None:
        self.offers = offers
        self.name = chat.name
        self.fingerprint = f"{RENDERING} {program.fingerprint} {chat.fingerprint}"
        self._chat = chat
        self._program = program

    async def attempt(self, brief: Brief, skill: SkillDocument, executor: Executor) -> Attempt:
        """Attempt a brief while holding `skill`, which lies where the program looks for skills.

        An attempt that reached its number of turns is the agent's own failure (`gave_up`). One that
        was ended from outside, whose program failed, or that came to no answer is ours (`broken`).

        Raises:
            FatalBackendError: no attempt can succeed.
        """
        async with executor.workspace(brief.task_id) as folder:
            layout = Layout(folder.resolve(), skill_file(skill), isolated=executor.isolates)
            layout = await asyncio.to_thread(_prepared, layout, brief)
            async with self._door(layout, brief, skill) as door:
                if door is not None:
                    layout = replace(layout, url=door.url, token=door.token)
                course = Course(self._program, layout, door)
                prompt = self._program.prompt(brief, layout)
                finished = await course.run(prompt, executor)
            left = await asyncio.to_thread(_left, layout, brief.answer_file)
        told = course.ending(finished)
        if left is not None and told.ending == "answered":
            told = replace(told, answer=left)
        return Attempt(
            answer=told.answer if told.ending == "answered" else "",
            messages=(Message("user", prompt), *told.messages),
            usage=door.usage if door else Usage(1),
            ending=told.ending,
            error=told.error,
            skill_loaded=door.skill_loaded if door and layout.skill else None,
            trace=finished.stdout,
        )

    @asynccontextmanager
    async def _door(
        self, layout: Layout, brief: Brief, skill: SkillDocument
    ) -> AsyncIterator[Door | None]:
        key = self._key(brief, skill)
        program = self._program
        if program.form is None:
            asked = (Message("user", key),)
            await self._chat.chat(ChatRequest(asked, stage=brief.stage, draw=brief.draw))
            yield None
            return
        errand = Errand(
            key=key,
            stage=brief.stage,
            draw=brief.draw,
            model=self._chat.name,
            folder=layout.folder,
            skill=layout.skill.body if layout.skill else "",
            max_turns=program.max_turns,
        )
        async with relay(self._chat, program.form, errand) as door:
            yield door

    def _key(self, brief: Brief, skill: SkillDocument) -> str:
        """Digest of all that decides what an attempt asks, but for its draw."""
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


def _prepared(layout: Layout, brief: Brief) -> Layout:
    """The folders made, and the task's files copied into them."""
    layout.make_folders()
    files = []
    for number, image in enumerate(brief.images, 1):
        source = Path(image.path)
        name = f"{_ATTACHMENTS}/{number:02d}_{source.name}"
        (layout.work / _ATTACHMENTS).mkdir(exist_ok=True)
        shutil.copyfile(source, layout.work / name)
        files.append(name)
    for file in brief.files:
        place = layout.work / file.name
        place.parent.mkdir(parents=True, exist_ok=True)
        if Path(file.path).is_dir():
            shutil.copytree(file.path, place, symlinks=True)
        else:
            shutil.copyfile(file.path, place)
        files.append(file.name)
    return replace(layout, files=tuple(files))


def _left(layout: Layout, name: str) -> str | None:
    """What stands in the file that holds the answer; None where there is no such file."""
    path = layout.work / name
    if not name or not path.is_file() or not path.resolve().is_relative_to(layout.work):
        return None
    return path.read_bytes()[:_LONGEST_ANSWER].decode(errors="replace")
