"""The benchmark of the engines: its sums against searches by hand, its command line, its files."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import jsonschema
import pytest

from benchmarks.command import run
from benchmarks.engines import networks, results
from benchmarks.engines.cli import compare
from benchmarks.engines.comparison import compare_engines, sentence
from benchmarks.engines.grid import measure
from benchmarks.engines.networks import Network
from benchmarks.engines.results import LayerSearch, Measurement
from match.dispatch.request import Workload
from match.errors import OptionError
from match.ir.constants import LayerConstants
from match.ir.layer import Layer, Op
from match.prediction.predict import predict
from match.target.cost import Cost
from match.target.registry import get_target
from tests.schemas import in_order
from tests.search.problems import searched

pytestmark = pytest.mark.cc

SCHEMA = Path(results.__file__).with_name("results.schema.json")


def pool(name: str, channels: int, size: int) -> Workload:
    layer = Layer(name, Op.MAX_POOL2D, channels, 1, size, size, 2 * size, 2 * size, 2, 2, (2, 2), weight_dtype="")
    return Workload(layer, LayerConstants(), None, "")


def addition(name: str, channels: int, size: int) -> Workload:
    layer = Layer(name, Op.ADD, channels, 1, size, size, size, size, weight_dtype="")
    return Workload(layer, LayerConstants(), None, "")


NETWORK = Network("small", (pool("wide", 8, 16), addition("sum", 32, 4), pool("again", 8, 16)))


def predicted(name: str, layer: Layer, size: int) -> Cost:
    """What the cluster is predicted to take."""
    (cluster,) = get_target("gap9", size, ["cluster"]).modules
    model = cluster.cost(layer, None)
    return predict(searched(name, layer, cluster.operands(layer, None), cluster.memories, model), model)


def test_totals_are_the_sums_over_layers() -> None:
    (one,) = measure([NETWORK], get_target("gap9", modules=["cluster"]), [4096], ["exact"])
    costs = [predicted("exact", workload.layer, 4096) for workload in NETWORK.workloads]
    assert (one.network, one.l1, one.engine, one.layers, one.unmapped) == ("small", 4096, "exact", 3, ())
    assert one.cycles == sum(cost.cycles for cost in costs)
    assert one.moved_bytes == sum(cost.moved_bytes for cost in costs)
    assert one.seconds > 0


def test_layers_that_do_not_fit_are_named_and_cost_what_the_core_takes() -> None:
    chip = get_target("gap9", modules=["cluster"])
    tight, full = measure([NETWORK], chip, [500, None], ["dory"])
    assert tight.unmapped == ("sum",), "two buffers of a row of each operand are 768 bytes"
    assert full.unmapped == ()
    on_the_core = chip.cpu_cost_model.cycles(Op.ADD.value, 32 * 16, 32 * 16)
    pooling = predicted("dory", NETWORK.workloads[0].layer, 500).cycles
    assert tight.cycles == pytest.approx(2 * pooling + on_the_core)


def measurement(engine: str, cycles: list[float | None]) -> Measurement:
    searches = tuple(LayerSearch(f"layer_{n}", "cluster", one, None, 0.0) for n, one in enumerate(cycles))
    return Measurement("small", 8192, engine, 0.0, 0, 0.0, len(cycles), (), searches)


def test_engines_are_compared_search_by_search() -> None:
    first, second = measurement("a", [1, 2, 3, None, None, 7]), measurement("b", [2, 2, None, None, 5, 6.5])
    (one,) = compare_engines([first, second])
    assert (one.engine, one.other, one.searches, one.fewer, one.equal, one.only) == ("a", "b", 5, 1, 1, 1)
    assert one.behind == (
        "small, 8 kB, layer_4 on cluster: a no mapping, b 5 cycles.",
        "small, 8 kB, layer_5 on cluster: a 7 cycles, b 6 cycles.",
    )
    assert sentence(one).splitlines()[0] == (
        "a is best in 3 of 5 searches beside b: fewer cycles in 1, as many in 1, the only mapping in 1."
    )


def test_exact_is_never_behind_dory() -> None:
    chip = get_target("gap9", modules=["cluster"])
    (one,) = compare_engines(list(measure([NETWORK], chip, [500, 4096, None], ["exact", "dory"])))
    assert one.behind == ()
    assert (one.searches, one.only) == (6, 1)


def test_layers_by_shape_alone(models_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MATCH_MODELS", str(models_dir))
    network, chip = networks.read("auto-encoder", None), get_target("diana")
    (as_it_is,) = measure([network], chip, [None], ["dory"])
    (by_shape,) = measure([network], chip, [None], ["dory"], shapes=True)
    assert as_it_is.searches == ()
    assert [search.module for search in by_shape.searches] == ["digital"] * 5


def test_the_cheapest_module_counts(models_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MATCH_MODELS", str(models_dir))
    network = networks.read("auto-encoder", "uint8")
    both, cluster, ne16 = (
        next(measure([network], get_target("gap9", modules=modules), [16384], ["exact"]))
        for modules in (None, ["cluster"], ["ne16"])
    )
    assert both.cycles <= min(cluster.cycles, ne16.cycles)


def test_layers_of_a_model(models_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MATCH_MODELS", str(models_dir))
    found = [workload.layer for workload in networks.read("resnet", "uint8").workloads]
    operators = Counter(layer.op for layer in found)
    assert operators[Op.CONV2D] == 9
    assert (operators[Op.ADD], operators[Op.AVG_POOL2D], operators[Op.DENSE]) == (3, 1, 1)
    assert len({layer.name for layer in found}) == len(found)


def test_unknown_networks_and_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(OptionError, match="network 'lenet' is unknown; give a model file or one of: mobilenet, resnet"):
        networks.read("lenet", None)
    monkeypatch.setenv("MATCH_MODELS", str(tmp_path / "none"))
    with pytest.raises(OptionError, match=r"there is no folder of MLPerf Tiny models at .*; set MATCH_MODELS to one"):
        networks.read("resnet", None)


def test_command_line(
    models_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MATCH_MODELS", str(models_dir))
    written, drawn = tmp_path / "results.json", tmp_path / "results.svg"
    arguments = ["--network", "auto-encoder", "--l1", "full, 8192", "--engine", "exact,dory"]
    with pytest.raises(SystemExit) as exit_:
        run(compare, "engines", [*arguments, "--modules", "cluster", "-o", str(written), "--plot", str(drawn)])
    assert exit_.value.code == 0
    table = capsys.readouterr().out
    assert "auto-encoder" in table
    assert "8 kB" in table
    document = json.loads(written.read_text())
    jsonschema.validate(document, json.loads(SCHEMA.read_text()))
    assert (document["target"], document["modules"]) == ("gap9", ["cluster"])
    measured = [(one["l1"], one["engine"]) for one in document["measurements"]]
    assert measured == [(None, "exact"), (None, "dory"), (8192, "exact"), (8192, "dory")]
    (comparison,) = document["comparisons"]
    assert (comparison["engine"], comparison["other"], comparison["behind"]) == ("exact", "dory", [])
    assert f"exact is best in {comparison['searches']} of {comparison['searches']} searches beside dory" in table
    assert drawn.read_text().startswith("<?xml")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--l1", "3x"], "the L1 size '3x' is neither a positive number of bytes nor 'full'; give one of these."),
        (["--engine", "annealing"], "engine 'annealing' is unknown"),
        (["--target", "gap10"], "there is no target 'gap10'"),
        (["--network", "lenet"], "network 'lenet' is unknown"),
        (["--nonsense"], "No such option"),
    ],
)
def test_errors_are_one_sentence(arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_:
        run(compare, "engines", arguments)
    assert exit_.value.code == 2
    error = capsys.readouterr().err
    assert sentence in error
    assert error.count("\n") == 1


def test_schema_is_that_of_the_types() -> None:
    assert in_order(json.loads(SCHEMA.read_text())) == in_order(results.schema())
