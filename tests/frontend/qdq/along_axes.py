"""Parts of quantized networks that combine numbers along axes."""

from __future__ import annotations

from functools import partial

import numpy as np

from tests.frontend.qdq.part import Part, added_to
from tests.passes.trained_models import TrainedModel

PARTS: dict[str, Part] = {}
part = partial(added_to, PARTS)


def axes(model: TrainedModel, *numbers: int) -> str:
    return model.constant(np.array(numbers))


@part(1, 24, 4, 5, scale=0.3)
def sums_of_maps(model: TrainedModel) -> None:
    model.add("ReduceSum", axes(model, 2, 3))


@part(1, 5, 4, 3, scale=0.2)
def sums_along_channels(model: TrainedModel) -> None:
    model.add("ReduceSum", axes(model, 1), keepdims=0)


@part(6, 7, 4, scale=0.2)
def sums_of_rows(model: TrainedModel) -> None:
    model.add("ReduceSum", axes(model, -1))


@part(2, 3, 4, 5, scale=0.2)
def sums_along_axes_apart(model: TrainedModel) -> None:
    model.add("ReduceSum", axes(model, 0, 2), keepdims=0)


@part(6, 7, 5)
def means_of_rows(model: TrainedModel) -> None:
    model.add("ReduceMean", axes=[2])


@part(1, 6, 25)
def means_of_sequences(model: TrainedModel) -> None:
    model.add("ReduceMean", axes=[1], keepdims=0)


@part(1, 2, 3, 4, 5)
def means_along_an_inner_axis(model: TrainedModel) -> None:
    """With several extents before and after the axis."""
    model.add("ReduceMean", axes=[2])


@part(1, 12, 6, 7, scale=0.2)
def magnitudes(model: TrainedModel) -> None:
    model.add("ReduceL1", axes=[2])


@part(6, 7, 6, scale=0.1)
def squares(model: TrainedModel) -> None:
    model.add("ReduceSumSquare", axes=[2])


@part(6, 7, 6)
def lengths(model: TrainedModel) -> None:
    model.add("ReduceSumSquare", axes=[2])
    model.quantize(0.1)
    model.add("Sqrt")


@part(4, 6, scale=0.1)
def running_sums(model: TrainedModel) -> None:
    model.add("CumSum", axes(model, 1))
    model.quantize(0.1, "uint8", 120)
    model.add("CumSum", axes(model, 0), exclusive=1, reverse=1)


@part(1, 3, 4, 5)
def distances_from_means(model: TrainedModel) -> None:
    x = model.current
    model.current = model.apply("Sub", x, model.apply("ReduceMean", x, axes=[2, 3]))


@part(1, 5, 4, 6)
def extremes(model: TrainedModel) -> None:
    x = model.current
    largest = model.apply("ReduceMax", x, axes=[1])
    model.current = model.apply("Sub", largest, model.apply("ReduceMin", x, axes=[1]))


def gains(model: TrainedModel, *shape: int) -> tuple[str, str]:
    """A gain and a bias."""
    gain, bias = model.rng.uniform(0.5, 1.5, shape), model.rng.normal(0, 0.3, shape)
    return model.constant(gain.astype(np.float32)), model.constant(bias.astype(np.float32))


@part(2, 5, 24)
def layer_normalization(model: TrainedModel) -> None:
    model.add("LayerNormalization", *gains(model, 24), epsilon=1e-3)


@part(1, 6, 5, 4)
def layer_normalization_with_an_activation(model: TrainedModel) -> None:
    model.add("LayerNormalization", *gains(model, 5, 4), axis=2)
    model.add("Relu")


@part(2, 5, 24)
def gelu_of_a_normalization(model: TrainedModel) -> None:
    x = model.add("LayerNormalization", *gains(model, 24))
    root = model.apply("Div", x, model.constant(np.float32(2**0.5)))
    share = model.apply("Add", model.apply("Erf", root), model.constant(np.float32(1)))
    model.current = model.apply("Mul", model.apply("Mul", x, share), model.constant(np.float32(0.5)))


@part(1, 6, 5, 4)
def instance_normalization(model: TrainedModel) -> None:
    model.add("InstanceNormalization", *gains(model, 6))


@part(2, 5, 24)
def normalization_written_out(model: TrainedModel) -> None:
    x = model.current
    distance = model.apply("Sub", x, model.apply("ReduceMean", x, axes=[-1]))
    square = model.apply("Pow", distance, model.constant(np.float32(2)))
    variance = model.apply("Add", model.apply("ReduceMean", square, axes=[-1]), model.constant(np.float32(1e-5)))
    model.current = model.apply("Div", distance, model.apply("Sqrt", variance))
    for kind, numbers in zip(("Mul", "Add"), gains(model, 24), strict=True):
        model.add(kind, numbers)


@part(2, 5, 24)
def root_mean_square_written_out(model: TrainedModel) -> None:
    x = model.current
    squares = model.apply("ReduceMean", model.apply("Mul", x, x), axes=[-1])
    root = model.apply("Sqrt", model.apply("Add", squares, model.constant(np.float32(1e-5))))
    model.current = model.apply("Mul", x, model.apply("Reciprocal", root))
    model.add("Mul", gains(model, 24)[0])


@part(1, 16, 4, 3, scale=0.01)
def unit_length_along_channels(model: TrainedModel) -> None:
    x = model.current
    length = model.apply("ReduceL2", x, axes=[1])
    model.current = model.apply("Div", x, model.apply("Max", length, model.constant(np.float32(1e-12))))


@part(6, 12, scale=0.01)
def by_length(model: TrainedModel) -> None:
    model.add("LpNormalization", axis=-1, p=2)
