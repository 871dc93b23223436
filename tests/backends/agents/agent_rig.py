"""What tests of agents that are programs share: a task, a skill, roles, and stub programs."""

from __future__ import annotations

import json
import os
import stat
import sys
from pathlib import Path
from typing import Any

from pydantic import SecretStr

from skillopt_cli.backends.simulated.world import FAMILIES, family_of, needed, rule
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.core.task import Brief, Section
from skillopt_cli.executors.program_executor import LocalExecutor
from skillopt_cli.ports import RoleSettings

KEY = "real-key-of-the-service"
MODEL = "some-model"
SKILL = SkillDocument("# How to answer\n\n" + "".join(f"- {rule(n)}\n" for n in range(FAMILIES)))
QUESTION = next(
    question
    for year in range(1900, 1999)
    if needed(family_of(question := f"Who built the bridge of {year}?"))
)
"""One that the simulated model gets wrong without the skill."""
BRIEF = Brief(
    "t/1",
    "You answer questions.",
    (
        Section("Context", "The bridge was built by Anna Lee."),
        Section("Question", QUESTION),
    ),
    "Put the answer into tags: <answer>like this</answer>",
)
ANSWER = "<answer>Anna Lee</answer>"

_STUB = """#!{python} -ISB
import json, os, pathlib, sys, time
if "--version" in sys.argv:
    print("stub 1.0")
    raise SystemExit
told = json.loads({told!r})
seen = {{
    "argv": sys.argv[1:],
    "stdin": sys.stdin.buffer.read().hex(),
    "environment": dict(os.environ),
    "cwd": os.getcwd(),
    "files": {{
        str(path.relative_to(root.parent)): path.read_text("utf-8")
        for root in (pathlib.Path.cwd(), pathlib.Path(os.environ["HOME"]))
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }},
}}
if told["note"]:
    with open(told["note"], "a") as note:
        note.write(json.dumps(seen) + "\\n")
for path, headers, body in told["asks"]:
    import http.client, re
    text = seen["files"].get("own/config.toml", "") + os.environ.get("ANTHROPIC_BASE_URL", "")
    port = int(re.search(r"127\\.0\\.0\\.1:(\\d+)", text).group(1))
    token = os.environ.get("SKILLOPT_RELAY_TOKEN") or os.environ.get("ANTHROPIC_API_KEY")
    link = http.client.HTTPConnection("127.0.0.1", port)
    link.request("POST", path, json.dumps(body), {{"authorization": "Bearer " + token, **headers}})
    answer = link.getresponse()
    answer.read()
sys.stdout.write(told["out"])
sys.stderr.write(told["err"])
sys.stdout.flush()
pathlib.Path(__file__ + ".said").touch()
time.sleep(told["sleep"])
raise SystemExit(told["code"])
"""


def stub(
    path: Path,
    out: str = "",
    *,
    asks: tuple[tuple[str, dict[str, str], Any], ...] = (),
    err: str = "",
    code: int = 0,
    sleep: float = 0.0,
    note: Path | None = None,
) -> Path:
    """A program that notes what it sees, asks its relay, says `out` and ends with `code`.

    Once it has said `out`, a file with its name and `.said` lies beside it.
    """
    told = {"out": out, "err": err, "code": code, "sleep": sleep, "asks": asks}
    told["note"] = str(note) if note else ""
    path.write_text(_STUB.format(python=sys.executable, told=json.dumps(told)), encoding="utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def seen_by(note: Path) -> list[dict[str, Any]]:
    """What a stub noted, run by run."""
    return [json.loads(line) for line in note.read_text(encoding="utf-8").splitlines()]


def role(url: str = "", *, model: str = MODEL, effort: str = "", **options: Any) -> RoleSettings:
    """The target's settings; options are those of the backend's own section."""
    return RoleSettings(
        "target",
        model,
        base_url=url,
        api_key=SecretStr(KEY),
        reasoning_effort=effort,
        environment={"PATH": os.environ["PATH"], "OPENAI_API_KEY": "never-to-be-seen"},
        options=options,
    )


def executor(root: Path) -> LocalExecutor:
    return LocalExecutor(root, {"PATH": os.environ["PATH"]})


def codex_lines(*events: dict[str, Any]) -> str:
    return "".join(f"{json.dumps(event)}\n" for event in events)


def codex_says(text: str) -> str:
    """The events of an attempt that comes to an answer at once."""
    return codex_lines(
        {"type": "thread.started", "thread_id": "1"},
        {"type": "turn.started"},
        {"type": "item.completed", "item": {"id": "i0", "type": "agent_message", "text": text}},
        {"type": "turn.completed", "usage": {"input_tokens": 1, "output_tokens": 1}},
    )


CODEX_ASKS = (("/v1/responses", {}, {"model": MODEL, "stream": True, "input": "hello"}),)
CLAUDE_ASKS = (
    (
        "/v1/messages?beta=true",
        {"anthropic-version": "2023-06-01", "anthropic-beta": "some-beta"},
        {"model": MODEL, "stream": True, "messages": [{"role": "user", "content": "hello"}]},
    ),
)
