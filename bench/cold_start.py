"""CPU time and memory of a start: `python bench/cold_start.py`.

A command that asks a model is killed when its first request arrives at a socket of this process,
and `webui` at its first line; the others end by themselves. The simulated model, which nobody can
listen to, ends its process in the place of its first answer. `one call` is a script that makes one
over a provider's SDK. The modules are compiled before, as pip does it. With `--keep` the results
are written to `docs/images/cold_start.json`: CPU in milliseconds, sorted, and megabytes (1e6).
"""

from __future__ import annotations

import argparse
import json
import math
import os
import shutil
import signal
import socket
import statistics
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "docs" / "images" / "cold_start.json"
RUNS = 500
MOST_MS = {
    "skillopt --version": 250,
    "skillopt --help": 250,
    "skillopt runs list": 250,
    "skillopt train, openai_compatible": 700,
    "skillopt train, claude_chat": 700,
    "skillopt train, simulated": 700,
}
"""Targets of rows, beyond the interpreter's own time."""
PROGRAM = (sys.executable, "-c", "from skillopt_cli.cli.main import main; main()")
SIMULATED = """
import os
from skillopt_cli.backends.simulated.backend import Simulated
Simulated.chat = lambda *_: os._exit(0)
from skillopt_cli.cli.main import main
main()
"""
BARE = """
import asyncio, httpx2, {sdk}
async def call():
    http = {sdk}.DefaultAioHttpClient()
    client = {sdk}.{client}(api_key="no-key", base_url="{url}", max_retries=0, http_client=http)
    body = {{"model": "m", "max_tokens": 9, "messages": [{{"role": "user", "content": "hello"}}]}}
    await client.post("{path}", cast_to=httpx2.Response, body=body)
asyncio.run(call())
"""
CLIENTS = {
    "openai": ("AsyncOpenAI", "/v1", "/chat/completions"),
    "anthropic": ("AsyncAnthropic", "", "/v1/messages"),
}
LISTED = ("config.yaml", "events.jsonl", "summary.json")
"""What a list of runs reads of each."""
LISTING = ("runs", "list", "--out-root", "many")
Until = Literal["end", "request", "line"]


@dataclass(frozen=True)
class Start:
    """A program, and what it is measured up to."""

    argv: tuple[str, ...]
    until: Until = "end"


def starts(url: str) -> dict[str, Start]:
    """What is measured; the SDKs and the models ask the server at `url`."""
    found = {
        "interpreter": Start((sys.executable, "-c", "pass")),
        "skillopt --version": Start((*PROGRAM, "--version")),
        "skillopt --help": Start((*PROGRAM, "--help")),
        "skillopt runs list": Start((*PROGRAM, "runs", "list")),
        f"skillopt runs list, {RUNS} runs": Start((*PROGRAM, *LISTING)),
        "skillopt gate-report": Start((*PROGRAM, "gate-report", "run")),
        "skillopt webui": Start((*PROGRAM, "webui", "--port", "0", "--out-root", "many"), "line"),
    }
    for sdk, (client, base, path) in CLIENTS.items():
        script = BARE.format(sdk=sdk, client=client, url=url + base, path=path)
        found[f"one call over {sdk}"] = Start((sys.executable, "-c", script), "request")
    asking = {
        "openai_compatible": _model("openai_compatible", f"{url}/v1"),
        "claude_chat": _model("claude_chat", url),
    }
    keyed = ("env", "ANTHROPIC_API_KEY=no-key")
    for backend, settings in asking.items():
        argv = (*keyed, *PROGRAM, "train", "searchqa", *settings)
        found[f"skillopt train, {backend}"] = Start(argv, "request")
    simulated = ("searchqa", "--set", "model.backend=simulated")
    given = asking["openai_compatible"]
    return found | {
        "skillopt train, simulated": Start((sys.executable, "-c", SIMULATED, "train", *simulated)),
        "skillopt eval": Start(
            (*PROGRAM, "eval", "searchqa", "--skill", "skill.md", *given), "request"
        ),
        "skillopt resume": Start((*PROGRAM, "resume", "begun"), "request"),
        "skillopt plan": Start((*PROGRAM, "plan", "searchqa", *given)),
    }


def _model(backend: str, url: str) -> tuple[str, ...]:
    values = {"backend": backend, "base_url": url, "target.name": "m", "optimizer.name": "m"}
    return tuple(text for key in values for text in ("--set", f"model.{key}={values[key]}"))


def compile_modules() -> None:
    """Compile the package, which an editable installation does at its first start only."""
    folder = ROOT / "skillopt_cli"
    subprocess.run([sys.executable, "-m", "compileall", "-q", str(folder)], check=True)


def prepare(home: Path, url: str) -> None:
    """Write what the commands read: a finished run, many copies of it, and one that was killed."""
    (home / "skill.md").write_text("# Answers\n\nAnswer in a few words.\n")
    small = ("--preset", "tiny", "--display", "none", "--set", "model.backend=simulated")
    argv = (*PROGRAM, "train", "searchqa", "--run-id", "run", *small)
    subprocess.run(argv, cwd=home, check=True, capture_output=True)
    run = shutil.move(home / "outputs" / "searchqa" / "run", home / "run")
    for number in range(RUNS):
        copy = home / "many" / "searchqa" / f"run-{number:03}"
        copy.mkdir(parents=True)
        for name in LISTED:
            shutil.copy2(Path(run, name), copy)
    given = _model("openai_compatible", f"{url}/v1")
    argv = (*PROGRAM, "train", "searchqa", "--run-id", "begun", *given)
    with socket.create_server(("127.0.0.1", int(url.rpartition(":")[2]))) as server:
        spent(Start(argv, "request"), home, server)
    shutil.move(home / "outputs" / "searchqa" / "begun", home / "begun")


def spent(start: Start, home: Path, server: socket.socket) -> tuple[float, float]:
    """Milliseconds of CPU and peak megabytes of a start."""
    process = subprocess.Popen(
        start.argv,
        cwd=home,
        stdout=subprocess.PIPE if start.until == "line" else subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    if start.until == "request":
        connection, _ = server.accept()
        with connection:
            asked = connection.recv(1 << 16)
            os.kill(process.pid, signal.SIGKILL)
        assert asked.startswith(b"POST"), asked
    elif start.until == "line":
        assert process.stdout is not None
        process.stdout.readline()
        os.kill(process.pid, signal.SIGKILL)
        process.stdout.close()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != (0 if start.until == "end" else -signal.SIGKILL):
        sys.exit(f"{' '.join(start.argv)} ended with {process.returncode}")
    unit = 1 if sys.platform == "darwin" else 1024
    return 1000 * (usage.ru_utime + usage.ru_stime), usage.ru_maxrss * unit / 1e6


def measure(rounds: int, names: list[str]) -> dict[str, dict[str, list[float]]]:
    """CPU and memory of each start in each round."""
    rows: dict[str, dict[str, list[float]]] = {}
    with TemporaryDirectory() as folder, socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
        probe.close()
        home, url = Path(folder), f"http://127.0.0.1:{port}"
        compile_modules()
        prepare(home, url)
        for _ in range(rounds):
            for name, start in starts(url).items():
                if names and name not in (*names, "interpreter"):
                    continue
                # A server of its own, so that no request of a killed process is left in its queue.
                with socket.create_server(("127.0.0.1", port)) as server:
                    cpu, peak = spent(start, home, server)
                row = rows.setdefault(name, {"cpu_ms": [], "peak_mb": []})
                row["cpu_ms"].append(round(cpu, 1))
                row["peak_mb"].append(round(peak, 1))
    return rows


def records(rows: dict[str, dict[str, list[float]]]) -> list[dict[str, Any]]:
    """The rows with their medians, beyond the interpreter's own time, and their targets."""
    own = statistics.median(rows["interpreter"]["cpu_ms"])
    return [
        {
            "command": name,
            "cpu_ms": [round(value) for value in sorted(row["cpu_ms"])],
            "beyond_ms": round(statistics.median(row["cpu_ms"]) - own),
            "most_ms": MOST_MS.get(name),
            "peak_mb": round(statistics.median(row["peak_mb"])),
        }
        for name, row in rows.items()
    ]


def report(found: list[dict[str, Any]]) -> None:
    """Print the records. CPU times are medians beyond the interpreter's, then all there are."""
    print(f"{'':32}CPU ms  target  peak MB  each")
    for record in found:
        figures = f"{record['beyond_ms']:6}{record['most_ms'] or '':>8}{record['peak_mb']:9}"
        print(f"{record['command']:32}{figures}  {record['cpu_ms']}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", nargs="*", default=[], help="names of rows")
    parser.add_argument("--keep", action="store_true", help="write the results file")
    given = parser.parse_args()
    found = records(measure(given.rounds, given.only))
    report(found)
    if given.keep:
        lines = ",\n".join(f" {json.dumps(record)}" for record in found)
        RESULTS.write_text(f"[\n{lines}\n]\n", encoding="utf-8")
    sys.exit(any(row["beyond_ms"] > (row["most_ms"] or math.inf) for row in found))


if __name__ == "__main__":
    main()
