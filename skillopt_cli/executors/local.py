"""Programs on this machine, in folders of their own, none of which outlives its attempt."""

from __future__ import annotations

from skillopt_cli.executors.programs import Job, ProgramExecutor
from skillopt_cli.executors.supervisor import Launch


class LocalExecutor(ProgramExecutor):
    """The `Executor` without isolation: it cleans up, it does not protect.

    A program may read, write and connect to whatever its user may.
    """

    isolates = False

    def _launch(self, job: Job) -> Launch:
        own = {"HOME": str(job.home), "TMPDIR": str(job.temporary)}
        return Launch(
            name=job.argv[0],
            argv=job.argv,
            cwd=job.cwd,
            stdin=job.stdin,
            environment={**own, **job.environment},
            limit=job.limit,
            written=job.written,
            streams=job.own,
        )
