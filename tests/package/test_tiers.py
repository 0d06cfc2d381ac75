"""Every file of tests says its tier (CONTRIBUTING.md), and the quick tiers need no more than they say."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest

from tests.package.test_architecture import PROJECT, files, imports, nodes_of

pytestmark = pytest.mark.unit

TIERS = ("unit", "tvm", "cc")
TESTS = sorted((PROJECT / "tests").rglob("test_*.py"))


@cache
def helpers() -> dict[str, Path]:
    """Modules beside the package that tests import, by name."""
    found: dict[str, Path] = {}
    for folder in ("tests", "benchmarks"):
        for path in (PROJECT / folder).rglob("*.py"):
            found[".".join(path.relative_to(PROJECT).with_suffix("").parts).removesuffix(".__init__")] = path
    return found


@cache
def reached(path: Path) -> frozenset[str]:
    """Modules of the project that are loaded with a file, itself aside."""
    known = files() | helpers()
    seen: set[str] = set()
    left = [path]
    while left:
        for name in _imported(left.pop()):
            if name in known and name not in seen:
                seen.add(name)
                left.append(known[name])
    return frozenset(seen)


@cache
def _imported(path: Path) -> frozenset[str]:
    own = set(imports(path))
    for node in nodes_of(path):
        if isinstance(node, ast.ImportFrom) and node.module:
            own |= {f"{node.module}.{alias.name}" for alias in node.names}
    return frozenset(own)


def tiers(path: Path) -> list[str]:
    """What the file's `pytestmark` names."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "pytestmark":
            marks = node.value.elts if isinstance(node.value, ast.List) else [node.value]
            return [ast.unparse(mark).removeprefix("pytest.mark.") for mark in marks]
    return []


@pytest.mark.parametrize("path", TESTS, ids=lambda path: str(path.relative_to(PROJECT / "tests")))
def test_a_file_has_one_tier_and_keeps_to_it(path: Path) -> None:
    own = [tier for tier in tiers(path) if tier in TIERS]
    assert len(own) == 1, f"pytestmark names one of {', '.join(TIERS)}"
    if own == ["unit"]:
        assert "match.relay" not in reached(path), "what loads TVM is of the tier tvm or cc"
    if own != ["cc"]:
        loaded = {"match.run", "match.compiler"} & reached(path)
        assert not loaded, f"what loads {' and '.join(loaded)} is of the tier cc"
