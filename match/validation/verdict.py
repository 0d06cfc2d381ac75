"""Whether outputs differ from the reference as the compilation announced it, or by more."""

from __future__ import annotations

from collections.abc import Sequence

from match.dispatch.plan import LayerDecision
from match.report.schema import Verdict
from match.validation.schema import LayerDifference


def differs_by_more(layer: LayerDifference) -> bool:
    """Whether an operator differs by more than is known of it."""
    return layer.differing > 0 and layer.largest > layer.known_steps


def verdict(decisions: Sequence[LayerDecision], layers: Sequence[LayerDifference], *, integers_differ: bool) -> Verdict:
    """What is to be said of outputs that differ from those of the reference.

    Args:
        decisions: what was decided about each operator.
        layers: each operator alone, on all samples whose outputs differ.
        integers_differ: whether the outputs of the network's integers differ from the reference, too.

    Differences are announced where an operator's are within what is known of it, or where the network's integers
    themselves are known to be others than the reference's.
    """
    by_arithmetic = integers_differ and not all(decision.reference for decision in decisions)
    announced = by_arithmetic or (not integers_differ and any(layer.differing for layer in layers))
    if announced and not any(map(differs_by_more, layers)):
        return "as announced"
    return "more than announced"
