"""Opens a session: storage, events, limits, benchmark, models and control, in that order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import reduce
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir

from skillopt_cli.backends.middleware.budget import Budget, PastUse
from skillopt_cli.backends.middleware.recorder import RecordedCalls
from skillopt_cli.backends.rate_limiter.provider_limits import ProviderLimits
from skillopt_cli.backends.rate_limiter.stop_gate import StopGate
from skillopt_cli.compose.benchmark import (
    check_abilities,
    confirmation_tasks,
    data_warnings,
    open_benchmark,
    splits_in_use,
)
from skillopt_cli.compose.executors import ExecutorContext, clear_leftovers, open_executors
from skillopt_cli.compose.fingerprint import record_fingerprint, record_sources
from skillopt_cli.compose.measured_tasks import measured_source
from skillopt_cli.compose.prompts import run_prompts
from skillopt_cli.compose.replaying import open_replay, recording_header, replay_notices
from skillopt_cli.compose.request import RunRequest
from skillopt_cli.compose.roles import ModelContext, Models, open_models, players_of, role_spec
from skillopt_cli.compose.run_folder import closed_above
from skillopt_cli.compose.schedule import (
    caps_of,
    gate_rule,
    run_limits,
    stage_variants,
    train_plan,
)
from skillopt_cli.compose.script_paths import check_script
from skillopt_cli.compose.secrets import announced, known_secrets
from skillopt_cli.compose.seed_skill import (
    check_loadable,
    files_left_out,
    read_only_files,
    skill_notices,
    training_seed,
)
from skillopt_cli.config import RunConfig
from skillopt_cli.config.section import is_address
from skillopt_cli.core.events import Degraded, Role, RunEvent, RunStarted
from skillopt_cli.core.plan import TrainPlan
from skillopt_cli.core.secrets import Hide, Secrets
from skillopt_cli.core.skill import SkillDocument
from skillopt_cli.core.steering import Steering
from skillopt_cli.engine.bus import Bus, Subscriber
from skillopt_cli.engine.controller import Controller, RunControls, RunPosition, missing_steering
from skillopt_cli.engine.session import Session
from skillopt_cli.executors.workspaces import temp_prefix
from skillopt_cli.permissions import FOLDER_MODES, share
from skillopt_cli.ports import AttemptRunner, Benchmark, Emit, Executor
from skillopt_cli.replay.playback import one_at_a_time
from skillopt_cli.replay.recorder import Recorder, RecordingStore
from skillopt_cli.replay.recording import read_header
from skillopt_cli.runlog.run_log import RunLog
from skillopt_cli.runlog.view import RunView
from skillopt_cli.runlog.writers import HistoryWriter, SnapshotWriter, SummaryWriter
from skillopt_cli.stages import Run
from skillopt_cli.stages.overlap import Overlap
from skillopt_cli.store.atomic_files import clear_drafts
from skillopt_cli.store.entries import open_entries
from skillopt_cli.store.files import FileStore
from skillopt_cli.store.journal import Journal
from skillopt_cli.store.layout import JOURNAL
from skillopt_cli.store.lock import lock_run
from skillopt_cli.store.shared_cache import SharedCache


@dataclass(frozen=True, slots=True)
class SessionBase:
    """What the parts of a session rest on: the request, the open run folder and the event bus.

    Attributes:
        folder: the run folder, locked.
        journal: of this run.
        workspaces: a temporary folder for the workspaces of attempts.
        log: of the run, with the facts of this session.
        past: what earlier processes of the run logged.
        emit: states a fact without any secret.
        hide: takes the secrets out of a text, and states once which were in it.
        journal_kept: whether the journal was there before.
    """

    request: RunRequest
    secrets: Secrets
    folder: Path
    journal: Journal
    store: FileStore
    workspaces: Path
    log: RunLog
    past: RunView
    emit: Emit
    hide: Hide
    journal_kept: bool

    @property
    def config(self) -> RunConfig:
        """The configuration of the run."""
        return self.request.config


@dataclass(frozen=True, slots=True)
class CallLimits:
    """What every call of a run passes."""

    gate: StopGate
    budget: Budget
    providers: ProviderLimits


@contextmanager
def open_session(folder: Path, request: RunRequest) -> Iterator[tuple[Session, Controller]]:
    """A session on a run folder and its controller; the folder is locked while it is open.

    Raises:
        RunLocked: another process writes the folder.
        DriftRefused: the folder belongs to a run under other conditions.
        ConfigError, DataError, BackendError: something does not fit together.
    """
    if request.replay is not None:
        request = replace(request, config=one_at_a_time(request.config))
    with _open_base(folder, request) as base:
        recorder = _open_recorder(base)
        limits = _limit_calls(base)
        benchmark = request.benchmark or open_benchmark(base.config, scored=request.scored)
        seed = request.skill or training_seed(base.config, benchmark.seed_skill)
        skills = (seed, *request.arms)
        check_loadable(skills, role_spec(base.config, "target"))
        if request.calls and request.replay is None:
            check_script(base.config, skills)
        executors, warnings = _open_executors(base)
        models = _open_models(base, limits, executors, recorder)
        plan = train_plan(base.config, benchmark)
        controller, replayed = _open_controller(base, limits, plan, models)
        run = Run(
            config=base.config,
            plan=plan,
            benchmark=benchmark,
            splits=splits_in_use(base.config, benchmark, request.measured),
            confirmation=confirmation_tasks(base.config, benchmark),
            target=models.target,
            optimizer=models.optimizer,
            judge=models.judge,
            hide=base.hide,
            executor=executors["target"],
            store=base.store,
            emit=base.emit,
            variants=stage_variants(base.config, models.variants),
            rule=gate_rule(base.config),
            prompts=run_prompts(base.config),
            control=controller,
            overlap=Overlap(base.config.run.workers),
            elsewhere=_open_cluster(base, benchmark, models),
            scored=request.scored,
        )
        check_abilities(benchmark, models.names["target"], models.target.offers)
        changed = record_fingerprint(folder, run, seed, base.past, allow_drift=request.allow_drift)
        record_sources(folder, request.sources)
        started = _started(base, run, models, seed)
        session = Session(
            run=run,
            seed=seed,
            started=started,
            chats=models.live,
            budget=limits.budget,
            checks=models.checks,
            warnings=(
                *changed,
                *warnings,
                *replay_notices(base.config, request.replay),
                *skill_notices(skills),
                *files_left_out(seed, request.skill_path),
                *_lost_files(base),
                *_not_shared(base),
                *data_warnings(benchmark),
            ),
            steering=replayed,
            trial=models.trial,
            runs_program=role_spec(base.config, "target").runs_programs,
            drifted=base.log.view.drifted,
            resumable=(request.training or request.resumable) and not started.replay,
        )
        with _recording(base, recorder, run, models):
            yield session, controller


def _lost_files(base: SessionBase) -> Iterator[Degraded]:
    """What a run goes on without: its newest checkpoint, or its journal."""
    if base.store.passed_over:
        yield Degraded("checkpoint", base.store.passed_over)
    # A run of version 0.1 with a cache had its journal there.
    if base.past.made and not (base.journal_kept or base.config.run.cache_dir):
        name = base.journal.path.name
        reason = f"{name} is missing: what it held is attempted and paid for again"
        yield Degraded("journal", reason)


def _not_shared(base: SessionBase) -> Iterator[Degraded]:
    """That the group a run is shared with does not get to its folder."""
    if base.config.run.shared_with == "group" and (above := closed_above(base.folder)):
        yield Degraded("run.shared_with", f"your group cannot enter {above}: `chmod g+x` opens it")


@contextmanager
def _open_base(folder: Path, request: RunRequest) -> Iterator[SessionBase]:
    """The run folder, locked, with its journal, its event bus and a place for workspaces."""
    secrets = known_secrets(request.environment, request.config)
    clear_leftovers(Path(gettempdir()))
    store_class = RecordingStore if request.record else FileStore
    path = folder / JOURNAL
    # An empty file is none, as after a full disk.
    kept = path.exists() and path.stat().st_size > 0
    mode = FOLDER_MODES[request.config.run.shared_with]
    share(folder, mode)
    with (
        lock_run(folder),
        Journal(path, mode) as journal,
        store_class(folder, journal) as store,
        TemporaryDirectory(prefix=temp_prefix()) as workspaces,
    ):
        clear_drafts(folder)
        log = (request.log or RunLog(folder)).read()
        with closing(SummaryWriter(folder, log)) as summary, ExitStack() as opened:
            writers = (
                Subscriber("event log", store.append),
                Subscriber("read model", log),
                Subscriber("snapshot", SnapshotWriter(folder, log)),
                Subscriber("history", HistoryWriter(folder, log)),
                Subscriber("summary", summary),
            )
            number, hide = log.number + 1, secrets.hide
            bus = Bus(writers, request.observers, request.clock, number, hide)
            if request.config.run.cache_dir and request.replay is None:
                store.shared = opened.enter_context(_shared_cache(request.config, bus.emit))
            yield SessionBase(
                request=request,
                secrets=secrets,
                folder=folder,
                journal=journal,
                store=store,
                workspaces=Path(workspaces),
                log=log,
                past=log.view,
                emit=bus.emit,
                hide=announced(secrets, bus.emit),
                journal_kept=kept,
            )


@contextmanager
def _shared_cache(config: RunConfig, emit: Emit) -> Iterator[SharedCache]:
    """The cache of `run.cache_dir`, which may also be the folder of a run with its journal.

    A replay has none: it must find no call that its recording does not hold.
    """
    place, mode = config.run.cache_dir, FOLDER_MODES[config.run.shared_with]
    entries = open_entries(place, mode)
    journal = Path(place) / JOURNAL
    earlier = Journal(journal, mode) if not is_address(place) and journal.exists() else None
    with closing(SharedCache(entries, emit, earlier)) as cache:
        yield cache


def _open_recorder(base: SessionBase) -> Recorder | None:
    """The recorder of a run that is recorded, with the run's earlier calls."""
    if base.request.record is None:
        return None
    mode = FOLDER_MODES[base.config.run.shared_with]
    recorder = Recorder(base.request.record, RecordedCalls(), base.journal, mode)
    recorder.load_earlier(base.folder, shared=bool(base.config.run.cache_dir))
    return recorder


def _limit_calls(base: SessionBase) -> CallLimits:
    """Stop gate, budget and limits per provider; a replay knows no cap, as it spends nothing."""
    gate = StopGate()
    caps = caps_of(base.config.run) if base.request.replay is None else ()
    past = PastUse(base.past.ledger, base.past.wall_time, base.past.marks)
    budget = Budget(caps, past, base.emit)
    ceiling, outage_wait = base.config.run.max_concurrency, base.config.model.outage_wait
    return CallLimits(gate, budget, ProviderLimits(ceiling, outage_wait, budget, gate))


def _open_executors(base: SessionBase) -> tuple[dict[Role, Executor], tuple[Degraded, ...]]:
    """Where the programs of each role run; in a replay only the target starts any."""
    roles = base.request.roles if base.request.replay is None else ("target",)
    context = ExecutorContext(base.folder, base.workspaces, base.request.environment, base.hide)
    return open_executors(base.config, context, players_of(base.config, roles))


def _open_models(
    base: SessionBase,
    limits: CallLimits,
    executors: Mapping[Role, Executor],
    recorder: Recorder | None,
) -> Models:
    """The models of each role, or their recorded replies in a replay."""
    context = ModelContext(
        base.request.environment,
        base.secrets,
        base.hide,
        limits.providers,
        base.store,
        limits.budget,
        executors,
        recorder.recorded if recorder else None,
        base.past.refused,
        base.request.calls,
    )
    if base.request.replay is None:
        return open_models(base.config, context, base.request.roles)
    return open_replay(base.config, context, base.request.replay, base.journal, base.request.roles)


def _open_cluster(base: SessionBase, benchmark: Benchmark, models: Models) -> AttemptRunner | None:
    """What makes attempts on a cluster, which is loaded only for a run that does."""
    if base.config.run.executor != "ray":
        return None
    from skillopt_cli.compose.nodes import cluster_runner

    target = (models.target, models.asked)
    return cluster_runner(base.config, base.request.environment, benchmark, target, base.emit)


def _open_controller(
    base: SessionBase, limits: CallLimits, plan: TrainPlan, models: Models
) -> tuple[Controller, tuple[RunEvent, ...]]:
    """The controller of a run, and the steering of a replayed run that its own log lacks."""
    steering = base.past.steering
    replay = base.request.replay
    replayed = missing_steering(read_header(replay).steering, steering) if replay else ()
    ceiling = base.config.run.max_concurrency
    state = base.store.load_state()
    controller = Controller(
        RunControls(
            base.emit,
            limits.gate,
            limits.budget,
            ceiling,
            limits.providers.set_ceiling,
            base.secrets.hide,
        ),
        RunPosition(
            done=state.done if state else 0,
            total=plan.total if base.request.training else 0,
            asks=models.optimizer is not None,
        ),
        reduce(Steering.after, replayed, steering),
    )
    return controller, replayed


def _recording(
    base: SessionBase, recorder: Recorder | None, run: Run, models: Models
) -> AbstractContextManager[None]:
    """A block at whose end the recording is written, if there is one."""
    if recorder is None:
        return nullcontext()
    header = recording_header(run.config, models, run.benchmark)
    return recorder.writing(header, lambda: base.log.view.steering.lasting)


def _started(base: SessionBase, run: Run, models: Models, seed: SkillDocument) -> RunStarted:
    """The fact that opens a run."""
    request, training = base.request, base.request.training
    state = run.store.load_state()
    sizes = {split: len(tasks) for split, tasks in run.splits.items()}
    begun = base.past.run
    return RunStarted(
        run_id=base.folder.name,
        benchmark=run.benchmark.name,
        done=state.done if state else 0,
        total_steps=run.plan.total if training else 0,
        epochs=run.plan.epochs if training else 0,
        optimizer=models.names.get("optimizer", "none"),
        target=models.names["target"],
        data=measured_source(run.benchmark, request.measured),
        n_train=sizes["train"],
        n_selection=sizes["selection"],
        n_test=sizes["test"],
        metric=run.metric.name,
        recorded=run.recorded(state) if state else None,
        limits=run_limits(run.config, training=training),
        judge=models.names.get("judge", ""),
        skill=request.skill_from if request.skill else None,
        skill_title=request.skill.title if request.skill else "",
        read_only=read_only_files(seed, run.config) if training and run.optimizer else 0,
        replay=begun.replay if begun else str(request.replay.absolute()) if request.replay else "",
    )
