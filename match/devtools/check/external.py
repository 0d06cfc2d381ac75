"""What an author can get wrong about external memory, as far as its description tells."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import fields
from functools import partial
from pathlib import Path

from match.errors import CostModelError
from match.mapping.memory import Memory
from match.target.answers import number
from match.target.cost import Block
from match.target.hardware import External, ExternalApi, ExternalPlatform, Platform
from match.target.sources import PACKAGE

_NAME = re.compile(r"[A-Za-z_]\w*")
_PIECES = (Block("", (4096,), 4096, 1), Block("", (16, 16, 16), 4096, 256))


def external_problems(external: External, main_memory: Memory, platforms: Sequence[Platform], what: str) -> list[str]:
    """Sentences about an external memory of the target `what`, whose `platforms` are given."""
    return [
        *_size_problems(external.memory, main_memory, what),
        *_platform_problems(external, platforms, what),
        *_name_problems(external.api, what),
        *_cost_problems(external, what),
    ]


def _size_problems(memory: Memory, main_memory: Memory, what: str) -> Iterator[str]:
    if memory.name == main_memory.name:
        yield f"{what} calls both its main and its external memory {memory.name!r}; give each a name of its own."
    if memory.size <= main_memory.size:
        yield (
            f"{what} has the external memory {memory.name} of {memory.size} bytes, no more than the "
            f"{main_memory.size} of {main_memory.name}; give its size in bytes, or leave it out where there is none."
        )


def _platform_problems(external: External, platforms: Sequence[Platform], what: str) -> Iterator[str]:
    known = {platform.name: platform for platform in platforms}
    if "host" not in external.platforms:
        yield (
            f"{what} has external memory on {', '.join(external.platforms) or 'no platform'} and not on host, where "
            f"networks that need it are tried; let something stand in for it there."
        )
    for name, part in external.platforms.items():
        missing = list(_missing(part, what))
        yield from missing
        if name not in known:
            yield f"{what} has external memory on the platform {name!r}, but its platforms are {', '.join(known)}."
        elif not missing:
            yield from _c_problems(external.api, part, known[name], what)


def _missing(part: ExternalPlatform, what: str) -> Iterator[str]:
    """Files that do not exist."""
    for kind, paths in (("source", part.sources), ("folder", part.include)):
        for path in paths:
            if not (PACKAGE / path).exists():
                yield (
                    f"{what} names the {kind} {str(path)!r} of its external memory, which does not exist; paths are "
                    f"absolute or relative to the match package."
                )


def _c_problems(api: ExternalApi, part: ExternalPlatform, platform: Platform, what: str) -> Iterator[str]:
    """Headers and functions that the C of one platform does not have."""
    folders = [PACKAGE / folder for folder in (*part.include, *platform.include)]
    for header in api.headers:
        if not any((folder / header).is_file() for folder in folders):
            yield (
                f"{what} names the header {header!r} of its external memory, which no folder of {platform.name} has; "
                f"add its folder to ExternalPlatform.include."
            )
    headers = (path for folder in folders for path in sorted(folder.glob("*.h")))
    sources = (PACKAGE / path for path in (*part.sources, *platform.sources))
    words = {word for path in (*sources, *headers) if path.is_file() for word in _NAME.findall(_text(path))}
    for field, name in _functions(api):
        if _NAME.fullmatch(name) and name not in words:
            yield (
                f"{what} names the C {field} {name} of its external memory, which no source or header of "
                f"{platform.name} has; define it, or correct its name."
            )


def _name_problems(api: ExternalApi, what: str) -> Iterator[str]:
    for field, name in _functions(api):
        if not _NAME.fullmatch(name):
            yield (
                f"{what} has the external memory's {field} called {name!r}, which is no name of C; networks "
                f"need every function of ExternalApi."
            )


def _cost_problems(external: External, what: str) -> Iterator[str]:
    """What the DMA answers for some bytes in one piece and in many."""
    for block in _PIECES:
        call = f"{what} has external memory whose dma.transfer({block})"
        try:
            cycles = number(partial(external.dma.transfer, block), lambda call=call: call)
        except CostModelError as error:
            yield str(error)
            return
        if cycles == 0:
            yield f"{call} returned 0; it must return the cycles that the I/O DMA takes, which are more than that."
            return


def _functions(api: ExternalApi) -> Iterator[tuple[str, str]]:
    yield from ((field.name, str(getattr(api, field.name) or "")) for field in fields(api) if field.name != "headers")


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace")
