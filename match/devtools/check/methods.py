"""Asks a module's methods about small layers, before anything is compiled: what raises, and what cannot be right."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from match.compilation.options import Numerics
from match.dispatch.request import accepts, aligned_memories
from match.ir.layer import Dim, Layer, Operand, Role
from match.mapping.memory import block_bytes
from match.partitioning.pattern import Match
from match.requantize.form import Form, choose_form
from match.target import methods
from match.target.arguments import is_a
from match.target.hardware import HwModule, Verdict
from match.target.methods import AnswerError, asked, words


def method_problems(module: HwModule, target: str, layers: Iterable[Match]) -> tuple[str, ...]:
    """What is wrong with the answers of a module of the chip `target`, in a sentence for each method at fault."""
    found: dict[str, str] = {}
    for match in layers:
        try:
            _ask(module, match)
        except AnswerError as error:
            method = error.fault.partition("(")[0]
            found.setdefault(method, f"module {module.name} of target {target}: {error.fault}.")
    return tuple(found.values())


def _ask(module: HwModule, match: Match) -> None:
    layer = match.layer
    if not _accepted(module, layer):
        return
    form = choose_form(module, layer, match.constants, match.accumulator, Numerics.EXACT)
    if isinstance(form, str):
        return
    operands = methods.operands(module, layer, form.requantizer)
    methods.cost(module, layer, form.requantizer)
    methods.kernel(module, layer, form.requantizer)
    if not module.direct:
        _room(module, form, layer, _multiples(module, layer, operands))
    for operand in operands:
        if operand.role is Role.CONSTANT:
            _packing(module, match, form, operand)


def _accepted(module: HwModule, layer: Layer) -> bool:
    for pattern in asked(module, layer, "patterns", module.patterns):
        for constraint in pattern.constraints if pattern.describes(layer) else ():
            name = f"constraint {getattr(constraint, '__name__', constraint)}"
            verdict = asked(module, layer, name, partial(constraint, layer))
            if not is_a(verdict, Verdict):
                fault = f"{name}() returned {verdict!r} for {words(layer)}; it must return a Verdict"
                raise AnswerError(module, layer, fault)
    return accepts(module, layer).ok


def _multiples(module: HwModule, layer: Layer, operands: Sequence[Operand]) -> Mapping[Dim, int]:
    """What tiles are multiples of, which must be dimensions that can be tiled and whole numbers."""
    multiples = methods.tile_multiples(module, layer)
    for dim, multiple in multiples.items():
        if dim in (Dim.FY, Dim.FX) and multiple:
            fault = f"tile_multiples() has {dim} for {words(layer)}; tiles have all of it, so leave it out"
            raise AnswerError(module, layer, fault)
        if dim is Dim.C and multiple and not any(operand.partial_bytes for operand in operands):
            raise AnswerError(
                module,
                layer,
                f"tile_multiples() has C for {words(layer)}, but its output's operand has no partial_bytes; give the "
                f"bytes of a partial sum, or leave C out",
            )
    return multiples


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
    operands = methods.operands(module, grown, form.requantizer)
    shared = [operand for operand in operands if memory.room(operand.name) == memory.name]
    needed = sum(block_bytes(operand, extents, memory.alignment) for operand in shared)
    if tiled and needed > memory.size:
        sizes = " and ".join(f"{multiple} of {dim}" for dim, multiple in tiled.items())
        raise AnswerError(
            module,
            layer,
            f"tile_multiples() makes tiles of {layer.op.value} of at least {sizes}, which take {needed} bytes of the "
            f"{memory.size} of {memory.name}; smaller multiples fit",
        )


def _packing(module: HwModule, match: Match, form: Form, operand: Operand) -> None:
    """The bytes that pack() makes of a whole layer and of a part of its channels are those of the operand's blocks.

    Without a scratchpad there are no parts.
    """
    layer = match.layer
    whole = layer.spans
    half = -(-layer.k // 2)
    multiple = 0 if module.direct else module.tile_multiples(layer).get(Dim.K, 1)
    part = half // multiple * multiple if multiple else 0
    for spans in (whole, {**whole, Dim.K: (0, part)} if part else whole):
        methods.pack(module, layer, form.requantizer, form.constants, spans, operand.components)
