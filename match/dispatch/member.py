"""What a layer takes as an operator of a group, estimated before modules are asked about whole groups."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from match.dispatch.request import Request, aligned_memories
from match.ir.layer import Role
from match.mapping.memory import block_bytes
from match.target import methods
from match.target.answers import call_text, number
from match.target.cost import Block
from match.target.group import cut_of, output_bytes, whole_tile
from match.target.layers import cost_model_of
from match.target.operands import INPUT


@dataclass(frozen=True)
class Member:
    """A layer as an operator of a group on a module.

    module: that module. constants, output: bytes of its constants and of the tensor that it writes. scratch: bytes that
    its kernel takes beside. cycles: predicted cycles of its kernel call on the whole layer. fetch: of the transfer of a
    byte from outside, where blocks are large. cut: output channels of each kernel call, 0 where one computes all. part:
    bytes of the constants of a kernel call. alignment: what blocks begin at a multiple of, in bytes.
    """

    module: str
    constants: int
    output: int
    scratch: int
    cycles: float
    fetch: float
    cut: int
    part: int
    alignment: int


def member(request: Request) -> Member | None:
    """The layer of a request as an operator of a group; None if the module cannot execute it in a group.

    Raises:
        CostModelError: if the module's cost model fails.
    """
    module, layer, requantizers = request.module, request.layer, request.requantizers
    if not module.groups or layer.output_dtype == "int32":
        return None
    *outer, memory = aligned_memories(module, *requantizers)
    if outer or memory.private:
        return None
    model, tile = cost_model_of(request.modules, layer, requantizers), whole_tile(layer)
    operands = methods.operands(module, layer, requantizers[0])
    constants = sum(
        block_bytes(operand, layer.extents, memory.alignment) for operand in operands if operand.role is Role.CONSTANT
    )
    size, cut = output_bytes(layer), cut_of(layer, operands)
    block = Block(INPUT, (1, 1, memory.size), memory.size, 1, memory=memory.name)

    def asked(method: str, *arguments: object) -> float:
        call = partial(call_text, model, layer.name, method, arguments)
        return number(partial(getattr(model, method), layer, *arguments), lambda: f"module {module.name}: {call()}")

    return Member(
        module.name,
        constants,
        size,
        int(asked("scratch", tile)),
        asked("launch") + asked("compute", tile),
        asked("transfer", block) / memory.size,
        cut,
        -(-constants * cut // layer.k) if cut else constants,
        memory.alignment,
    )
