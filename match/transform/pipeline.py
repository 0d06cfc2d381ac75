"""The way from a model's QNN operators to the integer form, in the order of the passes."""

from __future__ import annotations

from match.frontend.model import Model, Rounding
from match.relay import relay, tvm
from match.transform.integerize import Integerize
from match.transform.tflite_arithmetic import TfliteArithmetic


def integer_relay(model: Model) -> tvm.IRModule:
    """The network in integer form (docs/architecture.md)."""
    module = Integerize(TfliteArithmetic())(model.module)
    return relay.qnn.transform.CanonicalizeOps()(module)
