"""What a layer has beside geometry and types, as its operator needs it: one record for each operator that has any.

`Layer.get` gives a record by its class. Without arguments, a record says what holds of all other operators. Those of
chains and groups, `Chain` and `Group`, are in `match.ir.layer`.
"""

from __future__ import annotations

from typing import Literal

import msgspec

BroadcastKind = Literal["", "pixel", "channel", "outer"]


class Attributes(msgspec.Struct, frozen=True, tag=True):
    """What one operator has beside geometry and types; this class itself says nothing."""

    @property
    def geometry(self) -> Attributes:
        """What of it schedules depend on."""
        return self


NO_ATTRIBUTES = Attributes()
"""Those of most operators."""


class ChannelGroups(Attributes, frozen=True, tag=True):
    """A grouped convolution: K counts groups.

    Attributes:
        outputs: output channels of each group.
        inputs: of the `c` input channels of a group those that an output sums, where groups were joined and filters
            have zeros; 0 for all.
    """

    outputs: int = 1
    inputs: int = 0


class Broadcast(Attributes, frozen=True, tag=True):
    """An operator of two inputs one of which has less than the output.

    Attributes:
        kind: "pixel" and "channel": the second input has a single pixel, or a single channel. "outer": the first input
            has a single pixel, and the second input has a single channel. Empty: both have the output's shape.
    """

    kind: BroadcastKind = ""

    @property
    def single_channel(self) -> bool:
        """Whether the second input has a single channel."""
        return self.kind in ("channel", "outer")


class Concatenation(Attributes, frozen=True, tag=True):
    """A concatenation.

    Attributes:
        first_channels: channels of its first input.
        unchanged: whether each input's table changes nothing; empty where none is such.
    """

    first_channels: int = 0
    unchanged: tuple[bool, ...] = ()


class Slice(Attributes, frozen=True, tag=True):
    """A slice.

    Attributes:
        start: its first channel in the input.
        channels: all channels of the input.
    """

    start: int = 0
    channels: int = 0


class Transposition(Attributes, frozen=True, tag=True):
    """A transposition.

    Attributes:
        element_bytes: bytes that stay together.
    """

    element_bytes: int = 1


class Gathering(Attributes, frozen=True, tag=True):
    """A gather.

    Attributes:
        runs: the parts of an output row that are each neighbouring columns of the input, or padding.
    """

    runs: int = 0


class Interpolation(Attributes, frozen=True, tag=True):
    """A resize.

    Attributes:
        zero_point: the value that halves are rounded away from.
    """

    zero_point: int = 0

    @property
    def geometry(self) -> Attributes:
        """Nothing: kernels take as long for any zero point."""
        return Interpolation()


class LookupTable(Attributes, frozen=True, tag=True):
    """A lookup.

    Attributes:
        turns_signs: whether its table turns the sign bit of each byte over and does nothing else.
    """

    turns_signs: bool = False


class Own(Attributes, frozen=True, tag=True):
    """An operator that a module brings (`Op.OWN`), whose inputs have its output's shape.

    Attributes:
        name: what the module calls it.
        inputs: tensors that it reads.
        constant_bytes: bytes of its constants, which all tiles share.
        core: the names of its Relay operators, joined by "+"; the control core's cost model asks for it.
        floating: whether some of these compute in floating point.
    """

    name: str = ""
    inputs: int = 1
    constant_bytes: int = 0
    core: str = ""
    floating: bool = False
