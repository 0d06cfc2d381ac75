"""Figures of a network on GAP8: predicted cycles and bytes moved, and what no choice can go below."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Literal

import msgspec

from benchmarks.fusion.published import network
from match.compilation.options import Options
from match.compilation.stopwatch import Stopwatch
from match.cost_models.pulp_cluster import PulpClusterCost
from match.cover.problem import Candidate, CoverProblem
from match.cover.solve import solve
from match.dispatch.plan import CPU, LayerDecision
from match.graph.value import Graph
from match.ir.layer import Layer, Role
from match.ir.requantization import Requantizer
from match.partitioning.choice import choose
from match.partitioning.pattern import Row as NetworkRow
from match.partitioning.pattern import find_layers
from match.partitioning.pattern.rows import rows
from match.partitioning.sums import REQUANTIZE
from match.passes.pipeline import integer_network
from match.target.cost import CostModel
from match.target.group import without_groups
from match.target.registry import get_target
from match.targets.pulp.cluster import Cluster

Choice = Literal["unfused", "latency", "bytes"]
CHOICES: tuple[Choice, ...] = ("unfused", "latency", "bytes")

BORDER = frozenset({"quantize", "dequantize", "softmax"})
"""Layers of real numbers, in the zoo's networks: those that were published begin with integers and end with scores."""

_ENOUGH = 1 << 24
"""Bytes of main memory: the paper's figures, too, are those of networks that lie in it."""


class Row(msgspec.Struct, frozen=True):
    """A network, with so many bytes of L1, chosen one way.

    choice: layer by layer, or fused for least latency or for least bytes. blocking: whether the core waits for each
        transfer, as in the paper; otherwise transfers run beside kernels.
    cycles: predicted, of all layers on the cluster but `BORDER`. activation_bytes: moved between L2 and L1 by these;
        moved_bytes: with constants. l2_peak_bytes: most that tensors take at a time, and all constants.
    groups: operators of each function on the cluster, where they are several. operators: the names of those of each
        function on the cluster.
    once_bytes: activations if each tensor were written and read once, unfused. pairs_bytes: fused in pairs as well as
        can be. chains_bytes: fused in any chain that the cluster has a pattern for.
    """

    network: str
    l1: int
    choice: Choice
    blocking: bool
    cycles: float
    activation_bytes: int
    moved_bytes: int
    l2_peak_bytes: int
    groups: tuple[str, ...]
    operators: tuple[tuple[str, ...], ...]
    once_bytes: int
    pairs_bytes: int
    chains_bytes: int


class Results(msgspec.Struct, frozen=True):
    """All rows."""

    rows: tuple[Row, ...]


@dataclass(frozen=True)
class BlockingCost(PulpClusterCost):
    """The cluster's kernels, with a DMA whose transfers are waited for one by one."""

    overlap = False


class BlockingCluster(Cluster):
    """The cluster with such a DMA."""

    def cost(self, layer: Layer, requantizer: Requantizer | None) -> CostModel:
        """The same kernels."""
        usual = super().cost(layer, requantizer)
        assert isinstance(usual, PulpClusterCost)
        return BlockingCost(**{field.name: getattr(usual, field.name) for field in fields(usual)})


def measure(name: str, l1: int, *, blocking: bool = False) -> Iterator[Row]:
    """A network in a size of L1, chosen in each way."""
    target = get_target("gap8", l1, ["cluster"], _ENOUGH)
    if blocking:
        target.modules = (BlockingCluster(target.modules[0].memories[0]),)
    # As in the paper: a group may take operators of the border, which are not counted, with it.
    target = without_groups(target)
    model = network(name)
    graph = integer_network(model, target.activations)
    listed = rows(graph, find_layers(graph))
    least = _bounds(graph, listed)
    for choice in CHOICES:
        objective = "bytes" if choice == "bytes" else "latency"
        options = Options.parse(objective=objective, fuse=choice != "unfused")
        chosen = choose(graph, listed, "network", target, options, Stopwatch())
        problem = chosen.problem
        taken = [problem.candidates[place] for place in solve(problem).chosen]
        on_cluster = [decision for decision in chosen.decisions if decision.plan and decision.op not in BORDER]
        yield Row(
            name,
            l1,
            choice,
            blocking,
            sum(decision.cycles for decision in on_cluster),
            sum(_moved(decision, activations=True) for decision in on_cluster),
            sum(_moved(decision, activations=False) for decision in on_cluster),
            _peak(problem, taken) + sum(len(decision.plan.constants) for decision in on_cluster if decision.plan),
            tuple(decision.op for decision in on_cluster if "+" in decision.op),
            tuple(_layers(problem, one) for one in taken if _counts(problem, one)),
            *least,
        )


def _moved(decision: LayerDecision, *, activations: bool) -> int:
    """Bytes that a layer moves, of activations or of everything."""
    assert decision.plan is not None
    taken = next(offer for offer in decision.candidates if offer.module == decision.module)
    assert taken.cost is not None
    roles = {operand.name: operand.role for operand in decision.plan.schedule.operands}
    return sum(count for name, count in taken.cost.moved if not activations or roles[name] is not Role.CONSTANT)


def _peak(problem: CoverProblem, taken: list[Candidate]) -> int:
    """Most bytes of tensors in main memory at a time: those that are read or written, and those still to be read."""
    tensors = problem.graph.tensors
    last = {tensor: step for step, one in enumerate(taken) for tensor, _ in one.wants}
    last |= dict.fromkeys(problem.graph.outputs, len(taken))
    there: set[int] = set()
    most = 0
    for step, one in enumerate(taken):
        there |= {tensor for tensor, _ in (*one.wants, *one.gives)}
        most = max(most, sum(tensors[tensor].bytes for tensor in there))
        there = {tensor for tensor in there if last.get(tensor, -1) > step}
    return most


def _bounds(graph: Graph, listed: Sequence[NetworkRow]) -> tuple[int, int, int]:
    """Bytes of activations if each tensor is moved once: unfused, in pairs, in any chains; with all the L1 it takes."""
    roomy = without_groups(get_target("gap8", _ENOUGH, ["cluster"], _ENOUGH))
    options = Options.parse()
    problem = choose(graph, listed, "network", roomy, options, Stopwatch()).problem
    on_cluster = [one for one in problem.candidates if one.module != CPU]
    alone = {place for one in on_cluster if len(_layers(problem, one)) == 1 for place in one.operators}
    found: list[int] = []
    for most in (1, 2, len(problem.graph.operators)):
        some = [
            replace(one, cost=_once(problem, one))
            for one in problem.candidates
            if (alone.isdisjoint(one.operators) if one.module == CPU else len(_layers(problem, one)) <= most)
        ]
        found.append(round(solve(CoverProblem(problem.graph, tuple(some), problem.conversions)).cost))
    return found[0], found[1], found[2]


def _counts(problem: CoverProblem, one: Candidate) -> bool:
    """Whether it is on the cluster, and of the networks as they were published."""
    return one.module != CPU and problem.graph.operators[one.operators[0]].op not in BORDER


def _layers(problem: CoverProblem, one: Candidate) -> tuple[str, ...]:
    """Names of the layers of a candidate; what requantizes a layer's sums is no layer of its own."""
    operators = [problem.graph.operators[place] for place in one.operators]
    return tuple(operator.name for operator in operators if operator.op != REQUANTIZE)


def _once(problem: CoverProblem, one: Candidate) -> float:
    """Bytes of what a candidate on the cluster reads and writes; what the control core has is not counted."""
    if not _counts(problem, one):
        return 0.0
    return float(sum(problem.graph.tensors[tensor].bytes for tensor, _ in (*one.wants, *one.gives)))


def chosen_by(results: Results) -> Mapping[tuple[str, int, bool], dict[Choice, Row]]:
    """The rows of each network, size of L1 and kind of transfers, by choice."""
    found: dict[tuple[str, int, bool], dict[Choice, Row]] = {}
    for row in results.rows:
        found.setdefault((row.network, row.l1, row.blocking), {})[row.choice] = row
    return found
