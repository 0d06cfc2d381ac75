"""`project.json`: what a project says about itself."""

from __future__ import annotations

from typing import Literal

import msgspec

from match.codegen.network import Call
from match.frontend.model import ModelTensor

MANIFEST = "project.json"


class PlatformEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A platform of the project; the fields are those of `match.target.hardware.Platform`.

    `missing` are modules that the network uses and the platform does not have: it is then not in the Makefile.
    `sources` are what a library for it takes beside the network's own, `counting` what counts its operators, `include`
    folders of headers, `defines` macros as arguments of the compiler; all are empty if modules are missing.
    """

    name: str
    on: str
    compiler: str | None
    runner: str
    machine: tuple[str, ...]
    counts: Literal["instructions", "cycles"] | None
    modules: tuple[str, ...] | None = None
    missing: tuple[str, ...] = ()
    counted: str = ""
    sources: tuple[str, ...] = ()
    counting: tuple[str, ...] = ()
    include: tuple[str, ...] = ()
    defines: tuple[str, ...] = ()


class Manifest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`project.json`: what a program that runs the project has to know.

    `calls` are what one inference calls, in order. `image` is the file for external memory, of networks that take some.
    `fingerprint` is that of the network's own C, which the network has as well, `shared` the name of that which
    networks share. `files` has the SHA-256 of every file that a compilation wrote, by its path; this one and those that
    get measurements are not among them. `selftest` has that of the self-test's files. `states` are what a context keeps
    from one run to the next. `sources` are the C of a library that is the same on all platforms.
    """

    name: str
    target: str
    inputs: tuple[ModelTensor, ...]
    outputs: tuple[ModelTensor, ...]
    platforms: tuple[PlatformEntry, ...]
    calls: tuple[Call, ...]
    image: str | None = None
    fingerprint: str = ""
    shared: str = ""
    files: dict[str, str] = {}
    selftest: dict[str, str] = {}
    states: tuple[ModelTensor, ...] = ()
    sources: tuple[str, ...] = ()
    schema_version: Literal[7] = 7


def encode(manifest: Manifest) -> str:
    """The text of `project.json`."""
    return msgspec.json.format(msgspec.json.encode(manifest), indent=2).decode() + "\n"
