"""Networks of the cells as models in the compiler's sense."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.published.alone import alone
from benchmarks.published.cells import Convolution, Network
from match.errors import ModelError
from match.frontend import Model, load
from match.frontend.relay import from_relay
from match.ir.layer import Layer, Op, Padding


def model(network: Network, models: Path) -> Model:
    """The network; model files are in `models`.

    Raises:
        ModelError: the file or the zoo's function is not there.
    """
    if network.file is not None:
        return load(models / network.file)
    if network.convolution is not None:
        return from_relay(alone(_layer(network.convolution)), name="convolution")
    try:
        build = getattr(import_module("match.devtools.zoo"), network.zoo or "")
    except (ImportError, AttributeError) as error:
        raise ModelError(f"match.devtools.zoo has no {network.zoo}: {error}") from error
    with TemporaryDirectory() as folder:
        file = Path(folder) / "network.onnx"
        file.write_bytes(build(**network.arguments).SerializeToString())
        return load(file)


def _layer(convolution: Convolution) -> Layer:
    size, side = convolution.size, convolution.filter
    padding = Padding(*[side // 2] * 4)
    channels = (convolution.filters, convolution.channels)
    return Layer("convolution", Op.CONV2D, *channels, size, size, size, size, side, side, padding=padding)
