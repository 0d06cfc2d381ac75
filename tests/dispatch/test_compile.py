"""The public entry points on a small network: C that computes what TVM does, a report, plain TVM, errors."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import match
import match.run
from match.errors import OptionError
from match.relay import relay, tvm
from tests.dispatch.test_partition import add, conv, req

pytestmark = pytest.mark.cc

RNG = np.random.default_rng(21)


@pytest.fixture(scope="module")
def module() -> Any:
    x = relay.var("x", shape=(1, 10, 9, 8), dtype="uint8")
    trunk = conv(x, 8, 24)
    body = add(conv(trunk, 24, 24), trunk)
    flat = relay.reshape(relay.nn.max_pool2d(body, (2, 2), (2, 2), layout="NHWC"), (1, -1))
    weights = RNG.integers(-128, 128, (6, 480)).astype(np.int8)
    body = req(relay.nn.dense(flat, relay.const(weights), out_dtype="int32"), 6)
    return tvm.IRModule.from_expr(relay.Function([x], body))


@pytest.fixture(scope="module")
def compiled(module: Any) -> match.CompiledModel:
    return match.compile(module, "gap9", l1=6000, numerics="exact", fuse=False)


def test_what_it_says_of_itself(compiled: match.CompiledModel) -> None:
    said = repr(compiled)
    assert said.startswith("<CompiledModel model for gap9: ")
    assert f"{compiled.cycles:,.0f} cycles predicted, {compiled.cycles / 260e3:.3f} ms>" in said
    first = compiled.layers["conv2d_0"]
    assert first is compiled.layers[0]
    macs = 10 * 9 * 24 * 8 * 9
    assert repr(first) == f"<LayerDecision conv2d_0 on {first.module}: {first.cycles:,.0f} cycles, {macs:,} MACs>"
    assert compiled.layers[:2] == (compiled.layers[0], compiled.layers[1])
    with pytest.raises(KeyError, match="there is no layer 'conv_0'; the nearest is 'conv2d_0'"):
        compiled.layers["conv_0"]
    assert [(x.name, x.shape, x.dtype) for x in compiled.inputs] == [("x", (1, 10, 9, 8), "uint8")]
    assert [(y.name, y.shape, y.dtype) for y in compiled.outputs] == [("output", (1, 6), "uint8")]


def test_the_generated_c_computes_what_tvm_does(module: Any, compiled: match.CompiledModel) -> None:
    values = RNG.integers(0, 256, (3, 1, 10, 9, 8)).astype(np.uint8)
    with tvm.transform.PassContext(opt_level=0):
        reference = relay.create_executor("graph", module, target="llvm").evaluate()
    outputs = compiled.run({"x": values})
    assert list(outputs) == ["output"]
    assert np.array_equal(outputs["output"], [reference(value).numpy() for value in values])


def test_two_processes_find_the_same_schedules(
    module: Any, compiled: match.CompiledModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("match.processes.workers.START_UP", 1e-6)
    shared = match.compile(module, "gap9", l1=6000, numerics="exact", fuse=False, jobs=2, cache=False)
    assert [layer.plan for layer in shared.layers] == [layer.plan for layer in compiled.layers]


def test_random_inputs_follow_the_seed(compiled: match.CompiledModel) -> None:
    manifest = match.run.read_manifest(compiled._project())
    drawn, others = match.run.random_inputs(manifest, 3), match.run.random_inputs(manifest, 0)
    assert not np.array_equal(drawn["x"], others["x"])
    np.testing.assert_array_equal(compiled.run(seed=3)["output"], compiled.run(drawn)["output"])
    np.testing.assert_array_equal(compiled.run()["output"], compiled.run(others)["output"])


@pytest.mark.parametrize("seed", [-1, 0.5, True])
def test_what_is_no_seed(seed: Any, compiled: match.CompiledModel) -> None:
    with pytest.raises(OptionError, match=f"the seed must be a whole number from 0, not {seed}"):
        compiled.run(seed=seed)


def test_layers_as_tables(compiled: match.CompiledModel, monkeypatch: pytest.MonkeyPatch) -> None:
    table = compiled.to_pandas()
    assert list(table.index) == [layer.name for layer in compiled.layers]
    assert table.loc["conv2d_0", "output"] == "1x10x9x24"
    assert table["cycles"].sum() == compiled.report.totals.cycles
    assert (table["macs_per_cycle"] * table["cycles"]).sum() == pytest.approx(compiled.report.model.macs)
    document = ElementTree.fromstring(f"<div>{compiled._repr_html_()}</div>")
    assert [row.find("td").text for row in document.iter("tr") if row.find("td") is not None] == list(table.index)  # type: ignore[union-attr]
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(match.ToolchainError, match=r"pip install 'match-compiler\[pandas\]'"):
        compiled.to_pandas()


def test_progress_tells_phases_and_counts(module: Any) -> None:
    told: list[str] = []
    compiled = match.compile(module, "gap9", cache=False, progress=told.append)
    assert list(dict.fromkeys(text.partition(",")[0] for text in told)) == list(compiled.report.totals.compile_seconds)
    counts = [[int(number) for number in re.findall(r"\d+", text)] for text in told if "search, " in text]
    first = [count for count in counts if count[1] == counts[0][1]]
    assert [done for done, _ in first] == list(range(first[0][1] + 1))


def test_build_is_partition_and_relay_build(module: Any) -> None:
    library = match.build(module, "gap9", l1=6000, numerics="exact")
    sources = [part.get_source() for part in library.lib.imported_modules]
    assert sum("match_model_" in source or "model_0" in source for source in sources) >= 2
    assert "tvmgen_default" in library.lib.get_source()


def test_layers_cycles_and_report_agree(compiled: match.CompiledModel) -> None:
    modules = {layer.module for layer in compiled.layers}
    assert modules & {"cluster", "ne16"}
    assert compiled.cycles == sum(layer.cycles for layer in compiled.layers)
    assert len(compiled.report.layers) == len(compiled.layers)
    phases = ["frontend", "transform", "pattern", "dispatch", "search", "partition", "codegen", "compare"]
    assert list(compiled.report.totals.compile_seconds) == phases
    assert all(plan.schedule.used_bytes(plan.schedule.inner_memory) <= 6000 for plan in plans(compiled))
    assert any(plan.schedule.loops for plan in plans(compiled))


def plans(compiled: match.CompiledModel) -> list[Any]:
    """The plans of layers in a scratchpad."""
    return [layer.plan for layer in compiled.layers if layer.plan is not None and not layer.plan.schedule.direct]


def test_saved_projects_hold_the_report(compiled: match.CompiledModel, tmp_path: Path) -> None:
    compiled.save(tmp_path / "project")
    report = json.loads((tmp_path / "project" / "report.json").read_text())
    assert [layer["name"] for layer in report["layers"]] == [layer.name for layer in compiled.layers]
    assert (tmp_path / "project" / "Makefile").is_file()


def test_partitioned_modules_build_with_plain_tvm(module: Any) -> None:
    partitioned = match.partition(module, "gap9")
    with tvm.transform.PassContext(opt_level=3, config={"tir.disable_vectorize": True}):
        library = relay.build(
            partitioned,
            target="match/gap9",
            executor=relay.backend.Executor("aot", {"interface-api": "c", "unpacked-api": True}),
            runtime=relay.backend.Runtime("crt"),
        )
    symbols = {v.name_hint for v in partitioned.get_global_vars()} - {"main"}
    sources = "".join(part.get_source() for part in library.lib.imported_modules)
    assert any(symbol.endswith("_group") for symbol in symbols)
    assert all(f"int32_t {symbol}(" in sources for symbol in symbols)


def test_a_target_object_will_do() -> None:
    from match.targets.gap9.target import Gap9

    x = relay.var("x", shape=(1, 4, 4, 8), dtype="uint8")
    small = tvm.IRModule.from_expr(relay.Function([x], conv(x, 8, 64)))
    assert match.compile(small, Gap9(), modules=["ne16"]).layers[0].module == "ne16"


@pytest.mark.parametrize(
    ("model", "arguments", "error", "reason"),
    [
        ("missing.tflite", {}, match.ModelError, "missing.tflite"),
        ("missing.tflite", {"params": {}}, match.OptionError, "params"),
        (42, {}, match.ModelError, "not int"),
        ("missing.tflite", {"target": "gap10"}, match.TargetError, "gap10"),
        ("missing.tflite", {"modules": ["npu"]}, match.TargetError, "npu"),
        ("missing.tflite", {"l1": -5}, match.OptionError, "-5"),
        ("missing.tflite", {"engine": "magic"}, match.OptionError, "magic"),
        ("missing.tflite", {"numerics": "float"}, match.OptionError, "float"),
    ],
)
def test_mistakes_are_one_sentence(model: Any, arguments: dict[str, Any], error: type[Exception], reason: str) -> None:
    with pytest.raises(error, match=reason) as caught:
        match.compile(model, **arguments)
    assert "\n" not in str(caught.value)


def test_importing_leaves_tvm_alone() -> None:
    code = "import sys, match; assert 'tvm' not in sys.modules and 'numpy' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_every_public_name_exists() -> None:
    assert set(match.__all__) <= set(dir(match))
    for name in match.__all__:
        assert getattr(match, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        match.nonsense  # noqa: B018
    assert callable(match.partition)
