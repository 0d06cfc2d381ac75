"""Pooling of volumes as pooling of maps and of depths.

The largest number of a window is that of its maps' largest numbers, and its mean, if all is rounded twice, the mean of
their means. Windows that do not overlap are rounded once: their maps' rows are brought together first.
"""

from __future__ import annotations

from dataclasses import dataclass

from match.arithmetic.interface import QuantizedType
from match.relay import integer_form, relay, tvm
from match.relay.qnn import dequantized, quantized
from match.relay.rewrite import New, is_call, rewrite, shape


@dataclass(frozen=True)
class PoolVolumes:
    """Rewrites three-dimensional pooling (NCDHW), that of means between dequantize and quantize.

    Means that would be rounded twice stay if all is to be `exact`.
    """

    exact: bool = True

    def __call__(self, module: tvm.IRModule) -> tvm.IRModule:
        """Apply to "main"."""
        return rewrite(module, self._rule)

    def _rule(self, call: relay.Call, new: New) -> relay.Expr | None:
        if is_call(call, "nn.max_pool3d"):
            return _largest(call, new)
        if quantized(call) is None:
            return None
        return _mean_of_all(call, new) or _means(call, new, exact=self.exact)


@dataclass(frozen=True)
class _Windows:
    """Windows of volumes: for each axis the size, the stride, the step between a window's elements, and the padding."""

    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    dilation: tuple[int, ...]
    before: tuple[int, ...]
    behind: tuple[int, ...]

    @classmethod
    def of(cls, pool: relay.Call) -> _Windows | None:
        """Those of a pooling; None if it has another layout than NCDHW or windows that hang over the border."""
        attrs = pool.attrs
        if str(attrs.layout) != "NCDHW" or attrs.ceil_mode:
            return None
        sizes, strides, dilation = (
            tuple(int(one) for one in numbers) for numbers in (attrs.pool_size, attrs.strides, attrs.dilation)
        )
        sides = [int(side) for side in attrs.padding]
        return cls(sizes, strides, dilation, tuple(sides[:3]), tuple(sides[3:]))

    def of_maps(self) -> tuple[tuple[int, ...], ...]:
        """Size, stride, dilation and padding, as two-dimensional pooling takes them, within each map."""
        padding = *self.before[1:], *self.behind[1:]
        return self.sizes[1:], self.strides[1:], self.dilation[1:], padding

    def of_depths(self) -> tuple[tuple[int, ...], ...]:
        """The same along the depth, of maps whose rows are the depths."""
        padding = self.before[0], 0, self.behind[0], 0
        return (self.sizes[0], 1), (self.strides[0], 1), (self.dilation[0], 1), padding

    @property
    def apart(self) -> bool:
        """Whether windows neither overlap nor are padded, nor have holes."""
        return self.sizes == self.strides and not any((*self.before, *self.behind)) and set(self.dilation) == {1}


def _largest(call: relay.Call, new: New) -> relay.Expr | None:
    windows = _Windows.of(call)
    if windows is None:
        return None
    batch, channels, depth, rows, columns = shape(call.args[0])
    _, _, after, height, width = shape(call)
    maps = relay.reshape(new(call.args[0]), (batch, channels * depth, rows, columns))
    maps = relay.nn.max_pool2d(maps, *windows.of_maps())
    depths = relay.reshape(maps, (batch, channels, depth, height * width))
    depths = relay.nn.max_pool2d(depths, *windows.of_depths())
    return relay.reshape(depths, (batch, channels, after, height, width))


def _mean_of_all(call: relay.Call, new: New) -> relay.Expr | None:
    """The mean of a whole volume, as that of a map."""
    pool = call.args[0]
    source = dequantized(pool.args[0]) if is_call(pool, "nn.adaptive_avg_pool3d") else None
    if source is None or any(extent != 1 for extent in shape(pool)[2:]) or str(pool.attrs.layout) != "NCDHW":
        return None
    batch, channels, depth, rows, columns = shape(source.x)
    x = relay.reshape(new(source.x), (batch, channels, depth * rows, columns))
    mean = relay.nn.global_avg_pool2d(_real(x, source.quantization))
    return relay.reshape(relay.Call(call.op, [mean, *call.args[1:]], call.attrs), shape(call))


def _means(call: relay.Call, new: New, *, exact: bool) -> relay.Expr | None:
    """Means of parts of a volume; None if they would be rounded twice and all is to be `exact`."""
    pool = call.args[0]
    source = dequantized(pool.args[0]) if is_call(pool, "nn.avg_pool3d") else None
    windows = _Windows.of(pool) if source is not None and isinstance(pool, relay.Call) else None
    output = quantized(call)
    if source is None or windows is None or output is None or not isinstance(pool, relay.Call):
        return None
    own, counted = source.quantization, pool.attrs.count_include_pad

    def pooled(x: relay.Expr, along: tuple[tuple[int, ...], ...]) -> relay.Expr:
        return relay.nn.avg_pool2d(_real(x, own), *along, count_include_pad=counted)

    def rounded(means: relay.Expr, *outputs: relay.Expr) -> relay.Expr:
        return relay.Call(call.op, [means, *outputs], call.attrs)

    x, (batch, channels, depth, rows, columns) = new(source.x), shape(source.x)
    _, _, after, height, width = shape(pool)
    same = relay.const(own.scale), relay.const(own.zero_point, "int32")
    if windows.sizes[0] == windows.strides[0] == 1 and not windows.before[0] and not windows.behind[0]:
        maps = relay.reshape(x, (batch, channels * depth, rows, columns))
        return relay.reshape(rounded(pooled(maps, windows.of_maps()), *call.args[1:]), shape(pool))
    if windows.apart:
        deep, high, wide = windows.sizes
        for axis, (extent, seen) in enumerate(
            zip((depth, rows, columns), (after * deep, height * high, width * wide), strict=True), 2
        ):
            x = x if extent == seen else relay.strided_slice(x, [0], [seen], axes=[axis])
        x = relay.reshape(x, (batch, channels, after, deep, height, high, width * wide))
        x = relay.reshape(relay.transpose(x, (0, 1, 2, 4, 3, 5, 6)), (batch, channels, -1, width * wide))
        along = (deep * high, wide), (deep * high, wide), (1, 1), (0, 0, 0, 0)
        return relay.reshape(rounded(pooled(x, along), *call.args[1:]), shape(pool))
    if exact or own.dtype != output.dtype or own.scale * _ROUNDED_ONCE > _MOST_OFF * output.scale:
        return None
    of_maps = pooled(relay.reshape(x, (batch, channels * depth, rows, columns)), windows.of_maps())
    maps = rounded(integer_form.real_sums(of_maps), *same)
    depths = relay.reshape(maps, (batch, channels, depth, height * width))
    of_depths = integer_form.real_sums(pooled(depths, windows.of_depths()))
    return relay.reshape(rounded(of_depths, *call.args[1:]), shape(pool))


_ROUNDED_ONCE, _MOST_OFF = 0.5, 0.75
"""Steps of the input by which a mean of maps is off, and steps of the output that it may be off by."""


def _real(x: relay.Expr, own: QuantizedType) -> relay.Expr:
    return relay.qnn.op.dequantize(x, relay.const(own.scale), relay.const(own.zero_point, "int32"))
