"""What callers of the Python interface give by mistake: one sentence, as an error that a program can expect."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import match
from match.devtools.zoo import autoencoder, mobilenet_v1, resnet8
from match.errors import MatchError
from match.relay import relay

pytestmark = pytest.mark.tvm

NO_PATH: tuple[Any, ...] = (3, True, 3.5, b"x", "", "\0", [1], {1: 2}, object(), np.zeros(3), ("a", "b"))
NO_NUMBER: tuple[Any, ...] = (-1, 3.5, True, "3", b"x", [1], {1: 2}, object(), np.zeros(3))
NO_TRUTH: tuple[Any, ...] = (3, "yes", None, [1], object(), np.zeros(3))
NO_NAME: tuple[Any, ...] = (3, 3.5, True, b"x", "no such", [1], {1: 2}, object(), np.zeros(3), float("nan"))
NO_FUNCTION: tuple[Any, ...] = (3, None, "text", [1], np.zeros(3))

Call = Callable[[match.CompiledModel, Any], object]


def network() -> relay.Function:
    x, weights = relay.var("x", shape=(1, 4), dtype="uint8"), np.eye(4, dtype=np.int8)
    sums = relay.right_shift(relay.nn.dense(x, relay.const(weights), out_dtype="int32"), relay.const(3))
    return relay.Function([x], relay.cast(relay.clip(sums, 0, 255), "uint8"))


@pytest.fixture(scope="module")
def compiled() -> match.CompiledModel:
    return match.compile(network(), "gap9", name="tiny")


@pytest.fixture(scope="module")
def project(compiled: match.CompiledModel, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    compiled.save(folder)
    return folder


def check(wrong: tuple[Any, ...], call: Callable[[Any], object]) -> None:
    for value in wrong:
        with pytest.raises(MatchError) as raised:
            call(value)
        sentence = str(raised.value)
        assert sentence.rstrip(".")
        assert "\n" not in sentence


OPTIONS: dict[str, tuple[Any, ...]] = {
    "target": NO_NAME,
    "modules": (3, "cluster", [3], np.zeros(3), object()),
    "l1": NO_NUMBER,
    "l2": NO_NUMBER,
    "engine": NO_NAME,
    "objective": NO_NAME,
    "numerics": NO_NAME,
    "jobs": NO_NUMBER,
    "cache": (3, 3.5, b"x", "", "\0", [1], object(), np.zeros(3)),
    "fuse": NO_TRUTH,
    "rescale": NO_TRUTH,
    "quantize_recurrent": NO_TRUTH,
    "calibrate": (3, "x", [1], {"x": np.zeros((1, 16), np.uint8)}),
    "name": (*NO_NAME, "9x"),
    "input_type": NO_NAME,
    "output_type": NO_NAME,
    "input_layout": NO_NAME,
    "output": NO_PATH,
    "overwrite": NO_TRUTH,
    "progress": NO_FUNCTION,
    "params": (3, "text", [1], object(), np.zeros(3)),
}


@pytest.mark.parametrize("option", OPTIONS)
def test_options(option: str) -> None:
    check(OPTIONS[option], lambda value: match.compile(network(), **{option: value}))
    if option in ("target", "modules", "l1", "engine", "jobs", "cache", "fuse", "params"):
        check(OPTIONS[option], lambda value: match.partition(network(), **{option: value}))


FUNCTIONS: dict[str, Callable[[Any], object]] = {
    "compile": match.compile,
    "load": match.load,
    "partition": match.partition,
    "build": match.build,
    "validate": match.validate,
    "compare": lambda value: match.compare(value, value),
    "get_target": match.get_target,
    "shared_files": match.shared_files,
}


@pytest.mark.parametrize("function", FUNCTIONS)
def test_first_arguments(function: str) -> None:
    check(NO_PATH, FUNCTIONS[function])


METHODS: dict[str, tuple[tuple[Any, ...], Call]] = {
    "save": (NO_PATH, lambda compiled, value: compiled.save(value)),
    "save, overwrite": (NO_TRUTH, lambda compiled, value: compiled.save("unwritten", overwrite=value)),
    "save_timeline": (NO_PATH, lambda compiled, value: compiled.save_timeline(value)),
    "save_memory_map": (NO_PATH, lambda compiled, value: compiled.save_memory_map(value)),
    "simulate": ((*NO_NAME, None), lambda compiled, value: compiled.simulate(value)),
    "run, inputs": ((3, "x", [1], {"x": None}, {"y": 1}), lambda compiled, value: compiled.run(value)),
    "run, seed": (NO_NUMBER, lambda compiled, value: compiled.run(seed=value)),
    "run, on": (NO_NAME, lambda compiled, value: compiled.run(on=value)),
    "run, sanitize": (NO_TRUTH, lambda compiled, value: compiled.run(sanitize=value)),
    "measure, on": (NO_NAME, lambda compiled, value: compiled.measure(on=value)),
    "trace, sanitize": (NO_TRUTH, lambda compiled, value: compiled.trace(sanitize=value)),
    "validate, samples": ((*NO_NUMBER, 0), lambda compiled, value: compiled.validate(samples=value)),
    "validate, seed": (NO_NUMBER, lambda compiled, value: compiled.validate(seed=value)),
    "validate, layers": (NO_TRUTH, lambda compiled, value: compiled.validate(layers=value)),
    "validate, labels": (("x", [1.5], object()), lambda compiled, value: compiled.validate(labels=value, samples=1)),
}


@pytest.mark.parametrize("method", METHODS)
def test_methods(method: str, compiled: match.CompiledModel) -> None:
    wrong, call = METHODS[method]
    check(wrong, lambda value: call(compiled, value))


VALIDATION: dict[str, tuple[Any, ...]] = {
    "against": NO_PATH,
    "layers": NO_TRUTH,
    "progress": NO_FUNCTION,
}


@pytest.mark.parametrize("argument", VALIDATION)
def test_validation_of_a_project(argument: str, project: Path) -> None:
    check(VALIDATION[argument], lambda value: match.validate(project, **{argument: value}))


def test_networks_to_try() -> None:
    check((*NO_NAME, None), match.zoo.build)
    check(NO_NUMBER, resnet8)
    check(NO_NUMBER, lambda value: autoencoder(seed=value))
    check(NO_NAME, lambda value: autoencoder(activations=value))
    check((-1, "1", True, float("inf"), float("nan"), [1], np.zeros(3)), mobilenet_v1)
    check(NO_NUMBER, lambda value: mobilenet_v1(0.25, value))


def test_a_function_is_a_module() -> None:
    """As for ``tvm.relay.build``; its parameters may be given as well."""
    x, w = relay.var("x", shape=(1, 4), dtype="uint8"), relay.var("w", shape=(4, 4), dtype="int8")
    sums = relay.right_shift(relay.nn.dense(x, w, out_dtype="int32"), relay.const(3))
    function = relay.Function([x, w], relay.cast(relay.clip(sums, 0, 255), "uint8"))
    params = {"w": np.eye(4, dtype=np.int8)}
    assert [layer.op for layer in match.compile(function, params=params).layers] == ["dense"]
    cut = match.partition(function, params=params)
    assert [parameter.name_hint for parameter in cut["main"].params] == ["x"]
