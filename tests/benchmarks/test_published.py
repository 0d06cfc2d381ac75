"""The benchmark of published cells: its data, its predictions, what it writes and what it cannot predict."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path

import jsonschema
import msgspec
import pytest
from rich.console import Console
from typer.testing import CliRunner

from benchmarks.command import app
from benchmarks.published import __main__ as command
from benchmarks.published.alone import alone
from benchmarks.published.cells import Cell, Convolution, Network, Published, published
from benchmarks.published.match_runtime import runtime_cycles
from benchmarks.published.predict import predict
from benchmarks.published.results import Prediction, Result, Results, figures, schema, table
from match.dispatch.plan import LayerDecision, LayerPlan, OperatorPlan
from match.errors import OptionError
from match.frontend.relay import from_relay
from match.ir.layer import Dim, Layer, Op, Padding
from match.mapping.memory import Memory
from match.mapping.schedule import Loop, Placement, Schedule
from match.partitioning.pattern import Match
from match.passes.pipeline import integer_network
from match.target.operands import standard_operands
from match.targets.pulp.cluster import COST, Cluster
from tests.layers_of import find
from tests.sampled import sampled
from tests.schemas import in_order

pytestmark = pytest.mark.cc

SCHEMA = Path(command.__file__).with_name("schema.json")
CONVOLUTION = Network(convolution=Convolution(channels=32, filters=16, size=8, filter=3))
CELL = Cell(tool="x", target="gap8", modules=("cluster",), network="conv", source="here", macs_per_cycle=10.0)


def printed(results: list[Result]) -> str:
    """The table as text."""
    file = io.StringIO()
    Console(file=file, width=300).print(table(results))
    return file.getvalue()


def test_cells_name_networks_and_have_one_figure_each() -> None:
    data = published()
    for name, network in data.networks.items():
        assert sum(origin is not None for origin in (network.file, network.zoo, network.convolution)) == 1, name
    for cell in data.cells:
        assert cell.network in data.networks
        assert sum(figure is not None for figure in (cell.milliseconds, cell.cycles, cell.macs_per_cycle)) == 1
        assert cell.source
    assert len(set(data.cells)) == len(data.cells)


def test_all_of_the_match_papers_columns_are_there() -> None:
    """Four networks by GAP9's module sets and TVM, and by DIANA and TVM, where MobileNet ran out of memory."""
    found = [(c.target, c.modules, c.network) for c in published().cells if c.source.startswith("MATCH paper, Table")]
    networks = ("MobileNetV1-0.25-96", "ResNet8", "DS-CNN", "Auto-encoder")
    gap9 = [("gap9", m, n) for m in (("cluster", "ne16"), ("cluster",), ("ne16",), ()) for n in networks]
    diana = [("diana", m, n) for m in (("digital",), ()) for n in networks]
    assert sorted(found) == sorted({*gap9, *diana} - {("diana", (), "MobileNetV1-0.25-96")})


def test_a_cell_is_compared_in_cycles() -> None:
    cells = [CELL, msgspec.structs.replace(CELL, macs_per_cycle=None, milliseconds=1.0)]
    rate, time = (predict(cell, CONVOLUTION, Path()).prediction for cell in cells)
    assert rate is not None
    assert time is not None
    assert rate.macs == 16 * 32 * 9 * 64
    assert rate.measured_cycles == pytest.approx(rate.macs / 10)
    assert time.measured_cycles == pytest.approx(100e6 / 1000)
    assert rate.predicted_cycles == time.predicted_cycles
    assert rate.ratio == pytest.approx(rate.predicted_cycles / rate.measured_cycles)
    assert 0.5 < rate.ratio < 2
    assert rate.cpu_cycles == 0
    assert rate.runtime_cycles is None


def test_channels_that_are_proven_constant_are_computed(models_dir: Path) -> None:
    """MobileNet's 7.5 million products, of which a quarter feeds constant channels."""
    cell = msgspec.structs.replace(CELL, network="MobileNet", modules=())
    found = predict(cell, Network(file="vww_96_int8.tflite"), models_dir).prediction
    assert found is not None
    assert found.macs == 7_489_664
    assert found.cpu_cycles == found.predicted_cycles


def test_a_convolution_alone_is_requantized_by_a_shift() -> None:
    convolution = Convolution(channels=8, filters=16, size=6, filter=3)
    (found,) = (f for f in find(integer_network(from_relay(alone(convolution)))) if isinstance(f, Match))
    layer = Layer("l", Op.CONV2D, k=16, c=8, oy=6, ox=6, iy=6, ix=6, fy=3, fx=3, padding=Padding(1, 1, 1, 1))
    kept = ("op", "k", "c", "oy", "ox", "iy", "ix", "fy", "fx", "stride", "padding")
    assert [getattr(found.layer, field) for field in kept] == [getattr(layer, field) for field in kept]
    assert found.layer.pad_value == 0
    requantization = found.constants.requantization
    assert requantization is not None
    assert all(factor & (factor - 1) == 0 for factor in requantization.multiplier.tolist())


def test_layers_of_a_rescaled_network_are_on_the_accelerator_that_shifts(models_dir: Path) -> None:
    """And what lays activations out anew around it is counted."""
    network = Network(file="ad01_int8.tflite")
    cells = (
        msgspec.structs.replace(CELL, target="diana", modules=("digital",), rescale=rescale)
        for rescale in (False, True)
    )
    own, rescaled = (predict(cell, network, models_dir).prediction for cell in cells)
    assert own is not None
    assert rescaled is not None
    assert own.macs == rescaled.macs
    assert own.cpu_cycles == own.predicted_cycles
    assert rescaled.predicted_cycles > rescaled.cpu_cycles >= rescaled.layout_cycles > 0


RESULTS = command.read(command.FILE)


def test_all_cells_were_predicted_last() -> None:
    assert [result.cell for result in RESULTS] == list(published().cells)


@pytest.mark.parametrize(
    "place", sampled(range(len(RESULTS)), [n for n, one in enumerate(RESULTS) if one.cell.network == "Auto-encoder"])
)
def test_what_was_predicted_last_is_predicted_today(place: int, models_dir: Path) -> None:
    """Else: python -m benchmarks.published -o benchmarks/published/predicted.json; make pages."""
    last = RESULTS[place]
    today = predict(last.cell, published().networks[last.cell.network], models_dir)
    assert last.prediction is not None
    assert today.prediction is not None
    assert figures(last.cell, last.prediction) == figures(today.cell, today.prediction)


@pytest.mark.parametrize(
    ("cell", "network", "reason"),
    [
        (msgspec.structs.replace(CELL, target="chip"), CONVOLUTION, "no target 'chip'"),
        (msgspec.structs.replace(CELL, modules=("npu",)), CONVOLUTION, "no module 'npu'"),
        (CELL, Network(file="missing.tflite"), "missing.tflite"),
        (CELL, Network(zoo="no_such_network"), "no_such_network"),
    ],
)
def test_what_cannot_be_predicted_is_listed_with_the_reason(cell: Cell, network: Network, reason: str) -> None:
    result = predict(cell, network, Path())
    assert result.prediction is None
    assert reason in (result.unavailable or "")
    assert reason in printed([result])


def decision(layer: Layer, module: str, loops: tuple[Loop, ...]) -> LayerDecision:
    """A layer whose operands are all fetched in the innermost loop that concerns them."""
    memory = Memory("L1", 10**6)
    operands = standard_operands(layer, 16)
    depths = {o.name: max([0, *(depth for depth, loop in enumerate(loops, 1) if loop.dim in o.dims)]) for o in operands}
    placements = tuple(Placement(name, "L1", depth) for name, depth in depths.items())
    schedule = Schedule(layer, operands, (memory,), loops, placements)
    plan = LayerPlan(
        "f", "gap9", module, layer, schedule, (OperatorPlan("kernel"),), b"", Cluster(memory).scratchpad_api
    )
    return LayerDecision("l", layer.op, module, layer.macs, 1, 1.0, (), plan)


def test_run_time_of_match() -> None:
    """By hand: transfers of each operand, tiles, a change of layout, padding of 8 channels to 16."""
    layer = Layer("l", Op.CONV2D, k=32, c=16, oy=8, ox=8, iy=8, ix=8, fy=3, fx=3, padding=Padding(1, 1, 1, 1))
    loops = (Loop(Dim.K, 16, 32), Loop(Dim.OY, 3, 8))
    assert runtime_cycles(decision(layer, "cluster", loops)) == 370 * (6 + 2 + 6) + 310 * 6
    assert runtime_cycles(decision(layer, "ne16", loops)) == 370 * (6 + 2 + 6) + 310 * 6
    narrow = replace(layer, c=8)
    assert runtime_cycles(decision(narrow, "ne16", ())) == 370 * 3 + 310 + 1.5 * 16 * 64
    depthwise = replace(layer, op=Op.DEPTHWISE_CONV2D, k=24, c=1)
    assert runtime_cycles(decision(depthwise, "cluster", ())) == 370 * 3 + 310 + 24 * (12 + 64)
    assert runtime_cycles(decision(depthwise, "ne16", ())) == 370 * 3 + 310 + 1.5 * 32 * (64 + 64)
    assert runtime_cycles(replace(decision(layer, "cluster", ()), plan=None)) == 0


def test_schema_is_current() -> None:
    """To update: write json.dumps(benchmarks.published.results.schema(), indent=2) and a newline to the file."""
    assert in_order(json.loads(SCHEMA.read_text())) == in_order(schema())


def test_table_shows_the_cells_unit_and_both_ratios() -> None:
    figures = Prediction(
        clock_hz=1e6,
        macs=1000,
        measured_cycles=500,
        predicted_cycles=400,
        ratio=0.8,
        cpu_cycles=0,
        layout_cycles=0,
        runtime_cycles=50,
    )
    time = msgspec.structs.replace(CELL, macs_per_cycle=None, milliseconds=0.5)
    text = printed([Result(cell=CELL, prediction=figures), Result(cell=time, prediction=figures)])
    rate_row, time_row = text.splitlines()[-2:]
    assert all(part in rate_row for part in ("2.00 MAC/cycle", "2.50 MAC/cycle", "0.80", "0.90"))
    assert all(part in time_row for part in ("0.50 ms", "0.40 ms", "0.80", "0.90"))


def test_command_writes_what_its_schema_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = msgspec.structs.replace(CELL, target="gap9")
    missing = msgspec.structs.replace(CELL, network="missing")
    data = Published(networks={"conv": CONVOLUTION, "missing": Network(file="m.tflite")}, cells=(CELL, other, missing))
    monkeypatch.setattr(command, "published", lambda: data)
    file = tmp_path / "results.json"
    arguments = ["--models", str(tmp_path), "--target", "gap8", "--output", str(file)]
    outcome = CliRunner().invoke(app(command.main), arguments)
    assert outcome.exit_code == 0
    assert "MAC/cycle" in outcome.output
    jsonschema.validate(json.loads(file.read_text()), json.loads(SCHEMA.read_text()))
    results = msgspec.json.decode(file.read_bytes(), type=Results).results
    assert [result.cell for result in results] == [CELL, missing]
    assert [result.prediction is None for result in results] == [False, True]


def test_a_good_layer_is_near_the_published_throughput() -> None:
    """PULP-NN's 15.5 MAC/cycle, for a layer with its transfers and overheads."""
    network = Network(convolution=Convolution(channels=64, filters=64, size=16, filter=3))
    found = predict(msgspec.structs.replace(CELL, macs_per_cycle=15.5), network, Path()).prediction
    assert found is not None
    assert 0.9 < found.ratio < 1.2
    assert found.predicted_cycles > found.macs * COST.cores / (8 * 8 * 32 / 14)


def test_a_target_without_cells_is_an_error() -> None:
    result = CliRunner().invoke(app(command.main), ["--target", "stm32"])
    assert isinstance(result.exception, OptionError)
    assert "nothing was published for target 'stm32'; choose one of: diana, gap8, gap9" in str(result.exception)
