"""How activations lie in DIANA's memories: channel by channel, in rows of whole words of the activation memory.

Rows are padded to 16 columns and outputs to 16 channels, which is what the array writes at a time; groups of four bytes
are reversed. A fully connected layer has its 16 x 16 units over input and output channels and so vectors of channels.
"""

from __future__ import annotations

from dataclasses import replace

from match.ir.layer import Axis, Layer, Op, Operand, Role
from match.targets.diana.packing import ARRAY, BYTE_GROUP


def stored(operand: Operand, layer: Layer) -> Operand:
    """A dense HWC activation of a layer as it lies in the accelerator's memory, and in L2 between its layers."""
    (component,) = operand.components
    rows, columns, channels = component.axes
    if layer.op is Op.DENSE:
        axes: tuple[Axis, ...] = (rows, columns, replace(channels, multiple=ARRAY))
    else:
        whole_groups = operand.role is Role.OUTPUT or layer.op is Op.ADD
        planes = replace(channels, multiple=ARRAY) if whole_groups else channels
        axes = (planes, rows, replace(columns, multiple=ARRAY))
    return replace(operand, components=(replace(component, axes=axes, byte_group=BYTE_GROUP),))
