"""Which of a platform's sources a network needs: those that define what others that it needs name.

C is read as far as its form in this project and in packages of targets allows: functions and data with external linkage
are defined at the beginning of a line, and used after spaces.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache

_FUNCTION = re.compile(
    r"^(?!static\b|extern\b|typedef\b|return\b|[A-Z_]+\b|#)\w[\w\s\*]*?\b(\w+)\([^;{]*?\)\s*\{", re.MULTILINE
)
_DATA = re.compile(
    r"^(?!static\b|extern\b|typedef\b|return\b|[A-Z_]+\b|#)\w[\w\s\*]*?\b(\w+)(?:\[[^\]]*\])?\s*(?:=[^;]*)?;",
    re.MULTILINE,
)
_LABEL = re.compile(r"^\s*\.glob(?:al|l)\s+(\w+)|^(\w+):", re.MULTILINE)
_WORD = re.compile(r"\b[A-Za-z_]\w*")
_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\])*\"", re.DOTALL)
_INDENTED = re.compile(r"^[ \t]+.*$", re.MULTILINE)


def used_sources(network: Iterable[str], sources: Mapping[str, str], headers: Iterable[str]) -> tuple[str, ...]:
    """The paths of the sources that a network needs, sorted.

    Args:
        network: C of the network.
        sources: of a platform, by path. One in which no definition is found is taken: it may be what a linker needs.
        headers: of the platform, whose inline functions may need something.
    """
    defined = {path: _definitions(path, text) for path, text in sources.items()}
    needed = {path for path, names in defined.items() if not names}
    words = set[str]().union(*(_words(text) for text in (*network, *headers, *(sources[path] for path in needed))))
    waiting = sorted(sources.keys() - needed)
    while found := [path for path in waiting if defined[path] & words]:
        needed.update(found)
        waiting = [path for path in waiting if path not in needed]
        words.update(*(_words(sources[path]) for path in found))
    return tuple(sorted(needed))


@cache
def _definitions(path: str, text: str) -> frozenset[str]:
    """Names with external linkage."""
    code = _COMMENT.sub(" ", text)
    if path.endswith(".S"):
        return frozenset(name for pair in _LABEL.findall(code) for name in pair if name)
    return frozenset((*_FUNCTION.findall(code), *_DATA.findall(code)))


@cache
def _words(text: str) -> frozenset[str]:
    """What is named inside of functions and initialisers."""
    code = _COMMENT.sub(" ", text)
    return frozenset(word for line in _INDENTED.findall(code) for word in _WORD.findall(line))
