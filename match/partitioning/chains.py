"""Chains of layers: every place in a network where operators follow one another as a pattern of a module says."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from match.graph.value import Graph, Value, readers
from match.ir.attributes import Broadcast
from match.ir.chain import chained
from match.ir.constants import Addends
from match.ir.layer import Op
from match.partitioning.pattern import Match
from match.target.hardware import MatchTarget


@dataclass(frozen=True, eq=False)
class ChainMatch:
    """Layers that follow one another, by their places among the network's rows, and all of them as one."""

    rows: tuple[int, ...]
    stages: tuple[Match, ...]
    whole: Match


def find_chains(network: Graph, layers: Mapping[int, Match], target: MatchTarget) -> tuple[ChainMatch, ...]:
    """Every occurrence of every pattern of several operators that a module of the target lists, overlapping ones too.

    `layers` are by their places among the network's rows. A tensor between two operators of a chain has no other
    reader. An addition continues a chain in place of either of its operands; what it adds comes from outside. Layers of
    16 bits are in no chain.
    """
    layers = {place: match for place, match in layers.items() if match.layer.input_dtype != "int16"}
    wanted = dict.fromkeys(pattern.ops for pattern in target.patterns if pattern.before)
    read_by = readers(network)
    by_root = {match.root: place for place, match in layers.items()}
    found: list[ChainMatch] = []
    for place, last in layers.items():
        for ops in wanted:
            found += _ending(place, last, ops, layers, by_root, read_by)
    return tuple(found)


def _ending(
    place: int,
    last: Match,
    ops: Sequence[Op],
    layers: Mapping[int, Match],
    by_root: Mapping[Value, int],
    read_by: Mapping[Value, Iterable[Value | None]],
) -> Iterator[ChainMatch]:
    """The chains of some operators that end in a layer."""
    for rows in _paths(place, ops, layers, by_root, read_by):
        stages = [layers[row] for row in rows]
        if last.layer.op is Op.ADD and len(stages) > 1 and last.inputs[0] != stages[-2].root:
            stages[-1] = _swapped(last)
        if _chainable(stages):
            yield ChainMatch(rows, tuple(stages), _whole(stages))


def _paths(
    place: int,
    ops: Sequence[Op],
    layers: Mapping[int, Match],
    by_root: Mapping[Value, int],
    read_by: Mapping[Value, Iterable[Value | None]],
) -> Iterator[tuple[int, ...]]:
    layer = layers[place]
    if layer.layer.op is not ops[-1]:
        return
    if len(ops) == 1:
        yield (place,)
        return
    for x in dict.fromkeys(layer.inputs):
        if x in by_root and all(reader in layer.covered for reader in read_by[x]):
            for front in _paths(by_root[x], ops[:-1], layers, by_root, read_by):
                yield (*front, place)


def _chainable(stages: Sequence[Match]) -> bool:
    """Whether the operators read each other's outputs as they are, in bytes and not reshaped."""
    layers = [stage.layer for stage in stages]
    for before, after in pairwise(layers):
        written = before.oy, before.ox, before.k, before.output_dtype
        if written != (after.iy, after.ix, after.input_channels, after.input_dtype):
            return False
    inputs = stages[-1].inputs
    if any(layer.get(Broadcast).kind for layer in layers):
        return False
    return Op.ADD not in (layer.op for layer in layers[:-1]) and len({*inputs}) == len(inputs)


def _swapped(addition: Match) -> Match:
    """The addition with its operands in the other order."""
    first, second = addition.inputs
    addends = addition.constants.get(Addends)
    assert addends is not None
    constants = replace(addition.constants, data=Addends(*reversed(addends)))
    return replace(addition, inputs=(second, first), constants=constants)


def _whole(stages: Sequence[Match]) -> Match:
    """The chain as one layer, with the constants of the last operator."""
    first, last = stages[0], stages[-1]
    return Match(
        root=last.root,
        inputs=(*first.inputs, *last.inputs[1:]),
        covered=tuple(value for stage in stages for value in stage.covered),
        layer=chained([stage.layer for stage in stages]),
        constants=last.constants,
        accumulator=last.accumulator,
    )
