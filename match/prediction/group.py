"""The order of events of a group.

All fetches are issued first. Then each operator waits for the tensors and constants that no operator before it read.
"""

from __future__ import annotations

from collections.abc import Iterator

from match.ir.group import first_readers
from match.ir.layer import Operand, Role
from match.mapping.group_parts import constant_parts
from match.prediction.blocks import block_of, tile_of
from match.prediction.clock import Clock
from match.prediction.prices import Move
from match.target.operators_cost import OperatorsCost


class GroupWalk(Clock):
    """Executes a group once, and sums up cycles and bytes, as `match.prediction.walk.Walk` does for loops."""

    def run(self) -> None:
        """Fetch everything, execute the operators, write the output back."""
        layer, model = self.pricing.layer, self.pricing.cost_model
        assert isinstance(model, OperatorsCost)
        self.now = self.overhead = self.pricing.overhead
        outside = iter(first_readers(layer.links))
        arrivals: list[list[float]] = [[] for _ in layer.stages]
        for number, operand in enumerate(self.pricing.operands):
            if operand.role is Role.INPUT:
                reader, _ = next(outside)
                arrivals[reader].append(self.issue(number, self._whole(number)))
            elif operand.role is Role.CONSTANT:
                for reader, part in self._parts(operand):
                    arrivals[reader].append(self.issue(number, part))
        calls = map(float, model.calls(layer, tile_of(layer, layer.spans)))  # authors may return NumPy's numbers
        for arrived, launch, cycles in zip(arrivals, map(float, model.launches(layer)), calls, strict=True):
            self.now = max([self.now, *arrived]) + launch + cycles
            self.overhead += launch
            self.compute += cycles
        last = len(self.pricing.operands) - 1
        self.now = max(self.now, self.issue(last, self._whole(last)))

    def _whole(self, number: int) -> Move:
        layer = self.pricing.layer
        return self.pricing.move(number, layer.spans, layer.extents)

    def _parts(self, operand: Operand) -> Iterator[tuple[int, Move]]:
        """Each part of the constants, and the operator that waits for it."""
        layer, memory = self.pricing.layer, self.pricing.memory
        whole = block_of(operand, layer.spans, layer.extents, memory)
        parts = constant_parts(layer, operand, memory)
        moves = self.pricing.moves([whole._replace(bytes=part.bytes) for part in parts])
        yield from zip((part.operator for part in parts), moves, strict=True)
