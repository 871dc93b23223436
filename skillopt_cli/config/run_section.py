"""The section `run`: limits, display, and where attempts are made."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, field_validator

from skillopt_cli.config.scalars import read_value
from skillopt_cli.config.section import LocalPath, Setting, SettingsSection

Isolation = Literal["auto", "namespace", "local"]
RAY_ADDRESS = "RAY_ADDRESS"
"""The variable that holds the address of a cluster where no setting does."""
LOCAL_CLUSTER = "local"
"""The address that starts a cluster of this machine alone."""


class RaySection(SettingsSection):
    """A Ray cluster, where `run.executor` is `ray`."""

    address: Annotated[
        str,
        Setting(
            order=27,
            flag="--ray-address",
            brief="Ray cluster: HOST:PORT, auto or local.",
            group="measuring",
        ),
    ] = ""
    """Its head as HOST:PORT; `auto` finds the one of this machine, `local` starts one here. Unset
    takes the variable RAY_ADDRESS, else `local`."""
    cpus: float | None = Field(None, ge=0)
    """CPUs of its node that one attempt takes, such as 0.5; unset: as benchmark and agent need."""
    memory_mb: int | None = Field(None, ge=1)
    """Megabytes of its node that one attempt takes; unset: as benchmark and agent need."""
    isolation: Isolation = "auto"
    """How programs are isolated on the nodes, as `run.executor` has it for this machine."""


def ray_address(section: RaySection, environment: Mapping[str, str]) -> str:
    """The address of the cluster in use."""
    return section.address or environment.get(RAY_ADDRESS, "") or LOCAL_CLUSTER


class RunSection(SettingsSection):
    """Display and machine limits: nothing here can alter a text or a score."""

    workers: Annotated[int, Setting(order=11, group="measuring")] = Field(8, ge=1)
    """Concurrent attempts."""
    max_concurrency: Annotated[
        int,
        Setting(
            order=12, brief="Maximum concurrent calls per provider.", group="measuring", live=True
        ),
    ] = Field(64, ge=1)
    """Maximum concurrent calls per provider, of all roles together."""
    display: Annotated[
        Literal["auto", "rich", "plain", "none"],
        Setting(
            order=23,
            brief="Live panel, plain lines, or nothing, on stderr.",
            group="measuring",
            in_form=False,
        ),
    ] = "auto"
    """Live panel on a terminal and plain lines in a pipe (auto), or one of them always."""
    verbose: Annotated[
        bool, Setting(order=25, brief="Show guidance in full.", group="measuring", in_form=False)
    ] = False
    """Show the guidance of an epoch's end, and the optimizer's notes, in full."""
    cache_dir: Annotated[LocalPath, Setting(path=True)] = ""
    """Cache that runs share, on any machines: a folder, that of a run too, or s3://BUCKET/PREFIX."""
    shared_with: Literal["owner", "group"] = "owner"
    """Who may read run folder, shared cache and recording: you alone (owner), or your group."""
    preflight: bool = True
    """Before a run begins, ask each model for one word, and have a program attempt a task of one
    line; false leaves that out."""
    require_improvement: Annotated[
        bool, Setting(order=22, brief="Exit with 10 when nothing beat the seed.")
    ] = False
    """Exit with 10 when the best skill does not score above the seed on the selection split."""
    executor: Annotated[
        Literal["auto", "namespace", "local", "ray"],
        Setting(
            order=26,
            brief="Isolation of programs; or ray: make attempts on a cluster.",
            group="measuring",
        ),
    ] = "auto"
    """Isolate an agent's programs by bubblewrap where it works (auto), or else refuse (namespace);
    local never does. ray makes attempts on the nodes of a Ray cluster."""
    ray: RaySection = RaySection()
    """The cluster."""
    readable: str = ""
    """Files and folders an isolated program may read beyond the system's and its own: absolute
    paths with `:` between them."""
    workspace_mb: int = Field(1000, ge=1)
    """Maximum size of the folders of one attempt, in megabytes."""
    max_usd: Annotated[
        float | None,
        Setting(
            order=13,
            brief="Maximum US dollars for model calls; those under way are finished.",
            group="caps",
            live=True,
        ),
    ] = Field(None, gt=0)
    """Maximum US dollars for calls of the run, all its processes together; unset never stops. Calls
    under way are finished, and count by the averages so far until then."""
    max_calls: Annotated[int | None, Setting(order=14, group="caps", live=True)] = Field(None, ge=1)
    """Maximum answered model calls."""
    max_tokens: Annotated[int | None, Setting(order=15, group="caps", live=True)] = Field(
        None, ge=1
    )
    """Maximum tokens read and written."""
    max_rollouts: Annotated[
        int | None, Setting(order=16, brief="Maximum attempts at tasks.", group="caps", live=True)
    ] = Field(None, ge=1)
    """Maximum attempts at tasks; those recalled from the journal are free."""
    max_minutes: Annotated[
        float | None, Setting(order=17, brief="Maximum minutes of work.", group="caps", live=True)
    ] = Field(None, gt=0)
    """Maximum minutes of work, those before a resume included."""

    trackers: Annotated[
        tuple[str, ...],
        Setting(
            order=24,
            brief="Also send metrics to mlflow, wandb, tensorboard or otel; may be repeated.",
            flag="--tracker",
            group="measuring",
        ),
    ] = ()
    """Where the metrics of the run are sent as well: mlflow, wandb, tensorboard, otel; as a list or
    with spaces between them."""

    @field_validator("trackers", mode="before")
    @classmethod
    def _read_words(cls, value: Any) -> Any:
        read = read_value(value) if isinstance(value, str) else value
        words = read.split() if isinstance(read, str) else read
        # Named twice, in a file and by a flag, is named.
        if not isinstance(words, list | tuple):
            return words
        return tuple(word for place, word in enumerate(words) if word not in words[:place])

    @field_validator("readable")
    @classmethod
    def _paths_that_stay(cls, value: str) -> str:
        if any(path and not path.startswith(("/", "~/")) for path in value.split(":")):
            raise ValueError("must be absolute paths with `:` between them")
        return value
