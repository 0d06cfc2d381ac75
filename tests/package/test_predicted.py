"""Predicted cycles in docs/ that no benchmark writes are those of today."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import match
from tests.pages import DOCS
from tests.sampled import sampled

pytestmark = pytest.mark.cc

FILES = {
    "ResNet8": "pretrainedResnet_quant.tflite",
    "DS-CNN": "kws_ref_model.tflite",
    "VWW": "vww_96_int8.tflite",
    "visual wake words": "vww_96_int8.tflite",
    "MobileNetV1-0.25": "vww_96_int8.tflite",
    "auto-encoder": "ad01_int8.tflite",
    "autoencoder": "ad01_int8.tflite",
}
"""Model files by what tables call the networks; others are those of the tests' TFLite networks."""

PAIR = ["cluster", "ne16"]

NETWORKS = Path(__file__).parents[1] / "tflite" / "networks"


@dataclass(frozen=True)
class Table:
    """A table of a page by its header.

    columns: the arguments of `match.predict` by the column that has its cycles. target: that of all rows; none: the
    second column has it.
    """

    page: str
    header: str
    columns: dict[int, dict[str, Any]]
    target: str | None = None


TABLES = (
    Table(
        "choice.md",
        "| network | target | own L1: layer by layer | fused | less | 32 kB: layer by layer | fused | less |",
        {2: {"fuse": False}, 3: {}, 5: {"fuse": False, "l1": "32k"}, 6: {"l1": "32k"}},
    ),
    Table(
        "networks.md",
        "| network | predicted cycles | on the control core alone |",
        {1: {}, 2: {"modules": []}},
        target="gap9",
    ),
    Table(
        "running.md",
        "| network | predicted for one core | measured, RTL of one core | predicted for the chip, 8 cores |",
        {3: {"modules": ["cluster"]}},
        target="gap9",
    ),
    Table(
        "pulp-open.md",
        "| network | cluster | | cluster and NE16 | | the same, `--numerics exact` | | times as many |",
        {1: {"modules": ["cluster"]}, 3: {"modules": PAIR}, 5: {"modules": PAIR, "numerics": "exact"}},
        target="pulp_open",
    ),
)


def cases() -> list[tuple[str, str, str, int, str, str, dict[str, Any]]]:
    """Page, network, target, column, written cycles, model file and arguments, of each cell."""
    found: list[tuple[str, str, str, int, str, str, dict[str, Any]]] = []
    for table in TABLES:
        lines = (DOCS / table.page).read_text(encoding="utf-8").split("\n")
        first = lines.index(table.header) + 2
        for line in lines[first : lines.index("", first)]:
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            network = re.sub(r" \(.*\)", "", cells[0])
            target = table.target or cells[1]
            found += [
                (table.page, network, target, column, cells[column], FILES.get(network, network), arguments)
                for column, arguments in table.columns.items()
            ]
    return found


EACH_RUN = [case for case in cases() if case[1] in {"auto-encoder", "autoencoder"}]


@pytest.mark.parametrize(
    ("page", "network", "target", "column", "written", "file", "arguments"), sampled(cases(), EACH_RUN)
)
def test_cycles_in_a_table_are_those_of_today(
    page: str,
    network: str,
    target: str,
    column: int,
    written: str,
    file: str,
    arguments: dict[str, Any],
    models_dir: Path,
) -> None:
    own = NETWORKS / f"{file}.tflite"
    cycles = match.predict(own if own.exists() else models_dir / file, target, **arguments).totals.cycles
    assert written == f"{cycles:,}", f"docs/{page}, {network} on {target}, column {column}"


def test_cycles_of_a_border_are_those_of_today() -> None:
    text = " ".join((DOCS / "firmware.md").read_text(encoding="utf-8").split())
    (written,) = re.findall(
        r"A MobileNetV1 of the zoo \(0\.25, 96 x 96 pixels, .*?\) for GAP9 is predicted to take ([\d,]+) cycles with "
        r"`--input-type int8 --input-layout nhwc` in place of ([\d,]+)\.",
        text,
    )
    network = match.zoo.build("mobilenet_v1-0.25-96")
    with_border = match.compile(network, "gap9", input_type="int8", input_layout="nhwc").report
    assert written == tuple(f"{one.totals.cycles:,}" for one in (with_border, match.predict(network, "gap9")))
