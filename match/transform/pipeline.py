"""The way from a model's QNN operators to the integer form, in the order of the passes."""

from __future__ import annotations

from typing import Literal

from match.frontend.model import Model, Rounding
from match.relay import tvm
from match.transform.channels_last import ChannelsLast
from match.transform.compose_arithmetic import ComposeArithmetic
from match.transform.dead_channels import DeadChannels
from match.transform.fixed_point_groups import FuseFixedPointGroups
from match.transform.integerize import Integerize
from match.transform.onnxruntime_arithmetic import OnnxruntimeArithmetic
from match.transform.quantize_border import LowerBorder
from match.transform.quantized_groups import FuseQuantizedGroups
from match.transform.simplify import RemoveIdle
from match.transform.tflite_arithmetic import TfliteArithmetic
from match.transform.unsigned_activations import UnsignedActivations


def integer_relay(
    model: Model, activations: Literal["uint8"] | None = None, *, remove_dead_channels: bool = True
) -> tvm.IRModule:
    """The network in integer form (docs/architecture.md).

    Args:
        model: as a front end returns it; it is not changed.
        activations: "uint8" stores all activations unsigned, for machines whose multipliers need that; None keeps the
            types of the model.
        remove_dead_channels: False keeps what is proven constant, to compare with compilers that compute it.
    """
    tflite = model.rounding == Rounding.TFLITE
    arithmetic = TfliteArithmetic() if tflite else OnnxruntimeArithmetic()
    module = model.module
    passes = (
        *((FuseFixedPointGroups(),) if tflite else ()),
        FuseQuantizedGroups(),
        ChannelsLast(),
        ComposeArithmetic(),
        Integerize(arithmetic),
        RemoveIdle(),
        *((DeadChannels(),) if remove_dead_channels else ()),
    )
    for transform in passes:
        module = transform(module)
    if activations == "uint8":
        module = UnsignedActivations()(module)
    return LowerBorder(model.rounding)(module)
