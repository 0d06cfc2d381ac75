"""Compiles a random network and compares its C with its integer form and with the reference."""

from __future__ import annotations

import enum
import traceback
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import match
from match.compiled.model import CompiledModel
from match.errors import MatchError
from match.frontend import load
from match.frontend.model import Model, ModelTensor
from match.graph.evaluate import evaluate
from match.partitioning.partitioner import Partitioned
from match.relay.execute import Executable
from match.report import Report
from match.validation.in_numpy import in_forms
from match.validation.references import caveat, reference
from tests import relay_numpy
from tests.integer_relay import integer_relay
from tests.random_networks import onnx, tflite
from tests.tflite.case import Input
from tests.tflite.compare import difference

Arrays = Mapping[str, npt.NDArray[Any]]

SAMPLES = 4
TARGETS = ("gap9", "gap8", "diana", "pulp_open", "cortex_m4", "cortex_m55")
CORES = ("cortex_m4", "cortex_m7", "cortex_m33", "cortex_m55")
SMALL_L1 = (8 << 10, 12 << 10, 16 << 10, 32 << 10)
SMALL_L2 = (32 << 10, 48 << 10, 64 << 10, 128 << 10)
CLOSE = 1e-5
"""How far real numbers of layers in floating point may be apart, as a share of the largest."""

CLOSE_NORMALIZED = 1e-3
"""The same where rows are normalized: a row of equal numbers is divided by sqrt(epsilon), often 1/316.

The last bit of its mean, which depends on the order of additions, weighs that much more.
"""

ROUNDED = 1 / 3
"""The share of an output that may differ from its integer form if the control core computes in floating point.

A number in the middle of two steps goes to one or the other as its last bit is, and layers behind spread that.
"""


class Outcome(enum.StrEnum):
    """What became of a network. ADMITTED: the report says that the reference may have other numbers."""

    EQUAL = "equal"
    ADMITTED = "admitted"
    REFUSED = "refused"
    FAILED = "failed"


@dataclass(frozen=True)
class Asked:
    """The options of a compilation, and where its C runs: with sanitizers, and under QEMU besides."""

    target: str
    numerics: str
    l1: int | None
    l2: int | None
    fuse: bool
    sanitize: bool
    qemu: bool = False


@dataclass(frozen=True)
class RandomNetwork:
    """The bytes of a model file, the ending of its name, and its operators."""

    data: bytes
    suffix: str
    operators: tuple[str, ...]


@dataclass(frozen=True)
class Checked:
    """What became of the network of a seed: what the compiler says where it refused, what is wrong where it failed."""

    seed: int
    network: RandomNetwork
    asked: Asked
    outcome: Outcome
    said: str = ""


def random_network(kind: str, seed: int) -> RandomNetwork:
    """A network of a kind, "tflite" or "onnx"."""
    if kind == "tflite":
        data = tflite.random_tflite(seed).data
        return RandomNetwork(data, ".tflite", tflite.operators(data))
    model = onnx.random_onnx(seed)
    return RandomNetwork(model.SerializeToString(), ".onnx", tuple(node.op_type for node in model.graph.node))


def options(seed: int) -> Asked:
    """Random options."""
    rng = np.random.default_rng([seed, 2])
    target = str(rng.choice(TARGETS))
    small = any(module.memories for module in match.get_target(target).modules) and rng.random() < 1 / 2
    return Asked(
        target=target,
        numerics=str(rng.choice(["exact", "hardware"])),
        l1=int(rng.choice(SMALL_L1)) if small else None,
        l2=int(rng.choice(SMALL_L2)) if rng.random() < 1 / 3 else None,
        fuse=bool(rng.random() < 0.7),
        sanitize=bool(rng.random() < 0.3),
    )


def on_core(target: str) -> Asked:
    """Exact numerics on a Cortex-M, on a PC and under QEMU; on a PC the M7 and the M33 execute the C of the M4."""
    sanitize = target in ("cortex_m4", "cortex_m55")
    return Asked(target, "exact", l1=None, l2=None, fuse=True, sanitize=sanitize, qemu=True)


def check(kind: str, seed: int, folder: Path, asked: Asked | None = None) -> Checked:
    """Compile and compare the network of a seed, with random options or those given; files are written to `folder`."""
    network, asked = RandomNetwork(b"", "", ()), asked or options(seed)
    try:
        network = random_network(kind, seed)
        path = folder / f"random{network.suffix}"
        path.write_bytes(network.data)
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            outcome, said = _compared(path, network.operators, asked, seed)
    except Exception as error:  # noqa: BLE001  whatever it is, it is wrong, and the next seed is to be tried
        outcome, said = Outcome.FAILED, _raised(error)
    return Checked(seed, network, asked, outcome, said)


def _compared(path: Path, operators: Sequence[str], asked: Asked, seed: int) -> tuple[Outcome, str]:
    try:
        model = load(path)
        compiled = match.compile(
            path, asked.target, numerics=asked.numerics, l1=asked.l1, l2=asked.l2, fuse=asked.fuse, jobs=1, cache=False
        )
    except MatchError as error:
        return Outcome.REFUSED, str(error).replace(str(path), path.name)
    samples, report = _samples(model, seed), compiled.report
    outputs = compiled.run(samples, sanitize=asked.sanitize)
    found = [outputs[tensor.name] for tensor in model.outputs]
    exact = report.totals.inexact_layers == 0
    if asked.qemu:
        simulated = compiled.run(samples, on="qemu")
        emulated = [simulated[tensor.name] for tensor in model.outputs]
        if wrong := _differences(model, found, emulated, 0 if exact else CLOSE):
            return Outcome.FAILED, f"under QEMU not the PC's: {wrong}"
    if _computes_integers(report):
        rounded = any(not layer.exact and layer.module == "cpu" for layer in report.layers)
        normalized = any("Normalization" in name for name in operators)
        close = 0 if exact else CLOSE_NORMALIZED if normalized else CLOSE
        expected, share = _integer_form(model, asked, samples), ROUNDED if rounded else 0
        if wrong := _differences(model, expected, found, close, share):
            return Outcome.FAILED, f"not the integer form's: {wrong}"
    else:
        if not any(layer.floating or (not layer.exact and layer.module == "cpu") for layer in report.layers):
            expected = _in_forms(compiled.partitioned, model, samples)
            if wrong := _differences(model, expected, found):
                return Outcome.FAILED, f"not what the modules' forms give: {wrong}"
        if wrong := _wrong_layers(compiled, samples):
            return Outcome.FAILED, f"more steps off than is known: {wrong}"
    wrong = _differences(model, _reference(model, samples), found) if exact else ""
    if wrong and not caveat(model):
        return Outcome.FAILED, f"not the reference's: {wrong}"
    return (Outcome.EQUAL if exact and not wrong else Outcome.ADMITTED), ""


def _computes_integers(report: Report) -> bool:
    """Whether all requantizations are the network's own, so that the C has the numbers of its integer form."""
    return all(layer.requantization is None or layer.requantization.exact for layer in report.layers)


def _wrong_layers(compiled: CompiledModel, samples: Arrays) -> str:
    """The layers on modules that are farther off than the report says, each alone."""
    layers = compiled.validate(samples, layers=True).layers or ()
    return "; ".join(
        f"{layer.name} by {layer.largest} instead of {layer.known_steps} in {layer.differing} of {layer.elements}"
        for layer in layers
        if layer.module != "cpu" and layer.largest > layer.known_steps
    )


def _samples(model: Model, seed: int) -> Arrays:
    rng = np.random.default_rng([seed, 3])
    return {tensor.name: _drawn(tensor, rng) for tensor in model.inputs}


def _drawn(tensor: ModelTensor, rng: np.random.Generator) -> npt.NDArray[Any]:
    if tensor.dtype == "float32":
        widths = np.array([1, 3, 0.1, 30]).reshape(-1, *(1 for _ in tensor.shape))
        return (widths * rng.normal(0, 1, (SAMPLES, *tensor.shape))).astype(np.float32)
    limits = np.iinfo(tensor.dtype)
    return Input(tensor.name, tensor.shape, tensor.dtype, limits.min, limits.max).samples(rng, SAMPLES)


def _integer_form(model: Model, asked: Asked, samples: Arrays) -> list[npt.NDArray[Any]]:
    """Outputs of the network in integer form, as the compilation had it."""
    chip = match.get_target(asked.target)
    module = integer_relay(model, chip.activations, exact=asked.numerics == "exact")
    run = partial(relay_numpy.outputs, module) if relay_numpy.knows(module) else Executable(module)
    results = [run({name: values[index] for name, values in samples.items()}) for index in range(SAMPLES)]
    return [np.stack(values) for values in zip(*results, strict=True)]


def _in_forms(partitioned: Partitioned, model: Model, samples: Arrays) -> list[npt.NDArray[Any]]:
    """Outputs of the network as its modules requantize, in NumPy."""
    graph = in_forms(partitioned).graph
    results = [evaluate(graph, [samples[tensor.name][index] for tensor in model.inputs]) for index in range(SAMPLES)]
    return [np.stack(values) for values in zip(*results, strict=True)]


def _reference(model: Model, samples: Arrays) -> list[npt.NDArray[Any]]:
    """Outputs of TFLite Micro or onnxruntime."""
    given = [[np.ascontiguousarray(values[index]) for values in samples.values()] for index in range(SAMPLES)]
    results = list(map(reference(model)[1], given))
    return [np.stack(values) for values in zip(*results, strict=True)]


def _differences(
    model: Model,
    expected: Sequence[npt.NDArray[Any]],
    found: Sequence[npt.NDArray[Any]],
    close: float = 0,
    share: float = 0,
) -> str:
    """The outputs of which more than a share is not as expected, with real numbers `close` to that."""
    return "; ".join(
        f"{tensor.name}: {difference(one, other)}"
        for tensor, one, other in zip(model.outputs, expected, found, strict=True)
        if _share(one, other, close) > share
    )


def _share(expected: npt.NDArray[Any], found: npt.NDArray[Any], close: float) -> float:
    """The share of elements that differ; of real numbers by more than `close` times the largest, if that is not 0."""
    if expected.dtype != found.dtype or expected.size != found.size:
        return 1
    one, other = expected.reshape(-1), found.reshape(-1)
    if close and expected.dtype.kind == "f":
        return float(np.mean(np.abs(one - other) > close * np.abs(one).max(initial=0)))
    return float(np.mean(one.view(f"u{one.itemsize}") != other.view(f"u{one.itemsize}")))


def _raised(error: Exception) -> str:
    """What an exception says, and where it comes from."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if "/match/" in frame.filename] or frames
    place = f"{Path(own[-1].filename).name}:{own[-1].lineno} in {own[-1].name}"
    return f"{type(error).__name__} ({place}): {' '.join(str(error).split())[:300]}"
