"""A software pack as CMSIS-Pack lays it out: a description in XML beside the library."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from xml.sax.saxutils import escape, quoteattr

from match.exporting.library import Library
from match.exporting.self_contained import self_contained
from match.exporting.version import version

_VENDOR = "MATCH"


def cmsis(library: Library) -> Mapping[str, str]:
    """The files of a pack; a zip archive of them is the pack itself."""
    return {**self_contained(library).files, f"{_VENDOR}.{library.name}.pdsc": "\n".join(_description(library)) + "\n"}


def _description(library: Library) -> Iterator[str]:
    text = escape(f"Neural networks that MATCH compiled for {library.target}: {', '.join(library.networks)}")
    yield '<?xml version="1.0" encoding="UTF-8"?>'
    yield (
        '<package schemaVersion="1.7.7" xmlns:xs="http://www.w3.org/2001/XMLSchema-instance" '
        'xs:noNamespaceSchemaLocation="https://raw.githubusercontent.com/Open-CMSIS-Pack/Open-CMSIS-Pack-Spec/v1.7.7/'
        'schema/PACK.xsd">'
    )
    yield f"  <vendor>{_VENDOR}</vendor>"
    yield f"  <name>{library.name}</name>"
    yield f"  <description>{text}</description>"
    yield "  <url></url>"
    yield "  <releases>"
    yield f'    <release version="{version()}">{text}</release>'
    yield "  </releases>"
    yield "  <components>"
    yield (f'    <component Cclass="Machine Learning" Cgroup="Networks" Csub="{library.name}" Cversion="{version()}">')
    yield f"      <description>{text}</description>"
    yield "      <files>"
    for folder in library.include:
        yield f'        <file category="include" name={quoteattr(f"{folder}/")}/>'
    for network in library.networks:
        yield f'        <file category="header" name="include/{network}.h"/>'
    for source in library.sources:
        yield f'        <file category="source" name={quoteattr(source)}/>'
    yield "      </files>"
    yield "    </component>"
    yield "  </components>"
    yield "</package>"
