"""Planning: what a training will take and cost, before anything is spent."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from skillopt_cli.backends.chat_agent import render
from skillopt_cli.compose.build import (
    caps_of,
    check_abilities,
    open_benchmark,
    run_prompts,
    train_plan,
)
from skillopt_cli.compose.endpoints import effective, own_settings, roles_of
from skillopt_cli.compose.housing import passing_executor
from skillopt_cli.compose.roles import (
    called,
    declared_offers,
    role_price,
    role_settings,
    role_spec,
)
from skillopt_cli.compose.skill_init import training_seed
from skillopt_cli.compose.tasks import splits_in_use
from skillopt_cli.config import RunConfig
from skillopt_cli.core.caps import Cap, Use
from skillopt_cli.core.errors import UsageError
from skillopt_cli.core.events import Role
from skillopt_cli.core.ledger import Ledger
from skillopt_cli.core.plan import TrainPlan
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.core.task import Split, Task, Usage
from skillopt_cli.engine.forecast import Amount, Assumptions, Course, Forecast, Range
from skillopt_cli.engine.forecaster import Forecaster
from skillopt_cli.engine.spending import first_work
from skillopt_cli.ports import BackendSpec, Benchmark
from skillopt_cli.stages.material import skill_text

CHARS_PER_TOKEN = 4
ANSWER = Range(10, 100, 1000)
"""Tokens of a target's answer."""
PROPOSAL = Range(100, 500, 2000)
"""Tokens of an optimizer's answer."""
VERDICT = Range(1, 5, 100)
"""Tokens of a judge's answer, and of its rubric beside what it judges."""
RUBRIC = Range.of(200)
GROWTH = Range(0, 500, 2000)
"""Tokens a skill gains in training."""
_WRITTEN: Mapping[Role, Range] = {"optimizer": PROPOSAL, "target": ANSWER, "judge": VERDICT}
_LOOKED_AT = 50
NOTHING_USED = Use(Ledger())


@dataclass(frozen=True, slots=True)
class Cost:
    """What one call of a role takes.

    Attributes:
        usd: None where the price of the model is not known.
    """

    prompt: Range
    completion: Range
    usd: Range | None

    @property
    def tokens(self) -> Range:
        """Read and written."""
        return self.prompt + self.completion


@dataclass(frozen=True, slots=True)
class Bought:
    """How many of the steps a cap pays for, the final test not counted where that is kept back."""

    cap: Cap
    steps: int
    tested: bool


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run has come.

    Attributes:
        done: steps recorded for good; None before the baseline is.
        used: what its processes used.
    """

    done: int | None = None
    used: Use = NOTHING_USED


@dataclass(frozen=True, slots=True)
class Planned:
    """A training, planned.

    Attributes:
        costs: of one call, by role; the optimizer is absent where it is no model.
        names: of the models, by role.
        plan: of the whole run, steps already done included.
        used: what earlier processes of the run used.
        by_program: whether a program attempts the tasks, with any number of calls each.
    """

    config: RunConfig
    sizes: Mapping[Split, int]
    assumed: Assumptions
    forecast: Forecast
    costs: Mapping[Role, Cost]
    names: Mapping[Role, str]
    plan: TrainPlan
    used: Use = NOTHING_USED
    by_program: bool = False

    @property
    def unpriced(self) -> list[Role]:
        """Roles whose model has no known price."""
        return [role for role, cost in self.costs.items() if cost.usd is None]

    @property
    def tokens(self) -> Range:
        """Of the whole training."""
        return self._spent(self.forecast.total, lambda cost: cost.tokens)

    @property
    def usd(self) -> Range | None:
        """Of the whole training; None where a price is not known."""
        if self.unpriced:
            return None
        return self._spent(self.forecast.total, lambda cost: cost.usd or Range())

    def bought(self) -> list[Bought]:
        """What each cap pays for, by the likely numbers."""
        return [self._bought(cap) for cap in caps_of(self.config)]

    def _bought(self, cap: Cap) -> Bought:
        forecast = self.forecast
        begin = self._of(cap, forecast.baseline)
        if cap.name == "max_calls":
            begin += forecast.models
        # As the run does it: best and final skill are taken for two texts.
        test = self._of(cap, _at_most(forecast.test))
        tested = self._of(cap, self._first()) + test <= cap.limit
        spent = self.used.of(cap.name) + begin
        room = cap.limit - (test if tested else 0.0)
        steps = 0
        for step in forecast.steps:
            spent += self._of(cap, step)
            if spent > room:
                break
            steps += 1
        return Bought(cap, steps, tested)

    def _first(self) -> Amount:
        """What must be paid for beside the test, else nothing is kept back for it."""
        work = first_work(self.config, self.plan, self.sizes["selection"], asks=self._asks)
        steps = self.forecast.steps[:1]
        seconds = sum((step.seconds for step in steps), self.forecast.baseline.seconds)
        return Amount(Range.of(work.rollouts), {"reflect": Range.of(work.asks)}, seconds)

    @property
    def _asks(self) -> bool:
        return "optimizer" in self.costs

    def _of(self, cap: Cap, amount: Amount) -> float:
        """What work takes of a cap."""
        match cap.name:
            case "max_rollouts":
                return amount.rollouts.point
            case "max_calls":
                return (amount.rollouts * self.forecast.course.calls + amount.asked).point
            case "max_minutes":
                return amount.seconds.point / 60
            case "max_tokens":
                return self._spent(amount, lambda cost: cost.tokens).point
        return self._spent(amount, lambda cost: cost.usd or Range()).point

    def _spent(self, amount: Amount, each: Callable[[Cost], Range]) -> Range:
        course = self.forecast.course
        spent = amount.rollouts * course.turns * each(self.costs["target"])
        if "judge" in self.costs:
            spent += amount.rollouts * course.verdicts * each(self.costs["judge"])
        if self._asks:
            spent += amount.asked * each(self.costs["optimizer"])
        return spent


def _at_most(amount: Amount) -> Amount:
    return Amount(Range.of(amount.rollouts.high), seconds=Range.of(amount.seconds.high))


def planned(
    config: RunConfig,
    environment: Mapping[str, str],
    assumed: Assumptions | None = None,
    progress: Progress | None = None,
) -> Planned:
    """The plan of a training, or of what is left of it. No key is needed.

    Raises:
        ConfigError, DataError: the run could not be made.
        UsageError: the best step assumed is beyond the last one.
    """
    assumed, progress = assumed or Assumptions(), progress or Progress()
    benchmark = open_benchmark(config)
    splits = splits_in_use(config, benchmark)
    sizes = {split: len(tasks) for split, tasks in splits.items()}
    specs = {role: role_spec(config, role) for role in roles_of(config)}
    _check_target(config, environment, benchmark, specs["target"])
    instructions = run_prompts(config).values()
    asks = specs["optimizer"].open is not None
    by_program = specs["target"].runs_programs
    plan = train_plan(config, benchmark)
    if (assumed.best_step or 0) > plan.total:
        raise UsageError(
            f"--best-step {assumed.best_step} is beyond the last step, {plan.total}",
            "give a step of the plan, or 0 where none makes a better skill",
        )
    skill = training_seed(config, benchmark.seed_skill)
    seeded = bool(skill.sent.text)
    course = _course(config, benchmark, splits["train"])
    forecast = Forecaster(
        config, plan, sizes, asks, assumed, seeded, progress.done, course
    ).forecast()
    asked = _asked(benchmark, splits["train"], skill)
    # In each of several turns, all that was said before is read again.
    said = Range.of(0) if course.turns.high == 1 else course.turns * ANSWER * 0.5
    prompts: dict[Role, Range] = {"target": asked + GROWTH + said}
    if "judge" in specs:
        prompts["judge"] = asked + ANSWER + RUBRIC
    if asks:
        size = config.gradient.minibatch_size
        prompts["optimizer"] = _analyst(instructions, skill) + (asked + ANSWER) * size + GROWTH
    costs: dict[Role, Cost] = {}
    names: dict[Role, str] = {}
    for role in (role for role in specs if role in prompts):
        prompt = prompts[role]
        variable = str(effective(config, role, "api_key_env") or "")
        settings = role_settings(config, role, {variable: "", **environment})
        completion = _WRITTEN[role]
        price = role_price(config, specs[role], settings)
        costs[role] = Cost(prompt, completion, _usd(price, prompt, completion))
        names[role] = settings.model
    return Planned(config, sizes, assumed, forecast, costs, names, plan, progress.used, by_program)


def _check_target(
    config: RunConfig, environment: Mapping[str, str], benchmark: Benchmark, spec: BackendSpec
) -> None:
    """Refuse a target that a run would refuse before its first call, as far as that is declared.

    Raises:
        ConfigError: it cannot take the benchmark's tasks, or its programs cannot run here.
    """
    name = called(spec.name, own_settings(config, "target").name or spec.name)
    check_abilities(benchmark, name, declared_offers(spec))
    with passing_executor(config, environment, spec):
        pass


def _asked(benchmark: Benchmark, tasks: tuple[Task, ...], skill: SkillDocument) -> Range:
    """Tokens a target reads of a task: the least, the mean and the most of the first tasks."""
    lengths = [
        sum(len(message.content) for message in render(benchmark.brief(task), skill))
        for task in tasks[:_LOOKED_AT]
    ]
    mean = sum(lengths) / len(lengths)
    return Range(min(lengths), mean, max(lengths)) * (1 / CHARS_PER_TOKEN)


def _course(config: RunConfig, benchmark: Benchmark, tasks: tuple[Task, ...]) -> Course:
    """How attempts go: half of the turns that are allowed, unless nobody knows better."""
    most = [benchmark.brief(task).max_turns for task in tasks[:_LOOKED_AT]]
    mean = sum(most) / len(most)
    turns = Range(1.0, (1 + mean) / 2, float(max(most)))
    if "judge" not in roles_of(config):
        return Course(turns)
    share = config.evaluation.judge_twice
    # An answer that is plainly right or wrong needs no judge; a verdict may have to be asked again.
    return Course(turns, Range(0.0, (1 + share) / 2, 4.0 if share else 2.0))


def _analyst(prompts: Collection[str], skill: SkillDocument) -> Range:
    """Tokens an optimizer reads beside what it is to look at."""
    mean = sum(map(len, prompts)) / len(prompts)
    shown = skill.text if skill.folder is None else skill_text(skill)
    return Range.of((mean + len(shown)) / CHARS_PER_TOKEN)


def _usd(price: Callable[[Usage], float | None], prompt: Range, completion: Range) -> Range | None:
    ends = [
        price(Usage(1, round(read), round(written)))
        for read, written in (
            (prompt.low, completion.low),
            (prompt.point, completion.point),
            (prompt.high, completion.high),
        )
    ]
    low, point, high = ends
    return None if low is None or point is None or high is None else Range(low, point, high)
