"""Answers to many questions at once are checked like each by itself, and the argument at fault is named."""

from __future__ import annotations

import math

import numpy as np
import pytest

from match.errors import CostModelError
from match.ir.layer import Layer, Op
from match.prediction.questions import Questions
from match.target.cost import CostModel, Tile

pytestmark = pytest.mark.unit

LAYER = Layer("dense", Op.DENSE, 4, 4, 1, 1, 1, 1)
TILES = [Tile(k, 4, 1, 1, 1, 1, 1, 1) for k in range(1, 5)]


class Answers(CostModel):
    """Says 1 of all tiles but the one with three output channels."""

    def __init__(self, answer: object) -> None:
        self.answer = answer

    def compute(self, layer: Layer, tile: Tile) -> float:
        if tile.k != 3:
            return 1
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer  # type: ignore[return-value]


@pytest.mark.parametrize("answer", [0, 2, 2.5, True, np.float32(0.5), np.int64(7), 1e305])
def test_good_answers(answer: float) -> None:
    answers = Questions(Answers(answer), LAYER).ask_each("compute", TILES)
    assert answers == [1.0, 1.0, float(answer), 1.0]
    assert {type(one) for one in answers} == {float}


@pytest.mark.parametrize("answer", [-1, -1e-9, math.nan, math.inf, 10**400, "1", None, 1j, ValueError("odd")])
def test_bad_answers(answer: object) -> None:
    questions = Questions(Answers(answer), LAYER)
    with pytest.raises(CostModelError, match=r"cost model Answers, layer dense: compute\(Tile\(k=3,") as together:
        questions.ask_each("compute", TILES)
    with pytest.raises(CostModelError) as alone:
        questions.ask("compute", TILES[2])
    assert str(together.value) == str(alone.value)


def test_no_questions() -> None:
    assert Questions(Answers(1), LAYER).ask_each("compute", []) == []
