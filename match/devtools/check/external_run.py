"""Runs a network that takes external memory, as the last of what is tried of a target."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from match.compiler import compile as compile_model
from match.devtools.check.probes import Probe, inputs, network
from match.devtools.check.undefined import undefined_function
from match.errors import MatchError, ToolchainError
from match.target.hardware import MatchTarget

_MOST_LAYERS = 3
_LESS = 4


def external_run_problems(target: MatchTarget, layers: Sequence[tuple[Probe, npt.NDArray[Any]]]) -> Iterator[str]:
    """What keeps a network from running that main memory is too small for by a few bytes, or changes its outputs.

    `layers` have constants and are taken by a module; with each are its outputs on the control core.
    """
    if target.external is None or not layers:
        return
    what = f"target {target.name}"
    probes, expected = zip(*layers[:_MOST_LAYERS], strict=True)
    model = network(probes)
    try:
        whole = compile_model(model, target, numerics="exact").report.totals.l2_peak_bytes
        compiled = compile_model(model, target, numerics="exact", l2=whole - _LESS)
    except MatchError as error:
        yield f"{what} cannot be compiled for with external memory: {str(error).rstrip('.')}."
        return
    try:
        outputs = compiled.run(inputs(probes), sanitize=True).values()
    except ToolchainError as error:
        name = undefined_function(str(error))
        if name:
            yield (
                f"{what} calls the C function {name}, which none of the sources of its external memory and of host "
                f"defines; define it, or correct its name in ExternalApi."
            )
        else:
            yield f"{what} fails in a run of a network that takes external memory: {str(error).rstrip('.')}."
        return
    for probe, output, right in zip(probes, outputs, expected, strict=True):
        differing = int(np.count_nonzero(output != right))
        if differing:
            yield (
                f"{what} computes other values for {probe.what} when its constants come from external memory: "
                f"{differing} of {output.size} differ; load must fill it with the image, and copy_in move what a "
                f"match_copy_t says by the time that wait returns."
            )
            return
