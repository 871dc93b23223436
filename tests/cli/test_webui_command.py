"""`skillopt webui` as a command: where it listens, and what it asks for."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from ipaddress import ip_address
from pathlib import Path
from urllib.request import HTTPCookieProcessor, build_opener

import pytest
from command_line import refused

from skillopt_cli.web.addresses import address
from skillopt_cli.web.security import Access
from skillopt_cli.web.serving import KINDS, PICTURES
from skillopt_cli.web.site import ASSETS


@contextmanager
def webui(*flags: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    argv = [sys.executable, "-m", "skillopt_cli", "webui", "--port", "0", *flags]
    process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield process, process.stdout.readline()
    finally:
        process.terminate()
        process.communicate(timeout=30)


def status(url: str) -> int:
    try:
        with urllib.request.urlopen(url) as answer:
            found: int = answer.status
            return found
    except urllib.error.HTTPError as error:
        with error:
            return error.code


def test_it_says_where_it_is_and_stops_on_a_signal() -> None:
    with webui() as (process, said):
        assert re.fullmatch(r"open http://127\.0\.0\.1:\d+  \(Ctrl-C ends it\)\n", said)
        url = said.split()[1]
        assert status(url) == 200
        # A stream that is open does not keep it from stopping.
        with urllib.request.urlopen(f"{url}/live") as stream:
            assert stream.readline() == b"event: changed\n"
            process.terminate()
            _, err = process.communicate(timeout=30)
        assert err == ""


def test_ctrl_c_is_its_end_and_no_error() -> None:
    with webui() as (process, _):
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)
    assert (process.returncode, err) == (0, "")


def family_of(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET


def has_family(host: str) -> bool:
    try:
        with socket.socket(family_of(host)) as tried:
            tried.bind((host, 0))
    except OSError:
        return False
    return True


@pytest.mark.parametrize(("host", "here"), [("0.0.0.0", "127.0.0.1"), ("::", "[::1]")])
def test_beyond_this_machine_it_tells_an_address_that_opens_and_asks_for_a_token(
    host: str, here: str
) -> None:
    if not has_family(host):
        pytest.skip(f"no address of the kind of {host} here")
    with webui("--host", host) as (process, said):
        found = re.match(rf"open (http://{re.escape(here)}:\d+)/\?token=([\w-]{{20,}})  ", said)
        assert found, said
        browser = build_opener(HTTPCookieProcessor())
        with browser.open(said.split()[1]) as page:
            assert page.status == 200
        assert status(found[1]) == 401
        assert status(f"{found[1]}/assets/app.js?token={found[2]}x") == 401
        process.terminate()
        elsewhere, _ = process.communicate(timeout=30)
    for line in elsewhere.splitlines():
        told = re.fullmatch(r"from other machines http://(\S+):\d+/\?token=([\w-]+)", line)
        assert told and told[2] == found[2]
        at = ip_address(told[1].strip("[]"))
        assert not (at.is_unspecified or at.is_loopback)


def test_a_token_of_ones_own_counts_on_this_machine_too() -> None:
    with webui("--token", "sesame") as (_, said):
        url = said.split()[1]
        assert url.endswith("/?token=sesame")
        assert status(url.partition("?")[0]) == 401


def test_a_port_that_is_taken_is_said() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        ended = refused(2, "webui", "--port", port)
    assert f"cannot listen on 127.0.0.1:{port}" in ended.error
    assert "--port" in ended.hint
    assert "cannot listen" in refused(2, "webui", "--host", "no.such.host.invalid").error


def test_without_its_packages_it_says_how_to_get_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("skillopt_cli.cli.webui.find_spec", lambda name: None)
    ended = refused(2, "webui")
    assert "pip install 'skillopt-cli[webui]'" in ended.hint


def test_an_address_of_version_6_is_written_as_browsers_take_it() -> None:
    assert address(Access("::1", 80), "::1") == "http://[::1]:80"


def test_pages_and_files_of_the_page_are_part_of_the_package() -> None:
    for name in set(KINDS) - {PICTURES}:
        assert Path(str(ASSETS.joinpath(name))).is_file()
