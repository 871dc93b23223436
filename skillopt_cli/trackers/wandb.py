"""Weights & Biases: a row per step, written into the run folder unless a mode is set."""

from __future__ import annotations

import shutil
from pathlib import Path

import wandb

from skillopt_cli.ports import Closing, Point, TrackedRun

PROJECT = "skillopt"


class WandbTracker:
    """One run of a W&B project."""

    def __init__(self, run: TrackedRun) -> None:
        mode = run.environment.get("WANDB_MODE") or "offline"
        run.folder.mkdir(parents=True, exist_ok=True)
        project = run.environment.get("WANDB_PROJECT") or PROJECT
        entity = run.environment.get("WANDB_ENTITY")
        server = run.environment.get("WANDB_BASE_URL", "")
        self.place = " ".join((mode, server, entity or "", project))
        # Privacy: neither the command line, code and repository nor the machine is recorded.
        settings = wandb.Settings(
            root_dir=str(run.folder.absolute()),
            silent=True,
            console="off",
            disable_code=True,
            disable_git=True,
            save_code=False,
            x_disable_machine_info=True,
            x_disable_meta=True,
            x_disable_stats=True,
            x_save_requirements=False,
        )
        self._run = wandb.init(
            mode=mode,  # type: ignore[arg-type,unused-ignore]
            project=project,
            entity=entity,
            id=run.identity,
            name=run.name,
            group=run.benchmark,
            config={**run.settings, "benchmark": run.benchmark},
            resume="allow",
            reinit="create_new",
            settings=settings,
        )

    def record(self, point: Point) -> None:
        """Log a step as the row of that number."""
        row = {**point.values, **point.texts, "_timestamp": point.ended}
        self._run.log(row, step=point.step, commit=True)

    def close(self, closing: Closing) -> None:
        """Log the summary and files, and wait until everything is written or sent."""
        values = {f"summary/{name}": value for name, value in closing.values.items()}
        self._run.summary.update({**values, "status": closing.status})
        for path in closing.files:
            self._save(path)
        self._run.finish(exit_code=closing.exit_code)

    def _save(self, path: Path) -> None:
        """Save a copy, which survives a move of the run folder."""
        copy = Path(self._run.dir) / path.name
        if path.is_dir():
            shutil.copytree(path, copy, dirs_exist_ok=True)
        else:
            shutil.copyfile(path, copy)
        for file in sorted(copy.rglob("*")) if copy.is_dir() else [copy]:
            if file.is_file():
                self._run.save(str(file), base_path=self._run.dir, policy="now")
