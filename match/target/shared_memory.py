"""Modules that compute out of one memory: their operators can follow one another in one offload."""

from __future__ import annotations

from match.target.hardware import HwModule, MatchTarget


def sharing(target: MatchTarget) -> tuple[tuple[HwModule, ...], ...]:
    """The modules that execute groups, with those together that may be in one group.

    These have one memory, the same one, and the same C functions reserve it, start transfers and wait for them.
    """
    found: list[list[HwModule]] = []
    for module in target.modules:
        if not module.groups or module.direct:
            continue
        beside = next((some for some in found if _share(some[0], module)), None)
        if beside is None:
            found.append([module])
        else:
            beside.append(module)
    return tuple(map(tuple, found))


def _share(one: HwModule, other: HwModule) -> bool:
    mine, theirs = one.scratchpad_api, other.scratchpad_api
    if mine is None or theirs is None:
        return False
    return (one.memories, mine.platform, mine.memory, mine.sync.wait_transfer) == (
        other.memories,
        theirs.platform,
        theirs.memory,
        theirs.sync.wait_transfer,
    )
