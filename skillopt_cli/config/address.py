"""Addresses of servers, checked as they are written."""

from __future__ import annotations

from urllib.parse import urlsplit


def address_fault(url: str) -> str:
    """What is wrong with a base URL, to be put behind its name; "" when nothing is."""
    try:
        parts = urlsplit(url)
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        good = False
    if not good:
        return "must be an http or https address"
    if "?" in url or "#" in url:
        # Calls would not send it. Azure's version has a setting of its own.
        return "must end before its `?` or `#`; the version of an interface is model.api_version"
    return ""
