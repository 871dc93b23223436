"""`doctor`: each fault is a row with what mends it, and what mends it does."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import shutil
import socket
import stat
import sys
from collections import namedtuple
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import Any

import pytest
from command_line import SMALLEST, TINY, Ended, finished_run, skillopt, train
from object_server import object_server
from plugin_folder import benchmark, install
from sandbox_rig import lacking_bubblewrap, whole_sandbox_or_skip

from skillopt_cli.compose.settings import Overrides, settle
from skillopt_cli.core.errors import BackendUnusable, DataError
from skillopt_cli.core.events import Role
from skillopt_cli.doctor import exit_code, machine
from skillopt_cli.doctor import folders as places
from skillopt_cli.doctor.check import failing, passed, run_check, warning
from skillopt_cli.doctor.machine import Terminal, check_python, check_terminal
from skillopt_cli.doctor.models import answer_row, check_addresses
from skillopt_cli.doctor.probe import ProbeResult
from skillopt_cli.store.lock import lock_run
from skillopt_cli.testing import ModelServer, ScriptedResponse

CANARY = "sk-canary-3f9a7c51d2e84b60"
ROW = dict[str, Any]
Usage = namedtuple("Usage", "total used free")


def doctor(*arguments: object, code: int = 0, **variables: str) -> list[ROW]:
    ended = skillopt("doctor", *arguments, "--json", **variables)
    assert ended.code == code, (ended.out, ended.err)
    assert ended.out.count("\n") == 1
    document = ended.json
    assert document["ok"] is (code == 0)
    checks: list[ROW] = document["checks"]
    for row in checks:
        assert row["state"] in ("ok", "warning", "failing")
        assert bool(row["fix"]) == (row["state"] != "ok"), row
        assert bool(row["code"]) == (row["state"] == "failing"), row
    return checks


def bad(checks: list[ROW]) -> list[ROW]:
    return [row for row in checks if row["state"] == "failing"]


def only(checks: list[ROW]) -> ROW:
    (row,) = bad(checks)
    return row


def named(checks: list[ROW], name: str) -> ROW:
    (row,) = (row for row in checks if row["name"] == name)
    return row


def flags(fix: str) -> list[str]:
    """The arguments a fix tells to add."""
    assert fix.startswith("add "), fix
    return shlex.split(fix.removeprefix("add "))


def test_a_good_setup_has_nothing_failing_and_leaves_nothing() -> None:
    checks = doctor("searchqa", *TINY)
    assert not bad(checks)
    names = [row["name"] for row in checks]
    assert names == [
        *("python", "package", "plug-ins", "configuration", "data", "tasks used", "seed skill"),
        *(
            "optimizer",
            "target",
            "sandbox",
            "outputs",
            "disk",
            "journal",
            "runs",
            "terminal",
            "encoding",
        ),
    ]
    assert named(checks, "data")["what"] == (
        "searchqa: bundled sample (60 train / 60 selection / 100 test)"
    )
    assert "preset tiny" in named(checks, "configuration")["what"]
    assert "inferred" not in named(checks, "configuration")["what"]
    assert list(Path().iterdir()) == []


def test_it_is_printed_with_its_fixes() -> None:
    ended = skillopt("doctor")
    assert ended.code == 2
    lines = ended.out.splitlines()
    assert lines[0].startswith("ok       python         3.")
    at = next(i for i, line in enumerate(lines) if line.startswith("FAILING  target"))
    assert lines[at].endswith("no model endpoint is configured for the target")
    assert lines[at + 1].strip() == (
        "fix: set AZURE_OPENAI_ENDPOINT, OPENAI_COMPATIBLE_BASE_URL or OPENAI_API_KEY, or try"
        " `--preset demo`; `skillopt backends list` shows what needs no key, such as"
        " `--target-backend local` with `--optimizer-backend rules`"
    )
    assert lines[-1] == "2 checks failing, 1 warning"
    assert "\x1b" not in ended.out
    assert ended.err == ""


def test_no_benchmark_is_a_warning_whose_fix_runs() -> None:
    row = named(doctor(*TINY), "data")
    assert (row["state"], row["fix"]) == ("warning", "skillopt doctor searchqa")
    fixed = doctor(*shlex.split(row["fix"])[2:], *TINY)
    assert named(fixed, "data")["state"] == "ok"


@pytest.mark.parametrize(
    ("arguments", "what", "fix"),
    [
        (
            ("--set", "train.batch_sise=3"),
            "unknown configuration key `train.batch_sise` (flag --set)",
            "did you mean `train.batch_size`?",
        ),
        (
            ("--preset", "no"),
            "there is no preset `no`",
            "presets: default, demo, paper, quick, tiny",
        ),
        (
            ("--config", "gone.yaml"),
            "the configuration file",
            "check --config and `_base_`",
        ),
    ],
)
def test_a_configuration_that_does_not_hold(
    arguments: tuple[str, ...], what: str, fix: str
) -> None:
    checks = doctor("searchqa", *arguments, code=2)
    row = only(checks)
    assert row["name"] == "configuration"
    assert row["what"].startswith(what)
    assert row["fix"] == fix
    # What does not depend on it is looked at all the same.
    assert named(checks, "terminal")["state"] == "ok"


def test_data_that_is_missing() -> None:
    row = only(doctor("searchqa", *TINY, "--split-dir", "gone", code=3))
    assert (row["name"], row["code"]) == ("data", 3)
    assert "gone" in row["what"]
    assert skillopt("data", "sample", "searchqa", "--out", "gone").code == 0
    assert not bad(doctor("searchqa", *TINY, "--split-dir", "gone"))


def test_data_that_leaks() -> None:
    skillopt("data", "sample", "searchqa", "--out", "d")
    for path in Path("d/train").iterdir():
        shutil.copy(path, Path("d/test", path.name))
        text = path.read_text(encoding="utf-8")
        Path("d/test", path.name).write_text(text.replace('"id": "', '"id": "x'), "utf-8")
    checks = doctor("searchqa", *TINY, "--split-dir", "d", code=3)
    row = only(checks)
    assert row["name"] == "data"
    assert row["what"].startswith("train and test share a task")
    assert row["fix"]


def test_data_that_decides_nothing(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = benchmark("sums", score="return Score(1.0, 1.0, '', (str(task.data['n']),))")
    site = tmp_path_factory.mktemp("site")
    install(site, monkeypatch, {"free_sums": source}, {"benchmark": {"sums": "free_sums:SPEC"}})
    checks = doctor("sums", *TINY, code=3)
    (row,) = bad(checks)
    assert row["what"].startswith("an empty answer scores above 0 on 12 of 12 tasks")
    assert row["fix"] == "give these tasks a reference with content"
    warned = [r["what"] for r in checks if (r["name"], r["state"]) == ("data", "warning")]
    assert any("the test split has 4 tasks" in what for what in warned)


def test_a_seed_skill_that_is_not_there() -> None:
    row = only(doctor("searchqa", *TINY, "--skill-init", "gone.md", code=2))
    assert "gone.md" in row["what"]
    Path("gone.md").write_text("# Mine\n", encoding="utf-8")
    assert not bad(doctor("searchqa", *TINY, "--skill-init", "gone.md"))


def test_what_a_run_notes_about_its_seed_skill_is_a_warning() -> None:
    Path("mine").mkdir()
    Path("mine/notes.md").write_text("Notes.\n", encoding="utf-8")
    Path("mine/SKILL.md").write_text("# Mine\n\nSee notes.md.\n", encoding="utf-8")
    rows = doctor("searchqa", *TINY, "--skill-init", "mine/SKILL.md")
    (row,) = [r for r in rows if (r["name"], r["state"]) == ("seed skill", "warning")]
    assert row["what"].startswith("`notes.md` beside mine/SKILL.md is left out")


def test_a_backend_that_does_not_exist() -> None:
    row = only(doctor("searchqa", *TINY, "--target-backend", "simulate", code=2))
    assert row["name"] == "target"
    assert row["what"].startswith("there is no backend `simulate`")
    assert row["fix"] == "did you mean `simulated`?"


def test_a_backend_in_the_wrong_role() -> None:
    row = only(doctor("searchqa", *TINY, "--target-backend", "rules", code=2))
    assert row["what"] == "backend `rules` cannot be the target"


def test_an_extra_that_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    from skillopt_cli.backends.chat import local

    monkeypatch.setattr(local, "find_spec", lambda name: None)
    row = only(doctor("searchqa", "--preset", "demo", code=4))
    assert (row["name"], row["code"]) == ("target", 4)
    assert row["fix"] == "pip install 'skillopt-cli[local]'"
    monkeypatch.undo()


def test_a_key_that_is_not_set() -> None:
    remote = ("--set", "model.target.backend=openai_compatible", "--target-model", "m")
    remote = (*remote, "--set", "model.target.base_url=http://127.0.0.1:9/v1")
    remote = (*remote, "--set", "model.target.api_key_env=MY_API_KEY")
    found = bad(doctor("searchqa", *TINY, *remote, code=2))
    assert [row["name"] for row in found] == ["target", "address"]
    assert "MY_API_KEY" in found[0]["what"]
    assert found[0]["fix"].startswith("export MY_API_KEY=...")
    fixed = doctor("searchqa", *TINY, *remote, code=4, MY_API_KEY=CANARY)
    assert named(fixed, "target")["what"] == (
        "openai_compatible, model m, at http://127.0.0.1:9/v1, key from MY_API_KEY"
    )
    assert CANARY not in json.dumps(fixed)


def test_a_model_that_is_not_named() -> None:
    url = ("--set", "model.target.base_url=http://127.0.0.1:9/v1")
    checks = doctor(
        "searchqa", *TINY, "--target-backend", "openai_compatible", *url, code=2
    )  # fmt: skip
    row = named(checks, "target")
    assert row["what"].startswith("no model is named for the target")
    assert row["fix"] == "add `--target-model NAME`"


def remote(url: str) -> tuple[str, ...]:
    return (
        *("--target-backend", "openai_compatible", "--target-model", "m"),
        *("--set", f"model.target.base_url={url}"),
    )


@pytest.fixture
def silent() -> Iterator[socket.socket]:
    """A socket whose port is nobody else's, and refuses connections until it listens."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield bound


def test_a_server_that_does_not_run_and_one_that_does(silent: socket.socket) -> None:
    port = silent.getsockname()[1]
    url = f"http://127.0.0.1:{port}/v1"
    row = only(doctor("searchqa", *TINY, *remote(url), code=4))
    assert (row["name"], row["code"]) == ("address", 4)
    assert row["what"] == f"127.0.0.1:{port} cannot be reached: connection refused"
    assert row["fix"] == (
        f"start the model server on port {port}, or name another with `--set model.base_url=URL`"
    )
    silent.listen()
    checks = doctor("searchqa", *TINY, *remote(url))
    assert named(checks, "address")["what"] == f"127.0.0.1:{port} can be reached"


def test_a_proxy_is_what_is_asked_unless_the_host_is_spared(silent: socket.socket) -> None:
    port = silent.getsockname()[1]
    proxy = {"HTTP_PROXY": f"http://127.0.0.1:{port}"}
    row = only(doctor("searchqa", *TINY, *remote("http://model.test/v1"), code=4, **proxy))
    assert row["what"].startswith(
        f"model.test:80 by way of the proxy 127.0.0.1:{port} cannot be reached: "
    )
    assert row["fix"] == "correct HTTP_PROXY, unset it, or name the host in NO_PROXY"
    silent.listen()
    assert not bad(doctor("searchqa", *TINY, *remote("http://model.test/v1"), **proxy))
    url = f"http://127.0.0.1:{port}/v1"
    checks = doctor("searchqa", *TINY, *remote(url), NO_PROXY="127.0.0.1", **proxy)
    assert named(checks, "address")["what"] == f"127.0.0.1:{port} can be reached"


@pytest.mark.parametrize(
    ("variable", "value", "said"),
    [
        ("ALL_PROXY", "socks5://127.0.0.1:1080", "ALL_PROXY names a proxy that speaks socks5"),
        ("HTTPS_PROXY", "http://[::1", "HTTPS_PROXY names a proxy that is no address"),
        ("SSL_CERT_FILE", "/nope.pem", "SSL_CERT_FILE names /nope.pem"),
    ],
)
def test_what_keeps_calls_from_a_server_is_named(variable: str, value: str, said: str) -> None:
    url = "https://model.test/v1"
    checks = doctor("searchqa", *TINY, *remote(url), code=2, **{variable: value})
    assert any(row["what"].startswith(said) and variable in row["fix"] for row in bad(checks))


def test_an_address_that_is_not_known_is_not_called_reachable() -> None:
    flags = (*TINY, "--target-backend", "openai_compatible", "--target-model", "m")
    row = named(doctor("searchqa", *flags, OPENAI_API_KEY=CANARY), "address")
    assert (row["state"], row["fix"]) == ("warning", "add --probe to make one short call")


@pytest.mark.parametrize("calls", [False, True])
def test_what_a_call_will_try_has_no_row_of_its_own(calls: bool) -> None:
    own = {"model.target.backend": "openai_compatible", "model.target.name": "m"}
    overrides = Overrides(benchmark="searchqa", preset="tiny", flags=own)
    environment = {"OPENAI_API_KEY": CANARY}
    config = settle(overrides, environment).config
    rows = asyncio.run(check_addresses(config, environment, ["target"], calls=calls))
    assert len(rows) == (not calls)


AZURE = (
    *("--target-backend", "openai_chat", "--target-model", "m"),
    *("--set", "model.target.base_url=http://127.0.0.1:9/"),
)


def test_the_azure_cli_is_looked_for_where_it_signs_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(Path("bin").absolute()))
    checks = doctor("searchqa", *TINY, *AZURE, code=4)
    row = named(checks, "az")
    assert row["state"] == "failing"
    assert row["fix"] == (
        "install the Azure CLI and run `az login`, or add `--set model.auth_mode=api_key`"
    )
    az = Path("bin/az")
    az.parent.mkdir()
    az.write_text("#!/bin/sh\n", encoding="utf-8")
    az.chmod(az.stat().st_mode | stat.S_IXUSR)
    assert named(doctor("searchqa", *TINY, *AZURE, code=4), "az")["state"] == "ok"
    key = ("--set", "model.target.auth_mode=api_key", "--set", "model.target.api_key_env=K_KEY")
    checks = doctor("searchqa", *TINY, *AZURE, *key, code=4, K_KEY=CANARY)
    assert "az" not in [row["name"] for row in checks]


def test_a_place_that_cannot_be_written() -> None:
    Path("outputs").write_text("in the way", encoding="utf-8")
    row = only(doctor("searchqa", *TINY, code=3))
    assert row["name"] == "outputs"
    assert row["what"] == f"outputs cannot be written: {Path('outputs').absolute()} is a file"
    assert row["fix"] == "correct its permissions, or add `--out-root FOLDER`"
    assert not bad(doctor("searchqa", *TINY, "--out-root", "elsewhere"))


@pytest.mark.parametrize(
    ("free", "state", "code"), [(5e10, "ok", 0), (5e8, "warning", 0), (5e7, "failing", 3)]
)
def test_a_disk_that_fills_up(
    free: float, state: str, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(places.shutil, "disk_usage", lambda place: Usage(1e12, 0, free))
    row = named(doctor("searchqa", *TINY, code=code), "disk")
    assert row["state"] == state
    assert row["fix"] == ("" if state == "ok" else "free disk space, or add `--out-root FOLDER`")


def test_a_shared_cache_and_a_damaged_journal_in_its_folder() -> None:
    shared = ("--set", "run.cache_dir=cache")
    assert named(doctor("searchqa", *TINY, *shared), "journal")["what"].endswith("will be made")
    Path("cache").mkdir()
    Path("cache/journal.sqlite").write_bytes(b"no database at all" * 100)
    row = only(doctor("searchqa", *TINY, *shared, code=3))
    assert row["name"] == "journal"
    assert "cache/journal.sqlite cannot be used" in row["what"]
    assert "a damaged journal may be removed" in row["fix"]
    Path("cache/journal.sqlite").unlink()
    train(*SMALLEST, *shared)
    assert named(doctor("searchqa", *TINY, *shared), "journal")["what"].endswith("can be written")
    Path("file").touch()
    row = only(doctor("searchqa", *TINY, "--set", "run.cache_dir=file", code=3))
    assert row["fix"] == "correct its permissions, or add `--set run.cache_dir=FOLDER`"


def test_a_run_that_was_killed_is_resumed_by_the_fix() -> None:
    folder = finished_run(*SMALLEST)
    assert named(doctor("searchqa", *TINY), "runs")["state"] == "ok"
    log = folder / "events.jsonl"
    lines = log.read_text(encoding="utf-8").splitlines(keepends=True)
    log.write_text("".join(lines[:-1]), encoding="utf-8")
    with lock_run(folder):
        row = named(doctor("searchqa", *TINY), "runs")
        assert row["what"] == f"{folder} is in use by process {os.getpid()}"
    row = named(doctor("searchqa", *TINY), "runs")
    assert (row["state"], row["fix"]) == ("warning", f"skillopt resume {folder}")
    assert skillopt(*shlex.split(row["fix"])[1:]).code == 0
    assert named(doctor("searchqa", *TINY), "runs")["state"] == "ok"


def test_an_evaluation_that_was_killed_is_no_run_to_resume() -> None:
    Path("mine.md").write_text("# Mine\n\nAnswer.\n", encoding="utf-8")
    given = ("--skill", "mine.md", *SMALLEST)
    for arms in ((), ("--arms", "none")):
        ended = skillopt("eval", "searchqa", *given, *arms)
        assert ended.code == 0, ended.err
    for log in Path("outputs/searchqa").glob("*/events.jsonl"):
        lines = log.read_text(encoding="utf-8").splitlines(keepends=True)
        log.write_text("".join(lines[:-1]), encoding="utf-8")
        folder, planned = log.parent, (log.parent / "eval_plan.json").exists()
        rows = [row for row in doctor("searchqa", *TINY) if row["what"].startswith(f"{folder} ")]
        assert [row["fix"] for row in rows] == [
            f"skillopt resume {folder}"
            if planned
            else f"run `skillopt eval` again, and remove {folder}"
        ]
        assert (skillopt("resume", folder).code == 0) == planned


def test_a_broken_plug_in_is_named_and_a_breaking_one_is_no_traceback(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    opening = f"raise RuntimeError('cannot log in with {CANARY}')"
    site = tmp_path_factory.mktemp("site")
    install(
        site,
        monkeypatch,
        {"torn_sums": benchmark("sums", opening=opening)},
        {"benchmark": {"sums": "torn_sums:SPEC"}, "backend": {"gone": "gone_module:SPEC"}},
    )
    checks = doctor("sums", *TINY, code=1, OPENAI_API_KEY=CANARY)
    row = only(checks)
    assert row["name"] == "data"
    assert row["what"] == (
        "the benchmark plug-in `sums` failed: RuntimeError: cannot log in with ***"
    )
    assert row["fix"] == "tell its authors"
    broken = named(checks, "plug-ins")
    assert (broken["state"], broken["fix"]) == (
        "warning",
        "reinstall or remove the package that provides it",
    )
    assert "`gone` (gone_module:SPEC) cannot be loaded" in broken["what"]


async def test_a_check_that_breaks_is_a_failing_row() -> None:
    def look() -> Iterator[Any]:
        yield passed("x", "well")
        raise ZeroDivisionError("a fault\nof two lines")

    (row,) = await run_check("x", look)
    assert (row.name, row.state, row.code) == ("x", "failing", 1)
    assert row.what == "the check itself failed: ZeroDivisionError: a fault of two lines"
    assert row.fix == "report it with this line"


def test_an_old_python_and_a_package_that_is_not_installed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (row,) = check_python((3, 9, 1))
    assert (row.state, row.code) == ("failing", 2)
    assert row.fix == "install Python 3.11 or newer, and skillopt there"

    def gone(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(machine, "version", gone)
    assert only(doctor("searchqa", *TINY, code=2))["fix"] == (
        "pip install --force-reinstall skillopt-cli"
    )
    monkeypatch.setattr(machine, "version", lambda name: "0.0.1")
    assert named(doctor("searchqa", *TINY), "package")["state"] == "warning"


@pytest.mark.parametrize(
    ("terminal", "fixes"),
    [
        (Terminal(None, False, "utf-8", "UTF-8"), ["", ""]),
        (Terminal(120, True, "UTF-8", "utf8"), ["", ""]),
        (Terminal(40, True, "UTF-8", "utf8"), ["widen it, or add `--display plain`", ""]),
        (Terminal(80, True, "utf-8", "ANSI_X3.4-1968"), ["", "export LANG=C.UTF-8"]),
        (
            Terminal(80, False, "ascii", "ANSI_X3.4-1968"),
            ["", "export LANG=C.UTF-8 PYTHONIOENCODING=utf-8"],
        ),
    ],
)
def test_a_terminal_that_cannot_show_everything(terminal: Terminal, fixes: list[str]) -> None:
    assert [row.fix for row in check_terminal(terminal)] == fixes


@pytest.mark.slow
def test_the_fix_for_the_encoding_mends_it() -> None:
    import subprocess

    program = Path(sys.executable).with_name("skillopt")
    bare = {"PATH": os.environ["PATH"], "HOME": os.environ["HOME"], "LC_ALL": "POSIX"}
    bare |= {"PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": "ascii"}

    def encoding(**more: str) -> ROW:
        argv = [str(program), "doctor", "searchqa", *TINY, "--json"]
        done = subprocess.run(argv, env=bare | more, capture_output=True, check=True)
        return named(json.loads(done.stdout)["checks"], "encoding")

    assert encoding()["fix"] == "export LANG=C.UTF-8 PYTHONIOENCODING=utf-8"
    assert encoding(LC_ALL="", LANG="C.UTF-8", PYTHONIOENCODING="utf-8")["state"] == "ok"


def test_probing_adds_a_row_per_role(server: ModelServer) -> None:
    flags = (*TINY, *remote(server.url), "--probe")
    checks = doctor("searchqa", *flags)
    assert named(checks, "target answers")["what"].endswith('read as "Paris"')
    assert named(checks, "optimizer answers")["state"] == "ok"
    assert len(server.requests()) == 1
    server.script(ScriptedResponse(401, {"error": {"message": "no"}}))
    row = only(doctor("searchqa", *flags, code=4))
    assert (row["name"], row["code"]) == ("target answers", 4)
    assert "401" in row["what"]
    # Without it no call is made.
    doctor("searchqa", *TINY, *remote(server.url))
    assert len(server.requests()) == 2


def test_the_code_is_that_of_the_first_failing_row() -> None:
    data, backend = failing("d", DataError("x", "y")), failing("b", BackendUnusable("x", "y"))
    assert exit_code([passed("a", "b"), warning("a", "b", "c")]) == 0
    assert exit_code([passed("a", "b"), data, backend]) == 3
    assert exit_code([backend, data]) == 4


def test_colour_is_only_where_it_is_wanted() -> None:
    ended: Ended = skillopt("doctor", "searchqa", *TINY, NO_COLOR="1", FORCE_COLOR="1")
    assert "\x1b" not in ended.out


def test_an_odd_answer_is_mended_by_another_model_of_that_role() -> None:
    others = {
        "target": "--target-model NAME",
        "judge": "--set model.judge.name=NAME",
    }
    roles: tuple[Role, ...] = ("target", "judge")
    for role in roles:
        row = answer_row(ProbeResult(role, "simulated", seconds=0.1, read="x", note="odd"))
        assert (row.state, row.fix) == ("warning", f"try another by `{others[role]}`")


PARTS = {"seccomp": "seccomp filter", "keyctl": "session keyring of its own"}


def sandbox_row(path: Path, *arguments: object, code: int = 0) -> ROW:
    return named(doctor(*arguments, *TINY, code=code, PATH=str(path)), "sandbox")


def test_the_parts_of_the_sandbox_are_told() -> None:
    whole = Path(whole_sandbox_or_skip().path).parent
    for name in ("searchqa", "spreadsheetbench"):
        row = sandbox_row(whole, name)
        assert (row["state"], row["what"]) == ("ok", f"namespace, {', '.join(PARTS.values())}")
    off = sandbox_row(whole, "searchqa", "--set", "run.executor=local")
    assert (off["state"], off["what"]) == ("ok", "off by `run.executor`")


@pytest.mark.parametrize("part", PARTS)
def test_a_part_of_the_sandbox_that_is_lacking_counts_where_programs_run(
    tmp_path: Path, part: str
) -> None:
    path = lacking_bubblewrap(tmp_path / "bin", part).parent
    text, programs = (sandbox_row(path, name) for name in ("searchqa", "spreadsheetbench"))
    assert text["state"] == "ok"
    assert text["what"].startswith("namespace, ")
    assert text["what"].endswith(f"; no {PARTS[part]}: bwrap: no {part}")
    assert programs["state"] == "warning"
    assert programs["what"].endswith(f"has no {PARTS[part]}: bwrap: no {part}")
    assert programs["fix"].startswith("update bubblewrap")


def test_a_program_of_the_user_may_be_isolated_where_it_needs_no_network() -> None:
    argv = 'model.command.argv=["cat", "{skill}"]'
    flags = ("--target-backend", "command", "--set", argv)
    row = named(doctor("searchqa", *TINY, *flags), "sandbox")
    assert row["state"] == "warning"
    assert row["what"].endswith("so it is not isolated and can read your files")
    assert row["fix"] == (
        "set `--executor namespace` if the program needs no network, else `--executor local`"
    )


@pytest.mark.parametrize(
    ("argv", "missing"),
    [
        (["python3", "nope.py"], ["nope.py"]),
        (
            ["python3", "-u", "/nowhere/nope.py", "lib/other.sh"],
            ["/nowhere/nope.py", "lib/other.sh"],
        ),
        (["python3", "here.py"], []),
        (["python3", "scripts/of_skill.py"], []),
        (["cat", "{workspace}/made.py", "notes"], []),
    ],
)
def test_a_script_of_a_command_that_is_no_file_is_named(
    argv: list[str], missing: list[str]
) -> None:
    Path("here.py").write_text("print(1)\n", encoding="utf-8")
    Path("mine/scripts").mkdir(parents=True)
    Path("mine/SKILL.md").write_text("# Mine\n\nAnswer.\n", encoding="utf-8")
    Path("mine/scripts/of_skill.py").write_text("print(1)\n", encoding="utf-8")
    given = f"model.command.argv={json.dumps(argv)}"
    flags = ("--target-backend", "command", "--set", given, "--skill-init", "mine")
    said = [
        f"model.command.argv names the script `{one}`, and there is no such file" for one in missing
    ]
    rows = [row for row in doctor("searchqa", *TINY, *flags) if row["name"] == "target"]
    assert [row["what"] for row in rows if row["state"] == "warning"] == said
    noted = skillopt("plan", "searchqa", *TINY, *flags).out.splitlines()
    assert [line for line in noted if "names the script" in line] == [f"Warning: {x}" for x in said]


def test_no_sandbox_at_all_counts_where_programs_run(tmp_path: Path) -> None:
    text, programs = (sandbox_row(tmp_path, name) for name in ("searchqa", "spreadsheetbench"))
    missing = "bubblewrap (`bwrap`) is not installed"
    assert (text["state"], text["what"]) == ("ok", f"none, which nothing here needs: {missing}")
    assert programs["state"] == "warning" and programs["what"].endswith(missing)
    assert programs["fix"].endswith("accept it by `--executor local`")
    asked = sandbox_row(tmp_path, "searchqa", "--set", "run.executor=namespace", code=2)
    assert asked["state"] == "failing" and missing in asked["what"]


def test_a_cache_in_an_object_store_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    s3fs = pytest.importorskip("s3fs")
    s3fs.S3FileSystem.clear_instance_cache()
    shared = ("--set", "run.cache_dir=s3://bucket/searchqa")
    with object_server() as objects:
        for name, value in objects.variables.items():
            monkeypatch.setenv(name, value)
        assert named(doctor("searchqa", *TINY, *shared), "journal")["state"] == "ok"
        objects.refusing = True
        row = only(doctor("searchqa", *TINY, *shared, code=3))
    s3fs.S3FileSystem.clear_instance_cache()
    assert row["what"] == "s3://bucket/searchqa cannot be written: no"
    assert row["fix"] == "correct its address, or the credentials in your environment"


def test_what_is_inferred_from_tasks_is_named_by_setting() -> None:
    rows = [f"What is item {n}?,{'yes' if n % 2 else 'no'}" for n in range(24)]
    Path("t.csv").write_text("\n".join(["body,queue", *rows]), encoding="utf-8")
    simulated = ("--set", "model.backend=simulated")
    row = named(doctor("t.csv", "--answer-key", "queue", *simulated), "configuration")
    assert row["what"].endswith(
        "inferred from the tasks: scorer, prompt_key, split_ratio, seed_skill"
    )
