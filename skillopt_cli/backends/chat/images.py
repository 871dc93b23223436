"""Pictures in requests: their position in the text, and their bytes, read when sent."""

from __future__ import annotations

import base64
import hashlib
import re
from pathlib import Path

from skillopt_cli.core.errors import RequestRefused
from skillopt_cli.core.task import Image, Message
from skillopt_cli.safe_files import read_regular

_MARK = re.compile(r"(\[image (\d+)\])")


def placed(message: Message) -> list[str | Image]:
    """Return the non-empty texts and the pictures of a message in reading order.

    A picture follows its mark `[image n]`, which is kept; pictures without a mark follow all text.
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
    """Return the picture's bytes as base64 text.

    Raises:
        RequestRefused: its file cannot be read, or has changed.
    """
    try:
        content = read_regular(Path(image.path))
    except OSError as error:
        raise RequestRefused(
            f"cannot read the picture {image.path}: {error.strerror or error}",
            "put the file back, or correct its path in the task",
        ) from error
    if hashlib.sha256(content).hexdigest() != image.digest:
        # Otherwise the reply would be journaled under the digest of the original picture.
        raise RequestRefused(
            f"the picture {image.path} has changed since its task was read",
            "start the command again",
        )
    return base64.b64encode(content).decode("ascii")


def data_uri(image: Image) -> str:
    """Return the picture as a `data:` address.

    Raises:
        RequestRefused: as `base64_of`.
    """
    return f"data:{image.media_type};base64,{base64_of(image)}"
