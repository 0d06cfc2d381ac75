"""Random networks with random candidates: chains, branches, residual additions, concatenations, splits, fan-out."""

from __future__ import annotations

from collections.abc import Iterable
from random import Random

from match.cover.problem import Candidate, CoverProblem, Layout
from match.ir.graph import Graph, Operator, Tensor
from match.mapping.storage import Storage

MOST_COVERS = 600
LAYOUTS: tuple[Layout, ...] = (
    None,
    Storage((4, 6, 5), (2, 0, 1), (8, 4, 6)),
    Storage((4, 6, 5), (2, 0, 1), (16, 4, 6)),
    Storage((4, 6, 5), (2, 0, 1), (16, 4, 8)),
    Storage((4, 6, 5), (1, 0, 2), (6, 4, 5)),
)
"""The second holds what wants the first; the others hold themselves alone."""


def random_graph(random: Random, count: int, chain: bool) -> Graph:
    """Operators in order; each reads what is there by then, mostly what is new, and writes a tensor or two."""
    tensors = 1
    unread = [0]
    operators: list[Operator] = []
    for place in range(count):
        reads = [unread[-1] if unread else random.randrange(tensors)]
        if not chain:
            more = random.choice((0, 0, 0, 1, 1, 2))
            reads += [
                random.choice(unread) if unread and random.random() < 0.4 else random.randrange(tensors)
                for _ in range(more)
            ]
        writes = [tensors, tensors + 1] if not chain and random.random() < 0.1 else [tensors]
        tensors += len(writes)
        unread = [tensor for tensor in unread if tensor not in reads] + writes
        own = tuple(sorted(set(reads))), tuple(writes)
        operators.append(Operator(f"op_{place}", "op", "op", 0, 0, 120, *own))
    outputs = {*unread} | ({random.randrange(1, tensors)} if not chain and random.random() < 0.3 else set())
    return Graph(tuple(operators), (Tensor((1, 4, 6, 5), "int8"),) * tensors, tuple(sorted(outputs)))


def random_problem(random: Random, count: int | None = None, most: int = MOST_COVERS) -> CoverProblem:
    """Candidates of one operator, the control core's for each, and of chains whose inner tensors nothing else reads.

    Costs are eighths, so that sums of floats are exact, and few, so that some covers cost the same.
    """
    count = random.randint(1, 13) if count is None else count
    graph = random_graph(random, count, random.random() < 0.3)
    written = {tensor: place for place, operator in enumerate(graph.operators) for tensor in operator.writes}

    def candidate(operators: tuple[int, ...], module: str) -> Candidate:
        inner = {tensor for place in operators[:-1] for tensor in graph.operators[place].writes}
        reads = sorted({tensor for place in operators for tensor in graph.operators[place].reads} - inner)
        writes = graph.operators[operators[-1]].writes

        def lies(tensors: tuple[int, ...] | list[int]) -> tuple[tuple[int, Layout], ...]:
            return tuple((tensor, None if module == "cpu" else random.choice(LAYOUTS)) for tensor in tensors)

        return Candidate(operators, module, random.randint(1, 80) / 8, lies(reads), lies(writes))

    candidates: list[Candidate] = []
    estimate = 1
    for place in range(count):
        own = random.choice((0, 1, 1, 2)) if estimate < most // 3 else 0
        estimate *= own + 1
        candidates += [candidate((place,), f"module_{number}") for number in range(own)]
        candidates.append(candidate((place,), "cpu"))
    for place in range(count):
        if estimate < most and random.random() < 0.5:
            group = _chain_to(graph, written, place, random.choice((2, 2, 3)))
            if len(group) > 1:
                estimate = estimate * 3 // 2
                candidates.append(candidate(group, "fused"))
    random.shuffle(candidates)
    costs = {(tensor, layout): random.randint(0, 40) / 8 for tensor in range(len(graph.tensors)) for layout in LAYOUTS}
    return CoverProblem(graph, tuple(candidates), costs)


def parallel_graph(random: Random, count: int, paths: int, interleaved: bool) -> Graph:
    """Paths with skips from one tensor to an operator in which they join; one after another, or interleaved."""
    turns = sorted(place % paths for place in range(count - 1))
    if interleaved:
        random.shuffle(turns)
    written = [[0] for _ in range(paths)]
    operators: list[Operator] = []
    for place, path in enumerate(turns):
        own = written[path]
        skipped = {own[-random.randint(2, 4)]} if len(own) > 4 and random.random() < 0.1 else set[int]()
        reads = tuple(sorted({own[-1], *skipped}))
        operators.append(Operator(f"op_{place}", "op", "op", 0, 0, 120, reads, (place + 1,)))
        own.append(place + 1)
    ends = tuple(sorted(own[-1] for own in written))
    operators.append(Operator(f"op_{count - 1}", "op", "op", 0, 0, 120, ends, (count,)))
    return Graph(tuple(operators), (Tensor((1, 4, 6, 5), "int8"),) * (count + 1), (count,))


def parallel_problem(random: Random, count: int, paths: int, interleaved: bool) -> CoverProblem:
    """Three modules and the control core for each operator of parallel paths, and half of the chains of up to four.

    Three layouts; costs are eighths, and conversion to more room costs no less.
    """
    graph = parallel_graph(random, count, paths, interleaved)
    written = {tensor: place for place, operator in enumerate(graph.operators) for tensor in operator.writes}
    modules = [f"module_{number}" for number in range(3)]

    def candidate(operators: tuple[int, ...], module: str) -> Candidate:
        inner = {tensor for place in operators[:-1] for tensor in graph.operators[place].writes}
        reads = sorted({tensor for place in operators for tensor in graph.operators[place].reads} - inner)

        def lies(tensors: Iterable[int]) -> tuple[tuple[int, Layout], ...]:
            return tuple((tensor, None if module == "cpu" else random.choice(LAYOUTS[:3])) for tensor in tensors)

        cost = len(operators) * random.randint(1, 80) / 8
        return Candidate(operators, module, cost, lies(reads), lies(graph.operators[operators[-1]].writes))

    chains = [
        chain
        for place in range(count)
        for length in (2, 3, 4)
        if len(chain := _chain_to(graph, written, place, length)) == length
    ]
    candidates = [candidate((place,), module) for place in range(count) for module in (*modules, "cpu")]
    candidates += [candidate(chain, module) for chain in chains for module in modules if random.random() < 0.5]
    costs: dict[tuple[int, Layout], float] = {}
    for tensor in range(len(graph.tensors)):
        dense, *rooms = random.randint(0, 40) / 8, *sorted(random.randint(0, 40) / 8 for _ in LAYOUTS[1:3])
        costs |= {(tensor, layout): cost for layout, cost in zip(LAYOUTS, (dense, *rooms), strict=False)}
    return CoverProblem(graph, tuple(candidates), costs)


def _chain_to(graph: Graph, written: dict[int, int], last: int, length: int) -> tuple[int, ...]:
    """An operator with some of those before it that hand on to nothing else, as many as there are up to a number."""
    group = [last]
    while len(group) < length:
        before = [
            producer
            for tensor in graph.operators[group[0]].reads
            if (producer := written.get(tensor)) is not None
            and not {*graph.operators[producer].writes} & {*graph.outputs}
            and all(
                place == producer or not {*operator.reads} & {*graph.operators[producer].writes} or place in group
                for place, operator in enumerate(graph.operators)
            )
        ]
        if not before:
            break
        group.insert(0, before[0])
    return tuple(group)
