"""Each detector fires on what it is named for, and none on a right answer."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from quiz import TEXT, case

from skillopt_cli.optimizers.rules.detectors import DETECTORS, patterns
from skillopt_cli.optimizers.rules.rulebook import BY_PATTERN

SENTENCE = "The mill was built by Ada Lum in Brenna."

SHOWN = [
    ("empty", "", ["Ada Lum"]),
    ("sentence", SENTENCE, ["Ada Lum"]),
    ("fragment", "Ada Lum", [SENTENCE]),
    ("opening", "In 1932", ["1932"]),
    ("opening", "It is from the mill", ["mill"]),
    ("place_added", "Brenna, Norway", ["Brenna"]),
    ("unit_added", "27 metres", ["27"]),
    ("unit_added", "four floors", ["four"]),
    ("unit_added", "4 floors", ["four", "4"]),
    ("date_for_year", "May 1932", ["1932"]),
    ("part_of_name", "Lum", ["Ada Lum"]),
    ("digits_for_words", "4", ["four"]),
    ("words_for_digits", "four", ["4"]),
    ("casing", "blue Corn", ["blue corn"]),
    ("punctuation", "Brenna.", ["Brenna"]),
    ("article", "the Old Mill", ["Old Mill"]),
    ("too_long", "blue corn and rye", ["blue corn"]),
    ("other_year", "1950", ["1932"]),
    ("other_year", "In 1950.", ["1932"]),
    ("other_number", "27", ["four"]),
    ("other_name", "Tom Rask", ["Ada Lum"]),
    ("other_words", "rye", ["blue corn"]),
    ("other_words", "Rye.", ["blue corn"]),
    ("other_type", "Ada Lum", ["1932"]),
    ("outside", "Bob Ray", ["Ada Lum"]),
]


@pytest.mark.parametrize(("pattern", "answer", "wanted"), SHOWN)
def test_a_detector_sees_its_pattern(pattern, answer, wanted):
    assert pattern in patterns(case(answer, *wanted))


@pytest.mark.parametrize(
    ("answer", "wanted", "absent"),
    [
        ("In 1932", "1932", {"other_year", "outside", "date_for_year", "too_long"}),
        ("the Old Mill", "Old Mill", {"opening", "too_long"}),
        ("4", "four", {"other_number", "outside"}),
        ("Tom Rask", "Ada Lum", {"outside", "part_of_name"}),
        ("27 metres", "27", {"opening", "date_for_year", "too_long", "other_type"}),
        ("Ada Lum, 1932", "Ada Lum", {"place_added"}),
        (SENTENCE, "It was Ada Lum from Brenna who built it.", {"sentence", "fragment"}),
    ],
)
def test_a_detector_keeps_to_its_pattern(answer, wanted, absent):
    assert patterns(case(answer, wanted)).isdisjoint(absent)


def test_tags_are_missed_only_where_they_were_asked_for():
    assert "untagged" in patterns(case("Ada Lum", "Ada Lum", told_of_tags=True))
    assert "untagged" not in patterns(case("Ada Lum", "Ada Lum", told_of_tags=True, tagged=True))
    assert "untagged" not in patterns(case("Ada Lum", "Ada Lum"))


@given(st.sampled_from(TEXT.replace(";", "").replace(",", "").split()), st.integers(1, 4))
def test_a_right_answer_shows_nothing(start, length):
    found = TEXT.replace(";", "").replace(",", "").split()
    at = found.index(start)
    answer = " ".join(found[at : at + length]).strip(".")
    assert patterns(case(answer, answer)) == frozenset()


def test_every_detector_has_a_rule_and_a_test():
    assert set(DETECTORS) == set(BY_PATTERN) == {name for name, *_ in SHOWN} | {"untagged"}


def test_the_nearest_of_several_references_counts():
    assert patterns(case("Lum", "Ada Lum", "Lum")) == {"part_of_name"}
