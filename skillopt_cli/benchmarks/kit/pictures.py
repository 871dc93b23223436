"""Image store of tasks: pictures by digest, read from their files only when they are sent."""

from __future__ import annotations

import hashlib
import mimetypes
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

from skillopt_cli.benchmarks.kit.options import BenchmarkOptions
from skillopt_cli.benchmarks.kit.records import Record
from skillopt_cli.core.task import Image, Task
from skillopt_cli.safe_files import read_regular

Detail = Literal["auto", "low", "high"]
TYPES = ("image/png", "image/jpeg", "image/gif", "image/webp")
"""What the services take."""
SUFFIXES = {
    b"\x89PNG": ".png",
    b"\xff\xd8\xff": ".jpg",
    b"GIF8": ".gif",
    b"RIFF": ".webp",
}
"""Suffixes of these types by the bytes that such a file begins with."""


class PictureOptions(BenchmarkOptions):
    """The `env.*` keys of any benchmark with pictures."""

    image_root: str = ""
    """A folder to look for pictures in, beside that of the task file."""
    image_detail: Detail = "auto"
    """How closely a service looks at a picture: auto, low or high."""


class ImageStore:
    """The pictures of a benchmark's tasks.

    A task's data hold a picture's name and digest; the path of its file, which is no part of
    the task, is kept here.

    Args:
        roots: folders where names are looked up, after the folder of the task file.
        detail: how closely a service looks at them.
    """

    def __init__(self, roots: Sequence[Path] = (), detail: Detail = "auto") -> None:
        self._roots = tuple(roots)
        self._detail = detail
        self._paths: dict[str, Path] = {}

    def add(self, record: Record, name: str) -> dict[str, str]:
        """Add a picture of a record; returns its description for `Task.data`.

        Args:
            name: its path: absolute, or relative to the task file's folder, to
                `images` in it, or to one of the roots.

        Raises:
            DataError: it is not there, or of a type that no service takes.
        """
        here = record.path.parent
        folders = (here, here / "images", *self._roots)
        path = next((place for f in folders if (place := f / name).is_file()), None)
        if path is None:
            looked = ", ".join(dict.fromkeys(str(folder) for folder in folders))
            raise record.fault(f"the picture `{name}` is not there", f"looked in {looked}")
        media_type = mimetypes.guess_type(path.name)[0] or TYPES[0]
        if media_type not in TYPES:
            raise record.fault(
                f"the picture `{name}` is {media_type}", f"wanted: {', '.join(TYPES)}"
            )
        content = read_regular(path)
        if not content.startswith(tuple(SUFFIXES)):
            raise record.fault(
                f"the picture `{name}` is no PNG, JPEG, GIF or WebP",
                "its content does not match its name: save it again in one of these formats",
            )
        digest = hashlib.sha256(content).hexdigest()
        self._paths[digest] = path.resolve()
        return {"name": Path(name).name, "media_type": media_type, "digest": digest}

    def with_pictures(self, record: Record, task: Task) -> Task:
        """The task with the description of each picture in the place of its path.

        Args:
            task: its data hold the path of one `image`, or those of several `images`.

        Raises:
            DataError: see `add`.
        """
        data = dict(task.data)
        if "images" in data:
            data["images"] = [self.add(record, name) for name in data["images"]]
        else:
            data["image"] = self.add(record, str(data["image"]))
        return replace(task, data=data)

    def image(self, data: Mapping[str, str]) -> Image:
        """The picture that `add` described."""
        digest = data["digest"]
        return Image(str(self._paths[digest]), data["media_type"], digest, self._detail)
