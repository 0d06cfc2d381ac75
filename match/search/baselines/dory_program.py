"""DORY's constraint program on CP-SAT: the tile of the highest score whose buffers fit.

DORY adds up buffers by formulas of its own; here they have their real bytes with halos, layouts, alignment and rooms,
so that what is found can be deployed. Scratch (im2col) is a function of the tile that only the cost model knows: the
program starts with that of the smallest tile, and a solution that does not fit in the end rules out all tiles that are
at least as large.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from ortools.sat.python import cp_model

from match.errors import NoMappingError
from match.ir.layer import Component, Dim
from match.mapping.memory import align, block_bytes, component_bytes
from match.mapping.schedule import REDUCTIONS
from match.prediction.prices import Prices
from match.search.baselines.dory_rules import Rules
from match.search.exact.tables import TILED, tile_sizes

TileSizes = dict[Dim, int]
"""Extents of the dimensions that loops may cut; the others are whole."""

Expression = cp_model.LinearExpr | int

EFFORT = 60.0
"""Limit of CP-SAT's deterministic time, about seconds. Layers of networks take less than one."""


class Program:
    """The tiles of one layer.

    Args:
        pricing: the layer, its operands and its memory.
        rules: DORY's for the layer's operator.
        buffers: of every operand.
        multiples: what sizes must be multiples of, as in `Problem`.
    """

    def __init__(self, pricing: Prices, rules: Rules, buffers: int, multiples: Mapping[Dim, int]) -> None:
        self.pricing = pricing
        self.rules = rules
        self.buffers = buffers
        self.whole = pricing.layer.extents
        allowed = {**multiples, **dict.fromkeys(rules.whole, 0)}
        self.sizes: dict[Dim, list[int]] = {
            dim: tile_sizes(pricing.layer.size(dim), allowed.get(dim, 1)).tolist()
            for dim in TILED
            if dim not in REDUCTIONS
        }
        self.smallest: TileSizes = {dim: sizes[0] for dim, sizes in self.sizes.items()}

    def scratch(self, tile: TileSizes) -> int:
        """Bytes of scratch, aligned."""
        return align(self.pricing.scratch(self.whole | tile), self.pricing.memory.alignment)

    def need(self, tile: TileSizes, buffers: int) -> dict[str, int]:
        """Bytes of each room of the memory with so many buffers of every operand."""
        memory = self.pricing.memory
        needed = {room: self.scratch(tile) if room == memory.name else 0 for room, _ in memory.rooms}
        for operand in self.pricing.operands:
            size = block_bytes(operand, self.whole | tile, memory.alignment)
            needed[memory.room(operand.name)] += buffers * size
        return needed

    def fits(self, tile: TileSizes, buffers: int) -> bool:
        """Whether that is there."""
        needed = self.need(tile, buffers)
        return all(needed[room] <= size for room, size in self.pricing.memory.rooms)

    def solve(self) -> TileSizes | None:
        """The tile of the highest score that fits, none if the smallest does not.

        Of equals it is the one with the fewest channels, then rows, then columns.

        Raises:
            NoMappingError: if CP-SAT gives up.
        """
        if not self.fits(self.smallest, self.buffers):
            return None
        model = _Model(self)
        while not self.fits(tile := model.best(), self.buffers):
            model.exclude(self._corner(tile))
        return tile

    def _corner(self, tile: TileSizes) -> TileSizes:
        """Within a tile that does not fit, a smallest one that does not fit, either."""
        corner = tile
        for dim, sizes in self.sizes.items():
            least = next(size for size in sizes if not self.fits({**corner, dim: size}, self.buffers))
            corner = {**corner, dim: least}
        return corner


class _Model:
    """The program as CP-SAT takes it: for each dimension a variable, the number of its size among those there are."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._model = cp_model.CpModel()
        self._choice = {dim: self._model.new_int_var(0, len(sizes) - 1, dim) for dim, sizes in program.sizes.items()}
        rules = program.rules
        score = rules.bytes * self._buffers()
        for dim, sizes in program.sizes.items():
            score += self._table(dim, [rules.shape(dim, size) for size in sizes])
        if rules.area:
            score += rules.area * self._large(rules.pixels)
        # DORY's search tries small sizes first and keeps the first of equals.
        rank: Expression = 0
        for dim, sizes in program.sizes.items():
            rank = rank * len(sizes) + self._choice[dim]
        self._model.maximize(score * math.prod(map(len, program.sizes.values())) - rank)

    def best(self) -> TileSizes:
        """The tile of the highest score."""
        solver = cp_model.CpSolver()
        solver.parameters.num_workers = 1
        solver.parameters.max_deterministic_time = EFFORT
        if solver.solve(self._model) != cp_model.OPTIMAL:
            name = self._program.pricing.layer.name
            raise NoMappingError(name, "has a DORY program that CP-SAT does not solve; use another engine")
        return {dim: self._program.sizes[dim][solver.value(choice)] for dim, choice in self._choice.items()}

    def exclude(self, corner: TileSizes) -> None:
        """Rule out tiles that are at least as large in every dimension."""
        smaller: list[cp_model.IntVar] = []
        for dim, size in corner.items():
            sizes, below = self._program.sizes[dim], self._model.new_bool_var("")
            self._model.add(self._choice[dim] + len(sizes) * below < sizes.index(size) + len(sizes))
            smaller.append(below)
        self._model.add_bool_or(smaller)

    def _buffers(self) -> Expression:
        """Bytes of all buffers, which the rooms of the memory limit."""
        program, memory = self._program, self._program.pricing.memory
        needed: dict[str, Expression] = dict.fromkeys((room for room, _ in memory.rooms), 0)
        for operand in program.pricing.operands:
            for component in operand.components:
                block = self._block(component, memory.alignment)
                needed[memory.room(operand.name)] += program.buffers * block
        for room, size in memory.rooms:
            scratch = program.scratch(program.smallest) if room == memory.name else 0
            self._model.add(needed[room] <= size - scratch)
        return sum(needed.values())

    def _block(self, component: Component, alignment: int) -> Expression:
        """Bytes of a component's block, aligned."""
        sizes, whole = self._program.sizes, self._program.whole
        lengths = [
            self._table(axis.dim, [axis.length(size) for size in sizes.get(axis.dim, [whole[axis.dim]])])
            for axis in component.axes
        ]
        most = component_bytes(component, whole)
        block = component.element_bytes * self._product(lengths, most)
        aligned = self._model.new_int_var(0, align(most, alignment) // alignment, "")
        self._model.add(alignment * aligned >= block)
        self._model.add(alignment * aligned < block + alignment)
        return alignment * aligned

    def _large(self, pixels: int) -> Expression:
        """Whether the tile has at least so many output pixels; it may be denied, which no score is higher for."""
        sizes, whole = self._program.sizes, self._program.whole
        rows_and_columns = [self._table(dim, sizes[dim]) for dim in (Dim.OY, Dim.OX)]
        area = self._product(rows_and_columns, whole[Dim.OY] * whole[Dim.OX])
        large = self._model.new_bool_var("")
        self._model.add(area >= pixels * large)
        return large

    def _table(self, dim: Dim, values: Sequence[int]) -> Expression:
        """The value for the chosen size."""
        if min(values) == max(values):
            return values[0]
        value = self._model.new_int_var(min(values), max(values), "")
        self._model.add_element(self._choice[dim], list(values), value)
        return value

    def _product(self, factors: Sequence[Expression], most: int) -> Expression:
        """Their product, at most `most`."""
        constant = math.prod(factor for factor in factors if isinstance(factor, int))
        variables = [factor for factor in factors if not isinstance(factor, int)]
        if not variables:
            return constant
        product = self._model.new_int_var(0, most, "")
        self._model.add_multiplication_equality(product, variables)
        return constant * product
