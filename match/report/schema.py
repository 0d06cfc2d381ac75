"""`report.json` as types: what was compiled, what each layer is predicted to cost, where it runs and why.

Cycles, milliseconds and bounds are predictions of the target's cost models; bytes are exact; what is under `measured`
and `validated` was found by a program on the platform that it names. The fields' meanings and units are in
docs/report.md, the JSON Schema made from these types in docs/report.schema.json (`make pages`). A field that is added
has a default, so that older reports can be read, and keeps `SCHEMA_VERSION`; one that is removed, renamed or given
another meaning raises it.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from match.analysis.timeline.chrome_trace import Doing
from match.run.size import Size

SCHEMA_VERSION = 1

REPORT = "report.json"
"""What its file in a project is called."""

Bottleneck = Literal["compute", "dma", "overhead", "external"]
AdviceKind = Literal[
    "idle module",
    "recurrent",
    "float border",
    "float operators",
    "channels first",
    "layouts",
    "control core",
    "requantization",
    "memory",
    "slow layer",
    "inexact",
    "one by one",
    "offload",
    "external memory",
    "numerics",
    "scales",
    "states",
]


class TensorSummary(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An input or output of the network: its name, shape in elements and NumPy dtype."""

    name: str
    shape: tuple[int, ...]
    dtype: str


class StateSummary(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the network keeps from one inference to the next, as its C stores it.

    `output` is the model's output that it becomes, empty for a variable of the model's own.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    bytes: int
    output: str = ""


class ModelSummary(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The network: `sha256` of the model file, or of the Relay text where there was none; `macs` of one inference.

    `batch` is how many samples the model computes at once, where an inference of the C is one of them; else 1.
    `ranges` are those of what recurrent layers read, by their names, where samples gave it 8 bits.
    """

    name: str
    sha256: str
    macs: int
    inputs: tuple[TensorSummary, ...]
    outputs: tuple[TensorSummary, ...]
    states: tuple[StateSummary, ...] = ()
    batch: int = 1
    ranges: dict[str, tuple[float, float]] = {}


class MemorySummary(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A memory and its size in bytes."""

    name: str
    bytes: int


class ModuleSummary(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A unit of the chip, its scratchpads outermost first, and its part in the network (predicted cycles).

    `peak_macs` are the MACs that it can do in a cycle at most, null where the target does not say.
    """

    name: str
    memories: tuple[MemorySummary, ...]
    layers: int
    macs: int
    cycles: int
    peak_macs: int | None = None


class EnlargedMemory(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A memory that was given more `bytes` than the chip has of it, its `own`."""

    name: str
    bytes: int
    own: int


class TargetSummary(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The chip: clock in hertz, the memory that holds the network, the modules it was compiled for and its CPU.

    `estimated_energy` tells that energies follow from publications, with assumptions, and were not measured. `enlarged`
    are memories that were given more bytes than the chip has, so that no such chip executes the program. `flash` is the
    memory that constants and program lie in, null where main memory has them.
    """

    name: str
    clock_hz: float
    main_memory: MemorySummary
    modules: tuple[ModuleSummary, ...]
    estimated_energy: bool = False
    enlarged: tuple[EnlargedMemory, ...] = ()
    flash: MemorySummary | None = None


class OptionsSummary(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the compiler was asked for; `l1` is the innermost memory's size in bytes, or by module, where it was given.

    `fuse` tells whether modules could execute several operators as one, `rescale` whether scales went into weights,
    `quantize_recurrent` whether LSTM and GRU in floating point became integers. `settings` are what was set of the
    target, by name. `at_most` bounds another quantity than the objective, in times the least, such as "latency=1.1x".
    """

    modules: tuple[str, ...]
    l1: int | dict[str, int] | None
    engine: str
    objective: str
    numerics: str
    fuse: bool
    rescale: bool = False
    quantize_recurrent: bool = False
    settings: dict[str, int | float | bool | str] = {}
    at_most: str | None = None


class Totals(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Sums over the layers.

    `cycles`, `milliseconds` and `macs_per_cycle` are predicted. `l2_peak_bytes` is the most that the main memory
    holds at once, constants included if they lie there. `inside_bytes` is what activations take if inputs and
    outputs lie in the workspace, where they leave room, and not beside it; null where no C was made. The program
    takes an estimated `program_bytes` of the memory that has the constants, 0 where it lies elsewhere or the caller
    said what it leaves. `bytes_moved` counts both directions between the main memory and the scratchpads.
    `energy_pj` is predicted, null where the target gives no energy of some layer. `causes` are the cycles by what
    they go into, all together. `compile_seconds` maps a phase to its wall-clock time: the only numbers that differ
    between two compilations.
    """

    cycles: int
    milliseconds: float
    macs_per_cycle: float
    l2_peak_bytes: int
    constant_bytes: int
    bytes_moved: int
    energy_pj: float | None
    inexact_layers: int
    compile_seconds: dict[str, float]
    program_bytes: int = 0
    causes: dict[str, int] = {}
    inside_bytes: int | None = None


class LoopSummary(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An outer loop: `count` iterations that split `extent` of `dim` into pieces of `tile`, the last maybe smaller."""

    dim: str
    count: int
    tile: int
    extent: int


class BufferSummary(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An operand in one memory: fetched inside the first `depth` loops, in `buffers` buffers of `bytes` bytes each."""

    memory: str
    depth: int
    buffers: int
    bytes: int


class OperandSummary(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An operand of a layer: where it is buffered and how many bytes of it move, over the whole layer."""

    name: str
    role: str
    buffers: tuple[BufferSummary, ...]
    bytes_moved: int


RoomKind = Literal["input", "constants", "output", "scratch"]


class RoomSummary(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Bytes of the innermost memory that a group's plan sets apart: a tensor, constants, or what kernels need.

    `operator` is the place in the layer's `operators` of the first that reads, writes or needs it. It is taken from
    moment `first` to moment `last`: 2n is before kernel call n, 2n + 1 during it.
    """

    kind: RoomKind
    operator: int
    offset: int
    bytes: int
    first: int
    last: int


class ScheduleSummary(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How a layer is cut to fit: loops outermost first, the largest tile a kernel sees, bytes used per memory.

    `loss` is how much less of the objective (cycles, pJ or bytes) a mapping that the search left out may cost, at most.
    A group has `kernel_calls`, and `rooms` for them in the innermost memory; no other layer has rooms.
    """

    loops: tuple[LoopSummary, ...]
    tile: dict[str, int]
    memories: tuple[MemorySummary, ...]
    scratch_bytes: int
    loss: float
    operands: tuple[OperandSummary, ...]
    kernel_calls: int = 0
    rooms: tuple[RoomSummary, ...] = ()


class RequantizationSummary(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The form that requantizes, and whether it computes the layer's own integers for every reachable accumulator.

    Where it does not, `share` is the fraction of the accumulators between the clamps whose output differs, by at most
    `max_step` steps.
    """

    form: str
    exact: bool
    share: float
    max_step: int


class MovedSummary(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """By how much the outputs of an operator that was changed differ from the model's, at most and on average.

    In steps of the model's tensor, over random inputs that are all alike likely.
    """

    largest: float
    mean: float


class CandidateSummary(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A module's offer for a layer: its predicted cost, or why it was refused (the end of "refused because ...").

    The control core's is the last, as "cpu". `energy_pj` is null where the target does not give it.
    `unmapped` tells that the module would take the layer, and no mapping fits its memories.
    """

    module: str
    cycles: int | None = None
    energy_pj: float | None = None
    refusal: str | None = None
    requantization: RequantizationSummary | None = None
    unmapped: bool = False


class RunnerUpSummary(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The cheapest way to compute the network without what was chosen for a layer.

    `module` has the layer then, or the first of the operators that were chosen together. `cost` is that of the whole
    network in the unit of the objective: cycles, pJ or bytes.
    """

    module: str
    cost: float


class OperatorSummary(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An operator of a layer that has several, in the order in which they are computed.

    `cycles` are predicted for its kernel calls in a group, without what those before hide; null in a chain, whose
    operators take turns. `calls` are its kernel calls in a group: several compute strips of rows, or channels.
    `module` is what executes it, empty in reports that do not say it: the layer's. `source` is the operator's name in
    the model, empty if it is not known. `removed_channels` and `weight_bits` mean the same as
    for a layer.
    """

    op: str
    macs: int
    outputs: int
    cycles: int | None = None
    source: str = ""
    removed_channels: int = 0
    weight_bits: int | None = None
    module: str = ""
    calls: int = 1


class LayerSummary(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One operator of the network, or several that a module executes as one.

    `cycles` and its parts `compute_cycles`, `dma_cycles` and `overhead_cycles` are predicted; the parts are counted as
    if nothing overlapped, so that they may add up to more than `cycles`. `wait_cycles` are those of `cycles` that
    external memory adds to the layer's own. `bound` is the largest part, "external" these waits. `module` is "cpu"
    for what runs as TVM's C on the control core; such a layer has no parts and no schedule. `platform_cycles` are
    predicted for what is less than the chip, by the name that `match run --on` has for it. `source` is what the model
    calls the tensor or operator that is computed, empty if that is not known. `exact` tells whether the layer is known
    to compute the reference's numbers, whatever its inputs are, `floating` whether it computes in floating point, or
    from integers real numbers, that the reference may round otherwise. `runner_up` is null where there was no other
    choice. The shapes are those of the tensors that it reads and writes, weights aside. `removed_channels` of its
    output are proven to be of no use and are not computed.
    `moved` is null for a layer that is neither rescaled nor a quantized recurrent one, and for one whose outputs stay
    as they were. `constant_bytes` are its constants, packed as code generation stores them; null on the CPU, whose
    constants are not told apart. `weight_bits` are those in which its module stores each weight; null without weights,
    on the CPU, and for a layer of several operators, which have their own. `parts` are those that the model's operator
    was cut into, where the layer is one or some of them, or joins their outputs; else 1. `operators` are those of a
    chain, whose `op` has their names joined by "+", or of a group, whose `op` is "group"; else there are none.
    `reads` are the places in `layers` of those whose outputs it reads, `network_inputs` and `network_outputs` the
    places in the model's inputs and outputs of those that it reads and computes.
    """

    name: str
    op: str
    module: str
    macs: int
    outputs: int
    cycles: int
    compute_cycles: int | None
    dma_cycles: int | None
    overhead_cycles: int | None
    bound: Bottleneck | None
    energy_pj: float | None
    l1_bytes: int
    schedule: ScheduleSummary | None
    requantization: RequantizationSummary | None
    candidates: tuple[CandidateSummary, ...]
    platform_cycles: dict[str, int] = {}
    source: str = ""
    exact: bool = True
    floating: bool = False
    runner_up: RunnerUpSummary | None = None
    input_shapes: tuple[tuple[int, ...], ...] = ()
    output_shapes: tuple[tuple[int, ...], ...] = ()
    removed_channels: int = 0
    moved: MovedSummary | None = None
    operators: tuple[OperatorSummary, ...] = ()
    constant_bytes: int | None = None
    weight_bits: int | None = None
    wait_cycles: int = 0
    parts: int = 1
    reads: tuple[int, ...] = ()
    network_inputs: tuple[int, ...] = ()
    network_outputs: tuple[int, ...] = ()


class Advice(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What would make the network faster or exact, in a sentence.

    `cycles` are what it gains, predicted, where `change` has other arguments of `match.compile` that do it: the network
    was predicted with them. Else they are the most that it can gain; 0 of kind "inexact", whose sentence may tell a
    price. `layers` are those that it is about. `warning` tells that a module takes nothing.
    """

    kind: AdviceKind
    sentence: str
    cycles: int
    layers: tuple[str, ...]
    warning: bool = False
    change: dict[str, str | int | bool | dict[str, str]] = {}


class MeasuredLayers(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the C `functions` that compute `layers` cost together in one inference.

    Mostly it is one of each; TVM makes one function of several operators, or several of one. `sources` are what the
    model calls each of `layers`, empty where that is not known.
    """

    layers: tuple[str, ...]
    functions: tuple[str, ...]
    count: int
    sources: tuple[str, ...] = ()


class Measurement(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a run on `platform` counted: means over `samples` inferences, in `unit`s.

    `command` is how the program was called. `total` is the sum over `layers`, which are in the order of execution.
    `counted` is a sentence on what is counted there, empty if it is all that the chip does.
    """

    platform: str
    unit: Literal["instructions", "cycles"]
    command: str
    samples: int
    total: int
    layers: tuple[MeasuredLayers, ...]
    counted: str = ""


Verdict = Literal["equal", "as announced", "more than announced", "unknown"]
"""Whether outputs of the C equal those of a reference, or differ as the report announces it."""


class AccuracySummary(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How many of so many labelled samples are classified right (largest score), and how sure that is.

    `right` are those of the generated C, `reference_right` the reference's, and `exact_right` those of the network's
    own integers, which C with exact numerics computes; null where the target is not installed or the network is
    rescaled. Each interval holds the accuracy of all such data with a confidence of 95 % (Wilson).
    """

    samples: int
    right: int
    reference_right: int
    interval: tuple[float, float]
    reference_interval: tuple[float, float]
    exact_right: int | None = None
    exact_interval: tuple[float, float] | None = None


class ValidatedLayer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An operator alone: of `elements` so many are `differing` from the network's own integers, by `largest` at most.

    Its requantization is known to be off by at most `known_steps`.
    """

    name: str
    elements: int
    differing: int
    largest: float
    known_steps: int


class ValidatedSummary(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What `match validate` found with the C on `platform`, the latest there.

    `compared` says in words what was compared, `found` in sentences what came of it. Of the `elements` of all outputs
    so many are `equal` to those of the `reference`. `layers` are null where operators were not compared one by one.
    """

    platform: str
    reference: str
    samples: int
    verdict: Verdict
    elements: int
    equal: int
    compared: str
    found: tuple[str, ...]
    accuracy: AccuracySummary | None = None
    layers: tuple[ValidatedLayer, ...] | None = None


class TensorPlace(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A tensor between operators: `offset` bytes into the network's part of main memory, or of external memory.

    It is written by step `first` and read for the last time by step `last`; `read_by` are all that read it.
    """

    name: str
    bytes: int
    external: bool
    offset: int
    first: int
    last: int
    read_by: tuple[int, ...]


class MemoryStep(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A step of the network, and how its constants come.

    `constants`: "none", "resident" (in main memory for good, at `offset`), "fetched" (whole, at `offset`, from the
    beginning of step `fetched_at`) or "cut" (in pieces, while it runs). `block_bytes` of main memory at `block_offset`
    are for what comes and goes in pieces. `cut`: whether anything does. `exposed_cycles` is what external memory adds
    to the step's predicted time.
    """

    name: str
    constants: Literal["none", "resident", "fetched", "cut"]
    constant_bytes: int
    offset: int | None
    fetched_at: int | None
    cut: bool
    block_bytes: int
    block_offset: int | None
    exposed_cycles: int


class WorkspaceBuffer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A tensor in the workspace, `offset` bytes into it, from step `first` to step `last`, that included."""

    bytes: int
    offset: int
    first: int
    last: int


class WorkspaceSummary(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What main memory holds of a network that it holds whole, over time, beside constants of layers.

    `steps` are the functions that one inference calls, by the names of layers where they are that. `buffers` lie in a
    workspace of `bytes` bytes. `operator_bytes` are constants of operators on the control core.
    """

    steps: tuple[str, ...]
    buffers: tuple[WorkspaceBuffer, ...]
    bytes: int
    operator_bytes: int


class MemoryPlanSummary(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where a network lies that main memory cannot hold.

    `main_bytes` of main memory are in use at most, inputs and outputs included, and `external_bytes` of the external
    memory; `image_bytes` of these are constants. Those of operators on the control core, `operator_bytes`, lie at the
    beginning of main memory for good. Without external memory `whole_bytes` of main memory would be. Predicted: the DMA
    of the external memory works for `traffic_cycles`, the network takes `exposed_cycles` longer than with everything
    in main memory, and `hidden` is the share of the traffic that does not show in that.
    """

    external_memory: MemorySummary
    main_bytes: int
    external_bytes: int
    image_bytes: int
    operator_bytes: int
    whole_bytes: int
    traffic_cycles: int
    exposed_cycles: int
    hidden: float
    steps: tuple[MemoryStep, ...]
    tensors: tuple[TensorPlace, ...]


class MovedOutput(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """By how much an output of the network moves where modules requantize otherwise than it does.

    Of `elements` in all samples `differing` differ, by at most `largest` of a `unit`: steps of integers, or real
    numbers as they are. `noise` is the power of the differences as a share of that of the output itself about its mean;
    1 where the output never changes.
    """

    name: str
    elements: int
    differing: int
    largest: float
    noise: float
    unit: Literal["steps", "real"]


class MovedOutputs(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Outputs for random inputs, computed in NumPy by the network's integers and by those of the chosen modules.

    An output that the control core computes in floating point is compared where it still is integers.
    """

    samples: int
    outputs: tuple[MovedOutput, ...]


class TimelineBar(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """Something that takes time, in `lane`, from `begin` to `end`, in cycles since the inference began.

    `doing` is what it is, `text` says it in words. A transfer, its start and its wait have an `operand` and `bytes`; 0
    bytes otherwise. It is an array in JSON, in this order.
    """

    lane: int
    doing: Doing
    text: str
    begin: float
    end: float
    operand: str = ""
    bytes: int = 0


class TimelineSummary(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The predicted timeline of one inference: `lanes` by name, and `bars` of each layer in the order of `layers`.

    `coarse` are the layers, by their places, that call kernels too often for a bar each: they have one for all.
    """

    lanes: tuple[str, ...]
    bars: tuple[tuple[TimelineBar, ...], ...]
    coarse: tuple[int, ...] = ()


class Report(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole of `report.json`.

    `memory` is there if main memory cannot hold the network, `workspace` if it can. `timeline` is the last field: in
    the file each of its layers is one line. `moved_outputs` is null where all requantizations are exact.
    """

    generator: str
    model: ModelSummary
    target: TargetSummary
    options: OptionsSummary
    totals: Totals
    layers: tuple[LayerSummary, ...]
    measured: tuple[Measurement, ...] = ()
    schema_version: Literal[1] = SCHEMA_VERSION
    memory: MemoryPlanSummary | msgspec.UnsetType = msgspec.UNSET
    advice: tuple[Advice, ...] = ()
    sizes: tuple[Size, ...] = ()
    moved_outputs: MovedOutputs | None = None
    validated: tuple[ValidatedSummary, ...] = ()
    workspace: WorkspaceSummary | None = None
    timeline: TimelineSummary | None = None
