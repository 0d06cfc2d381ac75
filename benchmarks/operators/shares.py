"""Where the predicted cycles of one network are, and whether its C computes what onnxruntime does."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
import onnx

import match
from benchmarks.operators.results import CPU, EXTERNAL, Rest, Row
from match.errors import MatchError, OptionError, ToolchainError
from match.frontend.model import ModelTensor
from match.report.schema import LayerSummary
from match.validation.exact_session import exact_session


def measure(name: str, activations: str, target: str, numerics: str, *, compare: bool) -> Row:
    """A network of the zoo whose caller gives and takes integers, compiled; a refusal is a row, too.

    Raises:
        OptionError: there is no such network, target or kind of numerics.
    """
    model = match.zoo.build(name, activations=activations)
    types = {"input_type": activations, "output_type": activations}
    row, compiled = _compiled(Row(network=name, activations=activations), model, target, numerics, types)
    if compiled is None or not compare:
        return row
    differing, outputs = _differing(model, activations, compiled)
    return msgspec.structs.replace(row, differing=differing, outputs=outputs)


def measure_file(path: Path, target: str, numerics: str, *, compare: bool) -> Row:
    """A network in a file, as it is; its outputs are not compared where that fails, as the reference lacks operators.

    Raises:
        OptionError: there is no such target or kind of numerics.
    """
    row, compiled = _compiled(Row(network=path.stem, activations="file's"), path, target, numerics, {})
    if compiled is None or not compare:
        return row
    try:
        outputs = compiled.validate(samples=1, seed=0).outputs
    except ToolchainError as error:
        sys.stderr.write(f"{error}\n")
        return row
    elements, equal = sum(tensor.elements for tensor in outputs), sum(tensor.equal for tensor in outputs)
    return msgspec.structs.replace(row, differing=elements - equal, outputs=elements)


def _compiled(
    row: Row, model: onnx.ModelProto | Path, target: str, numerics: str, types: dict[str, Any]
) -> tuple[Row, match.CompiledModel | None]:
    """A network's row, and what was compiled; None where it is refused."""
    begin = time.perf_counter()
    try:
        compiled = match.compile(model, target, numerics=numerics, **types)
    except OptionError:
        raise
    except MatchError as error:
        return msgspec.structs.replace(row, seconds=time.perf_counter() - begin, refused=str(error)), None
    seconds = time.perf_counter() - begin
    layers, cycles = compiled.report.layers, compiled.report.totals.cycles
    units = dict.fromkeys(layer.module for layer in layers)
    shares = {unit: _share([layer for layer in layers if layer.module == unit], cycles) for unit in units}
    outside = cycles - sum(layer.cycles for layer in layers)
    if outside > 0:
        shares[EXTERNAL] = outside / cycles
    whole = msgspec.structs.replace(
        row,
        cycles=cycles,
        shares=shares,
        rest=_rest([layer for layer in layers if layer.module == CPU], cycles),
        operators=len(layers),
        inexact=sum(not layer.exact for layer in layers),
        seconds=seconds,
    )
    return whole, compiled


def _share(layers: Sequence[LayerSummary], cycles: int) -> float:
    return sum(layer.cycles for layer in layers) / cycles


def _rest(layers: Sequence[LayerSummary], cycles: int) -> tuple[Rest, ...]:
    """The control core's operators by kind."""
    found: list[Rest] = []
    for op in dict.fromkeys(layer.op for layer in layers):
        own = [layer for layer in layers if layer.op == op]
        reasons = (candidate.refusal for layer in own for candidate in layer.candidates if candidate.refusal)
        found.append(Rest(op=op, count=len(own), share=_share(own, cycles), refusals=tuple(dict.fromkeys(reasons))))
    return tuple(sorted(found, key=lambda rest: -rest.share))


def _differing(model: onnx.ModelProto, activations: str, compiled: match.CompiledModel) -> tuple[int, int]:
    """On one random input: outputs that are not onnxruntime's, and outputs in all."""
    rng, limits = np.random.default_rng(0), np.iinfo(activations)
    inputs = {
        tensor.name: rng.integers(limits.min, limits.max, tensor.shape, activations, endpoint=True)
        for tensor in compiled.inputs
    }
    session = exact_session(model.SerializeToString(), signed=activations == "int8")
    expected = session.run(None, {tensor.name: _real(tensor, inputs[tensor.name]) for tensor in compiled.inputs})
    computed = compiled.run(inputs)
    pairs = [(expected[place], _real(tensor, computed[tensor.name])) for place, tensor in enumerate(compiled.outputs)]
    return sum(int(np.count_nonzero(a != b)) for a, b in pairs), sum(a.size for a, _ in pairs)


def _real(tensor: ModelTensor, integers: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
    """What the integers of an input or output stand for."""
    assert tensor.quantization is not None, "networks of the zoo are quantized throughout"
    scale, zero_point = tensor.quantization.scale, tensor.quantization.zero_point
    return ((integers.astype(np.int32) - zero_point) * np.float32(scale)).astype(np.float32)
