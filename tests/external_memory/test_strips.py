"""Operators on the control core that write external memory: which can, how they are cut, and what they compute."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import match
from benchmarks.memory.networks import onnxruntime_outputs, sample, take_integers
from match.codegen.pieces import pieces_of
from match.codegen.steps import Argument, Buffer, CallStep, Pieces
from match.devtools.zoo.layers import Input, ZooNetwork, conv, dense, pooled
from match.devtools.zoo.qdq import write
from match.devtools.zoo.quantize import calibrate
from match.external_memory.strips import best_strips, least_strips
from match.ir.layer import Op
from match.placement.problem import Cut
from match.relay import tvm
from match.report.schema import MemoryPlanSummary
from match.target.cost import Block, CpuCostModel
from match.target.hardware import External
from match.target.registry import get_target

pytestmark = pytest.mark.cc

te = tvm.te


def _lowered(schedule: Any, tensors: list[Any]) -> Any:
    return tvm.lower(schedule, tensors)["main"]


def test_pieces_of_a_transposition_are_rows_of_its_output() -> None:
    x = te.placeholder((3, 6, 5), "int16", name="x")
    y = te.compute((6, 5, 3), lambda row, column, channel: x[channel, row, column], name="y")
    assert pieces_of(_lowered(te.create_schedule(y.op), [x, y])) == Pieces(6, 5 * 3 * 2)


def test_an_iteration_may_read_the_piece_that_it_writes() -> None:
    x = te.placeholder((4, 7), "int32", name="x")
    k = te.reduce_axis((0, 7), name="k")
    y = te.compute((4,), lambda row: te.sum(x[row, k], axis=k), name="y")
    assert pieces_of(_lowered(te.create_schedule(y.op), [x, y])) == Pieces(4, 4)


@pytest.mark.parametrize("why", ["order", "two loops", "an array of its own"])
def test_other_operators_have_no_pieces(why: str) -> None:
    x = te.placeholder((4, 6), "int8", name="x")
    y = te.compute((4, 6), lambda row, column: x[row, column], name="y")
    outputs = [y]
    if why != "order":
        outputs.append(te.compute((4, 6), lambda row, column: y[row, column] + y[3 - row, column], name="z"))
    schedule = te.create_schedule(outputs[-1].op)
    if why == "order":
        schedule[y].reorder(*reversed(y.op.axis))
    tensors = outputs if why == "two loops" else outputs[-1:]
    assert pieces_of(_lowered(schedule, [x, *tensors])) is None


@pytest.mark.parametrize(
    ("columns", "first", "expected"),
    [(6, 0, Pieces(4, 6)), (5, 1, Pieces(4, 6)), (7, 0, None), (6, 1, None), (6, -1, None)],
)
def test_an_iteration_keeps_to_its_own_piece(columns: int, first: int, expected: Pieces | None) -> None:
    builder = tvm.tir.ir_builder.create()
    x, y = (tvm.tir.decl_buffer((24,), "int8", name) for name in "xy")
    written, read = builder.buffer_ptr(y), builder.buffer_ptr(x)
    with builder.for_range(0, 4, name="row") as row, builder.for_range(0, columns, name="column") as column:
        written[row * 6 + column + first] = read[column]
    parameters = [tvm.tir.Var(name, "handle") for name in "xy"]
    function = tvm.tir.PrimFunc(parameters, builder.get(), buffer_map=dict(zip(parameters, (x, y), strict=True)))
    assert pieces_of(function) == expected


class _Dma:
    def transfer(self, block: Block) -> float:
        return 8.0 + block.bytes


@pytest.mark.parametrize(
    ("room", "rows", "expected"),
    [
        # Made in 10, started in 1, gone in 18: 11 to 29, 29 to 47; the third begins when the first is gone, at 29, and
        # waits for the DMA: 47 to 65; the fourth begins at 47: 65 to 83.
        (40, 1, Cut(32, 83.0, 72.0)),
        # Made in 20, started in 1, gone in 28: 21 to 49, 49 to 77.
        (48, 2, Cut(48, 77.0, 56.0)),
        (1000, 2, Cut(48, 77.0, 56.0)),
    ],
)
def test_strips_take_turns(room: int, rows: int, expected: Cut) -> None:
    external = get_target("gap8").external
    assert external is not None
    other = External(external.memory, external.api, _Dma())
    call = CallStep("f", (Argument(border=0), Argument(Buffer("y", 40))), pieces=Pieces(4, 10))
    strips, cut = best_strips(call, 40.0, room, 8, 1.0, other)
    assert (strips.rows, strips.count, strips.bytes, strips.argument) == (rows, 4, 10, 1)
    assert cut == expected
    assert least_strips(Pieces(4, 10), 8) == 32


class _MovingCore(CpuCostModel):
    """A control core that does nothing well but what stands before the first layer, which it therefore keeps."""

    def cycles(self, op: str, macs: int, outputs: int) -> float:
        return 1.0 if op in (Op.QUANTIZE, Op.TRANSPOSE) else 1e9 + macs + outputs


def _with_moving_core(name: str) -> match.MatchTarget:
    target = copy.copy(match.get_target(name))
    target.cpu_cost_model = _MovingCore()
    target.modules = tuple(module for module in target.modules if module.memories)
    return target


@pytest.mark.parametrize("integers", [True, False], ids=["transposed", "quantized and transposed"])
def test_an_image_is_laid_out_anew_without_room_for_its_copy(integers: bool, tmp_path: Path) -> None:
    x = conv("first", Input("image", (), (3, 50, 50), (0.0, 1.0)), 8, (3, 3), 2)
    x = conv("second", x, 8, (3, 3), 2)
    network = ZooNetwork("image", dense("scores", pooled(x), 10))
    model = write(network, calibrate(network, "uint8", 0))
    copy = 3 * 50 * 50
    image = copy if integers else 4 * copy
    if integers:
        take_integers(model)
    l2 = image + copy - 500
    compiled = match.compile(model, _with_moving_core("gap8"), l1=6000, l2=l2, output=tmp_path / "net")
    memory = compiled.report.memory
    assert isinstance(memory, MemoryPlanSummary)
    laid_out = next(tensor for tensor in memory.tensors if tensor.first == 0)
    assert (laid_out.bytes, laid_out.external) == (copy, True)
    assert 0 < memory.steps[0].block_bytes < copy
    assert memory.main_bytes <= l2
    inputs = sample(model) if integers else _floats()
    (output,) = compiled.run(inputs, sanitize=True).values()
    assert np.array_equal(output, onnxruntime_outputs(model, inputs))
    assert "_strip(" in (tmp_path / "net/src/network.c").read_text()


def _floats() -> dict[str, Any]:
    return {"image": np.random.default_rng(0).random((1, 3, 50, 50), np.float32)}
