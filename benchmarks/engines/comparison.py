"""Whether one engine is never behind the others, search by search: the claim that sums over a network would hide."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from benchmarks.engines.results import Comparison, LayerSearch, Measurement
from benchmarks.engines.table import size_label
from match.search.exact.search import GRAIN


def compare_engines(measurements: Sequence[Measurement]) -> Iterator[Comparison]:
    """The first engine of the measurements beside each other one."""
    runs = {(one.network, one.l1, one.engine): one for one in measurements}
    first, *others = dict.fromkeys(one.engine for one in measurements)
    for other in others:
        pairs = [(runs[network, l1, first], one) for (network, l1, name), one in runs.items() if name == other]
        yield _compare(first, other, pairs)


def sentence(comparison: Comparison) -> str:
    """What a comparison came to, with what speaks against the first engine in lines of its own."""
    text = (
        f"{comparison.engine} is best in {comparison.searches - len(comparison.behind)} of {comparison.searches} "
        f"searches beside {comparison.other}: fewer cycles in {comparison.fewer}, as many in {comparison.equal}, "
        f"the only mapping in {comparison.only}."
    )
    return "\n".join((text, *comparison.behind))


def _compare(first: str, other: str, pairs: Sequence[tuple[Measurement, Measurement]]) -> Comparison:
    fewer = equal = only = 0
    behind: list[str] = []
    for mine, theirs in pairs:
        for one, two in zip(mine.searches, theirs.searches, strict=True):
            if two.cycles is None:
                only += one.cycles is not None
            elif one.cycles is None or one.cycles > two.cycles + 1 / GRAIN:
                place = f"{mine.network}, {size_label(mine.l1)}, {one.layer} on {one.module}"
                behind.append(f"{place}: {first} {_cycles(one)}, {other} {_cycles(two)}.")
            elif one.cycles < two.cycles - 1 / GRAIN:
                fewer += 1
            else:
                equal += 1
    return Comparison(first, other, fewer + equal + only + len(behind), fewer, equal, only, tuple(behind))


def _cycles(search: LayerSearch) -> str:
    return "no mapping" if search.cycles is None else f"{search.cycles:,.0f} cycles"
