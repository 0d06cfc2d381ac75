"""What is known of a network compiled otherwise: which changes there are, and their predicted cycles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from match.compilation.options import Numerics
from match.compilation.stopwatch import Stopwatch
from match.compiled.stations import Asked, Questions, cycles_of, integer_form, predicted
from match.errors import MatchError, OptionError
from match.frontend.model import Model, ModelTensor
from match.graph.elements import Dequantize, Quantize
from match.graph.moves import Move
from match.graph.value import Graph, Value, readers
from match.partitioning.quantizable import has_wide_activations, quantized_operators
from match.passes.border import Border
from match.passes.with_border import with_border
from match.passes.with_ranges import unquantized_cells, with_ranges
from match.passes.with_states import with_states
from match.report.changes import Change, Otherwise
from match.target.registry import get_target

_BYTES = "int8", "uint8"


def otherwise(model: Model, asked: Asked, answers: Questions, whole: int) -> Otherwise:
    """What the report's advice asks about a network; `whole` are its cycles if main memory held everything."""
    known: dict[Change, int | None] = {}

    def cycles(change: Change) -> int | None:
        if change not in known:
            known[change] = cycles_with(model, asked, dict(change.arguments))
        return known[change]

    return Otherwise(
        cycles=cycles,
        whole=whole,
        inputs=_inputs(model, asked.chip.activations or "int8"),
        outputs=_outputs(model),
        states=_states(model),
        quantizable=answers.quantizable(),
        unquantized=frozenset(value.source for value in unquantized_cells(model)),
        quantized_inputs=lambda: cycles_with(_with_quantized_inputs(model), asked, {"quantize_recurrent": True}),
        quantized=partial(quantized_operators, model, asked.options),
        wide_activations=has_wide_activations(model.network),
        exact_whole=answers.exact_whole,
    )


def cycles_with(model: Model, asked: Asked, arguments: Mapping[str, Any]) -> int | None:
    """The predicted cycles with other arguments of `match.compile`; None where it refuses them."""
    own = dict(arguments)
    border = Border(*(own.pop(name, None) for name in ("input_type", "output_type", "input_layout")))
    try:
        changed = with_border(with_states(model, dict(own.pop("states", ()))), border)
        chip = get_target(asked.chip, own.pop("l1")) if "l1" in own else asked.chip
        if "numerics" in own:
            own["numerics"] = Numerics(own["numerics"])
        other, stopwatch = Asked(chip, replace(asked.options, **own, l1=None)), Stopwatch()
        return cycles_of(predicted(integer_form(changed, other, stopwatch), changed, other, stopwatch).partitioned)
    except MatchError:
        return None


def _moved(value: Value) -> Value:
    """The tensor that another one has the elements of."""
    while isinstance(value.operator, Move):
        (value,) = value.inputs
    return value


def _with_quantized_inputs(model: Model) -> Model:
    """The model with 8 bits in front of recurrent layers; cycles do not depend on the range."""
    return with_ranges(model, {value.source: (-1.0, 1.0) for value in unquantized_cells(model)})


def _inputs(model: Model, kind: str) -> Change | None:
    """What gives a network its inputs as modules read them: of a type, with channels last."""
    another = any(tensor.dtype != kind and _can_be(tensor) for tensor in model.inputs)
    turned = any(tensor.layout == "NCHW" for tensor in model.inputs)
    layout = "nhwc" if turned else None
    changes = (Change.of(input_type=one, input_layout=layout) for one in ((kind, None) if another else (None,)))
    return next((change for change in changes if change and _takes(model, change)), None)


def _can_be(tensor: ModelTensor) -> bool:
    """Whether an input may be of another type."""
    return tensor.dtype == "float32" or (tensor.dtype in _BYTES and tensor.quantization is not None)


def _outputs(model: Model) -> Change | None:
    """What hands out integers in place of the real numbers that they stand for."""
    if not isinstance(model.network, Graph):
        return None
    stored = [_stored(value) for value in model.network.handed_out if value.dtype == "float32"]
    kinds = dict.fromkeys(kind for kind in stored if kind is not None)
    change = Change.of(output_type=next(iter(kinds), None))
    return change if change and _takes(model, change) else None


def _stored(value: Value) -> str | None:
    """The type of what a real number is dequantized from."""
    value = _moved(value)
    return value.inputs[0].dtype if isinstance(value.operator, Dequantize) else None


def _takes(model: Model, change: Change) -> bool:
    """Whether a network can have another border."""
    try:
        with_border(model, Border(**dict(change.arguments)))
    except OptionError:
        return False
    return True


def _states(model: Model) -> Change | None:
    """What keeps outputs that are quantized as one input alone, and of its shape."""
    if not isinstance(model.network, Graph):
        return None
    after = list(zip(model.outputs, model.network.handed_out, strict=True))
    read_by = readers(model.network)
    pairs: dict[str, str] = {}
    for tensor, value in zip(model.inputs, model.network.given, strict=True):
        own = _quantized_as(read_by[value])
        same = [output.name for output, made in after if own and (made.shape, _made_of(made)) == (value.shape, own)]
        if len(same) == 1:
            pairs[tensor.name] = same[0]
    alone = len(set(pairs.values())) == len(pairs) < min(len(model.inputs), len(model.outputs))
    return Change.of(states=tuple(pairs.items())) if pairs and alone else None


Parameters = tuple[float, int, str]


def _quantized_as(reading: Sequence[Value | None]) -> Parameters | None:
    """Scale, zero point and type in which all readers quantize an input."""
    operators = [None if value is None else value.operator for value in reading]
    functions = [operator.function for operator in operators if isinstance(operator, Quantize)]
    found = {(float(one.scale), one.zero_point, one.dtype) for one in functions}
    return found.pop() if len(found) == 1 and len(functions) == len(operators) else None


def _made_of(value: Value) -> Parameters | None:
    """Scale, zero point and type of what an output is dequantized from."""
    if not isinstance(value.operator, Dequantize):
        return None
    return float(value.operator.scale), value.operator.zero_point, value.inputs[0].dtype
