"""`skillopt webui` as a command: where it listens, what it asks for, and what it leaves."""

from __future__ import annotations

import re
import signal
import socket
import stat
import sys
import urllib.error
import urllib.request
from ipaddress import ip_address
from pathlib import Path
from urllib.request import HTTPCookieProcessor, OpenerDirector, build_opener

import pytest
from command_line import refused, skillopt
from web_rig import TOKEN, token_in, until, webui

from skillopt_cli.web.app import KINDS, PICTURES
from skillopt_cli.web.context import ASSETS
from skillopt_cli.web.security import Access
from skillopt_cli.web.server import links
from skillopt_cli.web.token import VARIABLE

FOLDER = ".local/state/skillopt"
NOTE = r"a link works once; (\S+) opens your browser any time\n"


def root() -> Path:
    return Path.cwd() / "outputs"


def status(url: str, by: OpenerDirector | None = None, token: str = "") -> int:
    asked = urllib.request.Request(url, headers={"Authorization": f"Bearer {token}"})
    try:
        with (by or build_opener()).open(asked) as answer:
            found: int = answer.status
            return found
    except urllib.error.HTTPError as error:
        with error:
            return error.code


def login_files(home: Path) -> list[Path]:
    return sorted((home / FOLDER).glob("*"))


def test_its_link_opens_one_browser_and_a_signal_ends_it() -> None:
    with webui(root()) as page:
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/\?code=[\w-]{32}", page.link)
        assert status(page.address) == 401
        mine, other = (build_opener(HTTPCookieProcessor()) for _ in range(2))
        assert status(page.link, mine) == 200
        assert status(page.address, mine) == 200
        assert (status(page.link, other), status(page.address, other)) == (401, 401)
        assert page.process.stdout is not None
        again = re.fullmatch(
            rf"another browser opens ({page.address}/\?code=[\w-]{{32}})\n",
            page.process.stdout.readline(),
        )
        assert again and again[1] != page.link
        assert status(again[1], other) == 200
        # A stream that is open does not keep it from stopping.
        with mine.open(f"{page.address}/live") as stream:
            assert stream.readline() == b"event: changed\n"
            said, err = page.end()
        assert said.count("code=") == 1 and re.fullmatch(NOTE, err)


@pytest.mark.parametrize(
    ("sign", "code"),
    [
        (signal.SIGINT, 0),
        pytest.param(signal.SIGTERM, -signal.SIGTERM, marks=pytest.mark.slow),
        pytest.param(signal.SIGHUP, -signal.SIGHUP, marks=pytest.mark.slow),
    ],
)
def test_a_signal_is_its_end_and_leaves_no_file(sign: signal.Signals, code: int) -> None:
    if signal.getsignal(sign) is signal.SIG_IGN:
        pytest.skip(f"these tests were started with {sign.name} ignored")
    with webui(root()) as page:
        (login,) = login_files(Path.cwd())
        _, err = page.end(sign)
        noted = re.fullmatch(NOTE, err)
    assert noted and noted[1] == str(login)
    assert page.process.returncode == code
    assert login_files(Path.cwd()) == []


@pytest.mark.slow
def test_the_next_one_removes_what_a_killed_one_left() -> None:
    with webui(root()) as killed:
        killed.end(signal.SIGKILL)
    (left,) = login_files(Path.cwd())
    with webui(root()) as other, webui(root()):
        found = login_files(Path.cwd())
        assert len(found) == 2 and left not in found
        assert any(str(other.process.pid) in path.name for path in found)


def modes(path: Path) -> tuple[int, int]:
    """Rights of a file and of its folder."""
    return stat.S_IMODE(path.stat().st_mode), stat.S_IMODE(path.parent.stat().st_mode)


def test_the_token_is_kept_for_its_owner_alone_and_printed_nowhere(tmp_path: Path) -> None:
    state = tmp_path / "state/skillopt"
    state.mkdir(mode=0o755, parents=True)
    with webui(root(), XDG_STATE_HOME=str(state.parent)) as page:
        (login,) = state.iterdir()
        assert modes(login) == (0o600, 0o700)
        token = token_in(login)
        assert len(token) >= 32
        assert status(page.address, token=token) == 200
        for process in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                assert token.encode() not in process.read_bytes()
            except (FileNotFoundError, ProcessLookupError):
                continue
        said, err = page.end()
        assert token not in page.link + said + err


@pytest.mark.parametrize("kind", ["file", "link"])
def test_a_folder_that_is_no_folder_of_the_user_is_refused(tmp_path: Path, kind: str) -> None:
    place = tmp_path / "state/skillopt"
    place.parent.mkdir()
    if kind == "link":
        (tmp_path / "elsewhere").mkdir()
        place.symlink_to(tmp_path / "elsewhere")
    else:
        place.write_text("")
    ended = refused(2, "webui", "--port", "0", XDG_STATE_HOME=str(place.parent))
    assert f"{place}: it is not a folder of yours" in ended.error
    assert "XDG_STATE_HOME" in ended.hint


def test_a_token_of_ones_own(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("from-a-private-file\n")
    file.chmod(0o600)
    with (
        webui(root(), **{VARIABLE: TOKEN}) as one,
        webui(root(), "--token-file", str(file), **{VARIABLE: TOKEN}) as other,
    ):
        pages = [(one, TOKEN, 200), (one, "from-a-private-file", 401)]
        pages += [(other, TOKEN, 401), (other, "from-a-private-file", 200)]
        for page, token, expected in pages:
            assert status(page.address, token=token) == expected
        for page in (one, other):
            assert all(token not in "".join(page.end()) for token in (TOKEN, "private-file"))


def test_a_variable_of_the_folder_is_not_taken_for_the_token() -> None:
    Path(".env").write_text(f"{VARIABLE}={TOKEN}\n", encoding="utf-8")
    with webui(root()) as page:
        assert status(page.address, token=TOKEN) == 401


@pytest.mark.parametrize("token", ["sesame", "x" * 15, "a b c d e f g h i j", "schlüssel" * 3])
def test_what_is_no_token_is_refused_and_not_repeated(token: str, tmp_path: Path) -> None:
    ended = refused(2, "webui", **{VARIABLE: token})
    assert f"the variable {VARIABLE} holds no token" in ended.error
    assert token not in ended.err
    file = tmp_path / "token"
    file.write_text(token, encoding="utf-8")
    file.chmod(0o600)
    ended = refused(2, "webui", "--token-file", file, **{VARIABLE: TOKEN})
    assert f"{file} holds no token" in ended.error
    assert token not in ended.err


def test_a_token_file_must_be_private_and_a_file(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text(TOKEN)
    for mode in (0o644, 0o640, 0o604, 0o620):
        file.chmod(mode)
        ended = refused(2, "webui", "--token-file", file)
        assert "can be read by others" in ended.error and f"chmod 600 {file}" in ended.hint
    for path in (tmp_path / "nowhere", tmp_path, Path("/dev/zero")):
        ended = refused(2, "webui", "--token-file", path)
        assert f"cannot read the token file {path}" in ended.error


def test_the_token_is_no_argument() -> None:
    ended = refused(2, "webui", "--token", TOKEN)
    assert "--token" in ended.error and TOKEN not in ended.err
    assert "SKILLOPT_WEBUI_TOKEN" in ended.hint and "--token-file" in ended.hint
    assert "--no-token" not in ended.hint
    assert "--token " not in skillopt("webui", "--help").out.replace("--token-file", "")


def test_without_a_token_it_says_what_that_means() -> None:
    with webui(root(), "--no-token", **{VARIABLE: TOKEN}) as page:
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+", page.link)
        assert status(page.link) == 200
        assert login_files(Path.cwd()) == []
        _, err = page.end()
    assert err.startswith("no token: everyone who uses this machine can use the page as you")
    assert "this machine alone" in refused(2, "webui", "--no-token", "--host", "0.0.0.0").error
    ended = refused(2, "webui", "--no-token", "--token-file", "x")
    assert "exclude each other" in ended.error


def browser_that_notes(path: Path) -> dict[str, str]:
    """The variable that makes a script the browser, which notes how it was called."""
    script = path / "browser"
    script.write_text(f'#!{sys.executable}\nimport sys\nopen("called", "a").write(sys.argv[1])\n')
    script.chmod(0o755)
    return {"BROWSER": f"{script} %s"}


@pytest.mark.slow
def test_a_browser_is_opened_without_the_token_in_its_arguments(tmp_path: Path) -> None:
    called = tmp_path / "called"
    with webui(root(), "--open", **browser_that_notes(tmp_path)) as page:
        (login,) = login_files(Path.cwd())
        until(lambda: called.exists() and called.read_text() == login.as_uri())
        assert f'action="{page.address}"' in login.read_text()
    called.unlink()
    with webui(root(), "--open", "--no-token", **browser_that_notes(tmp_path)) as page:
        until(lambda: called.exists() and called.read_text() == page.address)
    with webui(root(), "--open", BROWSER=str(tmp_path / "gone"), PATH="") as page:
        assert page.process.stderr is not None
        page.process.stderr.readline()
        assert "open the link yourself" in page.process.stderr.readline()


def family_of(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET


def has_family(host: str) -> bool:
    try:
        with socket.socket(family_of(host)) as tried:
            tried.bind((host, 0))
    except OSError:
        return False
    return True


@pytest.mark.slow
@pytest.mark.parametrize(("host", "here"), [("0.0.0.0", "127.0.0.1"), ("::", "[::1]")])
def test_beyond_this_machine_it_prints_links_that_open(host: str, here: str) -> None:
    if not has_family(host):
        pytest.skip(f"no address of the kind of {host} here")
    with webui(root(), "--host", host) as page:
        found = re.fullmatch(rf"http://{re.escape(here)}:\d+/\?code=([\w-]{{32}})", page.link)
        assert found, page.link
        browser = build_opener(HTTPCookieProcessor())
        assert status(page.link, browser) == 200
        assert status(page.address, browser) == 200
        assert status(page.address) == 401
        elsewhere, _ = page.end()
    codes = []
    for line in elsewhere.splitlines():
        shown = re.fullmatch(
            r"(?:from other machines|another browser opens) http://(\S+):\d+/\?code=([\w-]+)", line
        )
        assert shown, line
        at = ip_address(shown[1].strip("[]"))
        assert not at.is_unspecified and at.is_loopback == line.startswith("another")
        codes.append(shown[2])
    assert len(set(codes)) <= 2 and codes[-1] != found[1]


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
    assert links(Access("", "::1", 80), "::1") == ("http://[::1]:80",)


def test_pages_and_files_of_the_page_are_part_of_the_package() -> None:
    for name in set(KINDS) - {PICTURES}:
        assert Path(str(ASSETS.joinpath(name))).is_file()
