"""Memory sizes that a user gives, which replace those of the chip: one for main memory, one for each module's L1."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from match.errors import OptionError
from match.target.arguments import is_a, shown
from match.target.byte_sizes import bytes_of

MOST_BYTES = 2**31 - 1

GivenSizes = int | str | Mapping[str, int | str]
"""Sizes of innermost memories: one for all modules, or by their names, also as a text: "cluster=64k,npu=32k"."""

Sizes = int | dict[str, int]
"""The same in bytes."""


def memory_size(name: str, size: int | str | None) -> int | None:
    """The size of the memory `name` in bytes, which may be given as a text such as "64k" or "1M"; None remains.

    Raises:
        OptionError: it is no number of bytes, or too large a one.
    """
    found = bytes_of(size) if isinstance(size, str) else size
    if size is not None and not (is_a(found, int) and found and 0 < found <= MOST_BYTES):
        raise OptionError(
            f"the {name} size must be a number of bytes from 1 to {MOST_BYTES}, such as 65536 or '64k', not "
            f"{shown(size)}."
        )
    return found


def l1_sizes(given: GivenSizes | None) -> Sizes | None:
    """Sizes of innermost memories in bytes; None remains. In a text modules are joined by "," or "+".

    Raises:
        OptionError: one is no number of bytes, or too large, or a module has two.
    """
    if isinstance(given, str) and "=" in given:
        return _by_module(_pairs(given))
    if isinstance(given, Mapping):
        return _by_module(iter(given.items()))
    return memory_size("L1", given)


def _pairs(text: str) -> Iterator[tuple[str, str]]:
    for part in re.split("[,+]", text):
        name, _, size = part.partition("=")
        yield name.strip(), size.strip()


def _by_module(pairs: Iterator[tuple[str, int | str]]) -> dict[str, int]:
    found: dict[str, int] = {}
    for name, given in pairs:
        size = memory_size(f"L1 ({name})", given)
        if not name or size is None:
            raise OptionError(
                f"sizes of L1 are one, or one for each module, such as cluster=64k,npu=32k; {shown(name)} has "
                f"{shown(given)}, give a name and a number of bytes."
            )
        if name in found:
            raise OptionError(f"the L1 of {name} is given more than once; give it one size.")
        found[name] = size
    if not found:
        raise OptionError("the L1 sizes by module are none; give at least one, or leave them out.")
    return found


def sizes_text(sizes: Sizes) -> str:
    """Sizes as they may be given: 65536, or cluster=65536+npu=32768."""
    return str(sizes) if isinstance(sizes, int) else "+".join(f"{name}={size}" for name, size in sizes.items())
