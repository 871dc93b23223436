"""The bytes of pictures, read at the moment they are sent."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path

from skillopt_cli.core.errors import RequestRefused
from skillopt_cli.core.task import Image


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
