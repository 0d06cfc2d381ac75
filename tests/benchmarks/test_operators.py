"""The benchmark of the zoo's architectures: shares add up, what is on the control core is told with its reason."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from benchmarks.operators.results import CPU, Row, grid
from benchmarks.operators.shares import measure, measure_file
from match.errors import OptionError
from tests.architectures import rows
from tests.sampled import sampled

NETWORKS = Path(__file__).resolve().parents[1] / "tflite" / "networks"

pytestmark = pytest.mark.cc


def test_shares_of_a_network() -> None:
    row = measure("squeezenet-0.1-16", "uint8", "gap9", "exact", compare=True)
    assert row.refused is None
    assert sum(row.shares.values()) == pytest.approx(1)
    assert sum(rest.share for rest in row.rest) == pytest.approx(row.shares.get(CPU, 0.0))
    assert all(rest.refusals for rest in row.rest if rest.op == "concatenate")
    assert (row.differing, row.outputs) == (0, 1000)


def test_shares_of_a_float_network() -> None:
    """Quantized for the target it is where the zoo's own is, and its C computes the reference's numbers."""
    row, own = (measure("squeezenet-0.1-16", kind, "gap9", "exact", compare=True) for kind in ("float", "uint8"))
    assert (row.activations, row.refused) == ("float", None)
    assert not any(rest.share for rest in row.rest)
    assert row.cycles == pytest.approx(own.cycles, rel=0.02)
    assert (row.differing, row.outputs) == (0, 1000)


def test_shares_of_a_file() -> None:
    """A convolutional network over time, whose padding and additions are on the cluster; TFLite Micro's numbers."""
    row = measure_file(NETWORKS / "tcn.tflite", "gap9", "exact", compare=True)
    assert row.refused is None
    assert sum(row.shares.values()) == pytest.approx(1)
    assert "nn.pad" not in [rest.op for rest in row.rest]
    assert (row.differing, row.outputs > 0) == (0, True)


@pytest.mark.parametrize(
    ("network", "activations"),
    sampled([(row.network, row.activations) for row in rows()], [("resnet8", "uint8"), ("resnet8", "float")]),
)
def test_what_the_documentation_has_is_predicted_today(network: str, activations: str) -> None:
    """Else: `python -m benchmarks.operators -o benchmarks/operators/predicted.json`, and `make pages`."""
    (kept,) = (row for row in rows() if (row.network, row.activations) == (network, activations))
    today = measure(network, activations, "gap9", "hardware", compare=False, quantize_recurrent=kept.quantize_recurrent)
    assert (today.cycles, today.shares, today.rest) == (kept.cycles, pytest.approx(kept.shares), kept.rest)


def test_what_is_no_network_is_a_row(tmp_path: Path) -> None:
    (tmp_path / "one.tflite").write_bytes(b"none")
    row = measure_file(tmp_path / "one.tflite", "gap9", "exact", compare=True)
    assert row.refused


def test_networks_that_are_not_there() -> None:
    with pytest.raises(OptionError):
        measure("squeezenet", "uint8", "gap9", "hardware", compare=False)


def test_refusals_are_rows() -> None:
    console = Console(file=io.StringIO(), width=200)
    console.print(grid([Row(network="one", activations="int8", refused="it is too large.")]))
    assert isinstance(console.file, io.StringIO)
    assert "it is too large." in console.file.getvalue()
