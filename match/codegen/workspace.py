"""Where TVM's buffers lie in the workspace: TVM's own algorithms, or places that were planned for the whole network."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from match.codegen.steps import CallStep, PartOf, StepReader, parts_of
from match.dispatch.plan import InPlace
from match.errors import CapacityError
from match.relay import tvm

PLANNER = "match"
"""The name of this module's algorithm among those of TVM's unified static memory planner."""

EXTERNAL = "external"
_MAIN = "workspace"


@dataclass(frozen=True)
class Place:
    """Where a buffer is: in external memory or in main memory, at which offset, and its bytes."""

    external: bool
    offset: int
    bytes: int


Places = Mapping[str, Place]


@contextmanager
def planner(reader: StepReader, places: Places | None, in_place: Mapping[str, InPlace]) -> Generator[dict[str, int]]:
    """While it is open, TVM's builds put buffers where `places` says, by name; without it, where TVM thinks best.

    `reader` is one of the instruments of the builds. `in_place` are operators, by symbol, that say which buffers are
    parts of others; neither TVM nor `places` know of these. Yields what is filled by a build: the offset of each buffer
    in its pool, constants included.
    """
    algorithm = _plan if places is None else partial(_follow, places)
    offsets: dict[str, int] = {}

    def noted(buffers: Any, pressure: Any) -> dict[Any, Any]:
        _keep_apart(reader.steps, buffers)
        parts = parts_of(reader.steps, in_place)
        wholes = _wholes(buffers, parts)
        planned = dict(algorithm(wholes, pressure).items())
        by_name = {str(buffer.name_hint): place for buffer, place in planned.items()}
        for buffer in buffers:
            part = parts.get(str(buffer.name_hint))
            if part is not None:
                whole = by_name[part.whole.name]
                at = int(whole.byte_offset) + part.offset
                planned[buffer] = tvm.tir.usmp.utils.PoolAllocation(whole.pool_info, at)
        offsets.update((str(buffer.name_hint), int(place.byte_offset)) for buffer, place in planned.items())
        return planned

    tvm.register_func(f"tir.usmp.algo.{PLANNER}", noted, override=True)
    try:
        yield offsets
    finally:
        tvm.register_func(f"tir.usmp.algo.{PLANNER}", _plan, override=True)


def pools(places: Places | None, target: Any) -> dict[str, Any]:
    """What `tvm.relay.build` is told of memories; nothing where it plans itself."""
    if places is None:
        return {}
    names = (_MAIN, EXTERNAL) if any(place.external for place in places.values()) else (_MAIN,)
    kinds = tvm.ir.memory_pools
    return {
        "workspace_memory_pools": kinds.WorkspaceMemoryPools([kinds.WorkspacePoolInfo(n, [target]) for n in names]),
        "constant_memory_pools": kinds.ConstantMemoryPools([kinds.ConstantPoolInfo("constants", [target], [])]),
    }


def _keep_apart(steps: Sequence[CallStep], buffers: Iterable[Any]) -> None:
    """Makes what an operator reserves for itself conflict with all that is in use at the same time.

    TVM has it wrong where an operator reserves a buffer inside a loop: it takes a tensor that is read in a loop inside
    that one for dead when the inner loop ends, although the outer loop's next turn reads it again.
    """
    known = {str(buffer.name_hint): buffer for buffer in buffers}
    missing: dict[str, set[str]] = {}
    for one, other in (pair for step in steps for pair in step.together):
        missing.setdefault(one, set()).add(other)
        missing.setdefault(other, set()).add(one)
    for name, others in missing.items():
        conflicts = list(known[name].conflicts)
        noticed = {str(buffer.name_hint) for buffer in conflicts}
        known[name].set_conflicts([*conflicts, *(known[other] for other in sorted(others - noticed))])


def _wholes(buffers: Iterable[Any], parts: Mapping[str, PartOf]) -> list[Any]:
    """The buffers that are no parts of others; a whole conflicts with all that its parts conflict with."""
    named = {str(buffer.name_hint): buffer for buffer in buffers}
    if not parts:
        return list(named.values())

    def whole(name: str) -> str:
        return parts[name].whole.name if name in parts else name

    conflicts: dict[str, dict[str, None]] = {name: {} for name in named if name not in parts}
    for name, buffer in named.items():
        for other in buffer.conflicts:
            one, two = whole(name), whole(str(other.name_hint))
            if one != two:
                conflicts[one][two] = conflicts[two][one] = None
    for name, others in conflicts.items():
        named[name].set_conflicts([named[other] for other in others])
    return [named[name] for name in conflicts]


def _plan(buffers: Any, pressure: Any) -> dict[Any, Any]:
    """Offsets of TVM's buffers: activations by hill climbing, constants by size.

    Constants are all alive at once, so there is nothing to gain for them; hill climbing would try for minutes.
    """
    planned: dict[Any, Any] = {}
    for algorithm, constant in (("greedy_by_size", True), ("hill_climb", False)):
        part = [buffer for buffer in buffers if _is_constant(buffer) is constant]
        if part:
            planned.update(tvm.get_global_func(f"tir.usmp.algo.{algorithm}")(part, pressure).items())
    return planned


def _follow(places: Places, buffers: Any, pressure: Any) -> dict[Any, Any]:
    constants = [buffer for buffer in buffers if _is_constant(buffer)]
    planned: dict[Any, Any] = {}
    if constants:
        planned.update(tvm.get_global_func("tir.usmp.algo.greedy_by_size")(constants, pressure).items())
    others = [buffer for buffer in buffers if not _is_constant(buffer)]
    _check(places, others)
    for buffer in others:
        place = places[str(buffer.name_hint)]
        pool = next(pool for pool in buffer.pool_candidates if (str(pool.pool_name) == EXTERNAL) is place.external)
        planned[buffer] = tvm.tir.usmp.utils.PoolAllocation(pool, place.offset)
    return planned


def _check(places: Places, buffers: Sequence[Any]) -> None:
    """The buffers have to be those that the places were planned for, and those alive together have to lie apart."""
    wanted = {str(buffer.name_hint): int(buffer.size_bytes) for buffer in buffers}
    if wanted != {name: place.bytes for name, place in places.items()}:
        odd = sorted(set(wanted.items()) ^ {(name, place.bytes) for name, place in places.items()})
        raise CapacityError(
            f"the memory was planned for other buffers than TVM has: {odd[0][0]} of {odd[0][1]} bytes is on one side "
            "only; please report this network."
        )
    for buffer in buffers:
        one = places[str(buffer.name_hint)]
        for conflict in buffer.conflicts:
            other = places[str(conflict.name_hint)]
            if one.external is other.external and (
                one.offset < other.offset + other.bytes and other.offset < one.offset + one.bytes
            ):
                raise CapacityError(
                    f"the memory was planned with {buffer.name_hint} and {conflict.name_hint} at the same place, which "
                    "TVM has alive at the same time; please report this network."
                )


def _is_constant(buffer: Any) -> bool:
    return isinstance(buffer.pool_candidates[0], tvm.ir.memory_pools.ConstantPoolInfo)
