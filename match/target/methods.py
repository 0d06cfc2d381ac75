"""What a module's methods say of one operator, checked: an author's mistake is told, and no wrong C is made of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from match.errors import TargetError, in_a_line
from match.ir.constants import LayerConstants
from match.ir.layer import Component, Dim, Layer, Operand
from match.ir.names import identifier
from match.ir.requantization import Requantizer
from match.mapping.memory import component_bytes
from match.target.arguments import is_a
from match.target.cost import CostModel
from match.target.hardware import HwModule
from match.target.operands import ADDEND, INPUT, OUTPUT, WEIGHTS

Answer = TypeVar("Answer")


class AnswerError(TargetError):
    """A method of a module fails, or answers what cannot be; `fault` says so and begins with the method."""

    def __init__(self, module: HwModule, layer: Layer, fault: str) -> None:
        """`module` was asked about `layer`."""
        super().__init__(f"module {module.name}, layer {layer.name}: {fault}; `match check-target` tells more.")
        self.fault = fault


def words(layer: Layer) -> str:
    """An operator in a sentence."""
    return f"a {layer.fy}x{layer.fx} {layer.op.value} of {layer.input_channels} to {layer.output_channels} channels"


def asked(module: HwModule, layer: Layer, method: str, ask: Callable[[], Answer]) -> Answer:
    """What `ask` returns, which calls a method.

    Raises:
        AnswerError: it raises something.
    """
    try:
        return ask()
    except Exception as error:
        raise AnswerError(module, layer, f"{method}() raised {in_a_line(error)} for {words(layer)}") from error


def forms(module: HwModule, layer: Layer) -> tuple[Requantizer, ...]:
    """`HwModule.forms`. Raises AnswerError."""
    return asked(module, layer, "forms", lambda: tuple(module.forms(layer)))


def operands(module: HwModule, layer: Layer, requantizer: Requantizer | None) -> tuple[Operand, ...]:
    """`HwModule.operands`, in the order of the layer's tensors.

    Raises:
        AnswerError: it fails, or these are not the layer's operands.
    """
    found = asked(module, layer, "operands", lambda: tuple(module.operands(layer, requantizer)))
    if not all(is_a(operand, Operand) for operand in found):
        raise AnswerError(module, layer, f"operands() returned {found!r} for {words(layer)}; it must return Operands")
    inputs = [INPUT, ADDEND][: 1 + layer.two_inputs]
    names = [operand.name for operand in found]
    if names not in ([*inputs, *constants, OUTPUT] for constants in ([], [WEIGHTS])):
        raise AnswerError(
            module,
            layer,
            f"operands() returned those called {', '.join(names) or 'nothing'} for {words(layer)}; they must be "
            f"{', '.join(inputs)}, {WEIGHTS} if it has constants, and {OUTPUT}, in this order",
        )
    return found


def cost(module: HwModule, layer: Layer, requantizer: Requantizer | None) -> CostModel:
    """`HwModule.cost`. Raises AnswerError: it fails, or this is no cost model."""
    found = asked(module, layer, "cost", lambda: module.cost(layer, requantizer))
    if not is_a(found, CostModel):
        raise AnswerError(module, layer, f"cost() returned {found!r} for {words(layer)}; it must return a CostModel")
    return found


def kernel(module: HwModule, layer: Layer, requantizer: Requantizer | None) -> str:
    """`HwModule.kernel`. Raises AnswerError: it fails, or this is no name of a C function."""
    found = asked(module, layer, "kernel", lambda: module.kernel(layer, requantizer))
    if not is_a(found, str) or identifier(found) != found.lower():
        raise AnswerError(
            module, layer, f"kernel() returned {found!r} for {words(layer)}; it must return the name of a C function"
        )
    return found


def alone(module: HwModule, layer: Layer, requantizer: Requantizer | None) -> bool:
    """`HwModule.alone`. Raises AnswerError: it fails, or this is no truth value."""
    found = asked(module, layer, "alone", lambda: module.alone(layer, requantizer))
    if not is_a(found, bool):
        raise AnswerError(module, layer, f"alone() returned {found!r} for {words(layer)}; it must return True or False")
    return found


def overwritable(module: HwModule, layer: Layer, requantizer: Requantizer | None) -> dict[str, int]:
    """`HwModule.overwritable`. Raises AnswerError: it fails, or these are no inputs with numbers of bytes."""
    found = asked(module, layer, "overwritable", lambda: dict(module.overwritable(layer, requantizer)))
    inputs = [INPUT, ADDEND][: 1 + layer.two_inputs]
    if not all(name in inputs and is_a(lag, int) and lag >= 0 for name, lag in found.items()):
        raise AnswerError(
            module,
            layer,
            f"overwritable() returned {found!r} for {words(layer)}; it must return bytes, at least 0, for some of "
            f"{', '.join(inputs)}",
        )
    return found


def tile_multiples(module: HwModule, layer: Layer) -> dict[Dim, int]:
    """`HwModule.tile_multiples`. Raises AnswerError: it fails, or these are no numbers of iterations."""
    found = asked(module, layer, "tile_multiples", lambda: dict(module.tile_multiples(layer)))
    for dim, multiple in found.items():
        if not is_a(multiple, int) or multiple < 0:
            raise AnswerError(
                module,
                layer,
                f"tile_multiples() returned {multiple!r} for {dim} of {words(layer)}; it must be a number of "
                f"iterations, or 0 where {dim} cannot be tiled",
            )
    return found


def pack(
    module: HwModule,
    layer: Layer,
    requantizer: Requantizer | None,
    constants: LayerConstants,
    spans: Mapping[Dim, tuple[int, int]],
    components: Sequence[Component],
) -> tuple[bytes, ...]:
    """`HwModule.pack` for a tile, whose bytes are as many as the `components` of the constant operand have.

    Raises:
        AnswerError: it fails, or they are not.
    """
    packed = asked(module, layer, "pack", lambda: module.pack(layer, requantizer, constants, spans))
    if not is_a(packed, tuple, list) or not all(is_a(piece, bytes) for piece in packed):
        raise AnswerError(
            module, layer, f"pack() returned {packed!r:.40} for {words(layer)}; it must return a tuple of bytes"
        )
    if len(packed) != len(components):
        raise AnswerError(
            module,
            layer,
            f"pack() makes {len(packed)} components of {words(layer)} where its operands have {len(components)}; "
            f"they must be the same",
        )
    extents = {dim: extent for dim, (_, extent) in spans.items()}
    for component, piece in zip(components, packed, strict=True):
        right = component_bytes(component, extents)
        if len(piece) != right:
            raise AnswerError(
                module,
                layer,
                f"pack() makes {len(piece)} bytes of {component.name} for {extents[Dim.K]} output channels of "
                f"{words(layer)} where its operands have {right}; they must be the same",
            )
    return tuple(packed)
