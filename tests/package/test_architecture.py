"""Dependencies point one way, as docs/architecture.md says."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[2]
CORE = (
    "layer",
    "layer_constants",
    "requantize",
    "cost",
    "hardware",
    "operands",
    "tile_constants",
    "plan",
    "errors",
    "mapping.schedule",
)
MAY_IMPORT_RELAY = (
    "compiler",
    "partitioner",
    "check",
    "frontend",
    "transform",
    "pattern",
    "codegen.backend",
    "codegen.aot",
    "codegen.pieces",
    "codegen.steps",
    "codegen.workspace",
)


def modules() -> dict[str, Path]:
    """Every Python module of the package, by its name behind ``match.``."""
    found: dict[str, Path] = {}
    for prefix, folder in (("", "match"), ("targets.", "targets"), ("cost_models.", "cost_models")):
        for path in (PROJECT / folder).rglob("*.py"):
            found[prefix + ".".join(path.relative_to(PROJECT / folder).with_suffix("").parts)] = path
    return found


@cache
def files() -> dict[str, Path]:
    """The same by the names under which they are imported."""
    return {f"match.{name}".removesuffix(".__init__"): path for name, path in modules().items()}


def imports(path: Path, typing: bool = False) -> Iterator[str]:
    """Names of modules that a file imports, those for type checking alone left out unless `typing`."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    typing_only = {
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if node in typing_only and not typing:
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            yield from names & files().keys()
            if not names <= files().keys():
                yield node.module


def inside(name: str, packages: tuple[str, ...]) -> bool:
    return any(name == package or name.startswith(f"{package}.") for package in packages)


def test_no_module_stands_on_itself() -> None:
    """Not by way of others either, nor by imports inside functions or for type checking."""
    stands_on = {name: set(imports(path, typing=True)) & files().keys() for name, path in files().items()}
    try:
        TopologicalSorter(stands_on).prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(reversed(error.args[1])))


def test_tvm_is_imported_in_one_place() -> None:
    importers = {name for name, path in modules().items() if inside_any(path, "tvm")}
    assert importers == {"relay"}


def inside_any(path: Path, package: str) -> bool:
    return any(inside(name, (package,)) for name in imports(path))


def test_relay_stays_behind_its_doors() -> None:
    importers = {name for name, path in modules().items() if inside_any(path, "match.relay")}
    assert importers
    assert {name for name in importers if not inside(name, MAY_IMPORT_RELAY)} == set()


def test_the_compiler_names_no_target() -> None:
    for name, path in modules().items():
        if not inside(name, ("targets", "cost_models")):
            assert not inside_any(path, "match.targets"), name
            assert not inside_any(path, "match.cost_models"), name


def test_what_decides_knows_nothing_of_generated_code() -> None:
    deciding = ("fitting", "form", "request", "mapping", "search", "packed_constants", "dispatch", "sums", "storage")
    for name, path in modules().items():
        if inside(name, (*CORE, *deciding)):
            assert not inside_any(path, "match.codegen"), name


def test_the_simulation_knows_nothing_of_the_closed_form_and_of_generated_code() -> None:
    allowed = ("cost", "layer", "simulate", "mapping.arrays", "mapping.blocks", "mapping.schedule")
    for name, path in modules().items():
        if inside(name, ("simulate",)):
            own = {other for other in imports(path) if inside(other, ("match",))}
            assert all(inside(other, tuple(f"match.{part}" for part in allowed)) for other in own), name


def test_placement_is_an_algorithm_of_its_own() -> None:
    for name, path in modules().items():
        if inside(name, ("placement",)):
            own = {other for other in imports(path) if inside(other, ("match",))}
            assert all(inside(other, ("match.placement",)) for other in own), name


@pytest.mark.parametrize("name", CORE)
def test_core_types_know_nothing_of_the_steps(name: str) -> None:
    own = {other for other in imports(modules()[name]) if inside(other, ("match",))}
    allowed = tuple(f"match.{core}" for core in CORE)
    assert {other for other in own if not inside(other, allowed)} == set()
