"""The files that the page serves: byte for byte those of the command line, as attachments."""

from __future__ import annotations

import io
import re
import shutil
import zipfile
from contextlib import chdir
from pathlib import Path
from urllib.parse import unquote

import pytest
from command_line import TINY, skillopt
from web_rig import client

from skillopt_cli.reports.export.tables import TABLES
from skillopt_cli.web import runs as reader
from skillopt_cli.web.pages import downloads
from skillopt_cli.web.security import HEADERS, Access

RUN = "/runs/folder/p"
TABLE_FILES = [f"{what}.{form}" for what in TABLES for form in downloads.FORMATS]
TRAIN_FILES = [f"{downloads.TRAIN}.{form}" for form in downloads.FORMATS]
FILES = [*TABLE_FILES, *TRAIN_FILES, downloads.STEPS, downloads.SKILL, downloads.REPORT]


def exported(run: Path, file: str, folder: Path) -> bytes:
    """What the command line writes for a file of the page."""
    out = folder / file
    what = file.partition(".")[0]
    if file in (downloads.REPORT, downloads.STEPS):
        ended = skillopt("gate-report", run, "--out", out)
    elif what == downloads.TRAIN:
        ended = skillopt("runs", "export", run, "--split", "train", "--out", out)
    else:
        ended = skillopt("runs", "export", run, "--what", what, "--out", out)
    assert ended.code == 0, ended.err
    return out.read_bytes()


@pytest.mark.parametrize("file", FILES)
def test_a_download_is_what_the_command_line_writes(
    labelled: Path, tmp_path: Path, file: str
) -> None:
    with client(labelled.parent.parent) as asking:
        answer = asking.get(f"{RUN}/export/{file}")
    assert answer.status_code == 200
    assert answer.content == exported(labelled, file, tmp_path)
    assert answer.headers["content-length"] == str(len(answer.content))
    assert f'attachment; filename="p-{file}"' in answer.headers["content-disposition"]
    assert answer.headers["cache-control"] == "no-store"
    assert HEADERS.items() <= {key.title(): v for key, v in answer.headers.items()}.items()


def test_every_link_of_the_page_leads_to_a_file(labelled: Path, trained: Path) -> None:
    for root, run, labels in (
        (labelled.parent.parent, RUN, True),
        (trained, "/runs/searchqa/a", False),
    ):
        with client(root) as asking:
            assert f'href="{run}/tasks#downloads"' in asking.get(run).text
            links = re.findall(r'href="([^"]+)" download', asking.get(f"{run}/tasks").text)
            assert len(links) == (len(TABLE_FILES) if labels else 4) + 5
            for link in links:
                assert asking.get(link).status_code == 200, link


def test_a_skill_folder_is_an_archive(tmp_path: Path) -> None:
    skill = tmp_path / "skill"
    (skill / "scripts").mkdir(parents=True)
    (skill / "SKILL.md").write_text("# Rules\n\n- Be brief.\n", encoding="utf-8")
    (skill / "scripts/count.py").write_text("print(1)\n", encoding="utf-8")
    (skill / "scripts/count.py").chmod(0o755)
    with chdir(tmp_path):
        small = ("--epochs", "1", "--set", "train.train_size=4")
        ended = skillopt("train", "searchqa", *TINY, *small, "--skill-init", skill, "--run-id", "f")
        assert ended.code == 0, ended.err
        run = Path("outputs/searchqa/f")
        for out in ("best", "best.zip"):
            assert skillopt("runs", "export", run, "--what", "skill", "--out", out).code == 0
    with client(tmp_path / "outputs") as asking:
        answer = asking.get("/runs/searchqa/f/export/skill.zip")
        assert asking.get("/runs/searchqa/f/export/skill.md").status_code == 404
    assert zipfile.is_zipfile(tmp_path / "best.zip")
    for archive in (io.BytesIO(answer.content), tmp_path / "best.zip"):
        check_archive(archive, tmp_path)


def check_archive(archive: io.BytesIO | Path, tmp_path: Path) -> None:
    """Check that an archive holds the files of the exported skill."""
    with zipfile.ZipFile(archive) as packed:
        files = {one.filename: one for one in packed.infolist() if not one.is_dir()}
        expected = {
            path.relative_to(tmp_path / "best").as_posix(): path
            for path in (tmp_path / "best").rglob("*")
            if path.is_file()
        }
        assert files.keys() == expected.keys() > {"SKILL.md"}
        for name, path in expected.items():
            assert packed.read(name) == path.read_bytes()
        assert files["scripts/count.py"].external_attr >> 16 & 0o100


@pytest.mark.parametrize("file", ["", "tasks", "tasks.parquet", "x.csv", "..%2fconfig.yaml"])
def test_what_is_no_file_of_a_run_is_not_there(labelled: Path, file: str) -> None:
    with client(labelled.parent.parent) as asking:
        assert asking.get(f"{RUN}/export/{file}").status_code == 404


def test_a_run_without_labels_has_no_tables_of_them(trained: Path) -> None:
    with client(trained) as asking:
        answer = asking.get("/runs/searchqa/a/export/labels.csv")
    assert answer.status_code == 422
    assert "the answers of this run are no labels" in answer.text


@pytest.mark.parametrize("file", FILES)
def test_no_file_is_served_without_the_token(labelled: Path, file: str) -> None:
    with client(labelled.parent.parent, Access("another-token-of-this-test")) as asking:
        answer = asking.get(f"{RUN}/export/{file}")
    assert answer.status_code == 401
    assert "content-disposition" not in answer.headers


def test_results_that_are_too_large_are_left_to_the_command_line(
    labelled: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (reader, downloads):
        monkeypatch.setattr(module, "MOST_RESULTS", 1000)
    with client(labelled.parent.parent) as asking:
        answer = asking.get(f"{RUN}/export/tasks.csv")
        assert answer.status_code == 422
        assert "have more than 1,000 bytes" in answer.text
        assert "skillopt runs export p" in answer.text
        assert asking.get(f"{RUN}/tasks").status_code == 200
        assert asking.get(f"{RUN}/export/{downloads.REPORT}").status_code == 200


def test_a_name_that_is_not_ascii_comes_along(trained: Path, tmp_path: Path) -> None:
    shutil.copytree(trained / "searchqa/a", tmp_path / 'outputs/searchqa/é "x"')
    with client(tmp_path / "outputs") as asking:
        answer = asking.get('/runs/searchqa/é "x"/export/skill.md')
    header = answer.headers["content-disposition"]
    assert 'filename="___x_-skill.md"' in header
    assert unquote(header.partition("filename*=UTF-8''")[2]) == 'é "x"-skill.md'
