"""Rules about labels: counted words, the label set, and a target that learns from them."""

from __future__ import annotations

import itertools
import math
import re
from dataclasses import replace

import pytest
from quiz import SEED, case, layout, toy
from test_rules_training import trained

from skillopt_cli.core.events import EditsChosen, EditsVerified, PatchesProposed
from skillopt_cli.core.labels import Labels
from skillopt_cli.core.state import Lesson
from skillopt_cli.core.task import SPLITS, Split, Task
from skillopt_cli.core.worked_examples import quotes
from skillopt_cli.optimizers.rules.analyst import Notes, analyse_failures, label_edits
from skillopt_cli.optimizers.rules.case import Case
from skillopt_cli.optimizers.rules.label_rules import find_cues, topic
from skillopt_cli.optimizers.rules.rejected_edits import refused
from skillopt_cli.testing import FunctionChat, ToyBenchmark, toy_run

WORDS = {
    "billing": ("invoice", "refund"),
    "login": ("password", "account"),
    "shipping": ("parcel",),
}
LABELS = Labels(tuple(WORDS))
FILLERS = ("Hello, please help me", "Good day, could you look", "I have tried it twice")


def ticket(label: str, number: int) -> str:
    opener, word = FILLERS[number % 3], WORDS[label][number % len(WORDS[label])]
    return f"{opener}: it is number {number} and about the {word}."


def cases(given: str = "The ticket is about it") -> list[Case]:
    made = [
        (f"{label}-{number}", case(given, label, text=ticket(label, number), label=label))
        for label, number in itertools.product(WORDS, range(4))
    ]
    return [replace(one, brief=replace(one.brief, task_id=name)) for name, one in made]


def notes(skill: str = SEED.text, lessons: tuple[Lesson, ...] = ()) -> Notes:
    return Notes(layout(skill), refused(lessons), 1, 4, labels=LABELS, cues=find_cues(cases()))


def sentences(skill: str = SEED.text, lessons: tuple[Lesson, ...] = (), given: str = "It") -> list:
    return list(label_edits(cases(given), notes(skill, lessons)))


def test_words_that_separate_a_label_are_counted_and_words_of_all_labels_are_not() -> None:
    cues = find_cues(cases())
    assert {label: {cue.word for cue in cues[label].words} for label in cues} == {
        label: set(words) for label, words in WORDS.items()
    }
    [parcel] = cues["shipping"].words
    assert (parcel.inside, parcel.outside) == (4, 0)
    assert cues["shipping"].evidence == (
        'of 4 tasks of "shipping" and 8 others, so many have the word: "parcel" 4 and 0'
    )


def test_the_weight_is_the_smoothed_log_odds() -> None:
    [parcel] = find_cues(cases())["shipping"].words
    assert parcel.odds == pytest.approx(math.log(153))  # (4.5 / 0.5) / (0.5 / 8.5)


def test_one_rule_lists_the_labels_and_one_each_gives_its_words() -> None:
    listed, *rules = sentences()
    assert listed.content == (
        "- Answer with one of these labels and nothing else: billing, login, shipping."
    )
    assert listed.support == 12
    assert listed.evidence == "12 of 12 failures gave an answer that is no label"
    assert [rule.content for rule in rules] == [
        '- Label "billing" when the text has "invoice" or "refund".',
        '- Label "login" when the text has "account" or "password".',
        '- Label "shipping" when the text has "parcel".',
    ]
    assert [rule.support for rule in rules] == [4, 4, 4]


def test_every_edit_names_the_tasks_it_is_for() -> None:
    listed, *rules = sentences()
    assert listed.tasks == tuple(case.task for case in cases())
    for label, rule in zip(WORDS, rules, strict=True):
        assert rule.tasks == tuple(f"{label}-{number}" for number in range(4))
    patch = analyse_failures(cases(), notes())
    examples = [edit for edit in patch.edits if "worked example" in edit.content]
    assert examples
    for edit in examples:
        (quoted,) = (each.task for each in cases() if quotes(edit.content, each.task))
        assert set(edit.tasks) == {each.task for each in cases()} - {quoted}


def test_answers_that_are_labels_need_no_list() -> None:
    assert all(edit.content.startswith("- Label") for edit in sentences(given="login"))


def test_a_refused_wording_is_followed_by_the_next_and_then_by_none() -> None:
    first = sentences()
    second = sentences(lessons=(Lesson(1, 9, 9, verdict="reject", rejected=tuple(first)),))
    assert second[-1].content == '- A text with "parcel" belongs to "shipping".'
    both = Lesson(1, 9, 9, verdict="reject", rejected=(*first, *second))
    assert sentences(lessons=(both,)) == []


def test_a_rule_that_does_not_help_is_reworded_in_its_place() -> None:
    held = f'{SEED.text}- Label "shipping" when the text has "parcel" or "box".\n'
    edit = next(edit for edit in sentences(held) if edit.op == "replace")
    assert edit.target == '- Label "shipping" when the text has "parcel" or "box".'
    assert edit.content == '- Label "shipping" when the text has "parcel".'


def test_a_sentence_names_what_it_decides() -> None:
    assert [topic(edit.content[2:]) for edit in sentences()] == [
        "labels",
        'label "billing"',
        'label "login"',
        'label "shipping"',
    ]
    assert topic("Answer what is asked.") == ""


def test_a_label_is_not_read_from_the_text() -> None:
    patch = analyse_failures(cases("parcel"), notes())
    assert not re.search("Copy|stand in the text", " ".join(e.content for e in patch.edits))


def test_examples_show_every_label_before_one_twice() -> None:
    patch = analyse_failures(cases(), notes())
    shown = [edit.content for edit in patch.edits if "worked example" in edit.content]
    assert {text.rpartition(": ")[2] for text in shown[:3]} == set(WORDS)


class Tickets(ToyBenchmark):
    """Tickets of three queues instead of the toy's questions."""

    def __init__(self, shuffled: bool = False) -> None:
        super().__init__({"train": 1, "selection": 1, "test": 1})
        pairs = itertools.cycle(itertools.product(range(12), WORDS))
        self._tasks: dict[Split, tuple[Task, ...]] = {}
        for split in SPLITS:
            taken = [next(pairs) for _ in range(18)]
            given = [label for _, label in taken]
            given = given[::-1] if shuffled else given
            self._tasks[split] = tuple(
                Task(
                    f"{split}-{n}",
                    "ticket",
                    {
                        "context": ticket(label, at),
                        "question": f"{split} {n}?",
                        "answers": [answer],
                    },
                )
                for n, ((at, label), answer) in enumerate(zip(taken, given, strict=True))
            )


def _task(task_id: str, text: str, answer: str) -> Task:
    return Task(task_id, "ticket", {"context": text, "question": task_id, "answers": [answer]})


def follower() -> FunctionChat:
    """A target that follows label rules to the letter, and does not know the labels otherwise."""

    def answer(request) -> str:
        skill, task = (message.content for message in (request.messages[0], request.messages[-1]))
        for label, listed in re.findall(r'- Label "(\w+)" when the text has (.*)\.', skill):
            if any(f"the {word}." in task for word in re.findall(r'"(\w+)"', listed)):
                return label
        return "some queue"

    return FunctionChat(answer)


async def test_a_target_that_follows_rules_learns_the_labels() -> None:
    benchmark = Tickets()
    settings = ("train.batch_size=18", "optimizer.learning_rate=8")
    settings += ("optimizer.worked_examples=false",)
    log, state, before, after = await trained(benchmark, follower(), *settings)
    assert (before, after) == (0.0, 1.0)
    assert '- Label "shipping" when the text has "parcel".' in state.best.skill.text
    assert not any("worked example" in e.content for e in log.of(EditsChosen)[0].chosen)


async def test_label_rules_are_verified_on_the_tasks_of_their_label() -> None:
    settings = ("train.batch_size=18", "gradient.minibatch_size=18", "optimizer.verify=edits")
    settings += ("optimizer.worked_examples=false", "optimizer.learning_rate=8")
    log, _, _, after = await trained(Tickets(), follower(), *settings)
    assert after == 1.0
    labels = {task.id: task.data["answers"][0] for task in Tickets().tasks("train")}
    trials = {t.edit.content: t for t in log.of(EditsVerified)[0].trials}
    (shipping,) = (trial for content, trial in trials.items() if '"shipping"' in content)
    assert {labels[task] for task in shipping.tried} == {"shipping"}
    assert shipping.fixed == shipping.tried
    (listed,) = (trial for content, trial in trials.items() if "one of these" in content)
    assert not listed.passed


async def test_worked_examples_are_marked_and_pass_the_guard() -> None:
    log, *_ = await trained(Tickets(), follower())
    chosen = [edit for event in log.of(EditsChosen) for edit in event.chosen]
    assert any(edit.content.startswith("\n<!-- worked example: train-") for edit in chosen)
    assert log.of(PatchesProposed)


def test_the_label_set_of_the_train_split_reaches_the_run() -> None:
    run = toy_run(toy(Tickets(), follower()))
    assert run.benchmark.expected(run.splits["train"][0]) == ("billing",)
