"""Measures a case on the simulated core and holds its outputs against NumPy's."""

from __future__ import annotations

import struct
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.rtl.case import Case
from benchmarks.rtl.simulator import Simulator
from benchmarks.rtl.toolchain import declared
from match.cost_models.pulp_cycles import Form
from match.cost_models.pulp_loops import is_pointwise, widened
from match.errors import ToolchainError
from match.ir.attributes import Broadcast, ChannelGroups, Transposition
from match.ir.layer import Layer, Op
from match.targets.pulp.cluster import COST

REQUEST = 0x40000
_ARRAYS = 0x40100
_MOST_CYCLES = 50_000_000
_POINTERS = 10
_BEHIND = bytes(range(1, 65))
"""Lies behind the scratch."""

_SUFFIXES: dict[Form, str] = {
    "int32": "_int32",
    "rows": "_rows",
    "split": "_split",
    "split_signed": "_split",
}


def measure(simulator: Simulator, case: Case, core: int = 0, cores: int = 1) -> int:
    """Cycles of the whole kernel call on one core, which is number `core` of `cores`.

    Raises:
        ToolchainError: an output is not what NumPy says.
    """
    cycles, output = called(simulator, case, core, cores)
    expected = case.tensors.expected
    if cores == 1 and not np.array_equal(output, expected):
        wrong = int(np.count_nonzero(output != expected))
        raise ToolchainError(f"{case.name}: {wrong} of {output.size} outputs on the core differ from NumPy's.")
    return cycles


def called(simulator: Simulator, case: Case, core: int, cores: int) -> tuple[int, npt.NDArray[Any]]:
    """Cycles of the same call, and the outputs that the core computes; those of others are 0.

    Raises:
        ToolchainError: the kernel takes more scratch than the cost model says.
    """
    layer, tensors = case.layer, case.tensors
    scratch = replace(COST, cores=cores).scratch(layer, case.tile)
    empty = bytes(tensors.expected.nbytes)
    lists = (b"", b"") if tensors.lists is None else (tensors.lists.begins.tobytes(), tensors.lists.words.tobytes())
    arrays = (
        tensors.input.tobytes(),
        tensors.addend.tobytes(),
        _weights(case),
        tensors.parameters,
        *lists,
        empty,
        tensors.sums.tobytes(),
        bytes(scratch),
        _BEHIND,
    )
    pointers, data = _place(arrays)
    image = struct.pack("<IiiI", _kernel(case), core, cores, 0) + _tile(case, pointers[:-1])
    image = image.ljust(_ARRAYS - REQUEST, b"\0") + data
    written = pointers[-1] + len(_BEHIND) - pointers[6]
    cycles, result = simulator.run(REQUEST, image, (pointers[6], written), _MOST_CYCLES)
    if not result.endswith(_BEHIND):
        raise ToolchainError(f"{case.name}: the kernel takes more than {scratch} bytes of scratch.")
    outputs = np.frombuffer(result[: len(empty)], tensors.expected.dtype)
    return cycles, outputs.reshape(tensors.expected.shape)


def _weights(case: Case) -> bytes:
    """As the kernel has them: rows of a convolution are whole words, of columns of the filter.

    Those of a depthwise convolution of 16 bits lie channels last.
    """
    weights = case.tensors.weights
    if case.layer.input_dtype == "int16":
        depthwise = case.layer.op is Op.DEPTHWISE_CONV2D
        return (weights[..., 0].transpose(1, 2, 0) if depthwise else weights).tobytes()
    if case.layer.op is Op.GROUPED_CONV2D or (case.layer.op is Op.CONV2D and not is_pointwise(case.layer)):
        rows = weights.transpose(0, 2, 1, 3).reshape(case.layer.output_channels, -1)
        weights = np.pad(rows, ((0, 0), (0, -rows.shape[1] % 4)))
    return weights.tobytes()


def _kernel(case: Case) -> int:
    """Its number: that for the form, or the one without a form in its name, if it serves all forms."""
    name = "pointwise" if case.layer.op is Op.CONV2D and is_pointwise(case.layer) else str(case.layer.op)
    if case.layer.op is Op.DEPTHWISE_CONV2D and widened(case.layer) is not None:
        name = "depthwise_widened"
    end = _SUFFIXES.get(case.form, "")
    if case.layer.input_dtype == "int16":
        name, end = str(case.layer.op), "_int16"
    plain, form = f"match_pulp_{name}", f"match_pulp_{name}{end}"
    return declared().index(form if form in declared() else plain)


def _place(arrays: tuple[bytes, ...]) -> tuple[list[int], bytes]:
    """Addresses of arrays that lie one after the other, at multiples of 4, and their bytes."""
    addresses: list[int] = []
    data = b""
    for array in arrays:
        addresses.append(_ARRAYS + len(data))
        data += array.ljust(-(-len(array) // 4) * 4, b"\0")
    return addresses, data


def _addend_strides(layer: Layer) -> tuple[int, int]:
    """From a row of the second input to the next, and from a pixel; 0 where it has a single pixel."""
    if layer.get(Broadcast).kind == "pixel":
        return 0, 0
    channels = 1 if layer.get(Broadcast).kind else layer.input_channels
    if layer.op is Op.CONCATENATE:
        channels = layer.k - layer.input_channels
    rows = layer.k if layer.op is Op.MATRICES else layer.ix
    return rows * channels, channels


def _tile(case: Case, pointers: list[int]) -> bytes:
    """match_tile_t as a 32-bit core has it; channels of a grouped convolution are a group's.

    Rows and columns of the input that no output sees are none of the tile.
    """
    layer, tile, channels = case.layer, case.tile, case.layer.input_channels
    input_, addend, weights, parameters, excepted, exceptions, output, sums, scratch = pointers
    grouped, transposed = layer.op is Op.GROUPED_CONV2D, layer.op is Op.TRANSPOSE
    one_channel = layer.get(Broadcast).single_channel
    channels_in = layer.c if grouped else 1 if one_channel else channels
    channels_in = layer.get(Transposition).element_bytes if transposed else channels_in
    strides = (layer.ix * channels, 1 if transposed else channels)
    fields = (
        *(channels_in, layer.get(ChannelGroups).outputs if grouped else layer.k),
        *(tile.iy, tile.ix, *((0, 0) if layer.get(Broadcast).kind == "outer" else strides), *_addend_strides(layer)),
        *(layer.oy, layer.ox, layer.ox * layer.output_channels, layer.output_channels),
        *(layer.fy, layer.fx, *layer.stride, *layer.dilation, *layer.padding, layer.pad_value, *layer.clip),
    )
    sums_in, sums_out = 0 if case.begin else sums, output if case.leaves_sums else 0
    lists = (excepted, exceptions) if case.tensors.lists is not None else (0, 0)
    places = (input_, addend, weights, parameters, *lists, output, sums_in, sums_out, scratch)
    others = (0, layer.ix if transposed else 0, 0, 0, layer.k if grouped else 0)
    return struct.pack(f"<{_POINTERS}I25i4xq5i4x", *places, *fields, case.tensors.negative_step, *others)
