"""Digests of cost models: another one when the model, its code or what its code imports is another."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Generator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from match.cost_models.dma import Mchan
from match.cost_models.ne16 import Ne16Cost
from match.search.fingerprint import Fingerprints, UnknownSourceError
from match.targets.pulp.cluster import COST

pytestmark = pytest.mark.unit

MODEL = """
import math
from dataclasses import dataclass, field
from match.target.cost import CostModel
from {package}.tables import (  # numbers only
    CYCLES,
)
from .helpers import rounded

@dataclass(frozen=True)
class Model(CostModel):
    speed: float = 1.0

    def compute(self, layer, tile):
        from {package} import late
        return rounded(CYCLES / self.speed)
"""


@dataclass(frozen=True)
class Holder:
    content: Any


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[Path]:
    folder = tmp_path / "chip_of_mine"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "model.py").write_text(MODEL.format(package="chip_of_mine"))
    (folder / "tables.py").write_text("CYCLES = 3\n")
    (folder / "helpers.py").write_text("from . import deeper\n\ndef rounded(x): return deeper.up(x)\n")
    (folder / "deeper.py").write_text("import math\n\nup = math.ceil\n")
    (folder / "late.py").write_text("")
    (folder / "unrelated.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    yield folder
    forget()


def forget() -> None:
    for name in [name for name in sys.modules if name.startswith("chip_of_mine")]:
        del sys.modules[name]


def digest(speed: float = 1.0) -> str:
    """In a new process, as it were."""
    forget()
    from chip_of_mine import model, unrelated  # type: ignore[import-not-found]

    assert unrelated
    return Fingerprints([]).of(model.Model(speed))


def test_same_code_and_state_same_digest(package: Path) -> None:
    assert digest() == digest()
    assert digest() != digest(2.0)


@pytest.mark.parametrize("name", ["model.py", "tables.py", "helpers.py", "deeper.py"])
def test_every_source_counts(package: Path, name: str) -> None:
    before = digest()
    with (package / name).open("a") as file:
        file.write("# another comment\n")
    assert digest() != before


def part_of(module: str, name: str) -> str:
    """Digest of something of a module that is held by nothing of another; in a new process, as it were."""
    forget()
    return Fingerprints([]).of([getattr(importlib.import_module(f"chip_of_mine.{module}"), name)])


def test_functions_that_are_held_count(package: Path) -> None:
    (package / "unrelated.py").write_text("def f(): return 1\n")
    before = part_of("unrelated", "f")
    (package / "unrelated.py").write_text("def f(): return 20\n")
    assert part_of("unrelated", "f") != before


def test_bases_count_wherever_they_come_from(package: Path) -> None:
    (package / "unrelated.py").write_text("class Base:\n    x = 1\n")
    (package / "late.py").write_text(
        "import importlib\nclass Made(importlib.import_module('chip_of_mine.unrelated').Base): pass\n"
    )
    before = part_of("late", "Made")
    (package / "unrelated.py").write_text("class Base:\n    x = 20\n")
    assert part_of("late", "Made") != before


def test_what_was_asked_before_does_not_count(package: Path) -> None:
    from chip_of_mine.model import Model  # type: ignore[import-not-found]

    fingerprints = Fingerprints([])
    fingerprints.of(Holder(1))
    assert fingerprints.of(Model()) == Fingerprints([]).of(Model())


def test_what_is_not_imported_does_not(package: Path) -> None:
    before = digest()
    (package / "unrelated.py").write_text("changed = True\n")
    assert digest() == before


def test_fields_of_fields_count() -> None:
    fingerprints = Fingerprints([])
    models = [
        COST,
        replace(COST, cores=4),
        replace(COST, dma=Mchan(call=900)),
        Ne16Cost(),
        Ne16Cost(stream_out=True),
    ]
    assert len({fingerprints.of(model) for model in models}) == len(models)
    assert fingerprints.of(COST) == fingerprints.of(COST)


def test_what_cannot_be_told_apart_has_none() -> None:
    def local() -> int:
        return 1

    class Local:
        pass

    assert Fingerprints([]).of(Holder(open))
    for content in (local, Local(), lambda: 2):
        with pytest.raises(UnknownSourceError):
            Fingerprints([]).of(Holder(content))


def test_known_files_are_not_read(package: Path) -> None:
    from chip_of_mine.model import Model  # type: ignore[import-not-found]

    known = Fingerprints(map(str, package.glob("*.py")))
    before = known.of(Model())
    (package / "model.py").write_text("")
    assert Fingerprints(map(str, package.glob("*.py"))).of(Model()) == before
