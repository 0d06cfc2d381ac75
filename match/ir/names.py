"""Names of layers, tensors and networks as C identifiers."""

from __future__ import annotations

import re
from collections.abc import Iterable

_KEYWORDS = re.compile(
    r"auto|break|case|char|const|continue|default|do|double|else|enum|extern|float|for|goto|if|inline|int|long|"
    r"register|restrict|return|short|signed|sizeof|static|struct|switch|typedef|union|unsigned|void|volatile|while|"
    r"bool|true|false|typeof|typeof_unqual|linux|unix|"
    r"alignas|alignof|and|and_eq|asm|bitand|bitor|catch|char16_t|char32_t|char8_t|class|co_await|co_return|co_yield|compl|"
    r"concept|const_cast|consteval|constexpr|constinit|decltype|delete|dynamic_cast|explicit|export|friend|mutable|"
    r"namespace|new|noexcept|not|not_eq|nullptr|operator|or|or_eq|private|protected|public|reinterpret_cast|requires|"
    r"static_assert|static_cast|template|this|thread_local|throw|try|typeid|typename|using|virtual|wchar_t|xor|xor_eq"
)
"""Words of C, of its header of truth values, of GNU C, and of C++, which may include a network's header."""

_HEADERS = re.compile(
    r"assert|complex|ctype|errno|fenv|float|inttypes|iso646|limits|locale|math|setjmp|signal|stdalign|stdarg|stdatomic|"
    r"stdbool|stddef|stdint|stdio|stdlib|stdnoreturn|string|tgmath|threads|time|uchar|wchar|wctype|"
    r"layers|match|match_.*"
)
"""Names of the headers of C11 and of projects: a network's header would be included in their place."""


def identifier(name: str) -> str:
    """`name` as a C identifier: lower case, everything else underscores, never empty, a keyword or led by a digit."""
    text = re.sub(r"\W+", "_", name, flags=re.ASCII).strip("_").lower()
    return f"_{text}" if not text or text[0].isdigit() or _KEYWORDS.fullmatch(text) else text


def network_prefix(name: str) -> str:
    """What every name in C begins with that a network called `name` defines: an identifier led by a letter.

    It is the name of the network's header, too, and of no other header.
    """
    text = identifier(name)
    return f"network_{text.strip('_')}" if text.startswith("_") or _HEADERS.fullmatch(text) else text


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
