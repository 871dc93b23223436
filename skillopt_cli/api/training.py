"""Training a skill from Python."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from skillopt_cli.api.arguments import checked
from skillopt_cli.api.calls import Observer, blocking, execute, overrides
from skillopt_cli.api.planned import measure_plan
from skillopt_cli.api.result import RunResult, load_run
from skillopt_cli.compose.eval_plan import read_plan
from skillopt_cli.compose.fingerprint import check_given
from skillopt_cli.compose.replaying import refuse_live
from skillopt_cli.compose.request import run_request
from skillopt_cli.compose.run_folder import find_run, new_folder
from skillopt_cli.config.environment import read_environment
from skillopt_cli.core.errors import UsageError
from skillopt_cli.core.events import Role
from skillopt_cli.engine.session import train_session
from skillopt_cli.planning.planned_request import with_plan
from skillopt_cli.planning.progress import Progress
from skillopt_cli.runlog.run_log import RunLog
from skillopt_cli.store.layout import CONFIG, EVAL_PLAN


@checked
async def train_async(
    benchmark: str | None = None,
    *,
    config: str | Path | None = None,
    preset: str = "",
    settings: Mapping[str, object] | None = None,
    run_id: str | None = None,
    trust: bool = False,
    on_event: Observer | None = None,
    **flags: object,
) -> RunResult:
    """Train a skill document and return the run's result, as `skillopt train` does.

    `train` waits for it, also inside a running event loop. `train_async` goes on beside other work
    of its loop; cancelling its task interrupts the run.

    Args:
        benchmark: its name; None takes it from `config`.
        config: a YAML file.
        preset: a named preset, such as "tiny".
        settings: by dotted key: `{"train.batch_size": 20}`. As strong as `flags`: a key that has
            another value in each is refused.
        run_id: the name of the run folder; the local time unless given.
        trust: agree to the programs and keys that `config` and `.env` ask for, as `--trust` does.
        on_event: receives every fact of the run as it happens. It cannot stop the run: one that
            raises is dropped, which is recorded.
        flags: settings by the name of their command-line flag: `batch_size=20`,
            `target_model="small-model"`, `out_root="outputs"`.

    Raises:
        UsageError: an argument or the run id cannot be used.
        ConfigError: a setting cannot be used.
        NotTrusted: a file asks for something that was not agreed to.
        DataError: the tasks cannot be used.
        BackendError: a model service cannot be used; `resume` goes on from the last checkpoint.
        BudgetExhausted: a cap was reached; `resume` goes on with a higher one.
    """
    made = replace(overrides(benchmark, config, preset, settings, flags), trust=trust)
    request, _ = with_plan(run_request(made, read_environment()))
    with new_folder(request.config, run_id, datetime.now().astimezone()) as folder:
        await execute(folder, request, train_session, on_event)
    return load_run(folder)


train = blocking(train_async)


@checked
async def resume_async(
    run: str | Path,
    *,
    settings: Mapping[str, object] | None = None,
    allow_drift: bool = False,
    trust: bool = False,
    on_event: Observer | None = None,
    **flags: object,
) -> RunResult:
    """Continue a run where it stopped and return its result, as `skillopt resume` does.

    A finished run is returned as it is, which needs no key, data or model. An evaluation can be
    resumed if it compares arms, prunes a skill or answers tasks.

    Args:
        run: the run folder, or a run id below `out_root`.
        settings, trust, flags: as of `train`; settings of `run.*` may change freely.
        allow_drift: accept changes that can alter a text or a score.

    Raises:
        UsageError: there is no such run, or it is an evaluation or a replay.
        DriftRefused: something that can alter a text or a score has changed.
        SkillOptError: as `train` does.
    """
    made = replace(overrides(None, None, "", settings, flags), trust=trust)
    folder = find_run(str(run), made.out_root)
    earlier = load_run(folder)
    planned = (folder / EVAL_PLAN).is_file() and (folder / CONFIG).is_file()
    plan = read_plan(folder) if planned else None
    if earlier.is_evaluation and plan is None:
        raise UsageError(f"{folder} is an evaluation, which cannot be resumed", "evaluate again")
    measured = plan is None or (folder / plan.result).is_file()
    done = earlier.finished and measured and not allow_drift
    log = RunLog(folder).read()
    if not done:
        refuse_live(folder, log.view.run, None)
    roles: tuple[Role, ...] = () if done else ("target",) if plan else made.roles
    scored = plan is None or plan.scored
    made = replace(made, config=folder / CONFIG, roles=roles, run_folder=folder, scored=scored)
    request = run_request(made, read_environment(), resumed=True)
    if done:
        check_given(folder, request.config, request.sources)
        return earlier
    request = replace(request, allow_drift=allow_drift)
    if plan is not None:
        await measure_plan(folder, request, plan, on_event)
        return load_run(folder)
    request, _ = with_plan(request, Progress.of(log.view))
    await execute(folder, request, train_session, on_event)
    return load_run(folder)


resume = blocking(resume_async)
