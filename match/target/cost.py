"""The cost model protocol: plain Python on plain numbers, written by whoever knows the hardware.

An engine asks a `CostModel` for the cycles of one kernel call and of one block transfer, and combines them itself.
Authors write plain arithmetic on plain numbers; what they write so that it takes arrays, too, is searched faster. Every
figure is a prediction, in cycles of the module's clock.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np

from match.ir.layer import Layer
from match.mapping.schedule import Loop, Placement


def ceil_div(a: int, b: int) -> int:
    """The quotient, rounded up; of arrays, too, as are `choose`, `smaller` and `larger`."""
    return -(-a // b)


def choose(condition: Any, yes: Any, no: Any) -> Any:
    """`yes` where a condition holds, else `no`: of plain numbers or, where the condition is an array, of arrays."""
    if isinstance(condition, bool | np.bool_):
        return yes if condition else no
    return np.where(condition, yes, no)  # pyright: ignore[reportUnknownVariableType] - of Any


def smaller(a: Any, b: Any) -> Any:
    """The lesser of two numbers, or of the elements of two arrays."""
    return choose(a < b, a, b)


def larger(a: Any, b: Any) -> Any:
    """The greater of two numbers, or of the elements of two arrays."""
    return choose(a > b, a, b)


class Tile(NamedTuple):
    """Extents of one kernel call, in elements.

    A cost model that takes arrays gets each of them as an array.

    Attributes:
        k: output channels; of operators that keep their channels, channels.
        c: input channels that one output sums over; 1 in depthwise layers.
        oy: output rows.
        ox: output columns.
        iy: input rows that these output rows see, padding left out.
        ix: input columns that these output columns see, padding left out.
        fy: filter rows.
        fx: filter columns.
        begin: whether the call is the first of those that add up the same outputs. Where input channels are not cut,
            every call is; others read the partial sums of the call before.
        end: whether the call is the last of those, which requantizes; others leave partial sums.
    """

    k: int
    c: int
    oy: int
    ox: int
    iy: int
    ix: int
    fy: int
    fx: int
    begin: bool = True
    end: bool = True


def choose_for(tile: Tile, condition: Any, yes: Callable[[Tile], Any], no: Any) -> Any:
    """As `choose`, but `yes` is a function of tiles, asked for few of those that do not need it: it may take long.

    Where the tile's numbers are arrays, the function gets a part of each: along each axis, from the first to the last
    place where the condition holds.
    """
    if isinstance(condition, bool | np.bool_):
        return yes(tile) if condition else no
    shape = np.broadcast_shapes(*map(np.shape, (condition, no, *tile)))
    figures = np.array(np.broadcast_to(no, shape), np.float64)
    where = np.array(condition, ndmin=len(shape))
    if where.any():
        held = [slice(places.min(), places.max() + 1) for places in np.nonzero(where)]
        ranges = [some if length > 1 else slice(None) for some, length in zip(held, where.shape, strict=True)]

        def part(numbers: Any) -> Any:
            array = np.array(numbers, ndmin=len(shape))
            axes = zip(ranges, array.shape, strict=True)
            return array[tuple(some if length > 1 else slice(None) for some, length in axes)]

        np.copyto(figures[tuple(ranges)], yes(Tile(*map(part, tile))), where=part(where))
    return figures


def at_each(numbers: Any, function: Callable[[Any], Any]) -> Any:
    """`function` of whole numbers, asked once for each from the least to the greatest: it may take long.

    Where they are an array, the function gets all of these at once, along a first axis of their own, and answers with
    an array that has this axis, too.
    """
    if not np.ndim(numbers):
        return function(numbers)
    least = int(numbers.min())
    every = np.arange(least, int(numbers.max()) + 1).reshape(-1, *[1] * numbers.ndim)
    answers = function(every)
    size, shape = int(answers[0].size), np.shape(answers[0])
    return answers.take((numbers - least) * size + np.arange(size).reshape(shape))


class Block(NamedTuple):
    """One block on its way between two memories.

    Full rows of all channels are 1 chunk in 1 series; a part of each row is as many chunks as rows, in 1 series; a part
    of the channels of a part of each row is rows x columns chunks, in as many series as rows.

    Attributes:
        operand: name of the operand.
        shape: elements along each axis of the operand's first component, slowest first (rows, columns, channels of an
            activation).
        bytes: size of the whole block, in bytes.
        chunks: contiguous pieces that the block is in the outer memory.
        series: groups of these pieces, in each of which they lie at equal distances.
        memory: name of the inner memory.
    """

    operand: str
    shape: tuple[int, ...]
    bytes: int
    chunks: int
    series: int = 1
    memory: str = ""


SOFTMAX_OF_16_BITS = "softmax16"
"""What a cost model of the control core is asked for in place of "softmax" where the values have 16 bits."""


@dataclass(frozen=True)
class Energy:
    """What the work of a module or of the control core consumes, in pJ.

    mac: a multiply-accumulate, beside what its cycle takes.
    byte: by a memory's name, a byte on its way between that memory and the one outside of it, with both accesses. The
        main memory's entry is that of external memory.
    cycle: a cycle in which a layer is executed, whatever is done in it: leakage and clocks of all units, and units that
        wait. Without it slow schedules seem frugal.
    kernel: more, of a cycle in which a kernel computes (`Cost.compute`): the cores or the array at work.
    control: more, of a cycle in which the core launches a kernel, starts a transfer or offloads a layer
        (`Cost.overhead`). A kernel call takes this and `cycle` for each cycle of `CostModel.launch`, a transfer for
        each cycle of `CostModel.issue`.
    """

    mac: float
    byte: Mapping[str, float] = field(default_factory=dict[str, float])
    cycle: float = 0.0
    kernel: float = 0.0
    control: float = 0.0

    def work(self, compute: Any, overhead: Any) -> Any:
        """What so many cycles of kernels and of the core beside them consume beyond `cycle`; of arrays, too."""
        return self.kernel * compute + self.control * overhead


class Starting(NamedTuple):
    """What of a kernel call in a group is the core's, in cycles.

    ahead: of `CostModel.launch`, until the call is started. The core does that while calls before it run.
    before: of `CostModel.compute`, from there until the module begins: the core programs it, while the module still
        executes the call before.
    kept: of `CostModel.compute`, from the module's begin until the core goes on.
    """

    ahead: float = 0.0
    before: float = 0.0
    kept: float = 0.0


@dataclass(frozen=True)
class Stream:
    """The blocks of one operand in one memory, over a whole layer.

    placement: the memory, the depth at which blocks are fetched (or written back), one buffer or two.
    blocks: transfers in all. bytes: what they move. transfer: DMA cycles of all of them, one after the other.
    """

    placement: Placement
    blocks: int
    bytes: int
    transfer: float


@dataclass(frozen=True)
class MappingView:
    """A whole mapping of a layer in plain numbers, as `CostModel.latency` sees it.

    loops: the outer loops, outermost first. tile: upper bounds of all kernel calls. calls: kernel calls in all.
    streams: of each operand, in the order of the layer's operands. compute: cycles of all kernel calls without
    `launch`. cycles: latency when the core executes the loops and one DMA serves the transfers, the default.
    least: cycles of the kernel calls with their `launch` and of `overhead`; no prediction may be less.
    """

    layer: Layer
    loops: tuple[Loop, ...]
    tile: Tile
    calls: int
    streams: tuple[Stream, ...]
    compute: float
    cycles: float
    least: float

    def __str__(self) -> str:
        loops = ", ".join(f"{loop.dim} {loop.tile}/{loop.extent}" for loop in self.loops) or "no loops"
        held = ", ".join(
            f"{stream.placement.operand} at depth {stream.placement.depth} in {stream.placement.buffers}"
            for stream in self.streams
        )
        return f"{loops}; {held}"


class CostModel:
    """Predicted cost of executing tiles on one module. Subclasses override the methods; all must be deterministic.

    `overlap` tells whether transfers run beside compute (asynchronous DMA); if not, the core waits for each it starts.

    `arrays` tells whether `compute`, `transfer` and `scratch` also take a tile or a block whose numbers (all but `fy`
    and `fx`) are NumPy arrays that broadcast, and give an array. An engine asks for the cost of all tiles of all sizes;
    a cost model without it is asked one by one, which takes tens of times as long.

    `energy` is what the objective "energy" needs, None where nothing is known.
    """

    overlap: bool = True
    arrays: bool = False
    energy: Energy | None = None

    def scratch(self, layer: Layer, tile: Tile) -> int:
        """Bytes of innermost memory that the kernel needs beside its operands, for any tile up to `tile`."""
        return 0

    def compute(self, layer: Layer, tile: Tile) -> float:
        """Cycles of one kernel call on `tile`, beside `launch`."""
        raise NotImplementedError

    def sees_padding(self, layer: Layer) -> bool:
        """Whether `compute` depends on `iy` and `ix`, which are less where a tile sees padding.

        If not, equal tiles cost the same wherever they lie, and the search asks for fewer.
        """
        return True

    def launch(self, layer: Layer) -> float:
        """Cycles of each kernel call, whatever its tile, of the core that executes the tile loop."""
        return 0.0

    def transfer(self, layer: Layer, block: Block) -> float:
        """Cycles the DMA takes to move one block by one memory level."""
        raise NotImplementedError

    def issue(self, layer: Layer) -> float:
        """Cycles of each transfer, whatever its block, of the core that executes the tile loop."""
        return 0.0

    def overhead(self, layer: Layer) -> float:
        """Cycles spent once per layer, outside tiles and transfers (offload to the module, start-up).

        The cost model of a chain's last operator is asked about the whole chain; its operators are `layer.operators`.
        """
        return 0.0

    def group_overhead(self, layer: Layer) -> float:
        """What of `overhead` a group takes once, asked of its first operator: all of it, if nothing else is said."""
        return self.overhead(layer)

    def group_calls(self, layers: Sequence[Layer]) -> Sequence[float]:
        """Cycles of kernel calls in a group beside `launch`, of each of the operators that the module executes in it.

        To fetch instructions that no cache holds, say.
        """
        return [0.0] * len(layers)

    def behind_another(self, layer: Layer) -> float:
        """Cycles that a kernel call in a group takes beside these if another module executes the operator before it.

        To fetch instructions again that the other's have displaced, say.
        """
        return 0.0

    def starting(self, layer: Layer, tile: Tile) -> Starting:
        """How long a kernel call keeps the core that starts it: to its end, if nothing else is said."""
        return Starting(kept=self.compute(layer, tile))

    def beside(self, layer: Layer) -> float:
        """Cycles that a kernel call loses for each one in which another module computes, too: banks that they share."""
        return 0.0

    def latency(self, view: MappingView) -> float | None:
        """Cycles of a whole mapping in place of `view.cycles`, at least `view.least`; None leaves them as they are.

        For hardware that executes a mapping in another order: several DMA channels, say. Nothing is known beforehand
        about the result but that it is at least `view.least`, so an engine has to ask for many more mappings.
        """
        return None


@dataclass(frozen=True)
class Cost:
    """Prediction for one schedule: cycles in total and by what they are spent on, bytes moved per operand, energy.

    `compute` and `transfer` are the sums over all tiles and blocks as if nothing overlapped, `overhead` is what
    else the core does: once per layer, to launch kernels, to issue transfers. `cycles` is the latency with the
    overlap that the schedule allows, at least `compute` + `overhead` and at most the sum of the three, unless the cost
    model has its own `latency`. `energy` is in pJ, None where the cost model knows none.
    """

    cycles: float
    compute: float
    transfer: float
    overhead: float
    moved: tuple[tuple[str, int], ...]
    energy: float | None = None

    @property
    def moved_bytes(self) -> int:
        """Bytes moved, all operands together."""
        return sum(count for _, count in self.moved)

    @property
    def bound(self) -> Literal["compute", "dma", "overhead"]:
        """What limits the layer: the largest of its three parts."""
        largest = max(self.compute, self.transfer, self.overhead)
        if largest == self.compute:
            return "compute"
        return "dma" if largest == self.transfer else "overhead"


class CpuCostModel:
    """Predicted cycles of operators that run as TVM's C on the control core.

    `energy` is what the objective "energy" needs, None where nothing is known: all cycles of an operator are those of a
    kernel.
    """

    energy: Energy | None = None

    def cycles(self, op: str, macs: int, outputs: int) -> float:
        """Cycles of one operator (Relay name or `Op` value) with `macs` multiply-accumulates and `outputs` elements.

        Of operators that combine values without products (pooling, a sum), `macs` are those values. "softmax" is the
        one in integers of 8 bits, `SOFTMAX_OF_16_BITS` that of 16; they and "normalize" are asked for a row at a time.
        """
        raise NotImplementedError

    def floating(self, op: str, outputs: int) -> float:
        """Cycles of operators that compute `outputs` elements in floating point; their names are joined by "+".

        A reduction or a pooling stands alone, and `outputs` are the values that it combines.
        """
        return self.cycles(op, 0, outputs)
