"""Peaks of a network's activations, with copies and with tensors that lie inside others."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path

import match
from match.codegen.control_core import ControlCore
from match.codegen.lower import lower
from match.compilation.options import Options
from match.compilation.stopwatch import Stopwatch
from match.frontend import Model, load
from match.ir.layer import Op
from match.partitioning.partitioner import cut
from match.passes.pipeline import integer_network
from match.target.group import without_groups
from match.target.registry import get_target

_COPYING = frozenset({Op.CONCATENATE.value, Op.SLICE.value})


@dataclass(frozen=True)
class Peak:
    """A network in main memory.

    copies: concatenations and slices that copy. copied_bytes: what they write. in_place: those that copy nothing.
    peak: most bytes that activations take at once, the network's inputs and outputs aside. cycles: predicted.
    """

    copies: int
    copied_bytes: int
    in_place: int
    peak: int
    cycles: float


def model_of(name: str) -> Model:
    """A network of the zoo with uint8 activations, or one in a file."""
    if name.endswith((".onnx", ".tflite")):
        return load(Path(name))
    return replace(load(match.zoo.build(name, activations="uint8")), name=name)


def measure(model: Model, target: str, numerics: str) -> tuple[Peak, Peak, Peak]:
    """With copies alone, as is cheapest, and with as few copies as there can be; groups are left out."""
    chip = without_groups(get_target(target))
    chosen = Options.parse(numerics=numerics)
    network = integer_network(model, chip.activations, exact=chosen.exact)

    def peak(options: Options) -> Peak:
        partitioned = cut(network, chip, options, "network", Stopwatch())
        copies = [math.prod(d.output_shapes[0]) for d in partitioned.decisions if d.op in _COPYING]
        return Peak(
            copies=len(copies),
            copied_bytes=sum(copies),
            in_place=sum(decision.in_place is not None for decision in partitioned.decisions),
            peak=lower(partitioned, model, ControlCore(chip.name)).workspace_bytes,
            cycles=sum(decision.cycles for decision in partitioned.decisions),
        )

    copied, cheapest, few = (peak(replace(chosen, in_place=way)) for way in ("never", "cheapest", "always"))
    return copied, cheapest, few
