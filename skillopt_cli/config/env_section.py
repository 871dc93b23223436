"""The section `env`: the benchmark, its data, and the skill to start from."""

from __future__ import annotations

import re
import shlex
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, field_validator, model_validator

from skillopt_cli.config.section import LocalPath, Setting, SettingsSection
from skillopt_cli.config.validation_messages import clash

_RATIO = re.compile(r"[1-9][0-9]*(?::[1-9][0-9]*){2}(?: by (?:label|kind))?\Z")


class EnvConfig(SettingsSection):
    """The benchmark and its data. Further keys belong to the benchmark, which checks them."""

    model_config = ConfigDict(extra="allow")

    name: Annotated[
        str,
        Setting(
            in_form=False,
            instead_of_sweep="scores on different benchmarks cannot be compared: make a sweep of"
            " each",
        ),
    ] = ""
    """The benchmark, see `skillopt benchmarks list`."""
    skill_init: Annotated[
        LocalPath,
        Setting(
            order=18,
            brief="Skill file or folder to start from.",
            path=True,
            free_on_resume=True,  # what it holds is compared
        ),
    ] = ""
    """Seed skill file, or folder with a SKILL.md; empty takes the benchmark's own sentence."""
    editable: Annotated[tuple[str, ...] | None, Setting(left_out_unset=True)] = None
    """Files of a skill folder that may be changed: paths or globs in it, as a list or with spaces
    between them. Unset it is SKILL.md alone."""
    from_scratch: Annotated[bool, Setting(order=19, group="measuring")] = False
    """Start from an empty skill."""
    split_mode: Literal["split_dir", "ratio"] | None = None
    """Read three folders (split_dir) or cut one task file (ratio); unset takes what is given."""
    split_dir: Annotated[
        LocalPath,
        Setting(
            order=20,
            brief="Folder with train/, selection/ and test/.",
            group="scored",
            path=True,
            free_on_resume=True,
        ),
    ] = ""
    """Folder that holds train/, selection/ (or val/) and test/."""
    data_path: Annotated[
        LocalPath,
        Setting(
            order=20,
            brief="File of own tasks, cut into splits.",
            flag="--tasks",
            group="scored",
            path=True,
            free_on_resume=True,
        ),
    ] = ""
    """One task file to be cut into splits by split_ratio."""
    split_ratio: str = "2:1:7"
    """Train : selection : test; `2:1:7 by label` gives each its share of every label,
    `2:1:7 by kind` of every kind of task."""
    split_seed: int = 42
    """Seed of the ratio split; membership depends on it and the task ids only."""
    data_root: Annotated[LocalPath, Setting(path=True, free_on_resume=True)] = "data"
    """Where `skillopt data prepare` puts data."""
    out_root: Annotated[
        LocalPath,
        Setting(
            order=21,
            group="measuring",
            free_on_resume=True,
            in_form=False,
            instead_of_sweep="give it as --out-root",
        ),
    ] = "outputs"
    """Where run folders are made."""
    limit: int = Field(0, ge=0)
    """Keep the first N tasks of each split; 0 keeps all."""

    @model_validator(mode="after")
    def _one_source(self) -> EnvConfig:
        if self.split_mode == "ratio" and not self.data_path:
            raise clash(
                "`split_mode` is `ratio`, but `env.data_path` is not set",
                ("split_mode",),
                "name the task file with `env.data_path=FILE`",
            )
        if self.split_mode == "split_dir" and not self.split_dir:
            raise clash(
                "`split_mode` is `split_dir`, but `env.split_dir` is not set",
                ("split_mode",),
                "name the folder with `env.split_dir=FOLDER`",
            )
        if self.split_mode is None and self.split_dir and self.data_path:
            raise clash(
                "`data_path` and `split_dir` are both set",
                ("data_path", "split_dir"),
                "choose one: `env.split_mode=ratio` cuts the file,"
                " `env.split_mode=split_dir` reads the folder",
            )
        return self

    @field_validator("editable", mode="before")
    @classmethod
    def _read_words(cls, value: Any) -> Any:
        found = tuple(shlex.split(value)) if isinstance(value, str) else value
        if found is not None and not found:
            raise ValueError("must name a file, such as SKILL.md")
        return found

    @property
    def tasks_from(self) -> tuple[str, str]:
        """The split folder and the task file in use; at most one of them is not empty."""
        if self.split_mode == "ratio":
            return "", self.data_path
        return self.split_dir, "" if self.split_dir else self.data_path

    @field_validator("split_ratio")
    @classmethod
    def _three_weights(cls, value: str) -> str:
        if not _RATIO.match(value):
            raise ValueError("must be three positive whole numbers, such as 2:1:7")
        return value

    @property
    def options(self) -> dict[str, Any]:
        """The benchmark's own keys."""
        return dict(self.model_extra or {})
