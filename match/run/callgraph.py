"""Call graphs as GCC writes them (-fcallgraph-info=su), and the stack that a function needs with all that it calls."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

_UNIT = re.compile(r'^graph: \{ title: "(?P<unit>[^"]+)"', re.MULTILINE)
_NODE = re.compile(r'^node: \{ title: "(?P<title>[^"]+)" label: "[^"]*?\\n(?P<bytes>\d+) bytes \(', re.MULTILINE)
_POINTER = "__indirect_call"
_EDGE = re.compile(r'^edge: \{ sourcename: "(?P<source>[^"]+)" targetname: "(?P<target>[^"]+)"', re.MULTILINE)


@dataclass(frozen=True)
class CallGraph:
    """Bytes of each function's own frame, whom it calls by name, and in which compiled file it is.

    Static functions are "file.c:name".
    """

    frames: Mapping[str, int]
    calls: Mapping[str, frozenset[str]]
    units: Mapping[str, str]

    def with_calls(self, sources: Iterable[str], targets: Iterable[str]) -> CallGraph:
        """The graph in which each of `sources` calls each of `targets`, too: by a pointer."""
        added = frozenset(targets)
        further = {source: self.calls.get(source, frozenset()) | added for source in sources}
        return CallGraph(self.frames, {**self.calls, **further}, self.units)

    def reached(self, function: str) -> frozenset[str]:
        """All that a function calls, itself included, however deep."""
        found: set[str] = set()
        left = [function]
        while left:
            name = left.pop()
            if name not in found:
                found.add(name)
                left += self.calls.get(name, ())
        return frozenset(found)

    def without_callers(self) -> frozenset[str]:
        """Functions that nobody calls by name: entries, and those that are called by pointers."""
        called = {name for function, names in self.calls.items() for name in names if name != function}
        return frozenset(self.frames.keys() - called)

    def by_pointers(self, callers: Iterable[str]) -> frozenset[str]:
        """Those of the callers that call by a pointer."""
        return frozenset(name for name in callers if _POINTER in self.calls.get(name, ()))

    def through_pointers(self, function: str) -> CallGraph:
        """The graph for `function`, in which what it reaches may call by pointers.

        A pointer leads to any static function without callers in the files with functions that `function` reaches.
        """
        graph, alone = self, self.without_callers() - {function}
        while True:
            reached = graph.reached(function)
            units = {self.units[name] for name in reached if name in self.units}
            targets = {name for name in alone if ":" in name and self.units[name] in units}
            callers = self.by_pointers(reached) - targets
            if all(targets <= graph.calls[caller] for caller in callers):
                return graph
            graph = graph.with_calls(callers, targets)

    def stack(self, function: str) -> int:
        """Bytes of the deepest chain of calls from a function, itself included.

        Calls by pointers are not in it unless `with_calls` added them, nor are functions that others have compiled (the
        C library's).

        Raises:
            ValueError: if functions call one another in a circle.
        """
        return self._deepest(function, ())

    def _deepest(self, function: str, above: tuple[str, ...]) -> int:
        if function in above:
            raise ValueError(f"{function} calls itself, by way of {', '.join(above)}")
        called = (self._deepest(name, (*above, function)) for name in self.calls.get(function, ()))
        return self.frames.get(function, 0) + max(called, default=0)


def read_call_graph(texts: Iterable[str]) -> CallGraph:
    """The graph of several compiled files together."""
    frames: dict[str, int] = {}
    calls: defaultdict[str, set[str]] = defaultdict(set)
    units: dict[str, str] = {}
    for text in texts:
        unit = _UNIT.search(text)
        own = {node["title"]: int(node["bytes"]) for node in _NODE.finditer(text)}
        frames.update(own)
        units.update(dict.fromkeys(own, unit["unit"] if unit else ""))
        for edge in _EDGE.finditer(text):
            calls[edge["source"]].add(edge["target"])
    return CallGraph(frames, {name: frozenset(called) for name, called in calls.items()}, units)
