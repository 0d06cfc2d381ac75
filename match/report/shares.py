"""What each module does of a layer: operators of a group may be on several."""

from __future__ import annotations

from typing import NamedTuple

from match.report.schema import LayerSummary


class Share(NamedTuple):
    """What a module does of a layer: multiply-accumulates, and predicted cycles of all of it."""

    module: str
    macs: int
    cycles: int


def shares(layer: LayerSummary) -> tuple[Share, ...]:
    """The parts of modules in a layer, that of the one that it is offloaded to first.

    Cycles that are no operator's are its own.
    """
    others = dict.fromkeys(one.module for one in layer.operators if one.module not in ("", layer.module))
    own = [[one for one in layer.operators if one.module == name] for name in others]
    found = [
        Share(name, sum(one.macs for one in some), sum(one.cycles or 0 for one in some))
        for name, some in zip(others, own, strict=True)
    ]
    macs, cycles = (sum(one.macs for one in found), sum(one.cycles for one in found))
    return (Share(layer.module, layer.macs - macs, layer.cycles - cycles), *found)


def units(layer: LayerSummary) -> str:
    """The modules that execute a layer, joined by "+"."""
    return "+".join(share.module for share in shares(layer))
