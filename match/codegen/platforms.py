"""Platforms of a target as they lie in a project: files, and what its Makefile says about each."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from match.codegen.used import used_sources
from match.target.hardware import Platform
from match.target.sources import PACKAGE

_STDIO = "program/io.c"
COUNT = "program/count.c"


@dataclass(frozen=True)
class PlacedPlatform:
    """A platform with the paths that it has inside the project.

    `files` are all it brings along, headers included, by path; `sources` are what is compiled for it.
    """

    platform: Platform
    files: dict[str, str]
    sources: tuple[str, ...]
    include: tuple[str, ...]

    @property
    def defines(self) -> str:
        """Macros as arguments of the compiler."""
        return " ".join(f"-D{name}={value}" for name, value in sorted(self.platform.defines.items()))

    def used(self, network: Iterable[str]) -> tuple[str, ...]:
        """The sources that a library of a network takes, whose own C is `network`: no program, no files."""
        headers = [text for path, text in self.files.items() if path.endswith(".h")]
        sources = {path: self.files[path] for path in self.sources if path in self.files}
        return used_sources(network, sources, headers)

    def counting(self, network: Iterable[str], count: str) -> tuple[str, ...]:
        """What a library takes beside that to count operators; `count` is the C of `COUNT`. None if nothing counts."""
        known = list(network)
        more = set(self.used([*known, count])) - set(self.used(known))
        return (COUNT, *sorted(more)) if self.platform.counts else ()

    @property
    def needs(self) -> str:
        """What has to be installed to build for it, as the end of 'for ...'."""
        return f"with {self.platform.compiler}" if self.platform.compiler else "for this machine"


def place(platforms: Iterable[Platform]) -> tuple[PlacedPlatform, ...]:
    """Where everything that platforms need lies in a project."""
    return tuple(map(_place, platforms))


def _place(platform: Platform) -> PlacedPlatform:
    files: dict[str, str] = {}
    for folder in platform.include:
        for header in sorted((PACKAGE / folder).glob("*.h")):
            files[(_folder(folder) / header.name).as_posix()] = header.read_text(encoding="utf-8")
    sources = platform.sources if platform.io is None else (*platform.sources, platform.io)
    for path in (*sources, *platform.files):
        files[_file(path)] = (PACKAGE / path).read_text(encoding="utf-8")
    return PlacedPlatform(
        platform,
        files,
        tuple(sorted([*map(_file, sources), *([_STDIO] if platform.io is None else [])])),
        tuple(_folder(folder).as_posix() for folder in platform.include),
    )


def _file(path: Path) -> str:
    return (_folder(path.parent) / path.name).as_posix()


def _folder(folder: Path) -> Path:
    """Where a folder of a platform lies in the project: as in this package, or by its own name if it is elsewhere."""
    return Path("platform", folder.name) if folder.is_absolute() else folder
