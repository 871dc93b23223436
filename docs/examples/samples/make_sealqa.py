"""Writes the bundled sample of SealQA: `python make_sealqa.py FOLDER`.

Invented towns, and what four sources say of each: one that is right, one that is out of date, one
that is about something else, one that repeats hearsay.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random
from typing import Any

SEED = 2506
SIZES = {"train": 24, "val": 20, "test": 24}
SNIPPET = 110
STARTS = (
    "Hal",
    "Brem",
    "Tor",
    "Vesk",
    "Lind",
    "Orm",
    "Kvar",
    "Stav",
    "Rund",
    "Ekel",
    "Mar",
    "Fjel",
    "Sund",
    "Grim",
    "Ask",
    "Hov",
)
ENDS = (
    "by",
    "stad",
    "heim",
    "vik",
    "dal",
    "mark",
    "berg",
    "nes",
    "lund",
    "fors",
)
FIRST = (
    "Anna",
    "Jonas",
    "Mira",
    "Erik",
    "Selma",
    "Tomas",
    "Ida",
    "Viktor",
    "Nora",
    "Pavel",
    "Greta",
    "Simon",
)
LAST = (
    "Holm",
    "Varga",
    "Lindqvist",
    "Sorel",
    "Brandt",
    "Okafor",
    "Niemi",
    "Castell",
    "Dahl",
    "Moreau",
    "Ruiz",
    "Petrov",
)

Source = dict[str, str]
Made = tuple[str, str, str, str, list[Source]]
"""Question, answer, freshness, type, and the sources in the order a search gives them."""


def source(place: str, title: str, date: str, text: str) -> Source:
    return {"title": title, "text": text, "url": f"https://{place}", "date": date}


def person(rng: Random) -> str:
    return f"{rng.choice(FIRST)} {rng.choice(LAST)}"


def mayor(rng: Random, town: str) -> Made:
    new, old, third, other = rng.sample([f"{a} {b}" for a in FIRST for b in LAST], 4)
    slug, year = town.lower(), rng.randint(2021, 2024)
    sources = [
        source(
            f"encyclo.example/{slug}",
            f"{town} - Encyclo",
            f"{year - 3}",
            f"{town} is a town on the coast. The mayor of {town} is {old}, elected in {year - 5}."
            " The town is known for its herring market, its two lighthouses and a film festival in"
            " the last week of August.",
        ),
        source(
            f"forum.example/{slug}/talk",
            f"Who runs {town}? - forum",
            f"{year + 1}",
            f"I heard that {third} is mayor now, or will be soon. Not sure, a neighbour said so."
            " Does anybody know for certain? The ferry was late again, by the way.",
        ),
        source(
            f"{slug}.example/council/minutes",
            f"Minutes of the town council of {town}",
            f"March {year}",
            f"{new} was sworn in as mayor of {town} on the fourth of March {year}, in the place of"
            f" {old}, who did not stand again. The council then turned to the budget of the harbour"
            " and to the repair of the school roof.",
        ),
        source(
            f"news.example/{slug}-island",
            f"New mayor for {town} Island",
            f"{year + 1}",
            f"{other} takes office as mayor of {town} Island, which is a municipality of its"
            f" own and must not be confused with the town of {town} across the sound.",
        ),
    ]
    return (f"Who is the mayor of the town of {town}?", new, "fast-changing", "conflict", sources)


def bridge(rng: Random, town: str) -> Made:
    opened = rng.randint(1931, 1972)
    begun, foot = opened - rng.randint(2, 5), opened + rng.randint(6, 20)
    slug = town.lower()
    sources = [
        source(
            f"wander.example/{slug}-bridge",
            f"The ten loveliest bridges: {town}",
            "2019",
            f"The {town} Bridge dates from {begun}, as every guide will tell you. Come in the"
            " evening, when the lamps are lit, and bring a coat.",
        ),
        source(
            f"roads.example/register/{slug}",
            f"Register of bridges: {town}",
            "2008",
            f"Work on the {town} Bridge began in {begun} and was held up by floods. The {town}"
            f" Bridge was opened to traffic in {opened}. Length 412 metres, steel, two lanes.",
        ),
        source(
            f"paths.example/{slug}",
            f"{town} Footbridge",
            "2021",
            f"The {town} Footbridge, a few steps down the river from the old road bridge, was"
            f" opened in {foot}. It is closed to cars.",
        ),
        source(
            f"quiz.example/{slug}",
            "Pub quiz, round three",
            "2022",
            f"When did the {town} Bridge open? Most teams wrote {begun}, and the quizmaster gave"
            " the point, after some shouting.",
        ),
    ]
    question = f"In which year was the {town} Bridge opened to traffic?"
    return (question, str(opened), "never-changing", "misleading", sources)


def record(rng: Random, town: str) -> Made:
    old, gap = rng.randint(150, 190), rng.randint(3, 9)
    new, year, slug = old - gap, rng.randint(2018, 2024), town.lower()
    sources = [
        source(
            f"running.example/{slug}",
            f"{town} hill race: facts",
            f"{year - 4}",
            f"The record of the {town} hill race is {old} minutes, set by {person(rng)} in"
            f" {year - 7}. The course climbs to the old quarry and back.",
        ),
        source(
            f"{slug}hillrace.example/results/{year}",
            f"{town} hill race, results of {year}",
            f"{year}",
            f"{person(rng)} won in {new} minutes, which is the record of the {town} hill race and"
            f" {gap} minutes faster than the one before. It rained from the quarry on.",
        ),
        source(
            f"cycling.example/{slug}",
            f"{town} hill climb for bicycles",
            f"{year + 1}",
            f"The bicycle climb at {town} has a record of {old - 60} minutes. It shares the road"
            " with the runners' race and nothing else.",
        ),
        source(
            f"chat.example/{slug}",
            "Fast times",
            f"{year + 1}",
            f"Somebody told me of {new - 10} minutes at {town} in training, without a watch that"
            " anyone could check. Do not count on it.",
        ),
    ]
    question = f"How many minutes is the record of the {town} hill race for runners?"
    return (question, str(new), "slow-changing", "outdated", sources)


def museum(rng: Random, town: str) -> Made:
    before, lost = rng.randint(1200, 4800), rng.randint(110, 480)
    year, slug = rng.randint(2014, 2021), town.lower()
    sources = [
        source(
            f"museums.example/{slug}",
            f"Clock museum of {town}",
            f"{year - 2}",
            f"The clock museum of {town} holds {before} clocks, among them a tower clock of wood"
            " and a watch the size of a pea.",
        ),
        source(
            f"gazette.example/{slug}/{year}",
            f"Flood in {town}",
            f"{year}",
            f"Water stood in the cellar of the clock museum for two days. Thousands of clocks may"
            f" be lost, said {person(rng)} of the fire brigade; nobody has counted yet.",
        ),
        source(
            f"clocks-{slug}.example/report",
            f"Clock museum of {town}: report of {year + 1}",
            f"{year + 1}",
            f"After the flood the museum counted anew: of its {before} clocks {lost} could not be"
            f" saved. The clock museum of {town} now holds {before - lost} clocks.",
        ),
        source(
            f"toys.example/{slug}",
            f"Toy museum of {town}",
            f"{year + 2}",
            f"The toy museum of {town} holds {before + lost} toys, some of which tick.",
        ),
    ]
    question = f"How many clocks does the clock museum of {town} hold after the flood?"
    return (question, str(before - lost), "slow-changing", "outdated", sources)


TOPICS: Mapping[str, Callable[[Random, str], Made]] = {
    "politics": mayor,
    "engineering": bridge,
    "sports": record,
    "culture": museum,
}


def item(rng: Random, name: str, topic: str, made: Made) -> dict[str, Any]:
    """A task; some of the sources are left to be searched for."""
    question, answer, freshness, kind, sources = made
    shown = [s for s in sources if rng.random() > 0.2]
    return {
        "question_id": name,
        "question": question,
        "answer": answer,
        "topic": topic,
        "freshness": freshness,
        "question_types": [kind],
        "urls": [],
        "search_results": [
            {
                "title": s["title"],
                "url": s["url"],
                "date": s["date"],
                "snippet": s["text"][:SNIPPET].rsplit(" ", 1)[0] + " ...",
            }
            for s in shown
        ],
        "documents": sources,
    }


def make(folder: Path) -> None:
    """Write train|val|test/items.json."""
    rng = Random(SEED)
    towns = [start + end for start in STARTS for end in ENDS]
    rng.shuffle(towns)
    for split, size in SIZES.items():
        lines = []
        for number in range(size):
            topic = list(TOPICS)[number % len(TOPICS)]
            made = TOPICS[topic](rng, towns.pop())
            lines.append(json.dumps(item(rng, f"{split}-{number + 1:02d}", topic, made)))
        path = folder / split / "items.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("[\n" + ",\n".join(lines) + "\n]\n", encoding="utf-8")


if __name__ == "__main__":
    make(Path(sys.argv[1]))
