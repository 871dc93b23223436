from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
import yaml

from skillopt_cli.backends.agents.skill_files import DESCRIPTION, NAME, place_skill, skill_file
from skillopt_cli.core.companion_files import Companion, Folder, Held
from skillopt_cli.core.errors import FatalBackendError
from skillopt_cli.core.skill import SkillDocument


def front(text: str) -> dict[str, object]:
    return dict(yaml.safe_load(text.split("---\n")[1]))


@pytest.mark.parametrize("text", ["", "  \n\n"])
def test_an_empty_skill_is_no_file(text: str) -> None:
    assert skill_file(SkillDocument(text)) is None


def test_a_text_gets_a_name_and_a_description_and_stays_as_it_is() -> None:
    text = "# Rules\r\n\n- zwei\u2028Zeilen `---`\n---\nmore\n"
    file = skill_file(SkillDocument(text))
    assert file is not None
    assert (file.name, file.body) == (NAME, text)
    assert front(file.text) == {"name": NAME, "description": DESCRIPTION}
    assert file.text.endswith(f"---\n\n{text}")


def test_a_front_matter_of_its_own_is_kept_byte_for_byte() -> None:
    text = "---\nname:   my-skill\ndescription: 'Says: how'\nallowed-tools: [Read]\n---\n# Body\n"
    file = skill_file(SkillDocument(text))
    assert file is not None
    assert (file.name, file.text, file.body) == ("my-skill", text, "# Body\n")


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ("description: Says how", NAME),
        ("name: my-skill", "my-skill"),
        ("name: My Skill!\ndescription: Says how", NAME),
        ("name: ../../etc\ndescription: Says how", NAME),
        ("name: 7\ndescription: Says how", NAME),
        (f"name: {'x' * 65}\ndescription: Says how", NAME),
    ],
)
def test_what_a_front_matter_lacks_is_added(given: str, name: str) -> None:
    file = skill_file(SkillDocument(f"---\n{given}\nlicense: MIT\n---\nBody\n"))
    assert file is not None
    head = front(file.text)
    assert (file.name, head["name"], head["license"]) == (name, name, "MIT")
    assert head["description"] and file.body == "Body\n"


@pytest.mark.parametrize("given", ["{ broken", "- a\n- list", "just words"])
def test_a_front_matter_that_is_none_is_text(given: str) -> None:
    text = f"---\n{given}\n---\nBody\n"
    file = skill_file(SkillDocument(text))
    assert file is not None
    assert (file.name, file.body) == (NAME, text)
    assert front(file.text)["name"] == NAME


def test_it_is_written_byte_for_byte(tmp_path: Path) -> None:
    file = skill_file(SkillDocument("a\r\nb\u2028c"))
    assert file is not None
    place_skill(file, tmp_path / "skills")
    written = (tmp_path / "skills" / NAME / "SKILL.md").read_bytes()
    assert written == file.text.encode()


def test_the_files_beside_it_are_placed_with_it(tmp_path: Path) -> None:
    logo = tmp_path / "logo.png"
    logo.write_bytes(b"\0\xff")
    held = Held(hashlib.sha256(b"\0\xff").hexdigest(), 2, str(logo))
    files = (
        Companion("a/run.sh", "#!/bin/sh\r\necho\n", executable=True),
        Companion("b.md", "\ufeffB"),
        Companion("c/logo.png", held),
    )
    file = skill_file(SkillDocument("# A\n", Folder(files)))
    assert file is not None
    place_skill(file, tmp_path / "skills")
    home = tmp_path / "skills" / NAME
    assert (home / "a/run.sh").read_bytes() == b"#!/bin/sh\r\necho\n"
    assert (home / "a/run.sh").stat().st_mode & 0o777 & 0o111
    assert not (home / "b.md").stat().st_mode & 0o111
    assert (home / "b.md").read_bytes() == "\ufeffB".encode()
    assert (home / "c/logo.png").read_bytes() == b"\0\xff"

    logo.write_bytes(b"other")
    with pytest.raises(FatalBackendError, match="has changed"):
        place_skill(file, tmp_path / "again")
    logo.unlink()
    with pytest.raises(FatalBackendError, match="cannot read"):
        place_skill(file, tmp_path / "gone")
