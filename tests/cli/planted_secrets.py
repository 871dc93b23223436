"""Secrets planted in the environment, the forms they may come back in, and a search for those.

The echoing program of the tests imports this module, so it uses the standard library alone.
"""

from __future__ import annotations

import gzip
import html
import json
import re
from base64 import b64encode
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import quote

MARK = re.compile(r"cnry\w{8,}")
"""The part of each planted secret that every way of writing it, but base64, keeps."""
SECRETS = {
    "OPENAI_API_KEY": "cnryOpenai0123",
    "OPENAI_COMPATIBLE_API_KEY": "cnryCompatible1",
    "ANTHROPIC_API_KEY": "cnryAnthropic45",
    "AZURE_OPENAI_API_KEY": "cnryAzure67890",
    "QWEN_CHAT_API_KEY": "cnryQwen987654",
    "MINIMAX_API_KEY": "cnryMinimax3210",
    "CURSOR_API_KEY": "cnryCursor1122",
    "COPILOT_GITHUB_TOKEN": "cnryCopilot334",
    "MINE": "cnryOfMine5566",
    "LOGIN": 'cnryLogin7788 "ö/%\\+ cnryLoginTail9',
    "HTTPS_PROXY": "http://me:cnryProxy9900%2Fx@127.0.0.1:9",
    "WANDB_API_KEY": "cnryWandb" + "0123456789abcdef" * 2,
    "OTEL_EXPORTER_OTLP_HEADERS": "authorization=Bearer%20cnryOtel13579,x-set=searchqa",
}


def said(texts: Iterable[str]) -> list[str]:
    """The texts that hold a secret, each in several forms."""
    found: list[str] = []
    for text in texts:
        if MARK.search(text):
            # Of `Bearer KEY` the key.
            word = text.removeprefix("Bearer ")
            found += [text, word, quote(text, ""), json.dumps(text)[1:-1], html.escape(text)]
            found += [b64encode(f"{user}{word}".encode()).decode() for user in ("", "u:", "me:")]
    return found


def leaks(*folders: Path, but: Iterable[Path] = ()) -> list[str]:
    """Files that hold a secret in any of their bytes, those that are compressed included."""
    wanted: dict[bytes, str] = {}
    for name, value in SECRETS.items():
        for mark in MARK.findall(value):
            wanted[mark.encode()] = name
            for before in range(3):
                code = b64encode(bytes(before) + mark.encode()).decode().rstrip("=")
                wanted[code[-(-8 * before // 6) : -1].encode()] = f"{name} in base64"
    found, left_out = [], [path.resolve() for path in but]
    for folder in folders:
        for path in sorted(folder.rglob("*")):
            if not path.is_file() or path.resolve() in left_out:
                continue
            data = path.read_bytes()
            data = gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data
            found += [f"{path}: {name}" for mark, name in wanted.items() if mark in data]
    return found
