"""A transposed convolution of the quantized form, as the convolution of all its phases."""

from __future__ import annotations

from dataclasses import dataclass, replace

from match.passes.wide_weights import in_bytes
from match.relay import integer_form, relay
from match.relay.convolution_phases import Phases, phases_of
from match.relay.integer_form import Weights
from match.relay.qnn import LinearSums
from match.relay.rewrite import shape


@dataclass(frozen=True, eq=False)
class PhaseConvolution:
    """The convolution, and what its outputs become; `layer` has bias and scales for each of these outputs."""

    layer: LinearSums
    phases: Phases

    @property
    def weights_by_output(self) -> Weights:
        """Shape (channels, ...)."""
        return self.phases.kernel.reshape(-1, len(self.layer.bias)).T

    def sums(self, x: relay.Expr) -> relay.Expr:
        """The int32 sums of an input of the transposed convolution."""
        batch, _, _, channels = extents = shape(self.layer.x)
        groups = self.phases.groups
        x = self.phases.seen_of(x, extents)
        if batch > 1 and sees_one_row(self.layer.call):
            x = as_one_map(x, (batch, *self.phases.seen, channels))
        inputs, depthwise = self.layer.input, 1 < groups == channels
        x, weights, layout = in_bytes(x, self.phases.kernel, "HWOI" if depthwise else "HWIO", groups)
        return integer_form.convolution(
            x,
            weights,
            x_dtype=inputs.dtype,
            padding=self.phases.padding,
            groups=groups,
            kernel_layout=layout,
            pad_value=inputs.zero_point,
        )

    def side_by_side(self, x: relay.Expr) -> relay.Expr:
        """The outputs (batch, rows, columns, phases and channels) as maps."""
        batch, *_, channels = shape(self.layer.call)
        return self.phases.side_by_side(x, batch, channels)


def sees_one_row(convolution: relay.Call) -> bool:
    """Whether each row of the outputs of a convolution, transposed or not, is computed from one row of its input."""
    attrs = convolution.attrs
    top, _, bottom, _ = (int(side) for side in attrs.padding)
    return (int(attrs.kernel_size[0]), int(attrs.strides[0]), top, bottom) == (1, 1, 0, 0)


def as_one_map(x: relay.Expr, extents: tuple[int, ...]) -> relay.Expr:
    """Maps (batch, rows, columns, channels) as one, whose rows are those of all of them."""
    batch, rows, columns, channels = extents
    return relay.reshape(x, (1, batch * rows, columns, channels))


def phase_convolution(layer: LinearSums) -> PhaseConvolution:
    """The convolution for a `qnn.conv2d_transpose` in NHWC, without dilation."""
    attrs = layer.call.attrs
    kernel = layer.weights.transpose([str(attrs.kernel_layout).index(axis) for axis in "HWIO"])
    _, rows, columns, _ = shape(layer.call)
    down, across = (int(step) for step in attrs.strides)
    top, left, _, _ = (int(side) for side in attrs.padding)
    phases = phases_of(kernel, shape(layer.x), (rows, columns), (down, across), (top, left), int(attrs.groups))
    scale = layer.weight_scale
    repeated = replace(
        layer,
        bias=phases.repeated(layer.bias),
        weight_scale=scale if scale.size == 1 else phases.repeated(scale),
    )
    return PhaseConvolution(repeated, phases)
