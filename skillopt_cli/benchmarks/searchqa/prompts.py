"""Prompts of SearchQA."""

from skillopt_cli.benchmarks.kit.prompts import Prompts

PROMPTS = Prompts(
    role="You answer questions from the passages you are given.",
    answer_format=(
        "Think it over as long as you need. Then end with the short answer alone between tags, "
        "for example: <answer>Mount Everest</answer>"
    ),
    seed_skill="# Question answering\n\nAnswer the question using the context.\n",
)
