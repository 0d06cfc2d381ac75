"""Each operator of a network alone: the network's own integers from what the generated C gave it.

Tensors that a layer on a module reads or writes are cuts: the C dumps them. Between two cuts lies a layer, or operators
of the control core. All are computed by one Relay module, whose inputs are the cuts and whose outputs what should be
there, so that an error shows where it is made and not after it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from match.dispatch.plan import CPU, LayerDecision
from match.frontend.model import ModelTensor
from match.ir.layer import Role
from match.mapping.memory import align
from match.mapping.storage import Storage, storage
from match.partitioning.partitioner import Partitioned
from match.relay import relay, tvm
from match.relay.execute import Executable
from match.relay.graph import post_order
from match.relay.objects import operands
from match.relay.rewrite import dtype, operator_name, rebuild, shape
from match.validation.differences import difference
from match.validation.schema import LayerDifference

Array = npt.NDArray[Any]

Cut = tuple[str, str]
"""A tensor that the C dumps: the layer's C function, and the operand's name."""

_OUTPUT = "output"
_MOST_NAMES = 4


@dataclass(frozen=True, eq=False)
class _Check:
    """A tensor that is computed from cuts, and what is known of it.

    `cut` is the C function and operand as the program dumps it; for an output of the network "" and its name. `mask`
    are the elements of the tensor where others have any value; `known` the steps by which it may be off.
    """

    cut: Cut
    expr: relay.Expr
    name: str
    op: str
    module: str
    mask: npt.NDArray[np.bool_] | None = None
    known: int = 0


class DumpedOperators:
    """The operators of a network, to be compared with what its C dumped, sample by sample."""

    def __init__(self, partitioned: Partitioned, outputs: Sequence[ModelTensor]) -> None:
        """With the network as it was cut for its C."""
        self._outputs = outputs
        graph = partitioned.graph
        names = (state.source for state in graph.inputs[len(graph.given) :])
        self._held = dict(zip(names, graph.states, strict=True))
        self._after: list[relay.Expr] = []  # what states become
        self._cuts: dict[Cut, relay.Var] = {}
        self._parts = dict(_parts(partitioned.decisions))
        self._checks = self._found(partitioned)
        body = relay.Tuple([*(check.expr for check in self._checks), *self._after])
        self._parameters = relay.analysis.free_vars(body)
        module = tvm.IRModule.from_expr(relay.Function(self._parameters, body))
        self._executable = Executable(relay.transform.InferType()(module)) if body.fields else None
        self._counts = [[0, 0, 0, 0.0] for _ in self._checks]

    @property
    def symbols(self) -> frozenset[str]:
        """The C functions of the layers on modules."""
        return frozenset(symbol for symbol, _ in self._cuts)

    def add(self, inputs: Mapping[str, Array], dumps: Mapping[Cut, bytes], outputs: Mapping[str, Array]) -> None:
        """Compare one sample: the network's inputs, what layers read and wrote, and its outputs.

        Of a network with states samples are the steps of a stream, from the first on.
        """
        if self._executable is None:
            return
        dumps = {cut: self._dense(cut, data) for cut, data in dumps.items()}
        given = {_name(cut): _filled(dumps[cut], variable) for cut, variable in self._cuts.items()}
        names = {parameter.name_hint for parameter in self._parameters}
        feeds = {name: array for name, array in {**inputs, **self._held, **given}.items() if name in names}
        results = self._executable(feeds)
        self._held = dict(zip(self._held, results[len(self._checks) :], strict=True))
        for check, count, computed in zip(self._checks, self._counts, results, strict=False):
            symbol, operand = check.cut
            if symbol:
                found = np.frombuffer(dumps[check.cut], computed.dtype)
                expected = computed.reshape(-1)[: found.size]
                if check.mask is not None:
                    found, expected = found[check.mask], expected[check.mask]
            else:
                found = outputs[operand].reshape(-1)
                expected = computed.reshape(-1)
            apart = difference(found, expected, None if found.dtype.kind == "f" else 1.0)
            count[0] += apart.elements
            count[1] += apart.elements - apart.equal
            count[2] += apart.off_by_one
            count[3] = max(count[3], apart.largest)

    def _dense(self, cut: Cut, data: bytes) -> bytes:
        """A tensor without what lies between its pixels, if it is a part of another one."""
        layout = self._parts.get(cut)
        if layout is None:
            return data
        _, pixels, channels = layout.shape
        array = np.zeros(pixels * layout.pitch, np.uint8)
        array[: len(data)] = np.frombuffer(data, np.uint8)
        return array.reshape(pixels, layout.pitch)[:, :channels].tobytes()

    def differences(self) -> tuple[LayerDifference, ...]:
        """What was found in all samples, in the order of execution."""
        return tuple(
            LayerDifference(
                name=check.name,
                op=check.op,
                module=check.module,
                elements=int(elements),
                differing=int(differing),
                off_by_one=int(near),
                largest=largest,
                share=differing / elements if elements else 0.0,
                known_steps=check.known,
            )
            for check, (elements, differing, near, largest) in zip(self._checks, self._counts, strict=True)
        )

    def _found(self, partitioned: Partitioned) -> list[_Check]:
        decisions = {decision.plan.symbol: decision for decision in partitioned.decisions if decision.plan}
        in_place = {decision.in_place.symbol for decision in partitioned.decisions if decision.in_place}
        functions = {variable.name_hint: function for variable, function in partitioned.module.functions.items()}
        main = functions["main"]
        new: dict[relay.Expr, relay.Expr] = {}
        checks: list[_Check] = []
        for expr in post_order(main):
            if isinstance(expr, relay.Call) and isinstance(expr.op, relay.GlobalVar) and expr.op.name_hint in in_place:
                function = functions[expr.op.name_hint]
                given = [new[argument] for argument in expr.args]
                new[expr] = relay.bind(function.body, dict(zip(function.params, given, strict=True)))
            elif isinstance(expr, relay.Call) and isinstance(expr.op, relay.GlobalVar):
                symbol = expr.op.name_hint
                decision = decisions[symbol]
                arguments: list[relay.Expr] = []
                for operand, argument in zip(_inputs(decision), expr.args, strict=True):
                    value = new[argument]
                    if not isinstance(value, relay.Var):
                        name = f"{operand} of {decision.name}"
                        checks.append(_Check((symbol, operand), value, name, _operators(value), CPU))
                        value = self._cut((symbol, operand), argument)
                    arguments.append(value)
                function = functions[symbol]
                body = relay.bind(function.body, dict(zip(function.params, arguments, strict=True)))
                checks.append(_layer(symbol, body, decision))
                new[expr] = self._cut((symbol, _OUTPUT), expr)
            else:
                new[expr] = rebuild(expr, new.__getitem__)
        body = new[main.body]
        results = list(body.fields) if isinstance(body, relay.Tuple) else [body]
        self._after = results[len(self._outputs) :]
        for tensor, value in zip(self._outputs, results, strict=False):
            if not isinstance(value, relay.Var):
                checks.append(_Check(("", tensor.name), value, f"output {tensor.name}", _operators(value), CPU))
        return checks

    def _cut(self, cut: Cut, expr: relay.Expr) -> relay.Var:
        self._cuts[cut] = relay.var(_name(cut), shape=shape(expr), dtype=dtype(expr))
        return self._cuts[cut]


def _inputs(decision: LayerDecision) -> list[str]:
    """The names of what a layer reads, in the order of its arguments."""
    assert decision.plan is not None, "what has a C function has a plan"
    return [operand.name for operand in decision.plan.schedule.operands if operand.role is Role.INPUT]


def _parts(decisions: Sequence[LayerDecision]) -> Iterator[tuple[Cut, Storage]]:
    """How tensors lie that layers read or write inside others."""
    for decision in decisions:
        for operand in decision.plan.schedule.operands if decision.plan else ():
            if decision.plan and operand.role is not Role.CONSTANT and (layout := storage(operand)).pitch:
                yield (decision.plan.symbol, operand.name), layout


def _layer(symbol: str, body: relay.Expr, decision: LayerDecision) -> _Check:
    plan = decision.plan
    assert plan is not None, "what has a C function has a plan"
    layout = next(storage(operand) for operand in plan.schedule.operands if operand.role is Role.OUTPUT)
    taken = next(c for c in decision.candidates if c.module == decision.module and c.refusal is None)
    mask = None if layout.in_order else _occupied(layout).reshape(-1)
    return _Check((symbol, _OUTPUT), body, decision.name, decision.op, decision.module, mask, taken.known_steps)


def _occupied(layout: Storage) -> npt.NDArray[np.bool_]:
    """Which elements of the array are elements of the tensor."""
    rows, columns, channels = (layout.shape[axis] for axis in layout.order)
    whole = align(channels, layout.byte_group)
    mask = np.zeros((rows, columns, whole), bool)
    mask[:, :, :channels] = True
    mask = mask.reshape(rows, columns, -1, layout.byte_group)[..., ::-1].reshape(mask.shape)
    return np.pad(mask, [(0, room - size) for room, size in zip(layout.room, mask.shape, strict=True)])


def _filled(data: bytes, variable: relay.Var) -> Array:
    """The tensor in the bytes that a layer reads; where these are fewer, the layer does not read the rest."""
    kind = variable.type_annotation
    array = np.zeros([int(extent) for extent in kind.shape], str(kind.dtype))
    values = np.frombuffer(data, array.dtype)
    array.reshape(-1)[: values.size] = values
    return array


def _name(cut: Cut) -> str:
    return f"{cut[0]}__{cut[1]}"


def _operators(value: relay.Expr) -> str:
    """Names of the operators after the cuts, in the order of computation."""
    names: list[str] = []
    seen: set[relay.Expr] = set()
    pending = [value]
    while pending:
        expr = pending.pop()
        if expr not in seen:
            seen.add(expr)
            names += [operator_name(expr)] if isinstance(expr, relay.Call) else []
            pending += operands(expr)
    named = [name for name in dict.fromkeys(reversed(names)) if not name.startswith("annotation.")]
    return "+".join(named[:_MOST_NAMES]) + ("+..." if len(named) > _MOST_NAMES else "")
