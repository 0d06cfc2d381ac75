"""The decisions for each layer; the report explains them, code generation executes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Literal, SupportsIndex, overload

from match.ir.constants import LayerConstants
from match.ir.layer import Layer, Operand
from match.ir.moves import RESHAPES
from match.ir.requantization import RequantizationFit, Requantizer
from match.mapping.schedule import Schedule
from match.mapping.storage import Storage
from match.target.cost import Cost
from match.target.hardware import DirectApi, ExternalApi, HwModule, MatchTarget, ModuleApi

CPU = "cpu"
"""The control core, in place of a module's name."""

IN_PLACE = "in place"
"""A concatenation or slice that copies nothing, in place of a decision's operator."""

WITHOUT_CODE = frozenset({*RESHAPES, IN_PLACE})
"""Operators of decisions without any code: they say how a tensor is read, and cost nothing on any core."""


@dataclass(frozen=True)
class Offer:
    """One module's offer for a layer: a schedule with its cost, or the reason it was refused.

    `unmapped` tells that the module would take the layer, but no mapping fits its memories. `needed` are the bytes of
    the innermost memory that would be enough, where these are lacking. `fit` is that of the operator that is farthest
    from the network's own arithmetic; `known_steps` are the most by which outputs may be off, of all operators.
    """

    module: str
    requantizer: Requantizer | None = None
    fit: RequantizationFit | None = None
    schedule: Schedule | None = None
    cost: Cost | None = None
    refusal: str | None = None
    unmapped: bool = False
    needed: int | None = None
    known_steps: int = 0


@dataclass(frozen=True)
class Unit:
    """A module as generated code sees it: its name, and what it calls; None where it has no scratchpad."""

    name: str
    api: ModuleApi | None


@dataclass(frozen=True)
class OperatorPlan:
    """An operator on a module: its kernel, a C function, and how its outputs are requantized.

    `negative_step` is the correction for negative values: 0 without one, the step where all channels have the same
    one, else 1.
    `shift` is the shift of all output channels if the requantizer has one shift for all of them, else 0. `operands`
    are, of an operator in a group, what they would be if it were alone, and `unit` is the module that executes it.
    `source` is what the model calls one of several operators, empty if that is not known.
    """

    kernel: str
    requantizer: Requantizer | None = None
    negative_step: int = 0
    shift: int = 0
    operands: tuple[Operand, ...] = ()
    source: str = ""
    unit: Unit | None = None


@dataclass(frozen=True)
class ScratchPlan:
    """Byte offsets in the scratch of a chain: of each tensor between operators, and of the kernels' own."""

    tensors: tuple[int, ...] = ()
    kernels: int = 0


@dataclass(frozen=True)
class LayerPlan:
    """A layer on a module: everything that code generation needs, without TVM's objects.

    `symbol` is the C function, `module` what it is offloaded to, `api` what it calls, or `direct` where the module has
    no scratchpad. `operators` has an entry for each of `layer.operators`: for one, or for those of a chain or a group,
    with tensors between them that lie where `scratch` says.

    `constants` are the packed blocks of the constant operand, each distinct one once in the order of first fetch, each
    `block_bytes` long (see `match.dispatch.packed_constants.pack_constants`).

    `external` moves blocks into main memory where that is the first of the schedule's memories; else it is None.
    `constants_at` says where the constants are: in the layer's own C, or where the network puts them. `source` is what
    the model calls the layer, empty if that is not known. `overwritable` are the inputs over which the output may lie,
    with the bytes by which it has to begin before them.
    """

    symbol: str
    target: str
    module: str
    layer: Layer
    schedule: Schedule
    operators: tuple[OperatorPlan, ...]
    constants: bytes
    api: ModuleApi | None
    direct: DirectApi | None = None
    external: ExternalApi | None = None
    constants_at: Literal["code", "network"] = "code"
    source: str = ""
    scratch: ScratchPlan = ScratchPlan()
    overwritable: Mapping[str, int] = field(default_factory=dict[str, int])

    @property
    def units(self) -> tuple[Unit, ...]:
        """The modules that it runs on, each once: the one that it is offloaded to, and others of a group."""
        own = Unit(self.module, self.api)
        return tuple(dict.fromkeys((own, *(operator.unit for operator in self.operators if operator.unit is not None))))

    def modules(self, target: MatchTarget) -> tuple[HwModule, ...]:
        """The module of the target that executes each operator.

        Raises:
            KeyError: if the target has no module of that name.
        """
        known = {module.name: module for module in target.modules}
        return tuple(known[operator.unit.name if operator.unit else self.module] for operator in self.operators)

    @property
    def joined(self) -> int:
        """Operators behind the first one."""
        return len(self.operators) - 1

    @property
    def requantizers(self) -> tuple[Requantizer | None, ...]:
        """The form of requantization of each operator of the layer."""
        return tuple(operator.requantizer for operator in self.operators)

    @property
    def requantizer(self) -> Requantizer | None:
        """The form of requantization of the last operator, which writes the output."""
        return self.operators[-1].requantizer

    @property
    def kernel(self) -> str:
        """The C function of the last operator."""
        return self.operators[-1].kernel

    @property
    def negative_step(self) -> int:
        """The correction for negative sums of the last operator."""
        return self.operators[-1].negative_step

    @property
    def shift(self) -> int:
        """The shift of the last operator."""
        return self.operators[-1].shift


@dataclass(frozen=True)
class Part:
    """A tensor inside another one: argument `argument` of an operator lies `offset` bytes into argument `whole`.

    Arguments are numbered inputs first, the output last.
    """

    argument: int
    whole: int
    offset: int


@dataclass(frozen=True)
class InPlace:
    """An operator that copies nothing, because some of its arguments are parts of others.

    `symbol` is its name, in place of a C function's. `layouts` are the layouts of its arguments in main memory.
    """

    symbol: str
    parts: tuple[Part, ...]
    layouts: tuple[Storage | None, ...]


@dataclass(frozen=True)
class RunnerUp:
    """The cheapest way to compute a network without one of its decisions.

    `module` is the module of the first of the operators that were decided on together. `cost` is the cost of the whole
    network in the unit of the objective: cycles, pJ or bytes.
    """

    module: str
    cost: float


@dataclass(frozen=True, repr=False)
class LayerDecision:
    """A row of the report: the operator, its module, and all offers. `module` is CPU for the control core.

    `source` is the name of the model's tensor or operator, empty if it is not known.
    `reference` tells whether the operator is known to compute the reference's numbers.
    `floating` tells that the control core computes it in floating point.
    `runner_up` is None if there was no choice. `in_place` is set if nothing is copied.
    `waits` are those of its `cycles` in which it waits for external memory or starts transfers from there for others,
    and `waits_energy` the pJ of these cycles and of what comes from there as a whole, or goes there; nothing of this is
    in its offer's cost.
    `parts` are those that the model's operator was cut into, where this is one or some of them, or joins their outputs.
    `input_shapes` and `output_shapes` are the shapes of the tensors that it reads and writes, without weights.
    `forms` has an entry for each operator of a layer on a module: its constants as the module has them where that is
    not exact, else None.
    """

    name: str
    op: str
    module: str
    macs: int
    outputs: int
    cycles: float
    candidates: tuple[Offer, ...] = ()
    plan: LayerPlan | None = None
    source: str = ""
    reference: bool = True
    floating: bool = False
    runner_up: RunnerUp | None = None
    in_place: InPlace | None = None
    input_shapes: tuple[tuple[int, ...], ...] = ()
    output_shapes: tuple[tuple[int, ...], ...] = ()
    waits: float = 0.0
    waits_energy: float = 0.0
    parts: int = 1
    forms: tuple[LayerConstants | None, ...] = ()

    @property
    def cost(self) -> Cost | None:
        """The cost of the offer that was taken, None without one."""
        taken = (offer.cost for offer in self.candidates if offer.module == self.module and offer.refusal is None)
        return next(taken, None)

    @property
    def energy(self) -> float | None:
        """Predicted pJ, with those of external memory; None where the target does not give them."""
        cost = self.cost
        return None if cost is None or cost.energy is None else cost.energy + self.waits_energy

    def __repr__(self) -> str:
        macs = f", {self.macs:,} MACs" if self.macs else ""
        return f"<LayerDecision {self.name} on {self.module}: {self.cycles:,.0f} cycles{macs}>"


class Layers(tuple[LayerDecision, ...]):
    """Decisions in execution order, by number or by name."""

    __slots__ = ()

    @overload
    def __getitem__(self, key: SupportsIndex | str, /) -> LayerDecision: ...

    @overload
    def __getitem__(self, key: slice, /) -> tuple[LayerDecision, ...]: ...

    def __getitem__(self, key: SupportsIndex | slice | str, /) -> LayerDecision | tuple[LayerDecision, ...]:
        if not isinstance(key, str):
            return super().__getitem__(key)
        for decision in self:
            if decision.name == key:
                return decision
        near = get_close_matches(key, [decision.name for decision in self], n=1)
        raise KeyError(f"there is no layer {key!r}{f'; the nearest is {near[0]!r}' if near else ''}")
