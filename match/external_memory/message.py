"""The error message for a network that does not fit, even with external memory."""

from __future__ import annotations

from collections.abc import Mapping

from match.codegen.network import Network
from match.codegen.steps import CallStep
from match.dispatch.plan import LayerDecision
from match.errors import CapacityError
from match.frontend.model import tensor_bytes
from match.placement.contents import BLOCKS, CONSTANTS
from match.placement.decide import Shortage
from match.target.hardware import MatchTarget


class MainMemoryError(CapacityError):
    """Main memory is too small, even with external memory; `least` bytes of it may be enough, where that is known."""

    def __init__(self, text: str, least: int | None) -> None:
        super().__init__(text)
        self.least = least


_NAMES = {CONSTANTS: "its constants", BLOCKS: "blocks of what it reads and writes", "": "tables of operators"}
_PARTS = 4


def sentence(shortage: Shortage, network: Network, layers: Mapping[str, LayerDecision], target: MatchTarget) -> str:
    """Which memory is too small, what needs it, and what would help; `layers` are those on modules, by symbol."""
    memory = target.main_memory
    if not shortage.parts:
        assert target.external is not None
        lacking = shortage.needed - shortage.available
        return outside(network.name, target.external.memory.size + lacking, target)

    def name(step: CallStep) -> str:
        return f"{'layer' if step.function in layers else 'operator'} {step.name}"

    writers: dict[str, CallStep] = {}
    for step in network.steps:  # the first that touches a tensor writes it
        for buffer in step.touched:
            writers.setdefault(buffer.name, step)
    parts = ", ".join(
        f"{size} for {_NAMES[part] if part in _NAMES else 'what ' + name(writers[part]) + ' writes'}"
        for part, size in shortage.parts[:_PARTS]
    )
    border = tensor_bytes((*network.inputs, *network.outputs)) + network.state_bytes
    program = network.program_bytes(target)
    beside = f", and an estimated {program} for the program" if program else ""
    where = name(network.steps[shortage.step])
    what = "inputs, outputs and states" if network.states else "inputs and outputs"
    smaller = ", a smaller L1 (--l1)" if any(module.memories for module in target.modules) else ""
    return (
        f"{network.name} does not fit {target.name}'s {memory.name} of {memory.size} bytes, even with all in external "
        f"memory that can be there: {where} is {shortage.needed - shortage.available} bytes short; it needs "
        f"{shortage.needed} ({parts}) beside {border} for {what} of the network{beside}; a larger "
        f"{memory.name} (--l2){smaller}, integer inputs or a smaller image would help."
    )


def with_least(text: str, least: int) -> str:
    """The sentence on a main memory that is too small, with the fewest bytes of `--l2` that are enough."""
    return f"{text.removesuffix('.')}; with --l2 {least} it fits."


def outside(name: str, needed: int, target: MatchTarget) -> str:
    """That the target's external memory has fewer bytes than a network needs of it."""
    assert target.external is not None
    memory = target.external.memory
    return (
        f"{name} needs {needed} bytes of {target.name}'s {memory.name}, which has {memory.size}, so that "
        f"{needed - memory.size} are short; take a smaller network."
    )
