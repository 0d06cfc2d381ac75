"""The steps of a partitioned network as calls of C functions, with a buffer for every tensor between them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from match.codegen.control_core import ControlCore
from match.codegen.network import Constant as PlacedConstant
from match.codegen.steps import CONSTANT_ALIGNMENT, Argument, Buffer, CallStep, Copy, CoreFunction
from match.dispatch.plan import InPlace
from match.graph.opaque import Constant
from match.graph.value import Value
from match.ir.names import identifiers
from match.mapping.memory import align
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
        self._same = dict(_same(steps.steps))
        self._parts = dict(self._inside(steps.steps))
        self._places: dict[Value, Argument] = {
            parameter: Argument(border=number) for number, parameter in enumerate(steps.inputs)
        }
        self._constants: dict[tuple[str, bytes], PlacedConstant] = {}
        self._outputs = steps.outputs
        self._first_output = len(steps.inputs)
        bodies = {step: step.body for step in steps.steps if step.body is not None and not step.alias}
        self._compiled = dict(zip(bodies, core.functions(list(bodies.values())), strict=True))
        self._functions = dict(self._distinct())

    def result(self) -> Calls:
        copied = list(self._border())
        for step in self._steps:
            for number, tensor in enumerate(step.writes):
                if self._root(tensor) is tensor and tensor not in self._places:
                    output = f"{self._names[step]}_output{f'_{number}' if len(step.writes) > 1 else ''}"
                    self._places[tensor] = Argument(Buffer(output, tensor.tensor.bytes))
        steps = [
            self._call(step, self._names[step])
            for step in self._steps
            if not step.alias and not isinstance(step.plan, InPlace)
        ]
        times = Counter(step.function for step in steps)
        steps = [replace(step, pieces=None) if times[step.function] > 1 else step for step in steps]
        copies = (
            Copy(self._place(output), number, output.tensor.bytes)
            for number, output in enumerate(self._outputs, self._first_output)
            if number in copied
        )
        return Calls(tuple(steps), tuple(copies), self._functions, tuple(stacked(self._constants.values())))

    def _distinct(self) -> Iterator[tuple[str, CoreFunction]]:
        """The functions that are printed: of equal ones that of the first step."""
        known: list[CoreFunction] = []
        for step, function in self._compiled.items():
            if not any(function.lowered is other.lowered for other in known):
                known.append(function)
                yield self._names[step], function

    def _border(self) -> Iterator[int]:
        """Gives outputs of the network that steps write a place there; numbers of the others, which are copied."""
        inside = {*self._parts, *(whole for whole, _ in self._parts.values())}
        for number, output in enumerate(self._outputs, self._first_output):
            root = self._root(output)
            if isinstance(root.operator, Constant) or root in inside or root in self._places:
                yield number
            else:
                self._places[root] = Argument(border=number)

    def _inside(self, steps: Sequence[Step]) -> Iterator[tuple[Value, tuple[Value, int]]]:
        """Tensors that are parts of others, with the other one and the offset in it."""
        for step in steps:
            if isinstance(step.plan, InPlace):
                tensors = (*step.reads, *step.writes)
                for part in step.plan.parts:
                    yield self._root(tensors[part.argument]), (self._root(tensors[part.whole]), part.offset)

    def _root(self, tensor: Value) -> Value:
        """The tensor that another one is in another shape."""
        while tensor in self._same:
            tensor = self._same[tensor]
        return tensor

    def _place(self, tensor: Value) -> Argument:
        root, offset = self._root(tensor), 0
        while root in self._parts:
            root, more = self._parts[root]
            offset += more
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
            return CallStep(step.plan.symbol, (*reads, *writes), (), layers, source)
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


def stacked(constants: Iterable[PlacedConstant]) -> Iterator[PlacedConstant]:
    """Constants one after the other, the largest first."""
    end = 0
    for constant in sorted(constants, key=lambda constant: -constant.data.nbytes):
        offset = align(end, CONSTANT_ALIGNMENT)
        yield replace(constant, offset=offset)
        end = offset + constant.data.nbytes


def _same(steps: Sequence[Step]) -> Iterator[tuple[Value, Value]]:
    """Tensors that are others in another shape."""
    for step in steps:
        if step.alias:
            yield step.writes[0], step.reads[0]
