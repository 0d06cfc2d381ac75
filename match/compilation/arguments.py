"""What a user may ask of the compiler by name, beside the model and the target."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any, TypedDict

import numpy.typing as npt

from match.errors import OptionError
from match.target.memory_sizes import GivenSizes


class PartitionArguments(TypedDict, total=False):
    """What `match.partition` and `match.build` may be asked for. What is left out has the value that is named first.

    modules: use these modules of the target only; None: all.
    l1: None, or bytes of innermost memory in place of the target's own, also as "64k" or "1M"; by the module's name
        where modules have memories of their own, also as "cluster=64k,npu=32k".
    settings: None, or what the target declares that can be set, by name, such as ``{"dma.bytes": 4}``.
    engine: how schedules are searched: "exact", "loma" or "dory".
    objective: what is minimised: "latency", "energy", "bytes" that are moved, "edp", energy times latency, or "ram",
        bytes of main memory that are taken at once.
    at_most: None, or how much of another quantity than the objective the network may take, in times the least, such as
        "latency=1.1x" beside objective "energy"; that is what None is beside "ram".
    numerics: "hardware" for the closest requantization that each module has, "exact" for the network's own only.
    jobs: processes that search for schedules and fit requantizations at a time; None: one for each processor.
    cache: True to keep schedules in the user's cache folder for the next compilation, False, or the folder for it.
    fuse: True if modules may execute several operators as one, or False.
    rescale: False, or True to fold scales into weights for modules that requantize by shifts alone, which moves
        outputs.
    quantize_recurrent: False, or True to compute LSTM and GRU of ONNX files in integers, which moves their outputs.
    """

    modules: Sequence[str] | None
    l1: GivenSizes | None
    settings: Mapping[str, Any] | None
    engine: str
    objective: str
    at_most: str | None
    numerics: str
    jobs: int | None
    cache: bool | str | PathLike[str]
    fuse: bool
    rescale: bool
    quantize_recurrent: bool


class CompileArguments(PartitionArguments, total=False):
    """What `match.compile` and `match.predict` may be asked for, too.

    l2: None, or bytes of main memory that the network has, as those of `l1`, in place of the target's own less an
        estimate of the program; what they cannot hold goes to external memory.
    calibrate: None, or samples of the inputs, as for `CompiledModel.run`, with `quantize_recurrent`: what recurrent
        layers read gets 8 bits in the range that it has there, where the model does not quantize it.
    states: None, or outputs that are inputs in the next inference, by the names of these, such as
        ``{"h_in": "h_out"}``; the network keeps them, beside what the model itself keeps, and they begin as the real
        number 0.
    name: what the network is called, and every name in its C begins with; None: the file's name.
    input_type: "int8", "uint8" or "float32" for inputs of another type than the model's: a quantize in front of all
        else becomes the caller's, who finds its scale in the interface; None: the model's.
    output_type: the same of outputs.
    input_layout: "nhwc" or "nchw" for inputs with four axes; None: the model's.
    """

    l2: int | str | None
    calibrate: Mapping[str, npt.NDArray[Any]] | None
    states: Mapping[str, str] | None
    name: str | None
    input_type: str | None
    output_type: str | None
    input_layout: str | None


def check_names(given: Mapping[str, Any], known: type[CompileArguments | PartitionArguments]) -> None:
    """Refuse what is no argument's name.

    Raises:
        OptionError: for the first that is none.
    """
    options = known.__optional_keys__
    for name in given:
        if name not in options:
            raise OptionError(f"there is no option {name!r} here; choose among: {', '.join(sorted(options))}.")
