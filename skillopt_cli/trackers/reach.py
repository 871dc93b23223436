"""Whether a server is there, asked before and beside a library that would try for minutes."""

from __future__ import annotations

import re
import ssl
from collections.abc import Iterator

from skillopt_cli.core.errors import TrackerFailed
from skillopt_cli.ports import Server

SECONDS = 10.0
"""How long a server has to answer; an idle one may have to be woken."""
_LOGIN = re.compile(r"//[^/]*@")


def unreached(server: Server) -> TrackerFailed | None:
    """What to say of a server that does not answer; None for one that does, whatever it says."""
    address = _bare(server.url)
    why = _silent(address)
    if not why:
        return None
    return TrackerFailed(
        f"no server answers at {address}: {why}",
        f"start it, or set `{server.variable}` to where it is; the run folder has all numbers",
    )


def _silent(url: str) -> str:
    import httpx2

    try:
        # Whom to trust is for the library: a certificate nobody knows is an answer too.
        with httpx2.Client(verify=False, timeout=SECONDS) as client, client.stream("GET", url):
            return ""
    except httpx2.TimeoutException:
        return f"no answer in {SECONDS:.0f} s"
    except httpx2.ConnectError as error:
        causes = list(_causes(error))
        if any(isinstance(cause, ssl.SSLError) for cause in causes):
            return ""
        said = [cause.strerror for cause in causes if isinstance(cause, OSError) and cause.strerror]
        return said[-1].lower() if said else str(error)
    except (httpx2.HTTPError, httpx2.InvalidURL, ValueError, OSError):
        # Something else speaks there, a proxy is in between, or it is no address: the library will
        # say what is wrong.
        return ""


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _bare(url: str) -> str:
    """An address without the name and password in it: only the library may send those."""
    return _LOGIN.sub("//", url, count=1)
