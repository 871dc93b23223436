"""Files of tasks on a node, by digest: packed by the driver, kept for all runs on the node."""

from __future__ import annotations

import hashlib
import io
import os
import stat
import tarfile
import tempfile
from pathlib import Path

from skillopt_cli.cluster.messages import FileContent
from skillopt_cli.core.errors import DataError
from skillopt_cli.executors.workspaces import remove_folder, temp_prefix
from skillopt_cli.safe_files import read_regular

_KEY, _CONTENT = "key", "content"


def packed(path: Path) -> FileContent:
    """The content of a file or folder. Links inside a folder are kept as links.

    Raises:
        OSError: it cannot be read.
    """
    if not path.is_dir():
        return FileContent(read_regular(path))
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        tar.add(path, arcname=".")
    return FileContent(archive.getvalue(), is_folder=True)


class NodeFiles:
    """The files that were sent to a node, shared by its workers.

    They stay as long as the node's own process, so that later runs need not send them again.

    Args:
        root: a folder of this user; created where it is missing.

    Raises:
        DataError: it belongs to another user.
    """

    def __init__(self, root: Path) -> None:
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = root.lstat()
        if found.st_uid != os.getuid() or not stat.S_ISDIR(found.st_mode):
            raise DataError(f"{root} on this node belongs to somebody else", "remove it")
        self.root = root

    @classmethod
    def of_this_node(cls, pid: int) -> NodeFiles:
        """Those of the node whose own process has this number.

        Once that has ended, the next start of a worker or a run removes the folder.
        """
        return cls(Path(tempfile.gettempdir(), f"{temp_prefix(pid)}files-{os.getuid()}"))

    def held(self) -> frozenset[str]:
        """The keys of all files that are there."""
        keys = self.root.glob(f"*/{_KEY}")
        return frozenset(read_regular(key).decode(errors="surrogateescape") for key in keys)

    def path(self, key: str) -> Path:
        """Where the file of a key lies."""
        return self._folder(key) / _CONTENT / key.rpartition("/")[2]

    def write(self, key: str, content: FileContent) -> None:
        """Keep a file; another worker may be writing the same one."""
        folder = self._folder(key)
        if folder.exists():
            return
        draft = Path(tempfile.mkdtemp(dir=self.root))
        (draft / _KEY).write_text(key, encoding="utf-8", errors="surrogateescape")
        (draft / _CONTENT).mkdir()
        file = draft / _CONTENT / key.rpartition("/")[2]
        if content.is_folder:
            with tarfile.open(fileobj=io.BytesIO(content.data)) as tar:
                tar.extractall(file, filter="tar")
        else:
            file.write_bytes(content.data)
        try:
            draft.rename(folder)
        except OSError:  # the other one was faster
            remove_folder(draft)

    def _folder(self, key: str) -> Path:
        # Digests of plug-ins may be any text.
        name = hashlib.sha256(key.encode(errors="surrogateescape")).hexdigest()
        return self.root / name[:40]
