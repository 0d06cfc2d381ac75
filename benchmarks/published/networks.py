"""Networks of the cells as models in the compiler's sense."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.published.alone import alone
from benchmarks.published.cells import Network
from match.errors import ModelError
from match.frontend import Model, load
from match.frontend.relay import from_relay
from match.passes.border import Border
from match.passes.with_border import with_border

MEASURED = Border(input_type="int8", output_type="int8", input_layout="nhwc")
"""Inputs and outputs of the networks that were measured, which those of the zoo then have, too."""


def model(network: Network, models: Path) -> Model:
    """The network; model files are in `models`.

    Raises:
        ModelError: the file or the zoo's function is not there.
    """
    if network.file is not None:
        return load(models / network.file)
    if network.convolution is not None:
        return from_relay(alone(network.convolution), name="convolution")
    try:
        build = getattr(import_module("match.devtools.zoo"), network.zoo or "")
    except (ImportError, AttributeError) as error:
        raise ModelError(f"match.devtools.zoo has no {network.zoo}: {error}") from error
    with TemporaryDirectory() as folder:
        file = Path(folder) / "network.onnx"
        file.write_bytes(build(**network.arguments).SerializeToString())
        return with_border(load(file), MEASURED)
