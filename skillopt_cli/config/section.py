"""The base of every group of settings, and what a setting declares beside its type and default."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, fields, replace
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict
from pydantic.fields import FieldInfo

FlagGroup = Literal["training", "measuring", "data", "scored", "optimizer", "target", "caps"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """Metadata of a setting: `batch_size: Annotated[int, Setting(order=6)] = 40`.

    On a section it holds for every setting inside.

    Attributes:
        order: place of its flag in help pages, and of its field in the form of a new run; 0 for a
            setting without a flag.
        brief: help of the flag, where the description is too long for it; `{section}` in it is
            replaced by that of the section around, `{name}` for the section's name.
        flag: the flag, where it is not named like the field; `{section}` in it is replaced by the
            flag of the section around, without which there is none.
        group: what the setting bears on, which decides the commands whose help lists its flag.
        free_on_resume: alters no text and no score, so that it may differ when a run is resumed.
        free_in_replay: alters no reply, only whether and when there is one.
        file: names a file whose name alone counts in a replay.
        path: names a file or a folder that the run reads; a run folder keeps it as absolute.
        live: may be changed while the run works.
        special: has an effect only with the backends that name it in `honours`.
        secret: names a variable that holds a secret, or variables that a program is given.
        in_form: whether the form of a new run shows it.
        left_out_unset: is left out of manifests while unset, as in those written before it existed.
        instead_of_sweep: what to do instead of varying it in a sweep; empty where it may vary.
    """

    order: int = 0
    brief: str = ""
    _: KW_ONLY
    flag: str = ""
    group: FlagGroup = "training"
    free_on_resume: bool = False
    free_in_replay: bool = False
    file: bool = False
    path: bool = False
    live: bool = False
    special: bool = False
    secret: bool = False
    in_form: bool = True
    left_out_unset: bool = False
    instead_of_sweep: str = ""

    def within(self, field: str, section: Setting, name: str) -> Setting:
        """This setting with what the section around it declares for all settings inside.

        Args:
            field: the setting's own name.
            section: what the section declares.
            name: the section's own name.
        """
        inherited = {
            own.name: getattr(section, own.name)
            for own in fields(self)
            if own.name not in ("flag", "brief", "order") and getattr(self, own.name) == own.default
        }
        unnamed = "{section}" in self.flag and not section.flag
        flag = self.flag or (f"--{field.replace('_', '-')}" if self.order else "")
        flag = "" if unnamed else flag.format(section=section.flag)
        brief = self.brief.format(section=section.brief, name=name)
        return replace(self, **inherited, flag=flag, brief=brief)


def setting_of(info: FieldInfo) -> Setting:
    """What a field declares."""
    return next((found for found in info.metadata if isinstance(found, Setting)), Setting())


def in_home(path: str) -> str:
    """The path with the user's home folder in the place of `~`, `$HOME` or `${HOME}` before it."""
    for name in ("${HOME}", "$HOME"):
        if path == name or path.startswith(f"{name}/"):
            path = f"~{path.removeprefix(name)}"
    try:
        return str(Path(path).expanduser()) if path.startswith("~") else path
    except RuntimeError:  # there is no such user
        return path


def is_address(place: str) -> bool:
    """Whether a place is an address, such as s3://BUCKET/PREFIX, rather than a path."""
    return "://" in place


LocalPath = Annotated[str, AfterValidator(in_home)]
"""The setting of a path; see `in_home`."""


class SettingsSection(BaseModel):
    """A frozen group of settings that refuses keys it does not know."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        hide_input_in_errors=True,
        use_attribute_docstrings=True,
        # Its validator is part of that of the whole configuration.
        defer_build=True,
    )

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Self:
        """The section in the options of a role, which hold other settings as well."""
        return cls.model_validate({n: v for n, v in options.items() if n in cls.model_fields})
