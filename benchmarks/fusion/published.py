"""What was published about fused depthwise and pointwise convolutions on GAP8 (arXiv 2406.12478), and its networks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from match.devtools import zoo
from match.frontend import Model, load
from match.passes.border import Border
from match.passes.with_border import with_border


@dataclass(frozen=True)
class Figures:
    """Cycles, and bytes of activations moved, of a network: unfused, least latency, least memory transfers.

    `gain` is the share of the cycles that fusion saves, as the paper has it: its cycles are rounded.
    """

    cycles: tuple[float, float, float]
    activation_bytes: tuple[float, float, float]
    gain: float


PUBLISHED: Mapping[str, Figures] = {
    "mv1-224": Figures((10.0e6, 8.9e6, 11.4e6), (2.9e6, 2.75e6, 1.64e6), 0.112),
    "mv1-128": Figures((3.08e6, 2.73e6, 3.07e6), (879.0e3, 639.4e3, 491.9e3), 0.114),
    "mv1-96": Figures((2.20e6, 2.02e6, 2.03e6), (497.0e3, 343.8e3, 270.1e3), 0.084),
    "mv2-224": Figures((14.89e6, 13.27e6, 13.43e6), (5.83e6, 3.51e6, 3.28e6), 0.109),
    "mv2-128": Figures((6.76e6, 6.33e6, 6.58e6), (2.47e6, 1.72e6, 1.16e6), 0.064),
    "ds-cnn": Figures((686e3, 686e3, 761e3), (144.7e3, 128.7e3, 80.7e3), 0.0),
}

CLOCK_HZ = 100e6
L1_SIZES = (36700, 65536)
"""What the paper's deployment leaves of L1 after the cores' stacks, and all of it."""


def network(name: str) -> Model:
    """One of the six networks, width 0.25, with random weights, as onnxruntime quantizes it.

    The input has channels last: the networks that were published transpose nothing.
    """
    family, _, resolution = name.partition("-")
    if family == "mv1":
        made = zoo.mobilenet_v1(0.25, int(resolution), 2 if resolution == "96" else 1000)
    elif family == "mv2":
        made = zoo.mobilenet_v2(0.25, int(resolution))
    else:
        made = zoo.ds_cnn()
    return with_border(load(made), Border(input_layout="nhwc"))
