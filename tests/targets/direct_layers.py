"""Random layers on modules without a scratchpad."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator

from match.dispatch.plan import LayerPlan
from match.ir.layer import GATES
from match.target.hardware import MatchTarget
from tests.analysis.simulate.layers import Accepted, accepted, planned


def layers(target: MatchTarget, count: int) -> Iterator[tuple[LayerPlan, Accepted]]:
    """Random layers of every pattern of the only module, with their plans."""
    (module,) = target.modules
    single = [pattern for pattern in module.patterns() if pattern.op not in GATES]
    for number, pattern in enumerate(single):
        some = list(itertools.islice(accepted(module, pattern, target, number), count))
        assert len(some) == count, f"too few of the random layers of {pattern.name} are taken"
        for place, layer in enumerate(some):
            yield planned(module, layer, random.Random(0), f"layer_{number}_{place}"), layer
