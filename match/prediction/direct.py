"""The cost of a layer that is computed out of main memory: one kernel call, and nothing that is moved for it."""

from __future__ import annotations

from dataclasses import replace

from match.ir.layer import Layer, Operand
from match.mapping.memory import Memory
from match.prediction.prices import Prices
from match.target.cost import Cost, CostModel

_MAIN_MEMORY = Memory("main memory", 0)
"""What the kernel reads and writes; nothing is placed in it here."""


def direct_cost(layer: Layer, operands: tuple[Operand, ...], cost_model: CostModel) -> Cost:
    """Predicted cycles of the kernel call on the whole layer.

    Raises:
        CostModelError: if the cost model fails.
    """
    prices = Prices(layer, operands, _MAIN_MEMORY, cost_model)
    compute = prices.compute(layer.spans)
    overhead = prices.overhead + prices.launch
    cost = Cost(overhead + compute, compute, 0.0, overhead, tuple((operand.name, 0) for operand in operands))
    return replace(cost, energy=prices.energy({}, cost))


def direct_scratch(layer: Layer, operands: tuple[Operand, ...], cost_model: CostModel) -> int:
    """Bytes of main memory that the kernel needs beside the operands.

    Raises:
        CostModelError: if the cost model fails.
    """
    return Prices(layer, operands, _MAIN_MEMORY, cost_model).scratch(layer.extents)
