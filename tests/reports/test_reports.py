"""Networks of public reports beside TFLite Micro or onnxruntime."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import match
from match.frontend import load
from match.graph.evaluate import evaluate
from match.passes.pipeline import integer_network
from match.run.samples import random_arrays
from match.validation.references import reference
from tests.pages import DOCS, PAGES
from tests.reports.networks import REPORTS, Reported
from tests.sampled import sampled

pytestmark = pytest.mark.cc

IN_C = [one for one in REPORTS if "SVDF" in one.said or one is REPORTS[-1]]


def named(report: Reported) -> str:
    return f"{report.place}: {report.said}"


@pytest.mark.parametrize("report", REPORTS, ids=named)
def test_integers_are_those_of_the_runtime(report: Reported, tmp_path: Path) -> None:
    """Equal where it computes integers, and within a step where it computes in floating point."""
    model = load(report.write(tmp_path))
    graph = integer_network(model)
    held = list(graph.states)
    _, run = reference(model)
    for seed in range(4):
        inputs = list(random_arrays(model.inputs, seed).values())
        outputs = evaluate(graph, [*inputs, *held])
        found, held = outputs[: len(model.outputs)], outputs[len(model.outputs) :]
        for own, expected in zip(found, run(inputs), strict=True):
            if own.dtype.kind == "f":
                np.testing.assert_allclose(own, expected, rtol=1e-4, atol=1e-5)
            else:
                off = np.abs(own.astype(np.int64) - expected.astype(np.int64))
                assert off.max() <= (0 if all(value.exact for value in graph.values) else 1)


@pytest.mark.parametrize("report", sampled(REPORTS, IN_C), ids=named)
def test_c(report: Reported, tmp_path: Path) -> None:
    compiled = match.compile(report.write(tmp_path), "gap9", numerics="exact")
    validation = compiled.validate(samples=6)
    assert validation.equal or compiled.report.totals.inexact_layers
    assert all(output.largest <= output.step for output in validation.outputs if output.step)


def test_the_page_is_current() -> None:
    assert (DOCS / "reports.md").read_text() == PAGES["reports.md"](), "docs/reports.md is not current: make pages"
