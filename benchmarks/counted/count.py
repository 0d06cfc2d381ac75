"""Counts a network of the zoo, or of a file, on a platform of the open PULP chip."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np

import match
from benchmarks.counted.results import Layer
from match.errors import ToolchainError
from match.report.schema import LayerSummary, Report
from match.target.registry import get_target

TARGET = "pulp_open"
SEED = 3
PLATFORMS = ("rtl", "gvsoc")
L1 = 118_784
"""Bytes of a scratchpad as large as GAP9's; 12 kB more are the cores' stacks."""

HARDWARE, EXACT = "hardware", "exact"

SEVERAL = "several operators"
"""The kind of a function of the control core that computes more than one of them."""

APART = "apart"

_PLAIN = {"conv2d", "depthwise_conv2d"}

_MAPS = ((1, "one pixel"), (36, "at most 36 pixels"), (144, "at most 144 pixels"))
"""Pixels of small outputs, of which a convolution's kernel or driver has little to share out."""

_FEW_CHANNELS = 3


def platforms() -> tuple[str, ...]:
    """Those that can be counted on here: RTL, and GVSoC where it is on the PATH."""
    return PLATFORMS if shutil.which("gvsoc") else PLATFORMS[:1]


def compiled(
    network: str, platform: str, numerics: str = HARDWARE, module: str = "", *, apart: bool = False
) -> match.CompiledModel:
    """A network of the zoo, or the file of one, for a platform, of a module alone or `apart` layer by layer.

    On RTL one core of the cluster executes all of it if no module is named.
    """
    path = Path(network)
    model = path if path.suffix in (".onnx", ".tflite") else match.zoo.build(network)
    alone = module or ("cluster" if platform == "rtl" else "")
    if alone:
        scratchpads = {one.name: one.scratchpad_api for one in get_target(TARGET).modules}
        l1 = L1 if scratchpads.get(alone) else None
        return match.compile(model, TARGET, modules=(alone,), l1=l1, fuse=False, numerics=numerics)
    return match.compile(model, TARGET, l1=L1, fuse=not apart, numerics=numerics)


def predictions(report: Report, platform: str) -> dict[str, tuple[LayerSummary, int]]:
    """Layers by name that have a predicted cost on the platform, with that.

    On RTL the control core has no L2 to fetch instructions from: its layers have none.
    """
    found: dict[str, tuple[LayerSummary, int]] = {}
    for layer in report.layers:
        on_rtl = 0 if layer.module == "cpu" else layer.platform_cycles.get("rtl", 0)
        cycles = on_rtl if platform == "rtl" else layer.cycles
        if cycles:
            found[layer.name] = layer, cycles
    return found


def name_of(network: str, numerics: str = HARDWARE, module: str = "", *, apart: bool = False) -> str:
    """What results call a network: of other numerics than those of hardware with these, of a module with its name."""
    name = Path(network).stem if network.endswith((".onnx", ".tflite")) else network
    others = ("" if numerics == HARDWARE else numerics, module, APART if apart else "")
    return ", ".join((name, *filter(None, others)))


def count(
    network: str, platform: str, numerics: str = HARDWARE, module: str = "", *, apart: bool = False
) -> list[Layer]:
    """What it calls, as far as that has a prediction there.

    Raises:
        MatchError: the network is not compiled, does not run there, what runs it is not installed, or its outputs are
            not those of the host.
    """
    model = compiled(network, platform, numerics, module, apart=apart)
    outputs, measurement = model.measure(seed=SEED, on=platform)
    host = model.run(seed=SEED)
    if wrong := [name for name, values in host.items() if not np.array_equal(values, outputs[name])]:
        raise ToolchainError(f"{network} on {platform} has other outputs than on the host: {', '.join(wrong)}.")
    known = predictions(model.report, platform)
    counted_by = revision()
    return [
        Layer(
            revision=counted_by,
            network=name_of(network, numerics, module, apart=apart),
            platform=platform,
            layer="+".join(calls.layers),
            unit=layers[0].module,
            kind=kind_of(layers[0]) if len(calls.layers) == 1 else SEVERAL,
            predicted=sum(known[layer.name][1] for layer in layers),
            counted=calls.count,
        )
        for calls in measurement.layers
        if (layers := [known[name][0] for name in calls.layers if name in known])
    ]


def kind_of(layer: LayerSummary) -> str:
    """Its operator, and what of its geometry chooses a kernel or leaves little to share out."""
    shapes, output = layer.input_shapes, layer.output_shapes[0]
    if layer.op in _PLAIN:
        return _of_convolution(layer)
    if layer.op == "max_pool2d" and len(output) == 4:
        return f"{layer.op}, stride {round(shapes[0][1] / output[1])}"
    if [len(shape) for shape in (*shapes, output)] == [4, 4, 4] and layer.op != "concatenate":
        pixels = {tuple(shape[1:3]) for shape in shapes}
        if len(pixels) > 1 and (1, 1) in pixels:
            return f"{layer.op}, a value for each channel"
        if any(shape[3] == 1 != output[3] for shape in shapes):
            return f"{layer.op}, a value for each pixel"
    return layer.op


def _of_convolution(layer: LayerSummary) -> str:
    """Its filter, whether its input has few channels, and whether its output has few pixels."""
    tile = layer.schedule.tile if layer.schedule else {}
    kind = f"{layer.op} {tile.get('FY', 1)}x{tile.get('FX', 1)}"
    output = layer.output_shapes[0]
    if len(output) != 4:
        return kind
    if layer.op == "conv2d" and layer.input_shapes[0][3] <= _FEW_CHANNELS:
        return f"{kind}, at most {_FEW_CHANNELS} channels"
    pixels = output[1] * output[2]
    small = next((name for most, name in _MAPS if pixels <= most), "")
    return ", ".join(filter(None, (kind, small)))


def revision() -> str:
    """The commit of the project's folder, or the version where that is no checkout."""
    command = ["git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return match.__version__
    return done.stdout.strip()
