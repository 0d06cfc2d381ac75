"""The way through plain TVM: ``tvm.relay.build`` on a partitioned module, compiled and linked by the example."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import pytest

import match
from match.relay import relay, tvm
from tests.e2e import tflite_network
from tests.e2e.test_diana import integer_network
from tests.sampled import sampled

pytestmark = pytest.mark.cc

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "plain_tvm.py"


@pytest.fixture(scope="module")
def plain_tvm() -> ModuleType:
    """The example as a module."""
    module = ModuleType("plain_tvm")
    exec(compile(EXAMPLE.read_text(), EXAMPLE, "exec"), module.__dict__)
    return module


def run(program: Path, samples: Iterable[npt.NDArray[Any]], dtype: str) -> list[list[float]]:
    outputs = [subprocess.run([program], input=x.tobytes(), check=True, capture_output=True).stdout for x in samples]
    return [np.frombuffer(output, dtype).tolist() for output in outputs]


def test_from_a_file_to_a_program_for_gap9(models_dir: Path, tmp_path: Path, plain_tvm: ModuleType) -> None:
    path = models_dir / "kws_ref_model.tflite"
    model, sources = plain_tvm.build(path, "gap9", numerics="exact")
    assert any("int32_t kws_ref_model_" in source for source in sources), "layers on modules"
    plain_tvm.write(model, sources, "gap9", tmp_path)
    (tensor,) = model.inputs
    samples = np.random.default_rng(3).integers(-128, 128, (5, *tensor.shape)).astype(np.int8)
    expected = [y.ravel().tolist() for y in tflite_network.run_micro(path, samples)]
    program = plain_tvm.link("gap9", tmp_path)
    assert run(program, samples, "int8") == expected
    short = subprocess.run([program], input=b"", capture_output=True, check=False)
    assert (short.returncode, short.stdout) == (2, b"")
    assert short.stderr.decode() == (
        f"standard input ends too early; give it the bytes of {tensor.name} int8 [1, 49, 10, 1]; "
        "standard output gets those of Identity int8 [1, 12]\n"
    )


TABLES = {
    "kws_ref_model": ("match.gap8.cluster.exact",),
    "ad01_int8": ("match.gap9.ne16.exact",),
    "pretrainedResnet_quant": ("match.gap9.ne16.exact", "match.gap9.cluster.exact"),
}


@pytest.mark.parametrize("name", sampled(TABLES, ["kws_ref_model"]))
def test_by_pattern_tables(name: str, models_dir: Path, tmp_path: Path, plain_tvm: ModuleType) -> None:
    """TVM's own passes and the file from TVM's own front end; all of the network is on modules."""
    path, target = models_dir / f"{name}.tflite", TABLES[name][0].split(".")[1]
    model, sources = plain_tvm.build_by_tables(path, target, list(TABLES[name]))
    assert sum(f" of {target}." in source for source in sources) > 1, "layers on modules"
    plain_tvm.write(model, sources, target, tmp_path)
    (tensor,) = model.inputs
    samples = np.random.default_rng(3).integers(-128, 128, (5, *tensor.shape)).astype(np.int8)
    expected = [y.ravel().tolist() for y in tflite_network.run_micro(path, samples)]
    assert run(plain_tvm.link(target, tmp_path), samples, "int8") == expected


def test_tables_that_are_not_there(models_dir: Path, tmp_path: Path) -> None:
    command = [sys.executable, EXAMPLE, models_dir / "ad01_int8.tflite", "gap9", tmp_path / "program", "match.gap9.npu"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("gap9 has no pattern table match.gap9.npu; its tables: match.gap9.cluster, ")
    assert not (tmp_path / "program").exists()


@pytest.mark.parametrize("quiet", [True, False])
def test_tvm_gives_no_advice_on_tuning(quiet: bool, models_dir: Path) -> None:
    """As it does in a context of its own."""
    context = "match.pass_context()" if quiet else "tvm.transform.PassContext(opt_level=3, config=match.pass_config())"
    program = (
        "import match, sys, tvm\nfrom tvm.relay.backend import Executor, Runtime\n"
        f"model = match.load({str(models_dir / 'kws_ref_model.tflite')!r})\n"
        "match.build(model, 'gap9', modules=[])\n"
        f"with {context}:\n"
        "    executor = Executor('aot', {'interface-api': 'c', 'unpacked-api': True})\n"
        "    module = match.partition(model, 'gap9', modules=[])\n"
        "    tvm.relay.build(module, target='match/gap9', executor=executor, runtime=Runtime('crt'))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == ""
    assert (done.stderr == "") == quiet


def test_from_a_file_to_a_program_for_diana(tmp_path: Path, plain_tvm: ModuleType) -> None:
    """The integers are those of the C project, whose own are compared with a reference elsewhere."""
    onnx.save(integer_network().model(), tmp_path / "network.onnx")
    model, sources = plain_tvm.build(tmp_path / "network.onnx", "diana", numerics="exact")
    assert sum("int32_t network_" in source for source in sources) > 5, "layers on modules"
    plain_tvm.write(model, sources, "diana", tmp_path)
    ((tensor,), (result,)) = model.inputs, model.outputs
    samples = np.random.default_rng(3).integers(-128, 128, (3, *tensor.shape)).astype(tensor.dtype)
    compiled = match.compile(model, "diana", numerics="exact")
    expected = compiled.run({tensor.name: samples})[result.name].reshape(3, -1)
    assert len(np.unique(expected)) > 10
    assert run(plain_tvm.link("diana", tmp_path), samples, result.dtype) == expected.tolist()


def test_chains_and_groups_go_through_plain_tvm(models_dir: Path, tmp_path: Path, plain_tvm: ModuleType) -> None:
    path = models_dir / "kws_ref_model.tflite"
    model, sources = plain_tvm.build(path, "gap8", numerics="exact")
    assert any(re.search(r"kws_ref_model_\d+_(chain|group)\(", source) for source in sources), (
        "several operators as one on the cluster"
    )
    plain_tvm.write(model, sources, "gap8", tmp_path)
    (tensor,) = model.inputs
    samples = np.random.default_rng(4).integers(-128, 128, (3, *tensor.shape)).astype(np.int8)
    expected = [y.ravel().tolist() for y in tflite_network.run_micro(path, samples)]
    assert run(plain_tvm.link("gap8", tmp_path), samples, "int8") == expected


def test_what_load_returns_is_taken(models_dir: Path) -> None:
    """By `partition` and `compile`, with its own name, names of outputs, and arithmetic."""
    model = match.load(models_dir / "keyword_spotting.onnx")
    compiled = match.compile(model)
    again = match.compile(models_dir / "keyword_spotting.onnx").report
    assert (compiled.report.model, compiled.report.layers) == (again.model, again.layers)
    symbols = {layer.plan.symbol for layer in compiled.layers if layer.plan}
    assert symbols
    assert symbols < {variable.name_hint for variable in match.partition(model).get_global_vars()}
    for function in (match.partition, match.compile):
        with pytest.raises(match.OptionError, match="have their own weights"):
            function(model, "gap9", params={})


def test_params_become_constants() -> None:
    """And an input that is called by a number, as PyTorch did, has a name that C can have."""
    x, weights = relay.var("0", shape=(1, 8), dtype="int8"), relay.var("w", shape=(4, 8), dtype="int8")
    body = relay.cast(relay.clip(relay.nn.dense(x, weights, out_dtype="int32"), -128, 127), "int8")
    module = tvm.IRModule.from_expr(relay.Function([x, weights], body))
    partitioned = match.partition(module, "gap9", params={"w": np.ones((4, 8), np.int8)})
    assert [parameter.name_hint for parameter in partitioned["main"].params] == ["_0"]
