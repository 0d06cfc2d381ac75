"""Networks on the mock target: from Relay with plans to a project's files and what its program computes."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from match.codegen.manifest import MANIFEST
from match.codegen.network import Network
from match.codegen.project import export, project_files
from match.codegen.project_folder import earlier
from match.errors import CapacityError, OutputError, ToolchainError
from match.files.own import listed
from match.ir.layer import Dim, Op, Padding
from match.mapping.memory import Memory
from match.mapping.schedule import Loop
from match.relay import relay
from match.run import run
from tests.codegen import networks
from tests.codegen.harness import plan
from tests.codegen.layers import Case, make
from tests.codegen.mock_target import MockTarget

pytestmark = pytest.mark.cc

CONV = make(Op.CONV2D, 3, 6, 8, 7, window=(3, 3), padding=Padding(1, 1, 1, 1), name="first")
ADD = make(Op.ADD, 6, 6, 8, 7, name="second")


def two_layers() -> Network:
    """A convolution, whose result is added to itself, and the sum scaled by TVM's C."""
    plans = [
        plan(
            CONV,
            [Loop(Dim.OY, 3, 8)],
            {"input": 1, "output": 1},
            {"input": 2, "output": 2},
            symbol="net_00_conv2d",
        ),
        plan(ADD, symbol="net_01_add"),
    ]
    image = relay.var("image:0", shape=(1, 8, 7, 3), dtype="uint8")

    def body(conv, add):
        features = conv(image)
        total = add(features, features)
        scaled = relay.multiply(relay.cast(total, "float32"), relay.const(np.float32(0.17185351)))
        return relay.Tuple([total, scaled, relay.reshape(total, (1, 8 * 7 * 6))])

    made = networks.module(plans, [image], body)
    return networks.build(made, MockTarget(), networks.model(made, ["sum", "Scaled/out", "flat"]))


@pytest.fixture(scope="module")
def network() -> Network:
    return two_layers()


@pytest.fixture(scope="module")
def project(network: Network, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("projects") / "net"
    export(network, MockTarget(), folder, {"report.json": "{}\n"})
    return folder


def expected(image: np.ndarray) -> np.ndarray:
    features = Case(CONV.layer, CONV.constants, (image[0],)).expected()
    return Case(ADD.layer, ADD.constants, (features, features)).expected()[None]


def test_program_computes_the_network(project: Path) -> None:
    images = np.random.default_rng(5).integers(0, 256, (3, 1, 8, 7, 3)).astype(np.uint8)
    outputs = run(project, {"image:0": images}, sanitize=True)
    total = np.stack([expected(image) for image in images])
    assert list(outputs) == ["sum", "Scaled/out", "flat"]
    assert np.array_equal(outputs["sum"], total)
    assert np.array_equal(outputs["flat"], total.reshape(3, 1, -1))
    assert outputs["Scaled/out"].dtype == np.float32
    assert np.array_equal(outputs["Scaled/out"], total.astype(np.float32) * np.float32(0.17185351))


def test_sizes(network: Network) -> None:
    assert [layer.plan.symbol for layer in network.layers] == ["net_00_conv2d", "net_01_add"]
    assert network.operator_constant_bytes >= 4
    layers = len(network.layers[0].plan.constants) + len(network.layers[1].plan.constants)
    assert network.constant_bytes == network.operator_constant_bytes + layers
    tensors = 8 * 7 * 3 + 8 * 7 * 6 * (1 + 4 + 1)
    assert network.activation_bytes == network.workspace_bytes + tensors
    assert network.workspace_bytes >= 8 * 7 * 6


def test_the_error_of_a_layer_reaches_the_program(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MOCK_BLOCKS", "1")
    with pytest.raises(ToolchainError, match="status -2"):
        run(project, {"image:0": np.zeros((1, 8, 7, 3), np.uint8)})


def test_files(network: Network, project: Path) -> None:
    files = {str(path.relative_to(project)) for path in project.rglob("*") if path.is_file()}
    assert files >= {
        "Makefile",
        "README.md",
        MANIFEST,
        "include/net.h",
        "src/00_conv2d.c",
        "report.json",
    }
    assert "`report.json`" in (project / "README.md").read_text()
    assert str(project.parent) not in "".join(map(str, project_files(network, MockTarget()).values()))
    assert not list(project.parent.glob(".net*"))


def test_interface_names_the_tensors(project: Path) -> None:
    header = (project / "include" / "net.h").read_text()
    assert "/* Input image:0: uint8, 1x8x7x3 */\n#define NET_INPUT_IMAGE_0_BYTES 168\n" in header
    assert "const uint8_t *image_0;" in header
    assert "float *net_output_scaled_out(const net_context_t *context);" in header


def test_equal_in_every_process(network: Network) -> None:
    """Hash seeds and addresses, which differ from process to process, do not show."""
    script = (
        "import hashlib, tests.codegen.test_project as t\n"
        "files = t.project_files(t.two_layers(), t.MockTarget())\n"
        "print(hashlib.sha256(repr(sorted(files.items())).encode()).hexdigest())"
    )
    digests = {
        subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(digests) == 1
    assert project_files(network, MockTarget()) == project_files(two_layers(), MockTarget())


def test_layers_that_are_no_more_leave_no_files(network: Network, tmp_path: Path) -> None:
    export(network, MockTarget(), tmp_path / "net")
    (tmp_path / "net" / "src" / "mine.c").write_text("mine")
    layer = next((tmp_path / "net" / "src").glob("00_*.c"))
    export(replace(network, layers=network.layers[1:]), MockTarget(), tmp_path / "net")
    assert not layer.exists()
    assert (tmp_path / "net" / "src" / "mine.c").exists()


def test_the_manifest_lists_every_file(network: Network, project: Path) -> None:
    """But itself and what gets measurements."""
    inside = {str(path.relative_to(project)) for path in project.rglob("*") if path.is_file()}
    assert earlier(project).files == listed(
        {
            name: (project / name).read_bytes()
            for name in inside
            if not re.match(r"build/|project\.json|report\.json", name)
        }
    )


@pytest.mark.parametrize("files", [None, [], {"../../thesis.tex": "00"}])
def test_a_project_without_a_list_is_left_alone(files: object, network: Network, tmp_path: Path) -> None:
    export(network, MockTarget(), tmp_path / "net")
    manifest = tmp_path / "net" / "project.json"
    manifest.write_text(json.dumps({**json.loads(manifest.read_text()), "schema_version": 4, "files": files}))
    with pytest.raises(OutputError, match=r"another version of this compiler.*--overwrite"):
        export(network, MockTarget(), tmp_path / "net")
    export(network, MockTarget(), tmp_path / "net", overwrite=True)
    export(network, MockTarget(), tmp_path / "net")


def test_what_another_network_has_is_built_again(network: Network, tmp_path: Path) -> None:
    """The folder of objects stays."""
    sample = {"image:0": np.zeros((1, 8, 7, 3), np.uint8)}
    export(network, MockTarget(), tmp_path / "net")
    first = run(tmp_path / "net", sample)
    makefile = tmp_path / "net" / "Makefile"
    makefile.write_text(makefile.read_text().replace("src/network.c", ""))
    with pytest.raises(ToolchainError, match="net_init"):
        run(tmp_path / "net", sample)
    export(network, MockTarget(), tmp_path / "net", overwrite=True)
    assert all(np.array_equal(first[name], array) for name, array in run(tmp_path / "net", sample).items())


def test_an_empty_folder_is_taken(network: Network, tmp_path: Path) -> None:
    (tmp_path / "net").mkdir()
    export(network, MockTarget(), tmp_path / "net")
    assert (tmp_path / "net" / "Makefile").exists()


@pytest.mark.parametrize("manifest", [None, "", "[1, 2]", '{"name": "shop", "version": "1.0"}'])
def test_other_files_are_left_alone(manifest: str | None, network: Network, tmp_path: Path) -> None:
    """Those of other tools included whose projects have a project.json."""
    (tmp_path / "thesis.tex").write_text("precious")
    if manifest is not None:
        (tmp_path / "project.json").write_text(manifest)
    before = sorted(tmp_path.iterdir())
    with pytest.raises(OutputError, match="no project of this compiler"):
        export(network, MockTarget(), tmp_path)
    assert sorted(tmp_path.iterdir()) == before


def test_a_project_of_another_version_is_replaced(network: Network, tmp_path: Path) -> None:
    export(network, MockTarget(), tmp_path / "net")
    manifest = tmp_path / "net" / "project.json"
    written = manifest.read_text()
    manifest.write_text(re.sub(r'"schema_version":\s*\d+', '"schema_version": 1, "more": {}', written))
    assert manifest.read_text() != written
    export(network, MockTarget(), tmp_path / "net")
    assert manifest.read_text() == written
    manifest.write_text(written.replace('"files":', '"fewer":'))
    export(network, MockTarget(), tmp_path / "net", overwrite=True)
    assert manifest.read_text() == written


@pytest.mark.parametrize("place", ["file", "file/net"])
def test_where_no_folder_can_be(place: str, network: Network, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="cannot be written"):
        export(network, MockTarget(), tmp_path / place)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_nothing_is_left_of_a_failed_export(network: Network, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    export(network, MockTarget(), tmp_path / "net")

    def files() -> dict[Path, int]:
        return {path: path.stat().st_mtime_ns if path.is_file() else 0 for path in tmp_path.rglob("*")}

    before = files()

    def full(*_: object, **__: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(OutputError, match="No space left on device"):
        export(replace(network, layers=network.layers[1:]), MockTarget(), tmp_path / "net")
    assert files() == before


def test_a_network_that_does_not_fit_is_refused() -> None:
    item = replace(plan(ADD), symbol="net_00_add")
    x = relay.var("x", shape=(1, 8, 7, 6), dtype="uint8")
    made = networks.module([item], [x], lambda add: add(x, x))
    target = MockTarget()
    target.main_memory = Memory("L2", 600)
    with pytest.raises(CapacityError, match=r"mock's L2, which has 600, so that \d+ are short.*no external memory"):
        networks.build(made, target, networks.model(made, ["y"]))


def test_names_that_are_no_c_identifiers(tmp_path: Path) -> None:
    """Tensors whose names differ in what C cannot have, and a network called like nothing in C."""
    a, b = (relay.var(name, shape=(1, 4), dtype="int8") for name in ("0:a", "0/a"))
    made = networks.module([], [a, b], lambda: relay.Tuple([relay.subtract(a, b), relay.add(a, b)]))
    network = networks.build(made, MockTarget(), networks.model(made, ["x y", "x/y"], "3x3-größe */ %s"))
    export(network, MockTarget(), tmp_path / "net")
    got = run(tmp_path / "net", {"0:a": np.full((1, 4), 5, np.int8), "0/a": np.full((1, 4), 3, np.int8)})
    assert {name: array.tolist() for name, array in got.items()} == {"x y": [[2] * 4], "x/y": [[8] * 4]}


def test_float_operators_and_shared_outputs(tmp_path: Path) -> None:
    """What TVM's C would round, has no C for, or would not write."""
    x = relay.var("x", shape=(2, 5), dtype="int8")
    scaled = relay.multiply(relay.cast(x, "float32"), relay.const(np.float32(1 / 3)))
    below = relay.less(scaled, relay.const(np.float32(-7.1234567)))
    outputs = {
        "scaled": scaled,
        "reshaped": relay.reshape(scaled, (10,)),
        "again": scaled,
        "input": x,
        "input_reshaped": relay.reshape(x, (5, 2)),
        "chosen": relay.where(below, scaled, relay.const(np.float32(0.1))),
        "absolute": relay.abs(scaled),
        "whole": relay.trunc(scaled),
    }
    made = networks.module([], [x], lambda: relay.Tuple(list(outputs.values())))
    export(networks.build(made, MockTarget(), networks.model(made, list(outputs))), MockTarget(), tmp_path / "net")
    value = np.random.default_rng(1).integers(-128, 128, (2, 5)).astype(np.int8)
    got = run(tmp_path / "net", {"x": value}, sanitize=True)
    third = value.astype(np.float32) * np.float32(1 / 3)
    expected_outputs = {
        "scaled": third,
        "reshaped": third.reshape(10),
        "again": third,
        "input": value,
        "input_reshaped": value.reshape(5, 2),
        "chosen": np.where(third < np.float32(-7.1234567), third, np.float32(0.1)),
        "absolute": np.abs(third),
        "whole": np.trunc(third),
    }
    assert list(got) == list(expected_outputs)
    for name, array in expected_outputs.items():
        assert np.array_equal(got[name], array), name


def test_a_buffer_reserved_inside_a_loop_spares_what_the_loop_reads(tmp_path: Path) -> None:
    """TVM's C of a batched matrix product adds up in arrays of its own, which it reserves for one output at a time."""
    names = ("a", "b")
    inputs = [relay.var(name, shape=(2, 9, 12), dtype="int8") for name in names]
    wide = [relay.annotation.stop_fusion(relay.cast(x, "int32")) for x in inputs]
    product = relay.nn.batch_matmul(*wide, out_dtype="int32")
    made = networks.module([], inputs, lambda: product)
    export(networks.build(made, MockTarget(), networks.model(made, ["y"])), MockTarget(), tmp_path / "net")
    rng = np.random.default_rng(3)
    a, b = (rng.integers(-128, 128, (2, 9, 12)).astype(np.int8) for _ in names)
    got = run(tmp_path / "net", {"a": a, "b": b}, sanitize=True)
    assert np.array_equal(got["y"], a.astype(np.int32) @ b.astype(np.int32).transpose(0, 2, 1))


def test_truth_values(tmp_path: Path) -> None:
    """As inputs, outputs, constants and between operators."""
    x, given = relay.var("x", shape=(2, 5), dtype="int8"), relay.var("given", shape=(2, 5), dtype="bool")
    fixed = np.random.default_rng(7).random((2, 5)) < 0.5
    below = relay.annotation.stop_fusion(relay.less(x, relay.const(np.int8(9))))
    outputs = {
        "below": below,
        "both": relay.logical_and(below, given),
        "chosen": relay.where(relay.const(fixed), x, relay.negative(x)),
        "given": given,
    }
    made = networks.module([], [x, given], lambda: relay.Tuple(list(outputs.values())))
    export(networks.build(made, MockTarget(), networks.model(made, list(outputs))), MockTarget(), tmp_path / "net")
    rng = np.random.default_rng(1)
    value, truth = rng.integers(-128, 128, (2, 5)).astype(np.int8), rng.random((2, 5)) < 0.5
    got = run(tmp_path / "net", {"x": value, "given": truth}, sanitize=True)
    expected_outputs = {
        "below": value < 9,
        "both": (value < 9) & truth,
        "chosen": np.where(fixed, value, -value),
        "given": truth,
    }
    for name, array in expected_outputs.items():
        assert got[name].dtype == array.dtype
        assert np.array_equal(got[name], array), name
