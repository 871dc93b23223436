"""The attempts that an epoch's end makes to compare two skills. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping

from skillopt_cli.config.sections import OptimizerConfig
from skillopt_cli.core.epoch_pairs import PairPolicy
from skillopt_cli.core.statistics import CHANGED
from skillopt_cli.planning.forecast import Range
from skillopt_cli.stages.compare import waves


def compared_attempts(
    settings: OptimizerConfig, train: int, accuracy: float, *, same: bool
) -> Range:
    """Attempts under the skill of the epoch before and that of this one; one text is one.

    Args:
        train: tasks of that split.
        accuracy: share of them that is solved.
        same: whether both skills are known to be one text.
    """
    share = _shown(settings.longitudinal_pair_policy, accuracy, 0.0 if same else CHANGED)
    tried = waves(train, settings.slow_update_samples)
    needed = len(tried)
    if share:
        needed = math.ceil(tried[0] / share / settings.slow_update_samples)
    most = tried[:1] if share == 1 else tried
    return Range(0, (1 if same else 2) * sum(tried[:needed]), 2 * sum(most))


def _shown(policy: PairPolicy, accuracy: float, changed: float) -> float:
    """Share of the compared tasks that are shown.

    Two skills that each solve a share `a` would differ on 2a(1 - a) of the tasks by chance. They
    are of one kind, so at most half of that is likely.
    """
    changed = min(changed, accuracy * (1 - accuracy))
    shown: Mapping[PairPolicy, float] = {"changed": changed, "unchanged": 1 - changed}
    return shown.get(policy, 1.0)
