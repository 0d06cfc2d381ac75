"""A group as C: tensors are whole and lie where the plan says, so that all but the address of the first are numbers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from match.codegen.c_text import WIDTH, note
from match.codegen.context_text import WINDOWED
from match.codegen.kernel_text import ComponentText, KernelText, constant_field
from match.codegen.level_text import LevelText, NumberedBlock, numbered
from match.codegen.operand_text import OperandText
from match.codegen.shared_text import CLEARED, module_prefix
from match.codegen.whole_text import WholeKernel, WholeText
from match.dispatch.packed_constants import component_offsets
from match.dispatch.plan import LayerPlan, OperatorPlan
from match.ir.group import Call, calls
from match.ir.layer import Group, Layer, Role
from match.mapping.group_plan import MOST_TRANSFERS, Fetch, GroupPlan, Room
from match.mapping.memory import component_bytes


def _at(offset: int) -> str:
    """An address in C."""
    return f"l1 + {offset}" if offset else "l1"


def place(room: Room) -> str:
    """Address of a room in C."""
    return _at(room.offset)


@dataclass(frozen=True)
class MemberText:
    """Kernel call `number` of a group."""

    plan: LayerPlan
    rooms: GroupPlan
    number: int
    call: Call

    @property
    def layer(self) -> Layer:
        """The operator."""
        return self.plan.layer.operators[self.call.operator]

    @property
    def operator(self) -> OperatorPlan:
        """Its plan."""
        return self.plan.operators[self.call.operator]

    @property
    def shared(self) -> str:
        """Begins the names of what layers on its module share."""
        assert self.operator.unit is not None
        return module_prefix(self.operator.unit.name)

    @property
    def title(self) -> str:
        """The comment at the call: what the operator is, and the module if there are several."""
        layer, call = self.layer, self.call
        part = ""
        if call.channels < layer.k:
            part = f", output channels {call.first} to {call.first + call.channels - 1}"
        if call.rows < layer.oy:
            part += f", output rows {call.row} to {call.row + call.rows - 1}"
        if self.number and self.rooms.calls[self.number - 1].operator == call.operator:
            return note(f"The same{part}.", WIDTH - 4)
        shape = f"{layer.iy}x{layer.ix}x{layer.input_channels} to {layer.oy}x{layer.ox}x{layer.output_channels}"
        window = f" {layer.fy}x{layer.fx}" if layer.op in WINDOWED else ""
        unit = f", on {self.operator.unit.name}" if self.operator.unit and len(self.plan.units) > 1 else ""
        source = f", in the model {self.operator.source}" if self.operator.source else ""
        return note(f"{layer.what}{window}, {shape}{unit}{source}{part}.", WIDTH - 4)

    @property
    def under_way(self) -> int:
        """How many calls of its module may be under way while the core goes on."""
        unit = self.operator.unit
        return unit.api.compute.under_way if unit is not None and unit.api is not None else 0

    @property
    def at_once(self) -> bool:
        """Whether the core waits for it at once."""
        return self.rooms.ended[self.number] == self.number

    def reads_tile(self, call: int) -> bool:
        """Whether it may still read its tile when the core comes to call number `call`, which is behind it."""
        return self.under_way == 1 and self.rooms.ended[self.number] >= call

    @property
    def starting(self) -> tuple[Fetch, ...]:
        """The transfers that start in front of it."""
        return self.rooms.starting(self.number)

    @property
    def awaited(self) -> tuple[Fetch, ...]:
        """The transfers that it waits for."""
        return self.rooms.awaited(self.number)

    def _activations(self) -> tuple[list[WholeText], WholeText]:
        inputs = [operand.name for operand in self.plan.schedule.operands if operand.role is Role.INPUT]
        links = self.plan.layer.get(Group).links[self.call.operator]
        read = [self.rooms.room(inputs[~link]) if link < 0 else self.rooms.outputs[link] for link in links]
        own = [operand for operand in self.operator.operands if operand.role is Role.INPUT]
        output = next(operand for operand in self.operator.operands if operand.role is Role.OUTPUT)
        spans = {**self.layer.spans, **self.call.spans}
        texts = [WholeText(operand, self.layer, place(room), spans) for operand, room in zip(own, read, strict=True)]
        return texts, WholeText(output, self.layer, place(self.rooms.outputs[self.call.operator]), spans)

    def _constants(self) -> Iterator[tuple[str, str]]:
        """Where its constants lie, by field of the kernel's context."""
        schedule = self.plan.schedule
        operand = next((one for one in schedule.operands if one.role is Role.CONSTANT), None)
        if operand is None:
            return
        parts = calls(self.plan.layer)
        for component, offset in zip(operand.components, component_offsets(operand, schedule), strict=True):
            if parts[component.part][:3] == self.call[:3]:
                yield constant_field(component, self.plan.layer), _at(self.rooms.constant(offset))

    def fields(self) -> Iterator[tuple[str, str]]:
        """Fields of the kernel's context."""
        inputs, output = self._activations()
        room = self.rooms.scratch[self.call.operator]
        scratch = place(room) if room.bytes else ""
        kernel = WholeKernel(self.layer, self.operator, tuple(inputs), output, tuple(self._constants()), scratch)
        return kernel.fields()


@dataclass(frozen=True)
class CallText:
    """A kernel call in C: the number of its context, the fields that change there, and the calls that end before.

    `clears` tells whether it is the first one with this context.
    """

    member: MemberText
    tile: int
    clears: bool
    fields: tuple[tuple[str, str], ...]
    ending: tuple[MemberText, ...]


class GroupText(KernelText):
    """What the template asks about a group. All of it lies in one block of the innermost memory."""

    def __init__(self, plan: LayerPlan, outer: LevelText | None = None) -> None:
        """Prepares the innermost memory of a plan's schedule; `outer` is the one outside of it."""
        super().__init__(plan, outer)
        assert plan.schedule.plan is not None
        self.rooms = plan.schedule.plan

    @property
    def template(self) -> str:
        """The template of its functions."""
        return "group.c.mako"

    @property
    def summary(self) -> tuple[str, ...]:
        """What the memory holds, in lines."""
        constants = next((one.bytes for one in self.operands if one.constant), 0)
        coming = f"{constants} bytes of constants in {len(self.rooms.fetches) - len(self.inputs)} parts"
        tensors = f"{self.rooms.bytes} bytes: the tensors of all operators, whole"
        return (f"{tensors}, and {coming}",)

    @property
    def numbered(self) -> tuple[NumberedBlock, ...]:
        """The one block."""
        return tuple(numbered([("ARENA", ("ARENA_BYTES",))]))

    @cached_property
    def components(self) -> tuple[ComponentText, ...]:
        """None: each operator has its own."""
        return ()

    @cached_property
    def members(self) -> tuple[MemberText, ...]:
        """The kernel calls."""
        return tuple(MemberText(self.plan, self.rooms, number, call) for number, call in enumerate(self.rooms.calls))

    @cached_property
    def tiles(self) -> int:
        """How many contexts there are: a call may still read its own while that of the next one is filled in."""
        members = self.members
        under_way = (sum(one.reads_tile(n) for one in members[:n]) for n in range(len(members)))
        return 1 + max(under_way)

    @cached_property
    def member_calls(self) -> tuple[CallText, ...]:
        """The kernel calls.

        Each call's code is executed once: a core waits for all of its instructions, and few are few. So each takes the
        free context in which the fewest fields change.
        """
        tiles = [dict(CLEARED) for _ in range(self.tiles)]
        readers: list[MemberText | None] = [None] * self.tiles
        found: list[CallText] = []
        for member in self.members:
            own = {**CLEARED, **dict(member.fields())}
            changes = [[(field, value) for field, value in own.items() if value != tile[field]] for tile in tiles]
            taken = (reader is not None and reader.reads_tile(member.number) for reader in readers)
            free = [number for number, read in enumerate(taken) if not read]
            tile = min(free, key=lambda number: len(changes[number]))
            clears = readers[tile] is None
            tiles[tile], readers[tile] = own, member
            found.append(CallText(member, tile, clears, tuple(changes[tile]), self._ending(member.number)))
        return tuple(found)

    @property
    def first_fetches(self) -> tuple[Fetch, ...]:
        """The transfers that start in front of everything else: the DMA need not wait until contexts are cleared."""
        return self.rooms.starting(0)

    @property
    def last_ending(self) -> tuple[MemberText, ...]:
        """The kernel calls that the output's write-back waits for."""
        return self._ending(len(self.members))

    @property
    def stopping(self) -> tuple[str, ...]:
        """Begins the names of what modules share of which a call may be under way."""
        return tuple(dict.fromkeys(member.shared for member in self.members if not member.at_once))

    def _ending(self, number: int) -> tuple[MemberText, ...]:
        """The kernel calls that end in front of one."""
        return tuple(self.members[call] for call in self.rooms.ending(number))

    @property
    def transfers(self) -> int:
        """How many transfers may be under way at once, the output's among them."""
        return max(1, min(len(self.rooms.fetches), MOST_TRANSFERS))

    def slot(self, fetch: Fetch) -> str:
        """The descriptor of a transfer."""
        return f"transfers[{self.rooms.slot(fetch)}]"

    def fetch(self, fetch: Fetch) -> str:
        """The statement that starts a transfer."""
        operand = next(one for one in self.fetched if one.name == fetch.operand)
        part = f", {fetch.start}, {fetch.room.bytes}" if operand.constant else ""
        array = self.array_argument(operand)
        return f"fetch_{fetch.operand}(&{self.slot(fetch)}, {place(fetch.room)}{array}{part});"

    def bytes(self, operand: OperandText) -> int:
        """Bytes of a tensor from outside, or of the output."""
        (component,) = operand.operand.components
        return component_bytes(component, self.layer.extents)

    @property
    def output_place(self) -> str:
        """Where the output lies."""
        return place(self.rooms.outputs[-1])
