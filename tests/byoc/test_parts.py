"""Parts of networks that TVM cut by pattern tables, compiled by TVM and run on this machine."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType

import numpy as np
import numpy.typing as npt
import onnx
import pytest

import match
from match.codegen.backend import pass_context
from match.errors import OptionError
from match.frontend.model import Model
from match.frontend.relay import from_relay
from match.relay import relay, tvm
from tests.byoc.cuts import imported
from tests.byoc.examples import EXAMPLES, module_of
from tests.e2e.test_diana import integer_network

pytestmark = pytest.mark.cc

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "plain_tvm.py"
STRICT = ("-std=c11", "-Wall", "-Wextra", "-Werror", "-fsyntax-only")
GAP9 = ("match.gap9.ne16.exact", "match.gap9.cluster.exact")


@pytest.fixture(scope="module")
def plain_tvm() -> ModuleType:
    """The example as a module."""
    module = ModuleType("plain_tvm")
    exec(compile(EXAMPLE.read_text(), EXAMPLE, "exec"), module.__dict__)
    return module


def cut(module: tvm.IRModule, tables: Sequence[str], *, merged: bool) -> tvm.IRModule:
    """A network cut by pattern tables; neighbours become one function if `merged`."""
    match.register(tables[0].split(".")[1])
    merge = [relay.transform.MergeComposite(relay.op.contrib.get_pattern_table(table)) for table in tables]
    together = [relay.transform.MergeCompilerRegions()] if merged else []
    annotate = relay.transform.AnnotateTarget("match")
    passes = [relay.transform.InferType(), *merge, annotate, *together, relay.transform.PartitionGraph()]
    return tvm.transform.Sequential(passes)(module)


def outputs(
    program: Path, model: Model, samples: Sequence[Sequence[npt.NDArray[np.generic]]]
) -> list[list[npt.NDArray[np.generic]]]:
    """What a program writes for samples of the model's inputs."""
    found: list[list[npt.NDArray[np.generic]]] = []
    for sample in samples:
        data = b"".join(x.tobytes() for x in sample)
        written = subprocess.run([program], input=data, check=True, capture_output=True).stdout
        arrays: list[npt.NDArray[np.generic]] = []
        for tensor in model.outputs:
            count = int(np.prod(tensor.shape))
            arrays.append(np.frombuffer(written, tensor.dtype, count).reshape(tensor.shape))
            written = written[arrays[-1].nbytes :]
        assert not written
        found.append(arrays)
    return found


def assert_computes_the_same(
    module: tvm.IRModule, tables: Sequence[str], plain_tvm: ModuleType, folder: Path, *, merged: bool
) -> list[str]:
    """The C of the parts: a program with them computes what `match.compile` does of the same network."""
    target, model = tables[0].split(".")[1], from_relay(module)
    texts = plain_tvm.compiled(cut(module, tables, merged=merged), target)
    plain_tvm.write(model, texts, target, folder)
    rng = np.random.default_rng(2)
    samples = [[rng.integers(-128, 128, x.shape).astype(x.dtype) for x in model.inputs] for _ in range(3)]
    found = outputs(plain_tvm.link(target, folder), model, samples)
    project = match.compile(module, target, numerics="exact", jobs=1)
    for sample, own in zip(samples, found, strict=True):
        given = {tensor.name: x for tensor, x in zip(model.inputs, sample, strict=True)}
        for array, expected in zip(own, project.run(given).values(), strict=True):
            np.testing.assert_array_equal(array, expected.reshape(array.shape))
            assert len(np.unique(array)) > 3
    return texts


def test_every_pattern(tmp_path: Path, plain_tvm: ModuleType) -> None:
    """As one program, in which each part has a layer on the cluster."""
    texts = assert_computes_the_same(module_of(*EXAMPLES), GAP9[1:], plain_tvm, tmp_path, merged=False)
    parts = [text for text in texts if ": a part of a network, layer by layer. */" in text and "memcpy" not in text]
    assert len(parts) == len(EXAMPLES) + 1, "one more for what is before average pooling"
    assert all(re.search(r"MATCH_TRY\(tvmgen_default_match_main_", text) for text in parts)


def residual(x: relay.Expr) -> relay.Expr:
    """Two convolutions, one of them depthwise, and their sum; an output before that is one of the network, too."""
    rng, zero = np.random.default_rng(1), relay.const(0, "int32")
    ends = relay.const(0.5), relay.const(3), relay.const(0.5), relay.const(-5)

    def layer(x: relay.Expr, size: int, groups: int) -> relay.Expr:
        shape = (size, size, 16, 1) if groups > 1 else (size, size, 16, 16)
        filters = relay.const(rng.integers(-128, 128, shape).astype(np.int8))
        layouts = {"data_layout": "NHWC", "kernel_layout": "HWOI" if groups > 1 else "HWIO"}
        scales = relay.const(0.5), relay.const(0.01)
        pads = (size // 2, size // 2)
        sums = relay.qnn.op.conv2d(
            x, filters, relay.const(3), zero, *scales, (size, size), 16, padding=pads, groups=groups, **layouts
        )
        sums = relay.nn.bias_add(sums, relay.const(rng.integers(-999, 999, 16).astype(np.int32)), axis=3)
        y = relay.qnn.op.requantize(sums, relay.const(0.005), zero, *ends[:2], axis=3, out_dtype="int8")
        return relay.clip(y, -100, 127)

    first = layer(x, 3, 16)
    return relay.Tuple([relay.qnn.op.add(layer(first, 1, 1), x, *ends[:2], *ends[:2], *ends[2:]), first])


def typed(build: Callable[..., relay.Expr], *extents: tuple[int, ...]) -> tvm.IRModule:
    inputs = [relay.var(f"x{index}", shape=each, dtype="int8") for index, each in enumerate(extents)]
    return relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function(inputs, build(*inputs))))


@pytest.mark.parametrize("merged", [True, False])
@pytest.mark.parametrize("tables", [GAP9, GAP9[1:], ("match.gap8.cluster",)], ids=["both", "cluster", "gap8"])
def test_networks_with_several_outputs(
    tables: tuple[str, ...], merged: bool, tmp_path: Path, plain_tvm: ModuleType
) -> None:
    """A function that reads or writes several tensors, and conversions to uint8 and back inside of functions."""
    texts = assert_computes_the_same(typed(residual, (1, 8, 8, 16)), tables, plain_tvm, tmp_path, merged=merged)
    functions = [text for text in texts if re.search(r"^int32_t tvmgen_default_match_main_\d+\(", text, re.MULTILINE)]
    assert len(functions) == (1 if merged else 5), "without regions one for each operator, and two that hand on outputs"
    assert any("on ne16 of gap9" in text for text in texts) == (tables == GAP9)


def test_an_integer_network(models_dir: Path, tmp_path: Path, plain_tvm: ModuleType) -> None:
    """Channels first, with sums that TVM's C goes on with."""
    module = imported(models_dir / "keyword_spotting.onnx")
    texts = assert_computes_the_same(module, GAP9, plain_tvm, tmp_path, merged=True)
    assert any("ne16 of gap9" in text for text in texts)


@pytest.mark.parametrize("merged", [True, False])
def test_layouts_of_a_module_are_inside_of_parts(merged: bool, tmp_path: Path, plain_tvm: ModuleType) -> None:
    """DIANA's accelerator has activations in a layout of its own."""
    onnx.save(integer_network().model(), tmp_path / "network.onnx")
    module, folder = imported(tmp_path / "network.onnx"), tmp_path / "program"
    texts = assert_computes_the_same(module, ("match.diana.digital.exact",), plain_tvm, folder, merged=merged)
    assert sum("on digital of diana" in text for text in texts) == 3


def test_the_c_of_parts_has_no_warnings(tmp_path: Path, plain_tvm: ModuleType) -> None:
    module = cut(typed(residual, (1, 8, 8, 16)), GAP9[:1], merged=False)
    texts = [text for text in plain_tvm.compiled(module, "gap9") if "TVM_DLL" not in text]
    assert any("static int32_t lookup" in text for text in texts), "conversions on the control core"
    assert all(text.count("match_pulp_l2_alloc(") == text.count("match_pulp_l2_free(") for text in texts)
    host, package = match.get_target("gap9").host, Path(match.__file__).parent
    includes = [tmp_path, *(package / place for place in (*host.include, "codegen/include"))]
    for name, text in match.shared_files("gap9").items():
        (tmp_path / name).write_text(text)
    for number, text in enumerate(texts):
        (tmp_path / f"part{number}.c").write_text(text)
        flags = [*STRICT, *(f"-I{place}" for place in includes)]
        subprocess.run([*os.environ.get("CC", "cc").split(), *flags, tmp_path / f"part{number}.c"], check=True)
    assert len(texts) > 3


def build(module: tvm.IRModule, target: str) -> None:
    with pass_context():
        executor = relay.backend.Executor("aot", {"interface-api": "c", "unpacked-api": True})
        relay.build(module, f"match/{target}", executor=executor, runtime=relay.backend.Runtime("crt"))


def test_functions_of_anything_else_are_refused() -> None:
    """Such as an operator that another program has annotated."""
    match.register("gap9")
    x, y = (relay.var(name, shape=(1, 16), dtype="int8") for name in "xy")
    function, variable = relay.Function([x], relay.clip(x, 0, 9), x.type_annotation), relay.GlobalVar("own")
    for name, value in {"Compiler": "match", "global_symbol": "own", "Primitive": 1, "Inline": 1}.items():
        function = function.with_attr(name, tvm.tir.IntImm("int32", 1) if value == 1 else value)
    module = tvm.IRModule({variable: function})
    module["main"] = relay.Function([y], relay.Call(variable, [y]))
    with pytest.raises(OptionError, match=r"the function own has composites of none; "):
        build(relay.transform.InferType()(module), "gap9")


def test_functions_of_several_targets_are_refused() -> None:
    for target in ("gap8", "gap9"):
        match.register(target)
    module = typed(residual, (1, 8, 8, 16))
    tables = [relay.op.contrib.get_pattern_table(name)[1:] for name in (GAP9[0], "match.gap8.cluster")]
    module = tvm.transform.Sequential([relay.transform.MergeComposite(table) for table in tables])(module)
    passes = [relay.transform.AnnotateTarget("match"), relay.transform.MergeCompilerRegions()]
    module = tvm.transform.Sequential([*passes, relay.transform.PartitionGraph()])(module)
    with pytest.raises(OptionError, match=r"composites of match\.gap8\.cluster, match\.gap9\.ne16\.exact; "):
        build(module, "gap9")


def test_composites_of_other_patterns_are_refused() -> None:
    """Those that a program has under names of its own."""
    pattern = relay.dataflow_pattern.is_op("clip")(relay.dataflow_pattern.wildcard())
    module = tvm.transform.Sequential(
        [
            relay.transform.MergeComposite([("match.relu", pattern)]),
            relay.transform.AnnotateTarget("match"),
            relay.transform.PartitionGraph(),
        ]
    )(typed(lambda x: relay.clip(x, 0, 9), (1, 16)))
    match.register("gap9")
    with pytest.raises(OptionError, match=r"has composites of match\.relu; "):
        build(module, "gap9")


def test_networks_that_the_compiler_has_cut_go_on_to_be_built() -> None:
    match.register("gap9")
    library = match.build(typed(residual, (1, 8, 8, 16)), "gap9", jobs=1)
    assert any("on core of gap9" in part.get_source() for part in library.lib.imported_modules)
