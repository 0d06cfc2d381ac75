"""Modules that compute out of one memory: their operators can follow one another in one offload."""

from __future__ import annotations

from match.target.hardware import DirectApi, HwModule, MatchTarget


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
    if isinstance(one.api, DirectApi) or isinstance(other.api, DirectApi):
        return False
    return (one.memories, one.api.platform, one.api.memory, one.api.sync.wait_transfer) == (
        other.memories,
        other.api.platform,
        other.api.memory,
        other.api.sync.wait_transfer,
    )
