"""Networks cut by TVM's own passes, and by the compiler without choice, to compare both."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import tflite

import match
from match.byoc.function import options_of
from match.byoc.qnn import PATTERNS
from match.byoc.tables import TableName
from match.compilation.stopwatch import Stopwatch
from match.dispatch.plan import LayerDecision
from match.frontend.onnx_as_relay import relay_of
from match.frontend.relay import from_relay
from match.partitioning.partitioner import cut
from match.passes.pipeline import integer_network
from match.relay import relay, tvm
from match.relay.rewrite import source_name
from match.target.registry import get_target

NUMBERS = [relay.transform.FakeQuantizationToInteger(), relay.transform.FoldConstant()]


def imported(path: Path) -> tvm.IRModule:
    """A file as Relay with QNN operators: TFLite by TVM's own front end, ONNX by this compiler's and TVM's passes."""
    if path.suffix == ".tflite":
        module, weights = relay.frontend.from_tflite(tflite.Model.GetRootAsModel(path.read_bytes(), 0))
        main = relay.build_module.bind_params_by_name(module["main"], weights)
        module = tvm.IRModule.from_expr(relay.Function(main.params, main.body))
    else:
        module = tvm.transform.Sequential([relay.transform.InferType(), *NUMBERS])(relay_of(path))
    return relay.transform.InferType()(module)


def composites(module: tvm.IRModule, table: str) -> list[tuple[str, list[str]]]:
    """The composites that TVM makes by a table: the pattern of each, and its operators' names, the last one first."""
    match.register(table.split(".")[1])
    merged = relay.transform.MergeComposite(relay.op.contrib.get_pattern_table(table))(module)
    return [(str(one.attrs["Composite"]).removeprefix(f"{table}."), _names(one)) for one in _inside(merged)]


def _names(composite: relay.Function) -> list[str]:
    """The names in the model; one that is empty where no operator has any."""
    names: list[str] = []
    relay.analysis.post_order_visit(composite.body, lambda node: names.append(source_name(node)))
    return [name for name in reversed(names) if name] or [""]


def _inside(module: tvm.IRModule) -> Iterator[relay.Function]:
    found: list[relay.Function] = []

    def visit(node: relay.Expr) -> None:
        if isinstance(node, relay.Function) and node.attrs and "Composite" in node.attrs:
            found.append(node)

    relay.analysis.post_order_visit(module["main"], visit)
    return iter(found)


def decided(module: tvm.IRModule, name: TableName) -> list[LayerDecision]:
    """What the compiler decides for the whole network if a module gets all that it takes, an operator at a time."""
    chip = get_target(name.target, modules=[name.module])
    options = replace(options_of(name.numerics), fuse=False, in_place="never")
    network = integer_network(from_relay(module), chip.activations, exact=options.exact)
    return list(cut(network, chip, options, "network", Stopwatch()).decisions)


def differences(module: tvm.IRModule, table: str) -> tuple[dict[str, int], dict[str, int]]:
    """Operators on a module in one cut alone: by the compiler, and patterns by TVM.

    Pairs share a name in the model, where that has names; a pattern may be one of its operators.
    """
    name = TableName.of_composite(f"{table}.x")
    assert name is not None
    operators = {pattern.name: pattern.operators for pattern in PATTERNS}
    own = [one for one in decided(module, name) if one.module == name.module]
    alone: list[str] = []
    for pattern, names in sorted(composites(module, table), key=lambda one: len(operators[one[0]])):
        fitting = [one for one in own if one.op in operators[pattern]]
        pair = next((one for name in names for one in fitting if one.source == name), None)
        if pair is None:
            alone.append(pattern)
        else:
            own.remove(pair)
    return dict(Counter(one.op for one in own)), dict(Counter(alone))
