"""How much a search asks and predicts: what makes it slow, counted in calls and not in seconds."""

from __future__ import annotations

from dataclasses import dataclass, field

from match.cost_models.pulp_cluster import PulpClusterCost
from match.ir.layer import Dim, Layer
from match.schedule.mapping import Memory
from match.schedule.pricing import Pricing
from match.schedule.search import Listings, Search
from match.schedule.structures import Nest
from match.schedule.tiles import TileCosts, candidate_tiles
from match.target.cost import Tile
from match.target.operands import standard_operands
from tests.schedule.networks import WIDE


@dataclass(frozen=True)
class CountingCost(PulpClusterCost):
    """Keeps the tiles it was asked for."""

    asked: list[Tile] = field(default_factory=list, compare=False)

    def compute(self, layer: Layer, tile: Tile) -> float:
        self.asked.append(tile)
        return super().compute(layer, tile)


class CountingSearch(Search):
    """Counts the mappings it predicts."""

    predicted = 0

    def try_nest(self, nest: Nest) -> None:
        self.predicted += 1
        super().try_nest(nest)


def test_a_wide_convolution_whose_input_channels_are_cut() -> None:
    """It has 100,000 tiles that fit; of most, bounds that they share with others must be enough."""
    model = CountingCost()
    pricing = Pricing(WIDE, standard_operands(WIDE, 16, 4), Memory("L1", 32 * 1024), model)
    sizes = candidate_tiles(pricing, {Dim.C: 16})
    search = CountingSearch(TileCosts(pricing, sizes=sizes), sizes, "latency", Listings.of(pricing.operands))
    best = search.best()
    assert Dim.C in {loop.dim for loop in best.loops}
    assert len(model.asked) < 20_000
    assert search.predicted < 50
