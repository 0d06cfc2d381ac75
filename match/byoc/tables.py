"""The pattern table of each module, as TVM asks for it: composite patterns over QNN Relay, and their checks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from match.byoc.function import options_of, part, planned
from match.byoc.patterns import QnnPattern
from match.byoc.qnn import PATTERNS
from match.codegen.core_compiler import tamed
from match.compilation.options import Numerics, Options
from match.dispatch.plan import WITHOUT_CODE
from match.errors import ModelError
from match.frontend.failures import tvm_failures
from match.ir.layer import Op
from match.partitioning.layouts import LAYOUT
from match.relay import relay
from match.target.hardware import MatchTarget
from match.target.registry import get_target

Entry = tuple[str, Any, Callable[[relay.Expr], bool]]
"""What TVM has of a composite pattern: its name, the pattern, and whether an occurrence is one."""

_CONVERSIONS = frozenset({Op.LOOKUP.value, Op.TRANSPOSE.value, LAYOUT, *WITHOUT_CODE})
"""Operators that may stay on the control core: conversions of what a part reads and writes."""


@dataclass(frozen=True)
class TableName:
    """Whose table it is, and the numerics of what it takes; `text` is what TVM knows it by."""

    target: str
    module: str
    numerics: Numerics

    @property
    def text(self) -> str:
        """Such as "match.gap9.cluster" or "match.gap9.cluster.exact"."""
        return ".".join(("match", self.target, self.module, *(("exact",) if self.numerics == Numerics.EXACT else ())))

    @classmethod
    def of_composite(cls, name: str) -> TableName | None:
        """The table that a composite is of, such as "match.gap9.cluster.conv2d"; None if it is of no table."""
        _, *target, _ = name.split(".")
        if len(target) < 2:
            return None
        target, *module = target
        exact = module[-1] == Numerics.EXACT
        return cls(target, ".".join(module[:-1] if exact else module), Numerics.EXACT if exact else Numerics.HARDWARE)


@dataclass(frozen=True, eq=False)
class Table:
    """The operators that a module takes, each as it looks in QNN Relay."""

    name: TableName

    @cached_property
    def target(self) -> MatchTarget:
        """The target with this module alone."""
        return get_target(self.name.target, modules=[self.name.module])

    @cached_property
    def options(self) -> Options:
        """How the module is asked about an occurrence: each of its operators by itself."""
        return replace(options_of(self.name.numerics), fuse=False)

    def entries(self) -> list[Entry]:
        """What TVM merges to composites: the patterns of operators that the module has."""
        taken = {pattern.op for pattern in self.target.patterns if not pattern.before}
        return [
            (f"{self.name.text}.{one.name}", one.dataflow, _Check(self, one))
            for one in PATTERNS
            if one.operators & taken
        ]


@dataclass(frozen=True, eq=False)
class _Check:
    """Whether a module takes an occurrence of a pattern, which it is asked as the compiler itself asks it."""

    table: Table
    pattern: QnnPattern

    def __call__(self, root: relay.Expr) -> bool:
        if not self.pattern.may_end(root):
            return False
        try:
            with tamed(), tvm_failures("the occurrence"):
                network = part(self.pattern.function(root), "part")
                decisions = planned(network, self.table.target, self.table.options).decisions
        except ModelError:
            return False
        module = self.table.name.module
        own = {one.op for one in decisions if one.module == module}
        rest = {one.op for one in decisions if one.module != module}
        return not own.isdisjoint(self.pattern.operators) and rest <= _CONVERSIONS
