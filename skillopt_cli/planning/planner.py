"""The plan of a training: its forecast, what its calls cost, and what its caps pay for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from skillopt_cli.benchmarks.kit.data_check import task_warnings
from skillopt_cli.compose.benchmark import (
    check_abilities,
    confirmation_tasks,
    open_benchmark,
    splits_in_use,
)
from skillopt_cli.compose.endpoints import own_settings, roles_of
from skillopt_cli.compose.executors import passing_executor
from skillopt_cli.compose.prompts import run_prompts
from skillopt_cli.compose.request import RunRequest
from skillopt_cli.compose.roles import (
    called,
    declared_offers,
    optimizer_unsuited,
    players_of,
    role_price,
    role_settings,
)
from skillopt_cli.compose.schedule import caps_of, train_plan
from skillopt_cli.compose.seed_skill import files_not_edited, training_seed
from skillopt_cli.config import RunConfig
from skillopt_cli.core.blocks import blocks
from skillopt_cli.core.caps import Cap, Use
from skillopt_cli.core.errors import UsageError
from skillopt_cli.core.events import Role
from skillopt_cli.core.plan import TrainPlan
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.core.task import Split, Task
from skillopt_cli.engine.caps import first_work
from skillopt_cli.planning.call_costs import (
    ANSWER,
    GROWTH,
    LOOKED_AT,
    RUBRIC,
    WRITTEN,
    Cost,
    Costs,
    optimizer_reads,
    skill_chars,
    target_reads,
)
from skillopt_cli.planning.forecast import Amount, Assumptions, AttemptCalls, Forecast, Range
from skillopt_cli.planning.forecaster import Forecaster
from skillopt_cli.planning.plan_from_run import EarlierRun
from skillopt_cli.planning.progress import NOTHING_USED, Progress
from skillopt_cli.ports import BackendSpec, Benchmark, Speed
from skillopt_cli.runlog.remaining import Schedule

CORNERS = (
    Assumptions(accuracy=0.9, unchanged=0.5, measured=0.5, passing=0.5),
    Assumptions(accuracy=0.0, unchanged=0.0, measured=1.0, passing=0.05),
)
"""What is assumed of a training that learns fast, and of one that learns slowly."""


@dataclass(frozen=True, slots=True)
class CapCoverage:
    """How many of the steps a cap pays for, the final test not counted where that is kept back."""

    cap: Cap
    steps: int
    tested: bool


@dataclass(frozen=True, slots=True)
class PlannedRun:
    """What a training takes and costs.

    Attributes:
        costs: of calls, by role; the optimizer is absent where it is no model.
        plan: of the whole run, steps already done included.
        used: what earlier processes of the run used.
        by_program: whether a program attempts the tasks, with any number of calls each.
        earlier: the base of the plan, reduced to what was taken from it.
        skill_chars: characters that the seed skill adds to every call.
        unsuited: why the optimizer cannot learn from the train split; "" where it may.
        unedited: that the optimizer leaves files as they are which it may edit; "" of none.
        data_warnings: what is odd about the references of own tasks.
        likely: calls where the accuracy is not known.
        unsolved: likewise those that are likely if the seed skill solves no train task.
        seconds: what a call takes, by role.
    """

    config: RunConfig
    sizes: Mapping[Split, int]
    assumed: Assumptions
    forecast: Forecast
    costs: Mapping[Role, Costs]
    plan: TrainPlan
    used: Use = NOTHING_USED
    by_program: bool = False
    earlier: EarlierRun | None = None
    skill_chars: int = 0
    unsuited: str = ""
    unedited: str = ""
    data_warnings: tuple[str, ...] = ()
    likely: Range | None = None
    unsolved: float | None = None
    seconds: Mapping[Role, float] = field(default_factory=dict)

    @property
    def schedule(self) -> Schedule:
        """How long its parts likely take, to count down from."""
        forecast, run = self.forecast, self.config.run
        first = forecast.baseline
        waves = first.rollouts.per(min(run.workers, run.max_concurrency)).point
        chances = zip(forecast.steps, forecast.reached, strict=True)
        return Schedule(
            first.seconds.point,
            tuple(step.seconds.point * chance for step, chance in chances),
            (forecast.pruning + forecast.test).seconds.point,
            first.seconds.point / waves if waves else 0.0,
        )

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

    def cap_coverage(self) -> list[CapCoverage]:
        """What each cap pays for, by the likely numbers."""
        return [self._coverage(cap) for cap in caps_of(self.config.run)]

    def _coverage(self, cap: Cap) -> CapCoverage:
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
        return CapCoverage(cap, steps, tested)

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
                return sum(self.forecast.calls_of(amount).values(), Range()).point
            case "max_minutes":
                return amount.seconds.point / 60
            case "max_tokens":
                return self._spent(amount, lambda cost: cost.tokens).point
        return self._spent(amount, lambda cost: cost.usd or Range()).point

    def _spent(self, amount: Amount, each: Callable[[Cost], Range]) -> Range:
        attempt, spent = self.forecast.attempt, Range()
        for stage, number in amount.attempts.items():
            spent += number * attempt.turns * each(self.costs["target"].of(stage))
            if "judge" in self.costs:
                spent += number * attempt.verdicts * each(self.costs["judge"].of(stage))
        if self._asks:
            for stage, number in amount.calls.items():
                spent += number * each(self.costs["optimizer"].of(stage))
        return spent


def _at_most(amount: Amount) -> Amount:
    attempts = {stage: Range.of(number.high) for stage, number in amount.attempts.items()}
    return Amount(attempts, seconds=Range.of(amount.seconds.high))


def plan_run(
    request: RunRequest,
    assumed: Assumptions | None = None,
    progress: Progress | None = None,
    earlier: EarlierRun | None = None,
) -> PlannedRun:
    """The plan of a training, or of what is left of it. No key is needed.

    Args:
        assumed: values given by the user; they take precedence over those of the earlier run.
        earlier: a run whose measurements are taken as likely.

    Raises:
        ConfigError, DataError: the run could not be started.
        UsageError: a step assumed is beyond the last one.
    """
    assumed, progress = assumed or Assumptions(), progress or Progress()
    config, environment = request.config, request.environment
    benchmark = request.benchmark or open_benchmark(config)
    splits = splits_in_use(config, benchmark)
    specs = players_of(config, roles_of(config))
    _check_target(config, environment, benchmark, specs["target"])
    plan = train_plan(config, benchmark)
    _check_steps(assumed, plan)
    skill = training_seed(config, benchmark.seed_skill)
    attempt = _attempt_calls(config, benchmark, splits["train"])
    if earlier is not None:
        earlier = replace(earlier, known=earlier.known_for(plan.total).without(assumed))
        attempt = earlier.attempt_calls(attempt)
        # The latency does not change any count, so it also moves the ends of the range.
        assumed = assumed.or_else(Assumptions(latency=earlier.known.latency))
    sizes = {split: len(tasks) for split, tasks in splits.items()}
    forecaster = Forecaster(
        config=config,
        plan=plan,
        sizes=sizes,
        asks=specs["optimizer"].open is not None,
        assumed=assumed,
        seeded=bool(skill.sent.text),
        done=progress.done,
        made=progress.made(attempt),
        attempt=attempt,
        confirmation=len(confirmation_tasks(config, benchmark)),
        blocks=len(blocks(skill)),
        speeds=_speeds(config, environment, specs),
    )
    forecast = forecaster.forecast()
    if earlier is not None:
        # Measurements of another run move the likely values, never the ends of a range.
        assumed = assumed.or_else(earlier.known)
        forecast = forecast.likely(replace(forecaster, assumed=assumed, learns=False).forecast())
    likely, unsolved = None, None
    if assumed.accuracy is None:
        unsolved = _calls(forecaster, Assumptions(accuracy=0.0))
        likely = _likely_calls(forecaster, unsolved)
    by_program = specs["target"].runs_programs
    reads = target_reads(benchmark, splits["train"], skill)
    prompts = _prompt_lengths(config, specs, reads, attempt, skill)
    costs = _costs(config, environment, specs, prompts, earlier)
    return PlannedRun(
        config=config,
        sizes=sizes,
        assumed=assumed,
        forecast=forecast,
        costs=costs,
        plan=plan,
        used=progress.used,
        by_program=by_program,
        earlier=earlier,
        skill_chars=skill_chars(skill, by_program=by_program),
        unsuited=optimizer_unsuited(config, benchmark, splits["train"]),
        unedited=files_not_edited(skill, config),
        data_warnings=tuple(task_warnings(benchmark)),
        likely=likely,
        unsolved=unsolved,
        seconds={role: forecaster.seconds(role) for role in costs},
    )


def _speeds(
    config: RunConfig, environment: Mapping[str, str], specs: Mapping[Role, BackendSpec]
) -> dict[Role, Speed]:
    """How fast the backends of this machine answer, by role."""
    return {
        role: spec.speed(role_settings(config, role, environment, needs_key=False))
        for role, spec in specs.items()
        if spec.speed is not None
    }


def _likely_calls(forecaster: Forecaster, unsolved: float) -> Range:
    """Calls of a training that learns fast, of one as forecast, and of one that learns slowly.

    Args:
        unsolved: calls of one whose seed skill solves nothing, which are in the range too.
    """
    calls = [_calls(forecaster, corner) for corner in (*CORNERS, Assumptions())]
    return Range(min(calls), calls[-1], max(unsolved, *calls))


def _calls(forecaster: Forecaster, others: Assumptions) -> float:
    """Calls that are likely where what is not known is as the others."""
    assumed = forecaster.assumed.or_else(others)
    return replace(forecaster, assumed=assumed).forecast().calls.point


def _check_steps(assumed: Assumptions, plan: TrainPlan) -> None:
    for flag, step in (("best", assumed.best_step), ("last", assumed.last_step)):
        if (step or 0) > plan.total:
            raise UsageError(
                f"--{flag}-step {step} is beyond the last step, {plan.total}",
                "give a step of the plan, or 0 for none",
            )


def _prompt_lengths(
    config: RunConfig,
    specs: Mapping[Role, BackendSpec],
    reads: Range,
    attempt: AttemptCalls,
    skill: SkillDocument,
) -> dict[Role, Range]:
    """Tokens that a call of each role reads.

    Args:
        reads: tokens of a task that the target reads.
    """
    instructions = run_prompts(config).values()
    # Each turn reads again what was said before it.
    repeated = Range.of(0) if attempt.turns.high == 1 else attempt.turns * ANSWER * 0.5
    lengths: dict[Role, Range] = {"target": reads + GROWTH + repeated}
    if "judge" in specs:
        lengths["judge"] = reads + ANSWER + RUBRIC
    if specs["optimizer"].open is not None:
        material = (reads + ANSWER) * config.gradient.minibatch_size
        lengths["optimizer"] = optimizer_reads(instructions, skill) + material + GROWTH
    return lengths


def _costs(
    config: RunConfig,
    environment: Mapping[str, str],
    specs: Mapping[Role, BackendSpec],
    prompts: Mapping[Role, Range],
    earlier: EarlierRun | None,
) -> dict[Role, Costs]:
    """What calls take, by role, of those that read something."""
    costs: dict[Role, Costs] = {}
    for role, spec in specs.items():
        if role not in prompts:
            continue
        settings = role_settings(config, role, environment, needs_key=False)
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


def _attempt_calls(
    config: RunConfig, benchmark: Benchmark, tasks: tuple[Task, ...]
) -> AttemptCalls:
    """Calls of an attempt: about half of the turns that are allowed."""
    most = [benchmark.brief(task).max_turns for task in tasks[:LOOKED_AT]]
    mean = sum(most) / len(most)
    turns = Range(1.0, (1 + mean) / 2, float(max(most)))
    if "judge" not in roles_of(config):
        return AttemptCalls(turns)
    share = config.evaluation.judge_twice
    # An answer that is plainly right or wrong needs no judge; a verdict may have to be asked again.
    return AttemptCalls(turns, Range(0.0, (1 + share) / 2, 4.0 if share else 2.0))
