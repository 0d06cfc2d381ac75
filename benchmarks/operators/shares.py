"""Where the predicted cycles of one network are, and whether its C computes what onnxruntime does."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import onnx

import match
from benchmarks.operators.results import CPU, EXTERNAL, Rest, Row
from match.errors import MatchError, OptionError, ToolchainError
from match.report.schema import LayerSummary

FLOAT = "float"
_SAMPLES = 16


def measure(
    name: str, activations: str, target: str, numerics: str, *, compare: bool, quantize_recurrent: bool = False
) -> Row:
    """A network of the zoo whose caller gives and takes integers, compiled; a refusal is a row, too.

    Instead of a type, `FLOAT` is a float network that `match quantize` quantizes for the target.

    Raises:
        OptionError: there is no such network, target or kind of numerics.
    """
    kind = activations
    if kind == FLOAT:
        model, activations = _quantized(name, target)
    else:
        model = match.zoo.build(name, activations=activations)
    options = {"input_type": activations, "output_type": activations, "quantize_recurrent": quantize_recurrent}
    row = Row(network=name, activations=kind, quantize_recurrent=quantize_recurrent)
    return _measured(row, model, target, numerics, options, compare=compare)


def _quantized(name: str, target: str) -> tuple[onnx.ModelProto, str]:
    """A float network of the zoo, quantized for a target with noise, and the type of its activations."""
    model = match.zoo.build(name, quantized=False)
    shape = [dim.dim_value for dim in model.graph.input[0].type.tensor_type.shape.dim]
    noise = np.random.default_rng(0).uniform(-1, 1, (_SAMPLES, *shape)).astype(np.float32)
    made = match.quantize(model, noise, target)
    return made.model, made.result.form.activations


def measure_file(path: Path, target: str, numerics: str, *, compare: bool) -> Row:
    """A network in a file, as it is.

    Raises:
        OptionError: there is no such target or kind of numerics.
    """
    return _measured(Row(network=path.stem), path, target, numerics, {}, compare=compare)


def _measured(
    row: Row, model: onnx.ModelProto | Path, target: str, numerics: str, options: dict[str, Any], *, compare: bool
) -> Row:
    """The row of what was compiled and, if asked for, compared, or of why it was not.

    Outputs are not compared where the reference lacks an operator.
    """
    row, compiled = _compiled(row, model, target, numerics, options)
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
    row: Row, model: onnx.ModelProto | Path, target: str, numerics: str, options: dict[str, Any]
) -> tuple[Row, match.CompiledModel | None]:
    """A network's row, and what was compiled; None where it is refused."""
    begin = time.perf_counter()
    try:
        compiled = match.compile(model, target, numerics=numerics, **options)
    except OptionError:
        raise
    except MatchError as error:
        return msgspec.structs.replace(row, seconds=time.perf_counter() - begin, refused=str(error)), None
    seconds = time.perf_counter() - begin
    layers, cycles = compiled.report.layers, compiled.report.totals.cycles
    units = dict.fromkeys(layer.module for layer in layers)
    waits = {unit: sum(layer.wait_cycles for layer in layers if layer.module == unit) for unit in units}
    shares = {
        unit: _share([layer for layer in layers if layer.module == unit], cycles) - waits[unit] / cycles
        for unit in units
    }
    if any(waits.values()):
        shares[EXTERNAL] = sum(waits.values()) / cycles
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
