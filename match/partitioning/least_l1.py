"""The error of an innermost memory that holds no layer of a network, and the size of one that holds all."""

from __future__ import annotations

from collections.abc import Callable

from match.dispatch.plan import LayerDecision, Offer
from match.errors import CapacityError
from match.partitioning.partitioner import Partitioned
from match.target.hardware import MatchTarget
from match.target.memory_sizes import Sizes, sizes_text

_TRIES = 3
"""Sizes that are tried before an error names one."""

Again = Callable[[int], Partitioned | None]
"""Cuts a network for an innermost memory of so many bytes; None if the target cannot have that."""


def check_l1(partitioned: Partitioned, l1: Sizes | None, network: str, again: Again) -> None:
    """Check that innermost memories of `l1` bytes, if given, can hold some layer that a module takes into them.

    Raises:
        CapacityError: if no mapping of any layer fits. What is enough for all layers is tried before it is told.
    """
    offers = [(d.name, offer) for d in partitioned.decisions for offer in _mapped(d, partitioned.target)]
    unmapped = [(name, candidate) for name, candidate in offers if candidate.unmapped]
    if l1 is not None and unmapped and all(candidate.refusal for _, candidate in offers):
        name, first = unmapped[0]
        enough = _enough_l1(partitioned, again)
        advice = "more (--l1)" if enough is None else f"{enough} (--l1), enough for all layers that modules take"
        raise CapacityError(
            f"no layer of {network} fits an L1 of {sizes_text(l1)} bytes on {partitioned.target.name}: {first.module} "
            f"refused {name} because {first.refusal}; give {advice}, or leave it out for the target's own."
        )


def _enough_l1(partitioned: Partitioned, again: Again) -> int | None:
    """Bytes of innermost memory that were tried and hold all layers that modules take; None if these are not found."""
    for _ in range(_TRIES):
        target = partitioned.target
        lacking = [least for decision in partitioned.decisions if (least := _lacking(decision, target)) is not None]
        larger = again(max(lacking)) if lacking else None
        if larger is None:
            return None
        if not any(_is_unmapped(decision, target) for decision in larger.decisions):
            return max(lacking)
        partitioned = larger
    return None


def _mapped(decision: LayerDecision, target: MatchTarget) -> list[Offer]:
    """The answers of modules that compute out of a memory of their own."""
    modules = {module.name for module in target.modules if not module.direct}
    return [offer for offer in decision.candidates if offer.module in modules]


def _is_unmapped(decision: LayerDecision, target: MatchTarget) -> bool:
    """Whether such a module would take an operator, and none has a mapping that fits."""
    offers = _mapped(decision, target)
    return any(offer.unmapped for offer in offers) and all(offer.refusal for offer in offers)


def _lacking(decision: LayerDecision, target: MatchTarget) -> int | None:
    """Bytes of innermost memory with which such a module would take an operator that none has a mapping of."""
    needed = [offer.needed for offer in decision.candidates if offer.needed is not None]
    return min(needed) if needed and _is_unmapped(decision, target) else None
