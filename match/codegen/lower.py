"""A network as calls, places and C functions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from match.codegen.calls import Calls, calls
from match.codegen.control_core import ControlCore
from match.codegen.inside import beside
from match.codegen.network import LayerSource, Network, Place, State
from match.codegen.steps import WORKSPACE_ALIGNMENT, CoreFunction, laid_over, lives
from match.frontend.model import Model, ModelTensor
from match.ir.names import identifiers
from match.mapping.memory import align
from match.mapping.packing import Item, pack
from match.partitioning.steps import Cut, Steps


@dataclass(frozen=True, eq=False)
class _CoreCode:
    """The control core's operators, which are printed when they are asked for."""

    core: ControlCore
    functions: Mapping[str, CoreFunction]

    def code(self) -> str:
        return self.core.code(self.functions)


def lower(network: Cut, model: Model, core: ControlCore) -> Network:
    """Compile a network with everything in main memory: layers by their plans, the rest by `core`."""
    found = calls(network, core)
    offsets, peak = _planned(found)
    alignment = max(WORKSPACE_ALIGNMENT, network.target.main_memory.alignment)
    plans = {decision.plan.symbol: decision.plan for decision in network.decisions if decision.plan}
    return Network(
        name=model.name,
        inputs=model.inputs,
        outputs=model.outputs,
        layers=tuple(LayerSource(plans[step.function]) for step in found.steps if step.function in plans),
        steps=found.steps,
        copies=found.copies,
        functions=_CoreCode(core, found.functions),
        places={name: Place(external=False, offset=offset) for name, offset in offsets.items()},
        constants=found.constants,
        operator_constant_bytes=max((one.offset + one.data.nbytes for one in found.constants), default=0),
        workspace_bytes=peak,
        inside=beside(model.inputs, model.outputs, found.steps, found.copies, offsets, peak, alignment),
        rounding=model.rounding,
        states=tuple(_states(network.steps, alignment)),
    )


def _states(steps: Steps, alignment: int) -> Iterator[State]:
    """The states of a network, one after the other."""
    tensors = steps.inputs[len(steps.inputs) - len(steps.states) :]
    names = identifiers(f"state_{tensor.source}" for tensor in tensors)
    offset = 0
    for tensor, name, initial in zip(tensors, names, steps.states, strict=True):
        yield State(ModelTensor(tensor.source, tensor.shape, tensor.dtype), name, initial, offset)
        offset = align(offset + initial.nbytes, alignment)


def _planned(found: Calls) -> tuple[dict[str, int], int]:
    """The offset of each buffer in the workspace, and the bytes of that."""
    alive = lives(found.steps, found.copies)
    over = laid_over(found.steps, {life.buffer.name: life.last for life in alive})
    items = [
        Item(name, life.stages.first, life.stages.last, life.buffer.bytes, over.get(name, {}))
        for life in alive
        for name in [life.buffer.name]
    ]
    offsets = {str(name): offset for name, offset in pack(items, WORKSPACE_ALIGNMENT, 0).offsets.items()}
    return offsets, max((offsets[life.buffer.name] + life.buffer.bytes for life in alive), default=0)
