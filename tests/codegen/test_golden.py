"""Generated C as files to read: a change of the generator shows as a change of these.

``pytest tests/codegen/test_golden.py --snapshot-update`` writes them anew.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode

from match.codegen.layer import generate
from match.dispatch.plan import LayerPlan
from match.ir.layer import Dim, Op, Padding
from match.mapping.schedule import Loop
from match.targets.gap9.memory import L1
from match.targets.gap9.ne16 import STREAM_OUT, Ne16
from match.targets.pulp.cluster import Cluster
from match.targets.pulp.kernels import INT64, INT64_SIGNED
from tests.codegen.harness import plan
from tests.codegen.layers import make
from tests.codegen.test_two_memories import L2, mapped, planned, streamed

pytestmark = pytest.mark.cc


class CSource(SingleFileSnapshotExtension):
    """One C file for each test."""

    _write_mode = WriteMode.TEXT
    file_extension = "c"


def conv2d_streamed() -> LayerPlan:
    """Everything doubly buffered, borders on all sides, last tiles smaller."""
    case = make(
        Op.CONV2D, 3, 10, 9, 8, window=(3, 3), padding=Padding(1, 1, 1, 1), negative_step=True, name="conv2d_streamed"
    )
    return plan(
        case,
        [Loop(Dim.K, 4, 10), Loop(Dim.OY, 3, 9), Loop(Dim.OX, 5, 8)],
        {"input": 3, "weights": 1, "output": 3},
        {"input": 2, "weights": 2, "output": 2},
        symbol="conv2d_streamed",
        scratch=8 * 8 * 32,
        module=Cluster(L1),
        requantizer=INT64_SIGNED,
    )


def conv2d_resident() -> LayerPlan:
    """Weights that stay, on the accelerator, strips of rows in and out."""
    case = make(Op.CONV2D, 16, 20, 8, 6, window=(1, 1), name="conv2d_resident")
    return plan(
        case,
        [Loop(Dim.OY, 2, 8), Loop(Dim.K, 10, 20)],
        {"input": 1, "output": 1},
        {"input": 2},
        symbol="conv2d_resident",
        scratch=4 * 2 * 6 * 10,
        module=Ne16(),
        requantizer=STREAM_OUT[0],
    )


def conv2d_reduced() -> LayerPlan:
    """Input channels added up a tile at a time, of all output channels of some rows."""
    case = make(Op.CONV2D, 40, 20, 8, 6, window=(3, 3), padding=Padding(1, 1, 1, 1), name="conv2d_reduced")
    return plan(
        case,
        [Loop(Dim.OY, 3, 8), Loop(Dim.C, 16, 40), Loop(Dim.K, 12, 20)],
        {"input": 2, "weights": 3, "output": 1},
        {"input": 2, "weights": 2, "output": 2},
        symbol="conv2d_reduced",
        scratch=8 * 512,
        module=Cluster(L1),
        requantizer=INT64,
    )


def depthwise_nested() -> LayerPlan:
    """Two loops over channels, rows between them."""
    case = make(Op.DEPTHWISE_CONV2D, 12, 12, 6, 5, window=(3, 3), stride=(2, 2), name="depthwise_nested")
    return plan(
        case,
        [Loop(Dim.K, 7, 12), Loop(Dim.OY, 1, 2), Loop(Dim.K, 3, 7)],
        {"input": 3, "weights": 3, "output": 2},
        {"input": 2, "weights": 1, "output": 1},
        symbol="depthwise_nested",
        scratch=8 * 12,
        module=Cluster(L1),
        requantizer=INT64,
    )


def add_whole() -> LayerPlan:
    """Nothing to tile."""
    return plan(make(Op.ADD, 6, 6, 4, 4, name="add_whole"), symbol="add_whole", module=Cluster(L1), requantizer=INT64)


def conv2d_two_memories() -> LayerPlan:
    """Everything passes main memory, rows and channels are cut in both; last parts are smaller."""
    return replace(streamed()[0], symbol="conv2d_two_memories")


def dense_two_memories() -> LayerPlan:
    """Constants pass main memory, part after part; input channels are added up a tile at a time."""
    case = make(Op.DENSE, 96, 40, 1, 1, name="dense_two_memories")
    loops = [Loop(Dim.K, 16, 40), Loop(Dim.C, 32, 96, 1)]
    held = replace(L2, holds=frozenset({"weights"}))
    schedule = mapped(case, loops, {"weights": (1, 2)}, {"weights": (2, 2)}, held)
    return replace(planned(case, schedule), symbol="dense_two_memories")


def add_two_memories() -> LayerPlan:
    """Pieces of whole rows pass main memory as they are."""
    case = make(Op.ADD, 8, 8, 12, 6, name="add_two_memories")
    held = replace(L2, holds=frozenset({"input", "addend", "output"}))
    loops = [Loop(Dim.OY, 4, 12), Loop(Dim.OY, 2, 4, 1)]
    schedule = mapped(
        case,
        loops,
        {"input": (1, 2), "addend": (1, 2), "output": (1, 2)},
        {"input": (2, 2), "addend": (2, 1), "output": (2, 1)},
        held,
    )
    return replace(planned(case, schedule), symbol="add_two_memories")


@pytest.mark.parametrize(
    "item",
    [
        conv2d_streamed(),
        conv2d_resident(),
        conv2d_reduced(),
        depthwise_nested(),
        add_whole(),
        conv2d_two_memories(),
        dense_two_memories(),
        add_two_memories(),
    ],
    ids=lambda p: p.symbol,
)
def test_layer(item: LayerPlan, snapshot: SnapshotAssertion) -> None:
    assert generate(item) == snapshot(extension_class=CSource)
