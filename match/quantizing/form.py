"""How a target likes activations and weights to be quantized, from what its modules declare of requantization."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from match.target.hardware import MatchTarget


@dataclass(frozen=True)
class Form:
    """Types and scales of a quantized network.

    Attributes:
        activations: their type; weights are int8 with zero points of 0.
        symmetric: whether zero points of activations are 0, too.
        per_channel: whether weights have a scale for each output channel, or one for all.
        powers_of_two: whether all scales are powers of two.
        one_scale_for_addends: whether the tensors that are added have one scale.
    """

    activations: Literal["uint8", "int8"]
    symmetric: bool
    per_channel: bool
    powers_of_two: bool
    one_scale_for_addends: bool

    @property
    def text(self) -> str:
        """The form in a few words."""
        parts = [
            f"activations {self.activations}{' with zero points of 0' if self.symmetric else ''}",
            f"weights int8 with a scale for each {'channel' if self.per_channel else 'tensor'}",
        ]
        if self.powers_of_two:
            parts.append("scales that are powers of two")
        if self.one_scale_for_addends:
            parts.append("one scale for tensors that are added")
        return ", ".join(parts)


def form_for(target: MatchTarget) -> Form:
    """The form that all modules of a target can requantize.

    A module without a multiplier can meet factors that are powers of two alone. If it also has one shift for a layer,
    all channels have one factor. A form without B has nothing to take off zero points with, and one whose addends have
    no multipliers cannot bring them to one scale.
    """
    forms = [form for module in target.modules for form in module.requantizers]
    shifting = [form for form in forms if not form.multiplier_bits]
    return Form(
        activations=target.activations or "int8",
        symmetric=any(not form.bias_bits for form in shifting),
        per_channel=all(form.per_channel_shift for form in shifting),
        powers_of_two=bool(shifting),
        one_scale_for_addends=any(not form.addend_multipliers for form in shifting),
    )
