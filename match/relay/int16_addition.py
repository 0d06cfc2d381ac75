"""Sums and differences of two tensors of 16 bits as Relay operators (`match.graph.pairs.Int16Addition`)."""

from __future__ import annotations

from match.graph.pairs import LEFT_SHIFT, Int16Addition
from match.relay import integer_form, relay
from match.relay.fixed_point import scaled
from match.relay.integer_form import int64


def int16_addition(addition: Int16Addition, a: relay.Expr, b: relay.Expr) -> relay.Expr:
    """The sum or difference of two tensors, int16."""
    left, right = (
        scaled(relay.multiply(relay.cast(x, "int64"), int64(1 << LEFT_SHIFT)), *scale)
        for x, scale in zip((a, b), addition.scales[:2], strict=True)
    )
    total = relay.add(left, right) if addition.sign > 0 else relay.subtract(left, right)
    return integer_form.saturate(relay.cast(scaled(total, *addition.scales[2]), "int32"), addition.clip, "int16")
