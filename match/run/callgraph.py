"""Call graphs as GCC writes them (-fcallgraph-info=su), and the stack that a function needs with all that it calls."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

_NODE = re.compile(r'^node: \{ title: "(?P<title>[^"]+)" label: "[^"]*?\\n(?P<bytes>\d+) bytes \(', re.MULTILINE)
_EDGE = re.compile(r'^edge: \{ sourcename: "(?P<source>[^"]+)" targetname: "(?P<target>[^"]+)"', re.MULTILINE)


@dataclass(frozen=True)
class CallGraph:
    """Bytes of each function's own frame, and whom it calls by name; static functions are "file.c:name"."""

    frames: Mapping[str, int]
    calls: Mapping[str, frozenset[str]]

    def with_calls(self, sources: Iterable[str], targets: Iterable[str]) -> CallGraph:
        """The graph in which each of `sources` calls each of `targets`, too: by a pointer."""
        added = frozenset(targets)
        further = {source: self.calls.get(source, frozenset()) | added for source in sources}
        return CallGraph(self.frames, {**self.calls, **further})

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
    for text in texts:
        frames.update((node["title"], int(node["bytes"])) for node in _NODE.finditer(text))
        for edge in _EDGE.finditer(text):
            calls[edge["source"]].add(edge["target"])
    return CallGraph(frames, {name: frozenset(called) for name, called in calls.items()})
