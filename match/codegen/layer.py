"""C of one layer: the template `layer.c.mako`, specialised by a plan and by a module's four families of functions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from match.codegen.axis_text import AxisText
from match.codegen.c_text import comment, render, wrap
from match.codegen.context_text import WINDOWED
from match.codegen.direct_text import DirectText
from match.codegen.group_text import GroupText
from match.codegen.kernel_text import KernelText
from match.codegen.level_text import LevelText
from match.codegen.operand_text import OperandText
from match.codegen.packed_text import packed_text
from match.codegen.part_text import PartText
from match.codegen.shared_text import EXTERNAL, MOST_BLOCKS, module_prefix
from match.codegen.title_text import constants_macro, contents, source_lines, title
from match.dispatch.plan import LayerPlan
from match.errors import ScheduleError
from match.ir.attributes import ChannelGroups
from match.ir.group import operator_spans
from match.ir.layer import Dim, Group, Op, Role
from match.mapping.storage import storage
from match.target.operands import OUTPUT


def generate(plan: LayerPlan, *, alone: bool = False, own_scratch: bool = False) -> str:
    """The C source of one layer: a function ``int32_t symbol(const void *input[, const void *addend], void *output)``.

    A layer on a module without a scratchpad has `scratch` as its last parameter where its kernel needs some, unless it
    has its own (`own_scratch`), which callers such as TVM's executor do not know of. It returns
    MATCH_OK or one of the errors in match_status.h. What happens in which order is in docs/event-order.md.
    The source includes layers.h, which declares the function, unless it is `alone`, without a project.

    Raises:
        ScheduleError: if the schedule has more memories or more blocks than generated code serves, or the plan does not
            say how.
        TargetError: if operands do not lie as kernels expect them: activations of rows, columns and
            channels, constants by output channel.
    """
    if plan.schedule.direct:
        text = DirectText(plan, prototype(plan, own_scratch=own_scratch), declared=not alone)
        return wrap(render("direct.c.mako", text=text, own_scratch=own_scratch))
    if not _through_main_memory(plan):
        levels: tuple[LevelText, ...] = (_kernel(plan),)
        functions = _functions(levels[0])
    else:
        kernel = _kernel(plan, PartText(plan, frozenset()))
        inner = _functions(kernel)
        part = PartText(plan, frozenset(re.findall(r"part->(\w+)", inner)))
        levels, functions = (part, kernel), f"{inner}\n{_functions(part)}"
    text = LayerText(plan, levels, functions, declared=not alone)
    blocks = sum(block.buffers for block in text.kernel.numbered)
    if blocks > MOST_BLOCKS:
        raise ScheduleError(
            f"layer {plan.layer.name}: it has {blocks} blocks in {text.kernel.memory.name}, buffers, partial sums and "
            f"scratch together, and generated code serves {MOST_BLOCKS}; give it fewer operands."
        )
    return wrap(render("layer.c.mako", text=text, comment=comment))


def prototype(plan: LayerPlan, *, own_scratch: bool = False) -> str:
    """Declaration of a layer's function, without the semicolon."""
    inputs = [operand.name for operand in plan.schedule.operands if operand.role is Role.INPUT]
    parameters = [f"const void *{name}" for name in inputs] + ["void *output"]
    if plan.schedule.direct and plan.schedule.scratch and not own_scratch:
        parameters.append("void *scratch")
    return f"int32_t {plan.symbol}({', '.join(parameters)})"


class Callback(NamedTuple):
    """A function that the network defines for a layer: what it does, and its declaration without the semicolon."""

    purpose: str
    prototype: str


def callbacks(plan: LayerPlan) -> tuple[Callback, ...]:
    """What a layer calls that the network defines."""
    found: list[Callback] = []
    if plan.constants_at == "network":
        found.append(
            Callback(
                "Waits until the constants of the layer are in place, and tells where.",
                f"int32_t {plan.symbol}_constants(const uint8_t **constants)",
            )
        )
    if plan.external is not None:
        memory = plan.schedule.memories[0]
        found.append(
            Callback(
                f"{plan.schedule.used_bytes(memory)} bytes of {memory.name} for the blocks of the layer.",
                f"uint8_t *{plan.symbol}_blocks(void)",
            )
        )
    return tuple(found)


def _through_main_memory(plan: LayerPlan) -> bool:
    """Whether the schedule has a second memory, main memory, that blocks pass."""
    levels, outer, name = len(plan.schedule.memories), plan.schedule.memories[0], plan.layer.name
    if levels == 1:
        return False
    if levels > 2 or outer.private:
        raise ScheduleError(
            f"layer {name}: the schedule has {levels} levels of scratchpad; generated code moves blocks into "
            f"one, or through one region of main memory into one."
        )
    if plan.external is None:
        raise ScheduleError(
            f"layer {name}: the schedule has blocks in {outer.name}, and the plan has no functions that move "
            f"them there; give the target an external memory."
        )
    if not any(outer.has(operand.name) for operand in plan.schedule.operands):
        raise ScheduleError(f"layer {name}: {outer.name} holds none of its operands; leave it out of the schedule.")
    constants = [operand.name for operand in plan.schedule.operands if operand.role is Role.CONSTANT]
    if plan.constants_at == "code" and any(outer.has(operand) for operand in constants):
        raise ScheduleError(
            f"layer {name}: its constants pass {outer.name} and are in the code, which lies there already; let "
            f"the network place them in the external memory."
        )
    return True


def _functions(level: LevelText) -> str:
    """The functions for the loops of one memory."""
    return render(level.template, level=level)


def _kernel(plan: LayerPlan, outer: LevelText | None = None) -> KernelText:
    """What runs kernels; `outer` is the memory outside of theirs."""
    return GroupText(plan, outer) if isinstance(plan.layer.attributes, Group) else KernelText(plan, outer)


class LayerText:
    """What the template asks about a layer."""

    def __init__(self, plan: LayerPlan, levels: tuple[LevelText, ...], functions: str, *, declared: bool) -> None:
        """With the memories of a plan's schedule, outermost first, the C of their loops, and if layers.h is there."""
        self.plan = plan
        self.layer = plan.layer
        self.schedule = plan.schedule
        self.levels = levels
        self.functions = functions
        self.part = levels[0] if isinstance(levels[0], PartText) else None
        kernel = levels[-1]
        assert isinstance(kernel, KernelText), "the innermost memory is that of the kernels"
        self.kernel = kernel
        self.prototype = prototype(plan)
        self.declared = declared
        self.title = title(plan)
        self.source = source_lines(plan)
        self.contents = contents(plan)
        self.placement = constants_macro(plan)

    @property
    def called(self) -> str:
        """The operators of a tile's kernel calls, joined by "+"."""
        operators, plan = self.layer.operators, self.schedule.plan
        spans = operator_spans(self.layer, self.layer.spans, plan.calls if plan else ())
        return "+".join(operators[number].op for number, _ in spans)

    @property
    def sizes(self) -> tuple[tuple[str, int], ...]:
        """Constants that describe the layer, in elements."""
        layer = self.layer
        if isinstance(layer.attributes, Group):
            outer = self.part.activations if self.part else ()
            return tuple((axis.limit, axis.axis.limit) for one in outer for axis in one.axes)
        channels = [("IN_CHANNELS", layer.input_channels), ("OUT_CHANNELS", layer.output_channels)]
        sizes = [("CHANNELS", layer.k)] if layer.channelwise else channels
        sizes += [("SUMMED_CHANNELS", layer.c)] if layer.fused else []
        if layer.op is Op.GROUPED_CONV2D:
            outputs = layer.get(ChannelGroups).outputs
            sizes += [("GROUPS", layer.k), ("GROUP_INPUTS", layer.c), ("GROUP_OUTPUTS", outputs)]
        sizes += [
            ("IN_HEIGHT", layer.iy),
            ("IN_WIDTH", layer.ix),
            ("OUT_HEIGHT", layer.oy),
            ("OUT_WIDTH", layer.ox),
        ]
        sizes += [(axis.limit, axis.axis.limit) for operand in self.kernel.inputs for axis in operand.axes]
        for level in self.levels:
            for operand in level.activations:
                sizes += [size for axis in operand.axes for size in axis.sizes]
        if layer.op in WINDOWED or layer.fused:
            sizes += [
                ("FILTER_HEIGHT", layer.fy),
                ("FILTER_WIDTH", layer.fx),
                ("STRIDE_Y", layer.stride[0]),
                ("STRIDE_X", layer.stride[1]),
                ("DILATION_Y", layer.dilation[0]),
                ("DILATION_X", layer.dilation[1]),
            ]
            cut = {axis.name for axis in self.windows}
            sizes += [("WINDOW_HEIGHT", layer.window[0])] if "rows" in cut else []
            sizes += [("WINDOW_WIDTH", layer.window[1])] if "columns" in cut else []
            names = (("PAD_TOP", "PAD_BOTTOM"), ("PAD_LEFT", "PAD_RIGHT"))
            for axis, pair in zip(self.kernel.inputs[0].axes, names, strict=False):
                before, behind = axis.pads
                pads = (axis.axis.before if axis.name in cut else before, behind)
                sizes += [(name, pad) for name, pad in zip(pair, pads, strict=True) if pad]
        return tuple(dict.fromkeys(sizes))

    @property
    def headers(self) -> tuple[str, ...]:
        """Headers of what layers share, without their endings."""
        units = (module_prefix(unit.name) for unit in self.plan.units)
        return tuple(dict.fromkeys((*(level.shared for level in self.levels), *units)))

    @property
    def part_sizes(self) -> tuple[tuple[str, int], ...]:
        """Constants that describe blocks in main memory, in bytes."""
        weights = self.part.weights if self.part else None
        return ((weights.bytes_name, weights.bytes),) if weights and weights.alike else ()

    @property
    def block_sizes(self) -> Iterator[tuple[str, int]]:
        """Constants that describe the blocks that kernels work on, in bytes."""
        if self.schedule.plan is not None:
            yield "ARENA_BYTES", self.schedule.plan.bytes
            return
        for operand in self.kernel.operands:
            yield operand.bytes_name, operand.bytes
        if self.schedule.partial_bytes:
            yield "SUMS_BYTES", self.schedule.partial_bytes
        if self.schedule.scratch:
            yield "SCRATCH_BYTES", self.schedule.scratch
        for part in self.kernel.components:
            if part.offset:
                yield f"{part.name}_OFFSET", part.offset
            if part.start:
                yield part.step_name, part.step

    @property
    def private(self) -> list[tuple[str, int]]:
        """Operands that the module has a memory of its own for, and how many blocks are in that."""
        buffers = {block.name: block.buffers for block in self.kernel.numbered}
        return [(name, buffers.get(name.upper(), 0)) for name, _ in self.kernel.api.memory.private]

    @property
    def constants(self) -> str:
        """The bytes of the constants, as the inside of an array."""
        return packed_text(self.plan)

    @property
    def constant_alignment(self) -> int:
        """What the address of the constants is a multiple of: of blocks in scratchpads, and so of each in them."""
        return max(memory.alignment for memory in self.schedule.memories)

    def place(self, operand: OperandText) -> str:
        """A comment on the tensor of an operand that is in external memory."""
        outer = self.part.operands if self.part else ()
        return " /* in external memory */" if any(other.name == operand.name for other in outer) else ""

    def dump(self, operand: OperandText) -> str:
        """Macro that dumps an activation as it lies outside of all scratchpads."""
        name = operand.name if operand is not self.kernel.kernel_output else OUTPUT
        given = f'"{self.plan.symbol}", "{name}", {name}, {self.tensor_bytes(operand)}'
        if self.part and self.part.memory.has(name):
            return f"MATCH_DUMP_EXTERNAL({EXTERNAL}_dump, {given})"
        return f"MATCH_DUMP_TENSOR({given})"

    @staticmethod
    def tensor_bytes(operand: OperandText) -> int:
        """Bytes of an activation as it lies outside of all scratchpads."""
        return storage(operand.operand).elements * operand.element_bytes

    @property
    def windows(self) -> tuple[AxisText, ...]:
        """Axes of inputs whose spans are computed from windows."""
        axes = [axis for level in self.levels for operand in level.inputs for axis in operand.axes]
        used = {axis.function: axis for axis in axes if not axis.plain and f"{axis.function}(" in self.functions}
        return tuple(used.values())

    @property
    def weights_before(self) -> str:
        """Result of the function that counts blocks of the weights; empty if the code does not need it."""
        weights = self.kernel.weights
        if weights is None or weights.constants.before("")[:-1] not in self.functions:
            return ""
        nest = self.kernel.nest
        loops = (*nest.outside, *nest.loops)[: weights.placement.depth]
        return weights.constants.before_formula(
            tuple((loop.tile, loop.tile_size) for loop in loops if loop.dim is Dim.K)
        )
