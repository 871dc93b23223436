"""Planning: what a training will take and cost, before anything is spent."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from skillopt_cli.compose.build import (
    caps_of,
    check_abilities,
    open_benchmark,
    run_prompts,
    train_plan,
)
from skillopt_cli.compose.call_costs import (
    ANSWER,
    GROWTH,
    LOOKED_AT,
    RUBRIC,
    WRITTEN,
    Cost,
    Costs,
    optimizer_reads,
    skill_tokens,
    target_reads,
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
from skillopt_cli.core.task import Split, Task
from skillopt_cli.engine.earlier import Earlier
from skillopt_cli.engine.forecast import Amount, Assumptions, Course, Forecast, Range
from skillopt_cli.engine.forecaster import Forecaster
from skillopt_cli.engine.spending import first_work
from skillopt_cli.ports import BackendSpec, Benchmark

NOTHING_USED = Use(Ledger())


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
        costs: of calls, by role; the optimizer is absent where it is no model.
        plan: of the whole run, steps already done included.
        used: what earlier processes of the run used.
        by_program: whether a program attempts the tasks, with any number of calls each.
        earlier: the run it is to be like, which tells no more than was taken from it.
        skill_tokens: what the seed skill adds to every call.
    """

    config: RunConfig
    sizes: Mapping[Split, int]
    assumed: Assumptions
    forecast: Forecast
    costs: Mapping[Role, Costs]
    plan: TrainPlan
    used: Use = NOTHING_USED
    by_program: bool = False
    earlier: Earlier | None = None
    skill_tokens: int = 0

    @property
    def unpriced(self) -> list[Role]:
        """Roles whose model has no known price."""
        return [role for role, cost in self.costs.items() if cost.unpriced]

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
        attempts, calls = Range.of(work.rollouts), Range.of(work.asks)
        return Amount({"measure": attempts}, {"reflect": calls}, seconds)

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
        course, spent = self.forecast.course, Range()
        for stage, number in amount.attempts.items():
            spent += number * course.turns * each(self.costs["target"].of(stage))
            if "judge" in self.costs:
                spent += number * course.verdicts * each(self.costs["judge"].of(stage))
        if self._asks:
            for stage, number in amount.calls.items():
                spent += number * each(self.costs["optimizer"].of(stage))
        return spent


def _at_most(amount: Amount) -> Amount:
    attempts = {stage: Range.of(number.high) for stage, number in amount.attempts.items()}
    return Amount(attempts, seconds=Range.of(amount.seconds.high))


def planned(
    config: RunConfig,
    environment: Mapping[str, str],
    assumed: Assumptions | None = None,
    progress: Progress | None = None,
    earlier: Earlier | None = None,
) -> Planned:
    """The plan of a training, or of what is left of it. No key is needed.

    Args:
        assumed: what is told of it; this wins over what the earlier run measured.
        earlier: a run that it is to be like.

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
    if earlier is not None:
        earlier = replace(earlier, told=earlier.told_of(plan.total).without(assumed))
        course = earlier.course(course)
        # How long calls take is no number of them: it alters the ends as well.
        assumed = assumed.or_else(Assumptions(latency=earlier.told.latency))
    forecaster = Forecaster(config, plan, sizes, asks, assumed, seeded, progress.done, course)
    forecast = forecaster.forecast()
    if earlier is not None:
        # What was so in another run is likely in this one, and no more than that.
        assumed = assumed.or_else(earlier.told)
        forecast = forecast.likely(replace(forecaster, assumed=assumed).forecast())
    asked = target_reads(benchmark, splits["train"], skill)
    # In each of several turns, all that was said before is read again.
    said = Range.of(0) if course.turns.high == 1 else course.turns * ANSWER * 0.5
    prompts: dict[Role, Range] = {"target": asked + GROWTH + said}
    if "judge" in specs:
        prompts["judge"] = asked + ANSWER + RUBRIC
    if asks:
        size = config.gradient.minibatch_size
        prompts["optimizer"] = (
            optimizer_reads(instructions, skill) + (asked + ANSWER) * size + GROWTH
        )
    costs = _costs(config, environment, specs, prompts, earlier)
    tokens = skill_tokens(skill, by_program=by_program)
    return Planned(
        config, sizes, assumed, forecast, costs, plan, progress.used, by_program, earlier, tokens
    )


def _costs(
    config: RunConfig,
    environment: Mapping[str, str],
    specs: Mapping[Role, BackendSpec],
    prompts: Mapping[Role, Range],
    earlier: Earlier | None,
) -> dict[Role, Costs]:
    """What calls take, by role, of those that read something."""
    costs: dict[Role, Costs] = {}
    for role, spec in specs.items():
        if role not in prompts:
            continue
        variable = str(effective(config, role, "api_key_env") or "")
        settings = role_settings(config, role, {variable: "", **environment})
        price = role_price(config, spec, settings)
        guess = Cost.guessed(prompts[role], WRITTEN[role], price)
        measured = earlier.calls(role) if earlier is not None else {}
        name = called(spec.name, settings.model)
        costs[role] = Costs.of_role((name, settings.model), guess, price, measured)
    return costs


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


def _course(config: RunConfig, benchmark: Benchmark, tasks: tuple[Task, ...]) -> Course:
    """How attempts go: half of the turns that are allowed, unless nobody knows better."""
    most = [benchmark.brief(task).max_turns for task in tasks[:LOOKED_AT]]
    mean = sum(most) / len(most)
    turns = Range(1.0, (1 + mean) / 2, float(max(most)))
    if "judge" not in roles_of(config):
        return Course(turns)
    share = config.evaluation.judge_twice
    # An answer that is plainly right or wrong needs no judge; a verdict may have to be asked again.
    return Course(turns, Range(0.0, (1 + share) / 2, 4.0 if share else 2.0))
