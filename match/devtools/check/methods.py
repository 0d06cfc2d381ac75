"""Asks a module's methods about small layers, before anything is compiled: what raises, and what cannot be right."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeVar

from match.compilation.options import Numerics
from match.dispatch.request import aligned_memories
from match.errors import in_a_line
from match.ir.layer import Component, Dim, Layer, Operand, Role
from match.ir.names import identifier
from match.mapping.schedule import block_bytes, component_bytes
from match.partitioning.pattern import Match
from match.requantize.form import Form, choose_form
from match.target.arguments import is_a
from match.target.cost import CostModel
from match.target.hardware import HwModule, Verdict
from match.target.operands import ADDEND, INPUT, OUTPUT, WEIGHTS

Answer = TypeVar("Answer")


class _FaultError(Exception):
    """A sentence about a method; what it answers is needed to go on."""


def method_problems(module: HwModule, target: str, layers: Iterable[Match]) -> tuple[str, ...]:
    """What is wrong with the answers of a module of the chip `target`, in a sentence for each method at fault."""
    found: dict[str, str] = {}
    for match in layers:
        try:
            _ask(module, match)
        except _FaultError as fault:
            method = str(fault).partition("(")[0]
            found.setdefault(method, f"module {module.name} of target {target}: {fault}.")
    return tuple(found.values())


def _words(layer: Layer) -> str:
    return f"a {layer.fy}x{layer.fx} {layer.op.value} of {layer.input_channels} to {layer.output_channels} channels"


def _ask(module: HwModule, match: Match) -> None:
    layer = match.layer
    if not _accepted(module, layer):
        return
    _checked("forms", layer, lambda: tuple(module.forms(layer)))
    form = choose_form(module, layer, match.constants, match.accumulator, Numerics.EXACT)
    if isinstance(form, str):
        return
    operands = _checked("operands", layer, lambda: tuple(module.operands(layer, form.requantizer)))
    if not all(is_a(operand, Operand) for operand in operands):
        raise _FaultError(f"operands() returned {operands!r} for {_words(layer)}; it must return Operands")
    _order(layer, operands)
    cost = _checked("cost", layer, lambda: module.cost(layer, form.requantizer))
    if not is_a(cost, CostModel):
        raise _FaultError(f"cost() returned {cost!r} for {_words(layer)}; it must return a CostModel")
    kernel = _checked("kernel", layer, lambda: module.kernel(layer, form.requantizer))
    if not is_a(kernel, str) or identifier(kernel) != kernel.lower():
        raise _FaultError(f"kernel() returned {kernel!r} for {_words(layer)}; it must return the name of a C function")
    multiples = _multiples(module, layer, operands)
    _room(module, form, layer, multiples)
    for operand in operands:
        if operand.role is Role.CONSTANT:
            _packing(module, match, form, operand)


def _checked(method: str, layer: Layer, ask: Callable[[], Answer]) -> Answer:
    try:
        return ask()
    except Exception as error:
        raise _FaultError(f"{method}() raised {in_a_line(error)} for {_words(layer)}") from error


def _accepted(module: HwModule, layer: Layer) -> bool:
    for pattern in _checked("patterns", layer, module.patterns):
        for constraint in pattern.constraints if pattern.describes(layer) else ():
            name = f"constraint {getattr(constraint, '__name__', constraint)}"
            verdict = _checked(name, layer, partial(constraint, layer))
            if not is_a(verdict, Verdict):
                raise _FaultError(f"{name}() returned {verdict!r} for {_words(layer)}; it must return a Verdict")
    return any(pattern.check(layer).ok for pattern in module.patterns())


def _multiples(module: HwModule, layer: Layer, operands: Sequence[Operand]) -> Mapping[Dim, int]:
    """What tiles are multiples of, which must be dimensions that can be tiled and whole numbers."""
    multiples = _checked("tile_multiples", layer, lambda: dict(module.tile_multiples(layer)))
    for dim, multiple in multiples.items():
        if not is_a(multiple, int) or multiple < 0:
            raise _FaultError(
                f"tile_multiples() returned {multiple!r} for {dim} of {_words(layer)}; it must be a number of "
                f"iterations, or 0 where {dim} cannot be tiled"
            )
        if dim in (Dim.FY, Dim.FX) and multiple:
            raise _FaultError(f"tile_multiples() has {dim} for {_words(layer)}; tiles have all of it, so leave it out")
        if dim is Dim.C and multiple and not any(operand.partial_bytes for operand in operands):
            raise _FaultError(
                f"tile_multiples() has C for {_words(layer)}, but its output's operand has no partial_bytes; give the "
                f"bytes of a partial sum, or leave C out"
            )
    return multiples


def _order(layer: Layer, operands: Sequence[Operand]) -> None:
    """Operands come in the order of the layer's tensors, as they are called."""
    inputs = [INPUT, ADDEND][: 1 + layer.two_inputs]
    names = [operand.name for operand in operands]
    wanted = [[*inputs, *constants, OUTPUT] for constants in ([], [WEIGHTS])]
    if names not in wanted:
        raise _FaultError(
            f"operands() returned those called {', '.join(names) or 'nothing'} for {_words(layer)}; they must be "
            f"{', '.join(inputs)}, {WEIGHTS} if it has constants, and {OUTPUT}, in this order"
        )


def _room(module: HwModule, form: Form, layer: Layer, multiples: Mapping[Dim, int]) -> None:
    """The least tile of a layer that is large enough to be cut must fit, or what is unrolled exceeds the memory."""
    tiled = {dim: multiple for dim, multiple in multiples.items() if multiple and dim in (Dim.K, Dim.OY, Dim.OX)}
    grown = replace(layer, k=max(layer.k, 2 * tiled.get(Dim.K, 1)))
    for dim in tiled.keys() & {Dim.OY, Dim.OX}:
        size = max(layer.size(dim), 2 * tiled[dim])
        stride = layer.stride[dim is Dim.OX]
        read = max(layer.iy if dim is Dim.OY else layer.ix, (size - 1) * stride + 1)
        grown = replace(grown, oy=size, iy=read) if dim is Dim.OY else replace(grown, ox=size, ix=read)
    extents = {dim: tiled.get(dim, 1) for dim in (Dim.K, Dim.OY, Dim.OX)}
    extents |= {dim: grown.size(dim) for dim in (Dim.FY, Dim.FX)} | {Dim.C: multiples.get(Dim.C, 0) or grown.c}
    memory = aligned_memories(module, form.requantizer)[-1]
    operands = _checked("operands", grown, lambda: module.operands(grown, form.requantizer))
    shared = [operand for operand in operands if memory.room(operand.name) == memory.name]
    needed = sum(block_bytes(operand, extents, memory.alignment) for operand in shared)
    if tiled and needed > memory.size:
        sizes = " and ".join(f"{multiple} of {dim}" for dim, multiple in tiled.items())
        raise _FaultError(
            f"tile_multiples() makes tiles of {layer.op.value} of at least {sizes}, which take {needed} bytes of the "
            f"{memory.size} of {memory.name}; smaller multiples fit"
        )


def _packing(module: HwModule, match: Match, form: Form, operand: Operand) -> None:
    """The bytes that pack() makes of a whole layer and of a part of its channels are those of the operand's blocks."""
    layer = match.layer
    whole = layer.spans
    half = -(-layer.k // 2)
    multiple = module.tile_multiples(layer).get(Dim.K, 1)
    part = half // multiple * multiple if multiple else 0
    for spans in (whole, {**whole, Dim.K: (0, part)} if part else whole):
        packed = _checked(
            "pack", layer, lambda spans=spans: module.pack(layer, form.requantizer, form.constants, spans)
        )
        if not is_a(packed, tuple, list) or not all(is_a(piece, bytes) for piece in packed):
            raise _FaultError(f"pack() returned {packed!r:.40} for {_words(layer)}; it must return a tuple of bytes")
        if len(packed) != len(operand.components):
            raise _FaultError(
                f"pack() makes {len(packed)} components of {_words(layer)} where its operands have "
                f"{len(operand.components)}; they must be the same"
            )
        for component, piece in zip(operand.components, packed, strict=True):
            _length(component, len(piece), layer, spans)


def _length(component: Component, given: int, layer: Layer, spans: Mapping[Dim, tuple[int, int]]) -> None:
    right = component_bytes(component, {dim: extent for dim, (_, extent) in spans.items()})
    if given != right:
        raise _FaultError(
            f"pack() makes {given} bytes of {component.name} for {spans[Dim.K][1]} output channels of {_words(layer)} "
            f"where its operands have {right}; they must be the same"
        )
