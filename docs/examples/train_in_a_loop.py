"""Two runs at a time, followed while they work, inside one event loop."""

import asyncio
from collections import Counter

from skillopt_cli import Stamped, train_async


async def main() -> None:
    """Train with two learning rates side by side."""
    seen: Counter[str] = Counter()

    def count(fact: Stamped) -> None:
        seen[fact.event.kind] += 1

    runs = await asyncio.gather(
        *(
            train_async(
                "searchqa",
                preset="tiny",
                learning_rate=rate,
                settings={"evaluation.eval_test": False},
                run_id=f"rate-{rate}",
                on_event=count,
            )
            for rate in (2, 6)
        )
    )
    for run in runs:
        print(run.folder.name, run.selection["best"].hard)
    print(seen["gate_decided"] > 0)


asyncio.run(main())
