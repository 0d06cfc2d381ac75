"""`match new-target`: a package with a target that works, for authors to start from."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import keyword
import re
import sys
from collections.abc import Mapping
from pathlib import Path

from mako.template import Template

from match.errors import OptionError, OutputError
from match.files.output import write_folder
from match.target.registry import target_names

_TEMPLATES = Path(__file__).parent / "templates"
_FILES = {
    "README.md": "README.md",
    "pyproject.toml": "pyproject.toml",
    "{name}/__init__.py": "init.py",
    "{name}/target.py": "target.py",
    "{name}/{name}.c": "chip.c",
    "{name}/{name}.h": "chip.h",
    "tests/test_{name}.py": "test.py",
}
_C_HEADERS = frozenset(
    {"assert", "float", "inttypes", "limits", "math", "stdbool", "stddef", "stdint", "stdio", "stdlib", "string"}
)
_TAKEN = frozenset({"match", "match_chip", "match_core", "match_tile", "tests"}) | _C_HEADERS | sys.stdlib_module_names


def scaffold(name: str, *, scratchpad: bool = True) -> dict[str, str]:
    """Text by path of the files of a package for the target `name`, whose module has a scratchpad or reads RAM.

    Raises:
        OptionError: if the name cannot be that of a Python package and of C functions.
    """
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name) or keyword.iskeyword(name):
        raise OptionError(
            f"{name!r} cannot name a target; use lower-case letters, digits and underscores, a letter first, and no "
            f"word of Python."
        )
    if name in _TAKEN:
        raise OptionError(
            f"{name!r} cannot name a target: a module of Python, a header of C or a part of this project is called so; "
            f"choose another name."
        )
    title = "".join(part.capitalize() for part in name.split("_"))
    values = {"name": name, "title": title, "scratchpad": scratchpad}
    return {path.format(name=name): _rendered(source, values) for path, source in _FILES.items()}


def _rendered(source: str, values: Mapping[str, object]) -> str:
    text = (_TEMPLATES / f"{source}.mako").read_text(encoding="utf-8")
    return str(Template(text, strict_undefined=True).render(**values))


def _installed(name: str) -> str | None:
    """What a package called `name` would hide from Python, or take the place of when pip installs it."""
    spec = importlib.util.find_spec(name)
    if spec is not None and spec.origin is not None:  # a folder without __init__.py has a spec, too
        return "an installed package that Python imports"
    try:
        found = importlib.metadata.distribution(name)
    except importlib.metadata.PackageNotFoundError:
        return None
    return f"the installed package {found.name} {found.version}"


def new_target(name: str, parent: Path, *, scratchpad: bool = True) -> Path:
    """Write the package into the folder `parent`/`name` and return that; nothing is left behind on failure.

    Raises:
        OptionError: as `scaffold`, or an installed target, an installed package or a module of Python has the name.
        OutputError: if the folder exists or cannot be written.
    """
    files = scaffold(name, scratchpad=scratchpad)
    if name in target_names():
        raise OptionError(f"{name!r} cannot name a target: one that is installed is called so; choose another name.")
    taken = _installed(name)
    if taken is not None:
        raise OptionError(f"{name!r} cannot name a target: {taken} is called so; choose another name.")
    place = parent / name
    if place.exists():
        raise OutputError(f"{place} exists already; choose another name or folder.")
    write_folder(place, files)
    return place
