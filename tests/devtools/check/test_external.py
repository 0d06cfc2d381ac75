"""What an author gets wrong about external memory is told in one sentence."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any

import numpy.typing as npt
import pytest

import match
from match.devtools.check import check_target
from match.devtools.check.description import description_problems
from match.devtools.check.external_run import external_run_problems
from match.devtools.check.probes import Probe, inputs, network, probes
from match.mapping.memory import Memory
from match.target.cost import Block
from match.target.hardware import MatchTarget
from match.targets.pulp.external import STAND_IN, hyperram

pytestmark = pytest.mark.cc

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "minichip"
SOURCE = Path(match.__file__).parent / "targets/pulp/host/external/pulp_external.c"


class Dma:
    """A DMA whose transfers cost what the test says."""

    def __init__(self, cycles: Callable[[Block], Any]) -> None:
        self.transfer = cycles


def target_with(**changes: Any) -> MatchTarget:
    """The example's chip with external memory, of which something is changed."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(EXAMPLE)
        target = import_module("minichip.target").Minichip()
    target.external = replace(hyperram(target.clock_hz), **{"platforms": {"host": STAND_IN}, **changes})
    return target


def described(**changes: Any) -> str:
    """The one sentence about a description."""
    (problem,) = description_problems(target_with(**changes))
    assert "\n" not in problem
    assert problem.startswith("target minichip ")
    assert problem.endswith(".")
    return problem


def test_nothing_is_wrong_with_a_description_that_is_right() -> None:
    assert description_problems(target_with()) == ()
    assert description_problems(match.get_target("gap9")) == ()


def test_sizes() -> None:
    small = described(memory=Memory("flash", 64 * 1024))
    assert "the external memory flash of 65536 bytes, no more than the 262144 of main memory" in small
    assert "flash of 262144 bytes, no more than" in described(memory=Memory("flash", 256 * 1024))
    assert "aligned to 3" in described(memory=Memory("flash", 8 << 20, 3))
    assert "both its main and its external memory 'main memory'" in described(memory=Memory("main memory", 8 << 20))


def test_platforms() -> None:
    assert "on the platform 'board', but its platforms are host" in described(
        platforms={"host": STAND_IN, "board": STAND_IN}
    )
    assert "external memory on no platform and not on host" in described(platforms={})


@pytest.mark.parametrize(("field", "kind"), [("sources", "source"), ("include", "folder")])
def test_files_that_do_not_exist(field: str, kind: str) -> None:
    part = replace(STAND_IN, **{field: (Path("targets/nowhere/psram"),)})
    problem = described(platforms={"host": part})
    assert f"names the {kind} 'targets/nowhere/psram' of its external memory, which does not exist" in problem


def test_a_header_that_is_in_no_folder() -> None:
    api = replace(hyperram(1e6).api, headers=("psram.h",))
    assert "names the header 'psram.h' of its external memory, which no folder of host has" in described(api=api)


@pytest.mark.parametrize("field", ["allocate", "free", "load", "transfer", "copy_in", "copy_out", "wait"])
def test_functions_that_are_nowhere(field: str) -> None:
    api = replace(hyperram(1e6).api, **{field: "psram_function"})
    assert f"names the C {field} psram_function of its external memory, which no source or header" in described(api=api)


@pytest.mark.parametrize("name", ["", None, "psram load"])
def test_functions_without_a_name(name: Any) -> None:
    problem = described(api=replace(hyperram(1e6).api, load=name))
    assert f"has the external memory's load called {name or ''!r}, which is no name of C" in problem


@pytest.mark.parametrize(
    ("cycles", "words"),
    [
        (lambda block: -block.bytes, "returned -4096; it must return a finite number of at least 0"),
        (lambda block: 0, "returned 0; it must return the cycles that the I/O DMA takes"),
        (lambda block: 0 if block.chunks > 1 else 9, "chunks=256, series=1, memory='')) returned 0"),
        (lambda block: float("nan"), "returned nan"),
        (lambda block: None, "returned None of type NoneType"),
        (lambda block: block.rows, "raised AttributeError"),
    ],
    ids=["negative", "nothing", "pieces", "nan", "none", "raising"],
)
def test_prices_that_cannot_be(cycles: Callable[[Block], Any], words: str) -> None:
    problem = described(dma=Dma(cycles))
    assert "has external memory whose dma.transfer(Block(" in problem
    assert words in problem


Layers = list[tuple[Probe, npt.NDArray[Any]]]


@pytest.fixture(scope="module")
def layers() -> Layers:
    """Two convolutions, and what they are on the control core."""
    convolutions = list(islice(probes("uint8"), 2))
    outputs = match.compile(network(convolutions), target_with(), modules=[]).run(inputs(convolutions))
    return list(zip(convolutions, outputs.values(), strict=True))


def with_code(place: Path, old: str, new: str) -> MatchTarget:
    """The example's chip with external memory whose C says something else."""
    code = SOURCE.read_text()
    assert old in code
    source = place / "external.c"
    source.write_text(code.replace(old, new, 1))
    return target_with(platforms={"host": replace(STAND_IN, sources=(source,))})


def test_a_run_shows_nothing_where_nothing_is_wrong(layers: Layers) -> None:
    assert list(external_run_problems(target_with(), layers)) == []


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        pytest.param(
            "int32_t match_pulp_external_wait(",
            "int32_t wait_for_it(match_pulp_external_transfer_t *transfer);\nint32_t wait_for_it(",
            "calls the C function match_pulp_external_wait, which none of the sources of its external memory and of "
            "host",
            id="missing",
        ),
        pytest.param(
            "    memcpy(block, image->data, image->bytes);\n    return MATCH_OK;",
            "    return MATCH_ERROR_TRANSFER;",
            "fails in a run of a network that takes external memory",
            id="failing",
        ),
    ],
)
def test_what_a_run_shows(old: str, new: str, words: str, layers: Layers, tmp_path: Path) -> None:
    (problem,) = external_run_problems(with_code(tmp_path, old, new), layers)
    assert words in problem
    assert "\n" not in problem


def test_another_image(tmp_path: Path) -> None:
    copy = "memcpy(block, image->data, image->bytes);"
    (problem,) = check_target(with_code(tmp_path, copy, f"{copy}\n    block[0] ^= 0x7f;")).problems
    assert "target minichip computes other values for a 3x3 convolution with stride 2 of 16 to 16 channels" in problem
    assert "when its constants come from external memory" in problem
