"""Which operator has the cycles, and the energy, that external memory adds to a step of the network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from match.dispatch.plan import CPU, LayerDecision
from match.errors import CostModelError
from match.placement.latency import Latency
from match.target.cost import CostModel, CpuCostModel
from match.target.hardware import MatchTarget


class OutsideEnergy(NamedTuple):
    """pJ of a cycle in which a module waits, and of a byte between external and main memory."""

    cycle: float
    byte: float


def with_waits(
    decisions: Sequence[LayerDecision],
    steps: Sequence[int],
    latency: Latency,
    moved: Sequence[int],
    energies: Mapping[str, OutsideEnergy],
) -> tuple[LayerDecision, ...]:
    """The decisions, in execution order, with all cycles of the network, and the energy of what external memory adds.

    What a step takes longer than all its operators goes to its layer, or to its longest operator on the control core;
    of a step without any, to the operator before it.

    Args:
        decisions: with their cycles alone.
        steps: the step of each decision, in order.
        latency: of these steps.
        moved: by step, bytes between external and main memory beside those that its layer moves itself.
        energies: by module, where they are known.
    """
    own = [0.0] * len(latency.works)
    for decision, step in zip(decisions, steps, strict=True):
        own[step] += decision.cycles
    waits, outside = [0.0] * len(decisions), [0] * len(decisions)
    owner = 0
    for step, cycles in enumerate(own):
        here = [number for number, other in enumerate(steps) if other == step]
        owner = max(here, key=lambda n: (decisions[n].plan is not None, decisions[n].cycles), default=owner)
        waits[owner] += latency.begins[step + 1] - latency.begins[step] - cycles
        outside[owner] += moved[step]

    def energy(decision: LayerDecision, wait: float, count: int) -> float:
        known = energies.get(decision.module)
        return known.cycle * wait + known.byte * count if known else 0.0

    return tuple(
        replace(decision, cycles=decision.cycles + wait, waits=wait, waits_energy=energy(decision, wait, count))
        for decision, wait, count in zip(decisions, waits, outside, strict=True)
    )


def outside_energies(target: MatchTarget) -> dict[str, OutsideEnergy]:
    """What waiting and external memory consume, by module, the control core included, where that is known.

    Raises:
        CostModelError: if a cost model has energies, but none of external memory's bytes.
    """
    models: dict[str, CostModel | CpuCostModel] = {module.name: module.cost_model for module in target.modules}
    found: dict[str, OutsideEnergy] = {}
    for name, model in {**models, CPU: target.cpu_cost_model}.items():
        if model.energy is not None:
            byte = model.energy.byte.get(target.main_memory.name)
            if byte is None:
                raise CostModelError(
                    f"module {name}: its energy has no entry for memory {target.main_memory.name}, which stands for "
                    f"bytes between external memory and that one; it has: {', '.join(model.energy.byte) or 'none'}."
                )
            found[name] = OutsideEnergy(model.energy.cycle, byte)
    return found
