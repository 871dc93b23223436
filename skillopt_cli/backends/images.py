"""The bytes of pictures, read at the moment they are sent."""

from __future__ import annotations

import base64
import hashlib
import re
from pathlib import Path

from skillopt_cli.core.errors import RequestRefused
from skillopt_cli.core.task import Image, Message

_MARK = re.compile(r"(\[image (\d+)\])")


def placed(message: Message) -> list[str | Image]:
    """Texts and pictures of a message in reading order; no text is empty.

    A picture follows its mark `[image n]`, which stays; those without one come after all text.
    """
    parts: list[str | Image] = [""]
    left = dict(enumerate(message.images, 1))
    read = 0
    for mark in _MARK.finditer(message.content):
        image = left.pop(int(mark[2]), None)
        if image is not None:
            parts += [message.content[read : mark.end()], image]
            read = mark.end()
    parts += [message.content[read:], *left.values()]
    return [part for part in parts if part != ""]


def base64_of(image: Image) -> str:
    """The picture's bytes as base64 text.

    Raises:
        RequestRefused: its file cannot be read, or holds another picture than it did.
    """
    try:
        content = Path(image.path).read_bytes()
    except OSError as error:
        raise RequestRefused(
            f"cannot read the picture {image.path}: {error.strerror or error}",
            "put the file back, or correct its path in the task",
        ) from error
    if hashlib.sha256(content).hexdigest() != image.digest:
        # Sent all the same, its answer would be journaled as one to the picture it was.
        raise RequestRefused(
            f"the picture {image.path} has changed since its task was read",
            "start the command again",
        )
    return base64.b64encode(content).decode("ascii")


def data_uri(image: Image) -> str:
    """The picture as a `data:` address.

    Raises:
        RequestRefused: as `base64_of`.
    """
    return f"data:{image.media_type};base64,{base64_of(image)}"
