"""Names of layers, tensors and networks as C identifiers."""

from __future__ import annotations

import re
from collections.abc import Iterable

_KEYWORDS = re.compile(
    r"auto|break|case|char|const|continue|default|do|double|else|enum|extern|float|for|goto|if|inline|int|long|"
    r"register|restrict|return|short|signed|sizeof|static|struct|switch|typedef|union|unsigned|void|volatile|while"
)


def identifier(name: str) -> str:
    """`name` as a C identifier: lower case, everything else underscores, never empty, a keyword or led by a digit."""
    text = re.sub(r"\W+", "_", name, flags=re.ASCII).strip("_").lower()
    return f"_{text}" if not text or text[0].isdigit() or _KEYWORDS.fullmatch(text) else text


def network_prefix(name: str) -> str:
    """What every name in C begins with that a network called `name` defines: an identifier led by a letter."""
    text = identifier(name)
    return f"network{text}" if text.startswith("_") else text


def identifiers(names: Iterable[str]) -> tuple[str, ...]:
    """`identifier` of each name, made distinct by numbers where they would clash."""
    taken: list[str] = []
    for name in names:
        base = identifier(name)
        candidate, number = base, 1
        while candidate in taken:
            number += 1
            candidate = f"{base}_{number}"
        taken.append(candidate)
    return tuple(taken)
