"""A library of Arduino's (its library specification, format 1.5), with a sketch that measures."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePosixPath

from match.codegen.c_text import render
from match.errors import OptionError
from match.exporting.library import Library
from match.exporting.self_contained import self_contained
from match.exporting.version import version


def arduino(library: Library) -> Mapping[str, str]:
    """The files of a library: all headers are in `src`, the one folder that sketches and sources include from.

    Raises:
        OptionError: if two headers have one name.
    """
    files: dict[str, str] = {}
    for path, text in self_contained(library).files.items():
        own = PurePosixPath(path)
        public = own.suffix == ".h" and str(own.parent) in library.include
        place = f"src/{own.name if public else path.removeprefix('src/')}"
        if place in files:
            raise OptionError(f"{path} is a second {place} of one library; export these networks apart.")
        files[place] = text
    networks = ", ".join(library.networks)
    properties = {
        "name": library.name,
        "version": version(),
        "author": "MATCH",
        "maintainer": "MATCH",
        "sentence": f"Neural networks: {networks}.",
        "paragraph": f"C that MATCH compiled for {library.target}.",
        "category": "Data Processing",
        "url": "",
        "architectures": "*",
        "includes": ",".join(f"{network}.h" for network in library.networks),
        "dot_a_linkage": "true",
    }
    files["library.properties"] = "".join(f"{key}={value}\n" for key, value in properties.items())
    for network in library.networks:
        sketch = f"measure_{network}"
        files[f"examples/{sketch}/{sketch}.ino"] = render("sketch.ino.mako", name=network, prefix=network.upper())
    return files
