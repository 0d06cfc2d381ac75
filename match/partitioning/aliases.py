"""Tensors of a cut network that lie in others, and outputs that may take the place of inputs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from match.dispatch.plan import InPlace, LayerPlan
from match.graph.value import Value
from match.ir.layer import Role
from match.partitioning.steps import Step


class Aliases:
    """Which tensors of some steps are others in another shape, and which are parts of others."""

    def __init__(self, steps: Sequence[Step]) -> None:
        """Aliases among these steps, in any order."""
        self._same = {step.writes[0]: step.reads[0] for step in steps if step.alias}
        self._parts = dict(self._inside(steps))
        self._joined = {*self._parts, *(whole for whole, _ in self._parts.values())}

    def _inside(self, steps: Sequence[Step]) -> Iterator[tuple[Value, tuple[Value, int]]]:
        """Tensors that are parts of others, with the other one and the offset in it."""
        for step in steps:
            if isinstance(step.plan, InPlace):
                tensors = (*step.reads, *step.writes)
                for part in step.plan.parts:
                    yield self.root(tensors[part.argument]), (self.root(tensors[part.whole]), part.offset)

    def root(self, tensor: Value) -> Value:
        """The tensor that another one is in another shape."""
        while tensor in self._same:
            tensor = self._same[tensor]
        return tensor

    def whole(self, tensor: Value) -> tuple[Value, int]:
        """The tensor that has a place of its own in which another one lies, and the offset there."""
        root, offset = self.root(tensor), 0
        while root in self._parts:
            root, more = self._parts[root]
            offset += more
        return root, offset

    def joined(self, root: Value) -> bool:
        """Whether a tensor is a part of another one, or has parts."""
        return root in self._joined

    def overwritable(self, step: Step) -> Iterator[tuple[Value, int]]:
        """Tensors over which a layer's output may lie if nothing reads them later, and by how much it begins before."""
        if not isinstance(step.plan, LayerPlan) or not step.plan.overwritable:
            return
        (output,) = step.writes
        if self.joined(output):
            return
        names = [operand.name for operand in step.plan.schedule.operands if operand.role is Role.INPUT]
        for name, x in zip(names, map(self.root, step.reads), strict=True):
            if name in step.plan.overwritable and not self.joined(x):
                yield x, step.plan.overwritable[name]
