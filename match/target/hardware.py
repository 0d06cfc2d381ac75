"""What an author subclasses to describe a chip: `MatchTarget`, its `HwModule`s, their memories and C functions.

A target is data and small methods; nothing here imports TVM. See docs/new-target.md for a walk through one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Literal, NamedTuple, Protocol

from match.errors import TargetError, in_a_line
from match.ir.constants import LayerConstants
from match.ir.layer import WIDEST_WEIGHTS, Dim, Layer, Op, Operand, input_axes
from match.ir.requantization import Requantizer
from match.mapping.memory import Memory
from match.target.cost import Block, CostModel, CpuCostModel
from match.target.operands import standard_operands
from match.target.own import OwnOperator
from match.target.tile_constants import output_spans, pack, parameter_bytes


class Verdict(NamedTuple):
    """Answer of a constraint: whether a layer may run here and, if not, why, as the end of 'refused because ...'."""

    ok: bool
    reason: str = ""


Constraint = Callable[[Layer], Verdict]


def window_sees_input(layer: Layer) -> Verdict:
    """Every window, and so every tile, has a row and a column of the input in it, and not padding alone."""
    rows, columns = input_axes(layer)
    sees = rows.windows_see(layer.oy) and columns.windows_see(layer.ox)
    return Verdict(sees, "some of its windows lie in the padding alone")


_PADDED = frozenset({Op.CONV2D, Op.DEPTHWISE_CONV2D, Op.GROUPED_CONV2D, Op.MAX_POOL2D})


@dataclass(frozen=True)
class Pattern:
    """An operator that a module takes, or a chain of them, under constraints on the whole.

    `op` is the operator, or the last one of a chain; `before` are the operators in front of it, first to last. Each
    reads what the one before it writes. Constraints are all asked in order, and the first refusal is reported; for a
    chain they are given the `Layer` that has its operators as `stages`. A module takes a chain only if it takes each of
    its operators, whose kernels, operands and cost models serve the chain, too (`match.target.chain`). `own` says what
    an `Op.OWN` is.
    """

    op: Op
    constraints: tuple[Constraint, ...] = ()
    before: tuple[Op, ...] = ()
    own: OwnOperator | None = None

    @property
    def ops(self) -> tuple[Op, ...]:
        """All of its operators."""
        return (*self.before, self.op)

    @property
    def name(self) -> str:
        """Its operators, joined by "+"."""
        return self.own.name if self.own else "+".join(op.value for op in self.ops)

    @property
    def conditions(self) -> tuple[Constraint, ...]:
        """The constraints, and what holds for all modules: kernels, DMA and cost models see no empty input."""
        return (*self.constraints, window_sees_input) if _PADDED.intersection(self.ops) else self.constraints

    def describes(self, layer: Layer) -> bool:
        """Whether it has the operators of a layer."""
        operators = layer.operators
        if operators[-1].op is not self.op or self.ops != tuple(stage.op for stage in operators):
            return False
        return self.own is None or self.name == layer.what

    def check(self, layer: Layer) -> Verdict:
        """The first refusal, or acceptance."""
        if not self.describes(layer):
            return Verdict(False, f"it is {layer.what}, not {self.name}")
        for constraint in self.conditions:
            verdict = constraint(layer)
            if not verdict.ok:
                return verdict
        return Verdict(True)


@dataclass(frozen=True)
class PlatformApi:
    """C functions that start a module and run a layer on it."""

    offload: str


@dataclass(frozen=True)
class Allocator:
    """C functions that reserve blocks of a memory and give them back."""

    allocate: str
    free: str


@dataclass(frozen=True)
class MemoryApi:
    """C functions that reserve innermost memory and start transfers.

    Attributes:
        allocate: ``void *f(uint32_t bytes)``, a block of scratchpad; NULL when there is no room.
        free: ``void f(void *block)``; blocks are freed in reverse order, and NULL is nothing.
        transfer: type of a transfer's descriptor, which is zero when nothing is outstanding on it.
        copy_in: ``void f(transfer *, void *local, const void *external, const match_copy_t *)``, starts a transfer of
            up to three dimensions into the scratchpad (match_copy.h). The shape may go away when it returns.
        copy_out: ``void f(transfer *, const void *local, void *external, const match_copy_t *)``, the same outwards.
        private: by operand, the functions (an `Allocator`) that reserve what `Memory.private` gives it.
    """

    allocate: str
    free: str
    transfer: str
    copy_in: str
    copy_out: str
    private: tuple[tuple[str, Allocator], ...] = ()

    def allocator(self, operand: str) -> Allocator:
        """The functions that reserve the blocks of an operand."""
        return dict(self.private).get(operand, Allocator(self.allocate, self.free))


@dataclass(frozen=True)
class SyncApi:
    """C functions that wait."""

    wait_transfer: str
    wait_compute: str


@dataclass(frozen=True)
class ComputeApi:
    """C function that starts a kernel on one tile: ``start(kernel, const match_tile_t *)``.

    `under_way` is how many calls may be started before the first of them is waited for: `SyncApi.wait_compute` then
    waits for the oldest. With one, the tile stays until that wait. With more, the unit executes calls in order, and the
    tile has been read when `start` returns. With none the core waits for each call at once.
    """

    start: str
    under_way: int = 0


@dataclass(frozen=True)
class ModuleApi:
    """The four API families of one module, and the headers that declare them."""

    headers: tuple[str, ...]
    platform: PlatformApi
    memory: MemoryApi
    sync: SyncApi
    compute: ComputeApi


@dataclass(frozen=True)
class DirectApi:
    """What calls the kernels of a module without a scratchpad, which read and write main memory.

    Attributes:
        headers: those that declare the kernels and the functions named here.
        start: ``int32_t f(match_kernel_t kernel, const match_tile_t *tile)``, starts a kernel on a layer; empty where
            kernels are functions that the control core executes.
        wait: ``int32_t f(void)``, until it has ended; empty likewise.
    """

    headers: tuple[str, ...]
    start: str = ""
    wait: str = ""


@dataclass(frozen=True)
class TargetApi:
    """C functions of the chip as a whole: start and stop it, reserve main memory; and the headers that declare them."""

    headers: tuple[str, ...]
    open: str
    close: str
    allocate: str
    free: str


@dataclass(frozen=True)
class ExternalApi:
    """C functions of an external memory, which only its own DMA engine reads and writes, and headers that have them.

    Its addresses are pointers that count bytes and that no core follows. The core that executes a layer calls
    `copy_in`, `copy_out` and `wait`, and so does the control core.

    allocate, free: ``void *allocate(uint32_t bytes)``, NULL if there is no room; ``void free(void *)``.
    load: ``int32_t load(void *external, const match_image_t *image)``, fills the beginning of a block with what a
        network's image holds (match_image.h).
    transfer: type of a transfer's descriptor, zero when nothing is outstanding on it.
    copy_in: starts a transfer from external to main memory, ``void copy_in(transfer *, void *local, const void
        *external, const match_copy_t *)``; copy_out: ``void copy_out(transfer *, const void *local, void *external,
        const match_copy_t *)``. Shapes are in match_copy.h.
    wait: ``int32_t wait(transfer *)``, until a transfer is complete.
    """

    headers: tuple[str, ...]
    allocate: str
    free: str
    load: str
    transfer: str
    copy_in: str
    copy_out: str
    wait: str


class TransferCost(Protocol):
    """Predicted cycles of a DMA engine's transfers, in those of the modules' clock."""

    def transfer(self, block: Block) -> float:
        """Cycles to move one block; the numbers are arrays where the module's cost model takes arrays."""
        ...


@dataclass(frozen=True)
class ExternalPlatform:
    """What an external memory's functions take on a platform, beside that platform's own and in its way.

    With the macro MATCH_IMAGE_LINKED in `defines` images are part of programs; else the platform finds the files.
    """

    sources: tuple[Path, ...]
    include: tuple[Path, ...]
    defines: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True)
class External:
    """A memory outside of main memory, for what that has no room for: `dma` prices transfers between the two.

    issue: cycles of the core to start a transfer between layers and to see that it is complete; None: what a module
        takes for one of its own. Transfers inside of layers take the latter.
    platforms: those of the target's that have the memory, by name. Projects of networks that use it have these alone,
        and the image in a file (`match.codegen.project.image_file`).
    """

    memory: Memory
    api: ExternalApi
    dma: TransferCost
    platforms: Mapping[str, ExternalPlatform] = field(default_factory=dict[str, ExternalPlatform])
    issue: float | None = None


@dataclass(frozen=True)
class ProgramSize:
    """Estimated bytes of main memory for what a program has beside a network's data: instructions, stacks, variables.

    Kernels, drivers and stacks take `fixed` bytes, each call of the network `operator` bytes more, and each operator
    that is in a call behind another one, of a chain or a group, `joined` bytes.
    """

    fixed: int
    operator: int
    joined: int = 192

    def of(self, calls: int, joined: int) -> int:
        """The bytes with a network of so many calls, and so many operators that are in one behind another."""
        return self.fixed + self.operator * calls + self.joined * joined


class _Described:
    """A description: what more was computed from, when it was made, is not set again."""

    settled: frozenset[str] = frozenset()

    def __setattr__(self, name: str, value: object) -> None:
        if name in self.settled and name in vars(self):
            kind = type(self).__name__
            raise TargetError(
                f"{name} of {getattr(self, 'name', kind)} cannot be set any more, since others were computed from it; "
                f"give it to {kind} when it is made, or set what the target declares (--set, settings)."
            )
        super().__setattr__(name, value)


class HwModule(_Described, ABC):
    """A unit of a chip that executes layers: its patterns, operand layout, cost model and C functions.

    `memories` are the scratchpads below the target's main memory, outermost first. Without any the module's kernels
    compute each layer in one call, out of main memory into main memory (`direct`), and `api` is a `DirectApi`; the cost
    model's `scratch` are then bytes of main memory. `requantizers` are the forms its
    kernels can execute, the module's own first; with `numerics="exact"` the first one that is exact is taken.
    `sums` are the operators whose kernels can also hand out their int32 sums as they are: layers without requantization
    (`LayerConstants.requantization` is None), `output_dtype` "int32", four bytes for an element of the output operand.
    `int16` are the operators whose kernels also take layers with activations and weights of int16, whose weights are
    numbers of 8 bits; other operators are asked about 8 bits, int32 sums and float32 alone.
    `groups` tells whether its kernels may compute several operators one after the other in one offload, with whole
    tensors in innermost memory between them (`match.ir.group`).
    `peak_macs` are the multiply-accumulates of 8 bits that its multipliers do in a cycle at most; reports say what
    share of them a layer reaches. None: not known.
    `settled` are the names of attributes that its constructor computes more from: they cannot be set again.
    """

    name: str
    memories: tuple[Memory, ...]
    cost_model: CostModel
    requantizers: tuple[Requantizer, ...]
    api: ModuleApi | DirectApi
    sums: frozenset[Op] = frozenset()
    int16: frozenset[Op] = frozenset()
    groups: bool = False
    peak_macs: int | None = None

    @property
    def direct(self) -> bool:
        """Whether there is no scratchpad: kernels read and write main memory."""
        return not self.memories

    @property
    def is_core(self) -> bool:
        """Whether its kernels are functions that the control core executes."""
        return isinstance(self.api, DirectApi) and not self.api.start

    @property
    def scratchpad_api(self) -> ModuleApi | None:
        """`api` where there is a scratchpad."""
        return self.api if isinstance(self.api, ModuleApi) else None

    @property
    def scratchpad_bytes(self) -> int:
        """Bytes of the scratchpad that kernels read and write; 0 without one."""
        return 0 if self.direct else self.memories[-1].size

    @abstractmethod
    def patterns(self) -> tuple[Pattern, ...]:
        """The operators and chains of operators that this module takes, with their constraints."""

    @abstractmethod
    def kernel(self, layer: Layer, requantizer: Requantizer | None) -> str:
        """Name of the C kernel, ``void kernel(const match_tile_t *)``, that computes one tile of the layer."""

    def operands(self, layer: Layer, requantizer: Requantizer | None) -> tuple[Operand, ...]:
        """The layer's operands as they lie in this module's memory.

        Dense HWC activations and (K, FY, FX, C) filters with the parameters of match_tile.h, if nothing else is said.
        """
        return standard_operands(layer, parameter_bytes(layer, requantizer), requantizer=requantizer)

    def pack(
        self,
        layer: Layer,
        requantizer: Requantizer | None,
        constants: LayerConstants,
        spans: Mapping[Dim, tuple[int, int]],
    ) -> tuple[bytes, ...]:
        """Bytes of each component of the constant operand, for the tile that covers `spans` (start, extent).

        Those of `standard_operands`, if nothing else is said. Ranges of input channels are asked for only where an
        output's operand declares `partial_bytes`.
        """
        return pack(constants, requantizer, output_spans(layer, spans))

    def overwritable(self, layer: Layer, requantizer: Requantizer | None) -> Mapping[str, int]:
        """Names of the inputs over which the kernel may write the output, if nothing else reads them any more.

        With each are the bytes by which the output has to begin before that input, at least, so that no byte is written
        before it was read for the last time: 0 where elements are read, and then written, one after the other.
        It is asked of modules without a scratchpad.
        """
        return {}

    def forms(self, layer: Layer) -> tuple[Requantizer, ...]:
        """The forms that the kernel for a layer can execute: `requantizers`, where all kernels have the same."""
        return self.requantizers

    def fewest_weight_bits(self, layer: Layer) -> int:
        """Bits of the narrowest weights that the kernel for an operator takes; 8 where weights are bytes.

        Where they are fewer than 8, `Layer.weight_bits` tells `cost`, `operands`, `pack` and `kernel` in how many bits
        the operator's weights are stored, and `weight_bits` of match_tile_t the kernel.
        """
        return WIDEST_WEIGHTS

    def cost(self, layer: Layer, requantizer: Requantizer | None) -> CostModel:
        """The cost model of the kernel that `kernel` names: `cost_model`, where all of them cost alike."""
        return self.cost_model

    def alone(self, layer: Layer, requantizer: Requantizer | None) -> bool:
        """Whether the kernel for a layer uses other modules, too, so that none of theirs may run beside it.

        It is asked of modules whose calls may be under way while the core goes on (`ComputeApi.under_way`).
        """
        return False

    def tile_multiples(self, layer: Layer) -> Mapping[Dim, int]:
        """Dimensions whose tiles (all but the last) must be a multiple of a number, or 0 if they cannot be tiled.

        Of those not named K, OY and OX are cut anywhere, and C, FY and FX are not. C can be named where the output's
        operand declares `partial_bytes`: kernels then add up a tile of the input channels at a time.
        """
        return {}


@dataclass(frozen=True)
class Platform:
    """What a network of the target runs on: C sources, folders of headers, macros, and how to build a program of them.

    Paths are relative to the `match` package ("kernels/pulp/conv2d.c") or absolute, for targets from elsewhere. In a
    project, those of the package lie at the same place, others in "platform/<name of their folder>/". Commands run in
    the project's folder, which is what paths in `flags` and `link` are relative to.

    `compiler`: the compiler and linker, as found on the PATH; None is the C compiler of this machine.
    `standard`: the C standard that its headers need, as -std= has it; C11 is enough for all else.
    `flags`: of the compiler and linker, after those that all platforms share; `link`: what ends the linker's command.
    `files`: what else the project needs, such as linker scripts.
    `io`: the source that implements match_io.h; None is one that reads and writes files by way of stdio.h.
    `runner`: what runs a program, one of `match.run.RUNNERS`; `machine`: what the runner has to know of the machine,
    such as an emulator's command line; `counts`: what match_counter (match_count.h) counts, None without one.
    `counted`: a sentence on what is counted there, for tables that have the chip's predicted cycles beside it.
    `on`: what `match run --on` calls that which runs its programs; None is `name`.
    `modules`: those of the target's that it has, by name, None for all. Networks that use another cannot run on it.
    `cost`: what a module's cost model becomes on it, for a prediction beside the cycles that it counts; None if there
    is no other than the chip's.
    """

    sources: tuple[Path, ...]
    include: tuple[Path, ...]
    defines: Mapping[str, str] = field(default_factory=dict[str, str])
    name: str = "host"
    compiler: str | None = None
    standard: str = "c11"
    flags: tuple[str, ...] = ()
    link: tuple[str, ...] = ("-lm",)
    files: tuple[Path, ...] = ()
    io: Path | None = None
    runner: str = "native"
    machine: tuple[str, ...] = ()
    counts: Literal["instructions", "cycles"] | None = None
    counted: str = ""
    on: str | None = None
    modules: tuple[str, ...] | None = None
    cost: Callable[[CostModel], CostModel] | None = None

    @property
    def place(self) -> str:
        """What `match run --on` calls that which runs its programs."""
        return self.on or self.name


@dataclass(frozen=True)
class Enlarged:
    """A memory that was given more `bytes` than the chip has of it, its `own`."""

    name: str
    bytes: int
    own: int


class MatchTarget(_Described, ABC):
    """A chip: modules in front of a control core, the memory that holds networks, a clock.

    `activations` is the type that all activations of 8 bits are given, for kernels that read one type only; None keeps
    those of the model. `mixed` tells that some modules read int8 and others uint8: of a network of int8, what no module
    takes becomes uint8 where a module takes it so. `external` is the memory outside of `main_memory`, None where there
    is none. `flash` is the memory in which constants and programs lie, and which cores read in place; None where
    `main_memory` has them. `program` is what programs take of that memory themselves, None where they lie elsewhere, or
    its size is what they leave.

    What can be set of it from outside (``--set dma.bytes=4``) are the parameters of its constructor that have defaults:
    numbers, truth values and texts, and such fields of those that are dataclasses (`match.target.parameters`).
    `settings` are those that were set, by name. `estimated_energy` tells that the pJ of its cost models follow from
    publications with assumptions of their own, and were not measured. `enlarged` are the memories that were given more
    bytes than the chip has, which is then another, hypothetical one.
    """

    name: str
    clock_hz: float
    main_memory: Memory
    modules: tuple[HwModule, ...]
    cpu_cost_model: CpuCostModel
    api: TargetApi
    activations: Literal["uint8"] | None = None
    mixed: bool = False
    external: External | None = None
    flash: Memory | None = None
    program: ProgramSize | None = None
    settings: Mapping[str, int | float | bool | str] = MappingProxyType({})
    estimated_energy: bool = False
    enlarged: tuple[Enlarged, ...] = ()

    def program_bytes(self, calls: int, joined: int) -> int:
        """Estimated bytes that the program of a network takes beside its constants; see `ProgramSize.of`."""
        return self.program.of(calls, joined) if self.program else 0

    @property
    @abstractmethod
    def host(self) -> Platform:
        """What stands in for the chip on a PC, named "host", with the memory sizes that `modules` have."""

    @property
    def platforms(self) -> tuple[Platform, ...]:
        """All that networks can be built for: `host`, after it what else there is, each under its own name.

        The last one is the chip's own, for which `match size` measures by default.
        """
        return (self.host,)

    @property
    def patterns(self) -> tuple[Pattern, ...]:
        """Those of all modules.

        Raises:
            TargetError: a module's `patterns` fails.
        """
        return tuple(pattern for module in self.modules for pattern in _patterns(module))

    @property
    def taken(self) -> frozenset[Op]:
        """The operators that modules have patterns for, alone or in chains.

        Raises:
            TargetError: as `patterns`.
        """
        return frozenset(op for pattern in self.patterns for op in pattern.ops)

    @property
    def own_operators(self) -> tuple[OwnOperator, ...]:
        """Those that modules bring, one of each name."""
        return tuple({pattern.own.name: pattern.own for pattern in self.patterns if pattern.own}.values())


def _patterns(module: HwModule) -> tuple[Pattern, ...]:
    try:
        return tuple(module.patterns())
    except Exception as error:
        raise TargetError(
            f"module {module.name}: its patterns: {in_a_line(error)}; `match check-target` tells more."
        ) from error
