"""A layer whose kernel reads and writes main memory as C: one context, one call."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property

from match.codegen.kernel_text import constant_field
from match.codegen.packed_text import packed_text
from match.codegen.shared_text import module_prefix
from match.codegen.title_text import constants_macro, contents, source_lines, title
from match.codegen.whole_text import WholeKernel, WholeText
from match.dispatch.packed_constants import component_offsets
from match.dispatch.plan import LayerPlan
from match.ir.layer import Operand, Role
from match.mapping.memory import MAIN_ALIGNMENT
from match.mapping.storage import storage


class DirectText:
    """What the template asks about a layer. `declared` tells whether layers.h is there."""

    def __init__(self, plan: LayerPlan, prototype: str, *, declared: bool) -> None:
        assert plan.direct is not None, "modules without a scratchpad have a DirectApi"
        self.plan = plan
        self.api = plan.direct
        self.layer = plan.layer
        self.prototype = prototype
        self.declared = declared
        self.title = title(plan)
        self.source = source_lines(plan)
        self.constant_alignment = MAIN_ALIGNMENT
        self.placement = constants_macro(plan)
        self.scratch = plan.schedule.scratch
        self.shared = module_prefix(plan.module)

    @property
    def inputs(self) -> tuple[Operand, ...]:
        """The tensors that it reads."""
        return tuple(operand for operand in self.plan.schedule.operands if operand.role is Role.INPUT)

    @property
    def output(self) -> Operand:
        """The tensor that it writes."""
        return next(operand for operand in self.plan.schedule.operands if operand.role is Role.OUTPUT)

    @cached_property
    def fields(self) -> tuple[tuple[str, str], ...]:
        """Fields of the kernel's context."""
        inputs = tuple(
            _addressed(WholeText(one, self.layer, one.name, self.layer.spans, in_main=True)) for one in self.inputs
        )
        output = WholeText(self.output, self.layer, "output", self.layer.spans, in_main=True)
        scratch = "scratch" if self.scratch else ""
        return tuple(
            WholeKernel(self.layer, self.plan.operators[0], inputs, output, tuple(self._constants()), scratch).fields()
        )

    def _constants(self) -> Iterator[tuple[str, str]]:
        schedule = self.plan.schedule
        operand = next((one for one in schedule.operands if one.role is Role.CONSTANT), None)
        if operand is not None:
            for component, offset in zip(operand.components, component_offsets(operand, schedule), strict=True):
                yield constant_field(component, self.layer), f"constants + {offset}" if offset else "constants"

    @property
    def contents(self) -> str:
        """What the constants in the file are; empty if there are none."""
        return contents(self.plan)

    @property
    def constants(self) -> str:
        """The bytes of the constants, as the inside of an array."""
        return packed_text(self.plan)

    def dump(self, operand: Operand) -> str:
        """Macro that dumps an activation."""
        size = storage(operand).elements * operand.components[0].element_bytes
        return f'MATCH_DUMP_TENSOR("{self.plan.symbol}", "{operand.name}", {operand.name}, {size})'


def _addressed(text: WholeText) -> WholeText:
    """An input whose address is one that numbers can be added to, where that is done."""
    return text if text.first == text.address else replace(text, address=f"(const uint8_t *){text.address}")
