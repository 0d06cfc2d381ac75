"""The engines side by side on the layers of networks: the exhaustive one is never beaten and never fails alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from match.errors import ScheduleError
from match.ir.layer import Layer
from match.ir.requantization import Requantizer
from match.mapping.memory import Memory
from match.mapping.schedule import Schedule
from match.prediction.predict import predict
from match.search.engine import engine_names
from match.target.hardware import HwModule
from match.targets.gap9.target import Gap9
from tests.search.networks import auto_encoder, ds_cnn, mobilenet, resnet8
from tests.search.problems import searched

pytestmark = pytest.mark.unit

NETWORKS = [resnet8, mobilenet, ds_cnn, auto_encoder]
SIZES = [8192, 12288, 16384, 24576, 32768, 65536, 118784]

SAMPLE = [
    (resnet8()[3], 16384),
    (resnet8()[4], 12288),
    (resnet8()[6], 24576),
    (mobilenet()[1], 16384),
    (mobilenet()[-3], 24576),
    (ds_cnn()[0], 8192),
    (auto_encoder()[0], 12288),
]
"""A convolution, an addition, strided and pointwise, depthwise and dense layers, at sizes that force tiles."""


def schedule_of(name: str, module: HwModule, layer: Layer, form: Requantizer, size: int) -> Schedule | None:
    arguments = layer, module.operands(layer, form), (Memory("L1", size),), module.cost(layer, form)
    try:
        return searched(name, *arguments, multiples=module.tile_multiples(layer))
    except ScheduleError:
        return None


def compare(layer: Layer, size: int, forms: int = 1) -> int:
    """How many mappings of the other engines `exact` was held against, with the first form of a module or two."""
    compared = 0
    for module in Gap9().modules[:2]:
        if not any(pattern.op is layer.op and pattern.check(layer).ok for pattern in module.patterns()):
            continue
        for form in (module.requantizers[0], module.requantizers[-1])[:forms]:
            model = module.cost(layer, form)
            best = schedule_of("exact", module, layer, form, size)
            for name in set(engine_names()) - {"exact"}:
                other = schedule_of(name, module, layer, form, size)
                if other is None:
                    continue
                assert best is not None, f"{name} alone maps {layer.name} onto {size} bytes of {module.name}"
                cycles = predict(best, model).cycles
                assert cycles <= predict(other, model).cycles + 1 / 256, (name, module.name, layer.name, size)
                compared += 1
    return compared


@pytest.mark.parametrize(("layer", "size"), SAMPLE, ids=lambda value: getattr(value, "name", str(value)))
def test_exact_is_never_beaten(layer: Layer, size: int) -> None:
    assert compare(layer, size)


@pytest.mark.sweep
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("network", NETWORKS)
def test_exact_is_never_beaten_on_any_layer(network: Callable[[], list[Layer]], size: int) -> None:
    for layer in dict.fromkeys(replace(layer, name="layer") for layer in network()):
        compare(layer, size, forms=2)
