"""Dependencies point one way, as docs/architecture.md says."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

pytestmark = pytest.mark.unit

PROJECT = Path(__file__).resolve().parents[2]
STATIONS = (
    "errors",
    "interrupt",
    "files",
    "processes",
    "ir",
    "mapping",
    "target",
    "prediction",
    "search",
    "compilation",
    "requantize",
    "dispatch",
    "cover",
    "arithmetic",
    "graph",
    "quantized",
    "rewrites",
    "relay",
    "frontend",
    "passes",
    "partitioning",
    "placement",
    "analysis",
    "codegen",
    "byoc",
    "run",
    "exporting",
    "report",
    "external_memory",
    "validation",
    "compiled",
    "compiler",
    "sweeping",
    "quantizing",
    "devtools",
    "cli",
    "__main__",
)
"""What stands at the top of `match`, in the order of docs/architecture.md: imports go to the left only."""

MAY_IMPORT_RELAY = (
    "compiler",
    "compiled",
    "relay",
    "frontend",
    "passes",
    "partitioning",
    "devtools.check",
    "external_memory",
    "codegen",
    "byoc",
    "validation",
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


@cache
def imports(path: Path, typing: bool = False) -> frozenset[str]:
    """Names of modules that a file imports, those for type checking alone left out unless `typing`."""
    return frozenset(_imports(path, typing))


def _imports(path: Path, typing: bool) -> Iterator[str]:
    nodes = nodes_of(path)
    guarded = [node for node in nodes if isinstance(node, ast.If) and is_type_checking(node.test)]
    typing_only = {inner for node in guarded for inner in ast.walk(node)}
    for node in nodes:
        if node in typing_only and not typing:
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            yield from names & files().keys()
            if not names <= files().keys():
                yield node.module


@cache
def nodes_of(path: Path) -> tuple[ast.AST, ...]:
    return tuple(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))


def is_type_checking(test: ast.expr) -> bool:
    return isinstance(test, ast.Name) and test.id == "TYPE_CHECKING"


def inside(name: str, packages: tuple[str, ...]) -> bool:
    return any(name == package or name.startswith(f"{package}.") for package in packages)


def test_no_module_stands_on_itself() -> None:
    """Not by way of others either, nor by imports inside functions or for type checking."""
    stands_on = {name: imports(path, typing=True) & files().keys() for name, path in files().items()}
    try:
        TopologicalSorter(stands_on).prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(reversed(error.args[1])))


def station(name: str) -> int:
    """Where a module of `match` stands among `STATIONS`."""
    return STATIONS.index(name.split(".")[1])


def test_everything_at_the_top_is_a_station() -> None:
    folders = {path.name for path in (PROJECT / "match").iterdir() if path.is_dir() and not path.is_symlink()}
    loose = {path.stem for path in (PROJECT / "match").glob("*.py")}
    assert folders - {"__pycache__"} | loose - {"__init__"} == set(STATIONS)
    assert loose == {"__init__", "__main__", "compiler", "errors"}


def test_the_page_lists_the_stations_with_their_main_types() -> None:
    text = (PROJECT / "docs" / "architecture.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \| .* \|(.*)\|$", text, re.MULTILINE)
    assert [name for name, _ in rows] == [name for name in STATIONS if name != "__main__"]
    for name, types in rows:
        defined = {
            node.name
            for module, path in modules().items()
            if inside(module, (name,))
            for node in nodes_of(path)
            if isinstance(node, ast.ClassDef)
        }
        assert set(re.findall(r"`(\w+)`", types)) <= defined, name


def test_arrows_run_one_way() -> None:
    against = [
        f"{name} imports {other}"
        for name, path in files().items()
        if name != "match" and not inside(name, ("match.targets", "match.cost_models"))
        for other in imports(path, typing=True)
        if other in files() and other != "match" and station(other) > station(name)
    ]
    assert against == []


def test_tvm_is_imported_in_one_place() -> None:
    importers = {name for name, path in modules().items() if inside_any(path, "tvm")}
    assert importers == {"relay.__init__"}


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


def test_the_simulation_knows_nothing_of_the_closed_form_and_of_generated_code() -> None:
    allowed = (
        "target.cost",
        "target.group",
        "target.operators_cost",
        "ir.group",
        "ir.layer",
        "analysis.simulate",
        "mapping.group_plan",
        "mapping.memory",
        "mapping.schedule",
        "prediction.blocks",
    )
    for name, path in modules().items():
        if inside(name, ("analysis.simulate",)):
            own = {other for other in imports(path) if inside(other, ("match",))}
            assert all(inside(other, tuple(f"match.{part}" for part in allowed)) for other in own), name


def test_placement_is_an_algorithm_of_its_own() -> None:
    for name, path in modules().items():
        if inside(name, ("placement",)):
            own = {other for other in imports(path) if inside(other, ("match",))}
            assert all(inside(other, ("match.placement", "match.mapping.packing")) for other in own), name


def test_onnxruntime_is_called_where_it_is_told_not_to_saturate() -> None:
    """A session made elsewhere computes other integers on PCs without VNNI."""
    # `pip install .` leaves a copy in build.
    folders = [folder for folder in PROJECT.iterdir() if folder.name != "build" and not folder.name.startswith(".")]
    calling = [path for folder in folders for path in folder.rglob("*.py") if makes_session(path)]
    assert calling == [PROJECT / "match" / "validation" / "exact_session.py"]


def makes_session(path: Path) -> bool:
    text = path.read_text(encoding="utf-8")
    if "InferenceSession" not in text:
        return False
    called = (node.func for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call))
    return any(ast.unparse(function).endswith("InferenceSession") for function in called)
