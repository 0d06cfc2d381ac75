"""Puts a network into the memories of its target: main memory if that holds it, external memory beside it if not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from match.codegen.capacity import fits, shortage
from match.codegen.control_core import ControlCore
from match.codegen.lower import lower
from match.codegen.network import Network
from match.compilation.options import IN_PLACES, RAM, Options
from match.compilation.stopwatch import Stopwatch
from match.dispatch.plan import IN_PLACE
from match.errors import CapacityError
from match.external_memory.message import MainMemoryError, with_least
from match.external_memory.network import place_cheapest
from match.frontend import Model
from match.graph.value import Graph
from match.ir.layer import Op
from match.partitioning.partitioner import Partitioned, cut
from match.target.hardware import MatchTarget
from match.target.registry import get_target

_TRIES = 3
"""Sizes of main memory that are tried before an error names one."""

_MOVING = frozenset({Op.CONCATENATE.value, Op.SLICE.value, IN_PLACE})


def in_memory(
    partitioned: Partitioned, integer: Graph, model: Model, options: Options, stopwatch: Stopwatch
) -> tuple[Partitioned, Network]:
    """The network `integer`, cut as it is or in another way so that it fits main memory, else with external memory.

    Raises:
        CapacityError: if the chip does not have the memory. How much main memory is enough is tried before it is told.
    """
    try:
        return _placed(partitioned, integer, model, options, stopwatch)
    except MainMemoryError as error:
        least = _enough(error.least, partitioned.target, integer, model, options, stopwatch)
        if least is None:
            raise
        raise CapacityError(with_least(str(error), least)) from error


def _enough(
    least: int | None,
    target: MatchTarget,
    integer: Graph,
    model: Model,
    options: Options,
    stopwatch: Stopwatch,
) -> int | None:
    """Bytes of main memory that were tried and hold the network: `least`, or more if that lacks some; None: not found.

    With another main memory a network may be cut in another way.
    """
    for _ in range(_TRIES):
        if least is None:
            return None
        larger = get_target(target, l2=least)
        try:
            _placed(cut(integer, larger, options, model.name, stopwatch), integer, model, options, stopwatch)
            return least
        except MainMemoryError as error:
            least = error.least
        except CapacityError:
            return None
    return None


def _smaller(
    partitioned: Partitioned, integer: Graph, model: Model, options: Options, stopwatch: Stopwatch
) -> Iterator[Partitioned]:
    """Other ways to cut a network that take no more cycles than objective "ram" allows."""
    assert options.bound is not None, "there is always one where main memory is minimised"
    most = options.bound.factor * _cycles(partitioned)
    cuts = (cut(integer, partitioned.target, other, model.name, stopwatch) for other in options.smaller)
    for whole in (partitioned, *cuts):
        ways = (whole, *(way.cut() for way in whole.not_joined(stopwatch)))
        yield from (way for way in ways if _cycles(way) <= most)


def _cycles(way: Partitioned) -> float:
    return sum(decision.cycles for decision in way.decisions)


def _main_memory(way: tuple[Partitioned, Network]) -> tuple[float, ...]:
    """Bytes of main memory, with inputs and outputs beside the workspace and inside it; then cycles."""
    partitioned, network = way
    elsewhere = network.constant_bytes if partitioned.target.flash else 0
    return network.main_bytes - elsewhere, network.inside.bytes, _cycles(partitioned)


def _placed(
    partitioned: Partitioned, integer: Graph, model: Model, options: Options, stopwatch: Stopwatch
) -> tuple[Partitioned, Network]:
    """What `in_memory` returns; a shortage of main memory is a `MainMemoryError` where there is external memory."""
    chip, core = partitioned.target, ControlCore(partitioned.target.name)

    def lowered(way: Partitioned) -> tuple[Partitioned, Network]:
        with stopwatch.phase("codegen"):
            return way, lower(way, model, core)

    first = lowered(partitioned)
    if options.objective == RAM:
        first = min([first, *map(lowered, _smaller(partitioned, integer, model, options, stopwatch))], key=_main_memory)
    if not fits(first[1], chip) and any(d.op in _MOVING for d in partitioned.decisions):
        # Tensors inside others save copies, but hold main memory for longer: which of both is less is tried.
        others = (replace(options, in_place=way) for way in IN_PLACES[1:])
        cuts = (cut(integer, chip, other, model.name, stopwatch) for other in others)
        first = min([first, *map(lowered, cuts)], key=lambda way: way[1].main_bytes)
    partitioned, network = first
    if fits(network, chip):
        return partitioned, network
    if chip.external is None:
        # Chains may read and write at once what takes turns otherwise.
        others = (lowered(way.cut()) for way in partitioned.not_joined(stopwatch))
        least = min([first, *others], key=lambda way: way[1].main_bytes)
        if fits(least[1], chip):
            return least
        raise CapacityError(shortage(least[1], chip))
    others = [(other, cut(integer, chip, other, model.name, stopwatch)) for other in options.others]
    return place_cheapest(partitioned, network, model, core, options, stopwatch, others)
