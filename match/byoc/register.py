"""Makes TVM know a target: the pattern tables of its modules, and what compiles the functions that they cut."""

from __future__ import annotations

from typing import Any

from match.byoc.function import options_of, part, planned
from match.byoc.handed_on import handed_on
from match.byoc.tables import Table, TableName
from match.codegen.backend import layer_module, source_module
from match.codegen.backend import register as register_backend
from match.codegen.control_core import ControlCore
from match.codegen.function_text import function_text
from match.codegen.layer import generate
from match.codegen.lower import lower
from match.compilation.options import Numerics
from match.dispatch.plan_codec import IN_PLACE_ATTRIBUTE, PLAN_ATTRIBUTE
from match.errors import OptionError, TargetError
from match.frontend.failures import tvm_failures
from match.relay import relay, tvm
from match.target.arguments import is_a
from match.target.registry import get_target


def register(target: str) -> tuple[str, ...]:
    """Make TVM know an installed target, for programs that cut and build networks by TVM's own passes.

    After it ``tvm.relay.op.contrib.get_pattern_table`` has the table of each of the target's modules, such as
    "match.gap9.cluster", and "match.gap9.cluster.exact" of what the module computes bit for bit. ``MergeComposite`` of
    one or several tables, ``AnnotateTarget("match")``, ``PartitionGraph`` and ``tvm.relay.build`` for the TVM target
    "match/gap9" compile what they take.

    Args:
        target: name of an installed target.

    Returns:
        The names of the tables.

    Raises:
        OptionError, TargetError: there is no such target, or it cannot be loaded.
    """
    if not is_a(target, str):
        raise OptionError(f"TVM knows targets by name: give that of an installed one, not {type(target).__name__}.")
    chip = get_target(target)
    for name in (chip.name, *(module.name for module in chip.modules)):
        if "." in name:
            raise TargetError(f"a dot ends a name in TVM's pattern tables, and {name!r} has one; give it another name.")
    names = [TableName(chip.name, module.name, numerics) for module in chip.modules for numerics in Numerics]
    register_backend([chip.name])
    tvm.register_func("relay.ext.match", _compiled, override=True)
    for name in names:
        relay.op.contrib.register.register_pattern_table(name.text, Table(name).entries)
    return tuple(name.text for name in names)


def _compiled(function: relay.Function) -> Any:
    """What ``relay.ext.match`` returns: the C of a function with a plan, or of one that consists of composites."""
    if PLAN_ATTRIBUTE in function.attrs or IN_PLACE_ATTRIBUTE in function.attrs:
        return layer_module(function)
    symbol = str(function.attrs["global_symbol"])
    with tvm_failures(f"the function {symbol}"):
        model = part(function, symbol)
        idle = handed_on(function, model)
        if idle is not None:
            return source_module(function_text(idle, symbol), symbol)
        tables = _tables(function, symbol)
        chip = get_target(tables[0].target, modules=[table.module for table in tables])
        partitioned = planned(model, chip, options_of(tables[0].numerics))
        network = lower(partitioned, model, ControlCore(chip.name))
    whole = source_module(function_text(network, symbol, chip.api), symbol)
    for layer in network.layers:
        whole.import_module(source_module(generate(layer.plan, alone=True), layer.plan.symbol))
    return whole


def _tables(function: relay.Function, symbol: str) -> list[TableName]:
    """The tables that the composites of a function are of: of one target, all exact or none.

    Raises:
        OptionError: there are others, or no composites.
    """
    names: set[str] = set()

    def visit(node: Any) -> None:
        if isinstance(node, relay.Function) and node.attrs and "Composite" in node.attrs:
            names.add(str(node.attrs["Composite"]))

    relay.analysis.post_order_visit(function.body, visit)
    of_name = {name: TableName.of_composite(name) for name in sorted(names)}
    tables = list(dict.fromkeys(table for table in of_name.values() if table is not None))
    if None in of_name.values() or len({(table.target, table.numerics) for table in tables}) != 1:
        found = ", ".join(dict.fromkeys(name if table is None else table.text for name, table in of_name.items()))
        raise OptionError(
            f"the function {symbol} has composites of {found or 'none'}; a function has some of one target, all exact "
            "or none: merge those of such tables alone, and annotate nothing else."
        )
    return tables
