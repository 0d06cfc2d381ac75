"""Tensors of files, as the inputs of networks."""

from __future__ import annotations

import numpy as np
import pytest

from match.files.npz import by_input

pytestmark = pytest.mark.unit

ONE, OTHER = np.zeros(2), np.ones(2)


def test_one_array_is_the_only_input() -> None:
    assert by_input({"image": ONE}, ["serving_default_image:0"])["serving_default_image:0"] is ONE


@pytest.mark.parametrize(
    ("arrays", "inputs"), [({"a": ONE}, ["x", "y"]), ({"a": ONE, "b": OTHER}, ["x"]), ({}, ["x"]), ({"x": ONE}, ["x"])]
)
def test_other_arrays_keep_their_names(arrays: dict[str, np.ndarray], inputs: list[str]) -> None:
    assert by_input(arrays, inputs) == arrays
