"""A gated activation, a * f(b), as one operator: gated linear units, SiLU (x * sigmoid(x)) and their like."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from match.ir.requantization import Requantization
from match.relay import integer_form, readers, relay
from match.target.own import OwnOperator, Reading

FIELDS = ("multiplier", "shift", "zero", "low", "high", "reserved")
CONSTANTS = np.dtype([("bias", "<i8"), *((name, "<i4") for name in FIELDS), ("f", "<i4", 256)])
"""match_m7_gate_t, and behind it f less its zero point, for each value of b."""


def gate() -> OwnOperator:
    """The operator. f is the table that the compiler has made of whatever stands there."""
    dataflow = relay.dataflow_pattern
    constant, is_op = dataflow.is_constant, dataflow.is_op
    a, f = dataflow.wildcard(), is_op("take")(constant(), dataflow.wildcard())
    first, second = (is_op("subtract")(is_op("cast")(x), constant()) for x in (a, f))
    product = is_op("cast")(is_op("multiply")(first, second))
    scaled = is_op("right_shift")(is_op("add")(is_op("multiply")(product, constant()), constant()), constant())
    root = is_op("cast")(is_op("clip")(scaled))

    def read(parts: Mapping[Any, Any]) -> Reading | None:
        multiplication, lookup = readers.read_multiplication(parts[root]), readers.read_lookup(parts[f])
        if multiplication is None or lookup is None:
            return None
        product, table = multiplication.operator, lookup.operator
        if product.requantization.negative_below is not None:
            return None
        line, entry = product.requantization, np.zeros(1, CONSTANTS)
        entry["bias"], entry["multiplier"], entry["shift"] = line.bias, line.multiplier, line.shift
        entry["zero"], (entry["low"], entry["high"]) = product.zero_points[0], line.clip
        entry["f"] = table.outputs - product.zero_points[1]
        inputs = (parts[a], *lookup.operands)
        same = all(tuple(x.checked_type.shape) == tuple(parts[root].checked_type.shape) for x in inputs)
        return Reading(inputs, entry.tobytes()) if same and inputs[1].checked_type.dtype == "uint8" else None

    def example(a: Any, b: Any) -> Any:
        f = np.clip(np.arange(256) * 2 - 128, 0, 255)
        line = Requantization(np.array([3 << 20]), np.array([1 << 27]), np.array([28]), (2, 250))
        return integer_form.multiply(a, integer_form.lookup(b, f, "uint8", "uint8"), (100, 7), line, "uint8")

    return OwnOperator("gate", root, read, example, inputs=2)
