"""The steps of a partitioned network as calls of C functions, with a buffer for every tensor between them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from match.codegen.control_core import ControlCore
from match.codegen.network import Constant as PlacedConstant
from match.codegen.steps import CONSTANT_ALIGNMENT, Argument, Buffer, CallStep, Copy, CoreFunction
from match.dispatch.plan import InPlace, LayerPlan
from match.graph.opaque import Constant
from match.graph.value import Value
from match.ir.names import identifiers
from match.mapping.memory import align
from match.partitioning.aliases import Aliases
from match.partitioning.steps import Cut, Step


@dataclass(frozen=True, eq=False)
class Calls:
    """The calls of a network. functions: those of the control core, by name. copies: what is done after all calls."""

    steps: tuple[CallStep, ...]
    copies: tuple[Copy, ...]
    functions: Mapping[str, CoreFunction]
    constants: tuple[PlacedConstant, ...]


def calls(network: Cut, core: ControlCore) -> Calls:
    """The calls of a network; `core` compiles what stays on the control core."""
    return _Calls(network, core).result()


class _Calls:
    """Gives every tensor of a network a place of one kind or another."""

    def __init__(self, network: Cut, core: ControlCore) -> None:
        steps = network.steps
        self._steps = steps.steps
        self._names = dict(zip(steps.steps, identifiers(step.layers[-1] for step in steps.steps), strict=True))
        self._sources = {decision.name: decision.source for decision in network.decisions}
        self._aliases = Aliases(steps.steps)
        inputs, outputs = (len(side) - len(steps.states) for side in (steps.inputs, steps.outputs))
        self._states = steps.inputs[inputs:]
        self._places: dict[Value, Argument] = {
            **{tensor: Argument(border=number) for number, tensor in enumerate(steps.inputs[:inputs])},
            **{tensor: Argument(state=number) for number, tensor in enumerate(self._states)},
        }
        self._constants: dict[tuple[str, bytes], PlacedConstant] = {}
        self._ends = [
            *((tensor, Argument(border=number)) for number, tensor in enumerate(steps.outputs[:outputs], inputs)),
            *((tensor, Argument(state=number)) for number, tensor in enumerate(steps.outputs[outputs:])),
        ]
        bodies = {step: step.body for step in steps.steps if step.body is not None and not step.alias}
        self._compiled = dict(zip(bodies, core.functions(list(bodies.values())), strict=True))
        self._functions = dict(self._distinct())

    def result(self) -> Calls:
        copied = list(self._copied_ends())
        for step in self._steps:
            for number, tensor in enumerate(step.writes):
                if self._aliases.root(tensor) is tensor and tensor not in self._places:
                    output = f"{self._names[step]}_output{f'_{number}' if len(step.writes) > 1 else ''}"
                    self._places[tensor] = Argument(Buffer(output, tensor.tensor.bytes))
        steps = [
            self._call(step, self._names[step])
            for step in self._steps
            if not step.alias and not isinstance(step.plan, InPlace)
        ]
        times = Counter(step.function for step in steps)
        steps = [replace(step, pieces=None) if times[step.function] > 1 else step for step in steps]
        copies = in_order(Copy(self._place(tensor), target, tensor.tensor.bytes) for tensor, target in copied)
        return Calls(tuple(steps), copies, self._functions, tuple(stacked(self._constants.values())))

    def _distinct(self) -> Iterator[tuple[str, CoreFunction]]:
        """The functions that are printed: of equal ones that of the first step."""
        known: list[CoreFunction] = []
        for step, function in self._compiled.items():
            if not any(function.lowered is other.lowered for other in known):
                known.append(function)
                yield self._names[step], function

    def _copied_ends(self) -> Iterator[tuple[Value, Argument]]:
        """Gives outputs and states that steps write a place there; the others, which are copied at the end.

        A state is written in its place by a step after all that read what it was before.
        """
        last = dict.fromkeys(self._states, -1) | dict(self._last_reads())
        roots = [self._aliases.root(tensor) for tensor, _ in self._ends]
        for (tensor, target), root in zip(self._ends, roots, strict=True):
            if self._places.get(root) == target:  # a state that stays as it is
                continue
            elsewhere = isinstance(root.operator, Constant) or self._aliases.joined(root) or root in self._places
            if elsewhere or (target.state is not None and self._written_at(root) <= last[self._states[target.state]]):
                yield tensor, target
            else:
                self._places[root] = target

    def _last_reads(self) -> Iterator[tuple[Value, int]]:
        """Places of the last steps that read tensors, or parts of them; that of an output is after all steps."""
        for number, step in enumerate(self._steps):
            if not step.alias and not isinstance(step.plan, InPlace):
                yield from ((self._aliases.whole(tensor)[0], number) for tensor in step.reads)
        yield from ((self._aliases.whole(tensor)[0], len(self._steps)) for tensor, _ in self._ends)

    def _written_at(self, root: Value) -> int:
        """The place of the step that writes a tensor."""
        return next(number for number, step in enumerate(self._steps) if root in step.writes)

    def _place(self, tensor: Value) -> Argument:
        root, offset = self._aliases.whole(tensor)
        if isinstance(root.operator, Constant):
            return self._constant(root.operator.array, "constants")
        place = self._places[root]
        return replace(place, offset=place.offset + offset) if offset else place

    def _call(self, step: Step, name: str) -> CallStep:
        layers = step.layers
        source = next((self._sources[one] for one in reversed(layers) if self._sources[one]), "")
        reads = tuple(map(self._place, step.reads))
        writes = tuple(map(self._place, step.writes))
        if step.plan is not None:
            assert isinstance(step.plan, LayerPlan), "what copies nothing is not called"
            schedule = step.plan.schedule
            own = (Buffer(f"{name}_scratch", schedule.scratch),) if schedule.direct and schedule.scratch else ()
            over = tuple((self._place(x), lag) for x, lag in self._aliases.overwritable(step))
            return CallStep(step.plan.symbol, (*reads, *writes), own, layers, source, over=over)
        function = self._compiled[step]
        own = next(name for name, other in self._functions.items() if other.lowered is function.lowered)
        constants = (self._constant(data, f"{name}_constants") for data in function.constants)
        scratch = tuple(Buffer(f"{name}_{one.name}", one.bytes) for one in function.scratch)
        return CallStep(own, (*reads, *constants, *writes), scratch, layers, source, function.uses, function.pieces)

    def _constant(self, data: npt.NDArray[np.generic], name: str) -> Argument:
        """A constant; equal ones are one."""
        key = (data.dtype.name, data.tobytes())
        if key not in self._constants:
            taken = {constant.name for constant in self._constants.values()}
            names = (name if not number else f"{name}_{number}" for number in range(len(taken) + 1))
            free = next(name for name in names if name not in taken)
            self._constants[key] = PlacedConstant(free, 0, data)
        return Argument(constant=self._constants[key].name)


def in_order(copies: Iterable[Copy]) -> tuple[Copy, ...]:
    """Copies in an order in which none overwrites a state that another one still reads.

    Of states in a circle the first is saved before.
    """
    pending: list[Copy] = list(copies)
    ordered: list[Copy] = []
    while pending:
        read = Counter(copy.source.state for copy in pending)
        ready = next((copy for copy in pending if not read[copy.target.state] or copy.target.state is None), None)
        if ready is None:
            source, size = pending[0].source, pending[0].bytes
            saved = Argument(Buffer(f"state_{source.state}_before", size))
            ordered.append(Copy(source, saved, size))
            pending = [replace(copy, source=saved) if copy.source == source else copy for copy in pending]
        else:
            pending.remove(ready)
            ordered.append(ready)
    return tuple(ordered)


def stacked(constants: Iterable[PlacedConstant]) -> Iterator[PlacedConstant]:
    """Constants one after the other, the largest first."""
    end = 0
    for constant in sorted(constants, key=lambda constant: -constant.data.nbytes):
        offset = align(end, CONSTANT_ALIGNMENT)
        yield replace(constant, offset=offset)
        end = offset + constant.data.nbytes
