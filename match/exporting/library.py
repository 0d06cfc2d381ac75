"""The library of one or several compiled networks: what of their projects' files it takes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from match.codegen.manifest import Manifest, PlatformEntry
from match.errors import InputError, OptionError
from match.ir.names import network_prefix
from match.run.project import own_platform, platform_of, read_manifest

_OWN = "src"
"""The folder of a project that has the network's C; all others have what networks share."""


@dataclass(frozen=True)
class Library:
    """The C of networks for one platform of their target.

    files: texts by path: headers and sources. sources: those that are compiled. include: folders of headers. defines:
    macros by name. networks: their C names, which their headers have as well. target: its name.
    """

    name: str
    networks: tuple[str, ...]
    target: str
    platform: str
    files: dict[str, str]
    sources: tuple[str, ...]
    include: tuple[str, ...]
    defines: dict[str, str]


def read_library(directories: Sequence[Path], name: str | None = None, platform: str | None = None) -> Library:
    """The library of the networks in some projects.

    Args:
        directories: the projects; all are for one target.
        name: of the library; none: those of the networks, joined.
        platform: one of the target's; none: the chip's own.

    Raises:
        InputError: if a folder holds no project, or files that it was written with are gone.
        OptionError: if the networks cannot be in one library, or there is no such platform.
    """
    manifests = [read_manifest(directory) for directory in directories]
    networks = tuple(network_prefix(manifest.name) for manifest in manifests)
    files: dict[str, str] = {}
    entries: list[PlatformEntry] = []
    sources: set[str] = set()
    for directory, manifest, network in zip(directories, manifests, networks, strict=True):
        _check(manifest, manifests[0], networks)
        entry = own_platform(manifest) if platform is None else platform_of(manifest, platform)
        entries.append(entry)
        taken = [*manifest.sources, *entry.sources, *entry.counting]
        headers = [path for path in manifest.files if path.endswith(".h") and _folder(path) in entry.include]
        headers += [path for path in manifest.files if path.endswith(".h") and _folder(path) == _OWN]
        for path in (*taken, *headers):
            place, text = _placed(path, network), _read(directory / path)
            if files.setdefault(place, text) != text:
                raise OptionError(
                    f"{directory} and {directories[0]} have another {path} each; compile both with one version of "
                    f"MATCH, the same --l1 and --l2."
                )
        sources.update(_placed(path, network) for path in taken)
    return Library(
        name=network_prefix(name or "_".join(networks)),
        networks=networks,
        target=manifests[0].target,
        platform=entries[0].name,
        files=dict(sorted(files.items())),
        sources=tuple(sorted(sources)),
        include=_union(entry.include for entry in entries),
        defines=dict(_macro(define) for define in _union(entry.defines for entry in entries)),
    )


def _check(manifest: Manifest, first: Manifest, networks: Sequence[str]) -> None:
    if (manifest.target, manifest.shared) != (first.target, first.shared):
        raise OptionError(
            f"{first.name} is for {first.target} and {manifest.name} for {manifest.target}, or another version of "
            f"MATCH compiled it; networks of one library share C, so compile them alike."
        )
    if len({*networks}) < len(networks):
        raise OptionError(f"two networks are called {manifest.name}; give one another name with match compile --name.")
    if manifest.image is not None:
        raise OptionError(
            f"{manifest.name} takes external memory, with an image that build systems know nothing of; include "
            f"{network_prefix(manifest.name)}.mk or .cmake in the firmware."
        )


def _placed(path: str, network: str) -> str:
    """Where a file of a project lies in the library: what is a network's own in a folder of its own."""
    return f"{_OWN}/{network}/{PurePosixPath(path).name}" if _folder(path) == _OWN else path


def _folder(path: str) -> str:
    return str(PurePosixPath(path).parent)


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(
            f"{path} cannot be read: {error.strerror or error}; compile the network into its folder again."
        ) from error


def _union(several: Iterable[Iterable[str]]) -> tuple[str, ...]:
    """All entries, each once."""
    return tuple(dict.fromkeys(entry for entries in several for entry in entries))


def _macro(define: str) -> tuple[str, str]:
    name, _, value = define.removeprefix("-D").partition("=")
    return name, value
