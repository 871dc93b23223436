"""What of a skill is metadata, and what programs that load skills refuse."""

from __future__ import annotations

import pytest

from skillopt_cli.core.front_matter import limits_exceeded


@pytest.mark.parametrize(
    ("front", "said"),
    [
        ("name: delivery-notes", []),
        (f"name: {'a' * 64}", []),
        ("name: 7-up", []),
        ("description: Read.", []),
        (f"description: {'é' * 1024}", []),
        ("name: null", []),
        ("name: Delivery_Notes", ["its name of 14 characters is `Delivery_Notes`"]),
        ("name: delivery notes", ["its name of 14 characters is `delivery notes`"]),
        ("name: -notes", ["`-notes`"]),
        ("name: notes-", ["`notes-`"]),
        ("name: two--notes", ["`two--notes`"]),
        ("name: ../notes", ["`../notes`"]),
        ("name: ''", ["its name of 0 characters"]),
        ("name: 7", ["its name is no text"]),
        ("name: [a]", ["its name is no text"]),
        (f"name: {'a' * 65}", ["its name of 65 characters"]),
        (f"description: {'a' * 1025}", ["its description has 1,025 characters; it may have 1,024"]),
        ("description: [a, b]", ["its description is no text"]),
        (
            f"name: A\ndescription: {'word ' * 300}",
            ["its name of 1 character ", "its description has 1,499 characters"],
        ),
    ],
)
@pytest.mark.parametrize("above", ["", "\n", "<!-- x -->\n"])
def test_the_limits_of_programs_that_load_skills(front: str, said: list[str], above: str) -> None:
    told = list(limits_exceeded(f"{above}---\n{front}\n---\nBe brief.\n"))
    assert len(told) == len(said)
    assert all(part in whole for part, whole in zip(said, told, strict=True))


def test_a_skill_without_metadata_is_within_all_limits() -> None:
    assert list(limits_exceeded("# A\n")) == list(limits_exceeded("")) == []
