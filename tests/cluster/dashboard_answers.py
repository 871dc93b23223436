"""Writes all that a cluster's dashboard and its state API answer: `dashboard_answers.py URL`.

Ray's token is in the environment. The last line of stderr has the numbers of actors and logs.
"""

from __future__ import annotations

import json
import os
import sys
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from ray.util import state

KINDS = (
    *("actors", "placement_groups", "nodes", "jobs", "workers", "tasks", "objects"),
    *("runtime_envs", "cluster_events"),
)
PATHS = (
    *("/", "/api/version", "/api/cluster_status", "/api/component_activities", "/api/jobs/"),
    *("/api/v0/cluster_metadata", "/api/v0/platform_events", "/api/v0/tasks/timeline"),
    *(
        "/api/prometheus/sd",
        "/events",
        "/logical/actors",
        "/nodes?view=summary",
        "/nodes?view=hostNameList",
    ),
)
TEMPORARY = 404, 410, 500, 503
"""Answers about what is gone by now, or a part that does not run."""


def main(url: str) -> None:
    known = {}
    for kind in KINDS:
        listing = getattr(state, f"list_{kind}")
        detail = {} if kind == "cluster_events" else {"detail": True}
        known[kind] = listing(url, limit=10_000, **detail)
        write(repr(known[kind]).encode())
    for kind in ("tasks", "actors", "objects"):
        write(repr(getattr(state, f"summarize_{kind}")(url)).encode())
    for path in PATHS:
        write(got(url + path))
    logs = 0
    for node in known["nodes"]:
        write(got(f"{url}/nodes/{node.node_id}"))
        listed = got(f"{url}/api/v0/logs?node_id={node.node_id}&glob=*")
        write(listed)
        found = json.loads(listed)["data"]["result"] if listed.startswith(b"{") else {}
        for names in found.values():
            for name in names:
                place = f"node_id={node.node_id}&filename={name}"
                write(got(f"{url}/api/v0/logs/file?{place}&lines=-1"))
                logs += 1
    for actor in known["actors"]:
        write(got(f"{url}/logical/actors/{actor.actor_id}"))
    for job in known["jobs"]:
        write(got(f"{url}/api/jobs/{job.job_id}"))
    sys.stderr.write(f"{len(known['actors'])} {logs}\n")


def got(address: str) -> bytes:
    bearer = {"Authorization": f"Bearer {os.environ['RAY_AUTH_TOKEN']}"}
    try:
        with urlopen(Request(address, headers=bearer), timeout=30) as answer:
            return bytes(answer.read())
    except HTTPError as error:
        if error.code not in TEMPORARY:
            raise
        return error.read()


def write(answer: bytes) -> None:
    sys.stdout.buffer.write(answer + b"\n")


if __name__ == "__main__":
    main(sys.argv[1])
