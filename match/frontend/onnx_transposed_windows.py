"""The windows of ONNX's ConvTranspose, with the padding that onnxruntime gives them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar


@dataclass(frozen=True)
class TransposedWindows:
    """Strides, dilations, what is cut off on both sides (first that of all axes before, then after), and what is added.

    Padding that follows from `auto_pad` or `output_shape` is counted as onnxruntime does: it is what the outputs of
    all inputs have too many, `output_padding` included, and 0 if they have too few.
    """

    ATTRIBUTES: ClassVar = ("strides", "dilations", "output_padding", "pads", "auto_pad", "output_shape")
    """The attributes of the operator that say all this."""

    strides: list[int]
    dilations: list[int]
    pads: list[int]
    spare: list[int]

    @classmethod
    def of(cls, attributes: Mapping[str, Any], extents: Sequence[int], filters: Sequence[int]) -> TransposedWindows:
        """Those of filters on a map of such extents."""
        steps = [int(step) for step in attributes.get("strides", [1] * len(extents))]
        holes = [int(step) for step in attributes.get("dilations", [1] * len(extents))]
        spare = [int(side) for side in attributes.get("output_padding", [0] * len(extents))]
        pads = [int(side) for side in attributes.get("pads", [0] * (2 * len(extents)))]
        kind, wanted = attributes.get("auto_pad", b"NOTSET").decode(), attributes.get("output_shape")
        if wanted is not None or kind.startswith("SAME"):
            outputs = [n * step for n, step in zip(extents, steps, strict=True)] if wanted is None else wanted
            sizes = zip(extents, filters, steps, holes, spare, outputs, strict=True)
            over = [step * (n - 1) + more + (size - 1) * hole + 1 - int(o) for n, size, step, hole, more, o in sizes]
            less = [max(0, side) // 2 for side in over]
            most = [max(0, side) - half for side, half in zip(over, less, strict=True)]
            pads = [*less, *most] if kind == "SAME_UPPER" else [*most, *less]
            if wanted is not None:
                spare = [more - min(0, side) for more, side in zip(spare, over, strict=True)]
        elif kind == "VALID":
            pads = [0] * len(pads)
        return cls(steps, holes, pads, spare)

    @property
    def are_adjoining(self) -> bool:
        """Whether no output lies a stride or more after those of the last input."""
        return all(more < step for more, step in zip(self.spare, self.strides, strict=True))
