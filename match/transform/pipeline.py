"""The way from a model's QNN operators to the integer form, in the order of the passes."""

from __future__ import annotations

from typing import Literal

from match.frontend.model import Model
from match.relay import tvm
from match.transform.dead_channels import DeadChannels
from match.transform.integerize import Integerize
from match.transform.tflite_arithmetic import TfliteArithmetic
from match.transform.unsigned_activations import UnsignedActivations


def integer_relay(model: Model, activations: Literal["uint8"] | None = None) -> tvm.IRModule:
    """The network in integer form (docs/architecture.md), a quantize or dequantize beside a float operator as it was.

    Args:
        model: as a front end returns it.
        activations: "uint8" stores all activations unsigned, for machines whose multipliers need that; None keeps the
            types of the model.
    """
    module = Integerize(TfliteArithmetic())(model.module)
    module = DeadChannels()(module)
    if activations == "uint8":
        module = UnsignedActivations()(module)
    return module
