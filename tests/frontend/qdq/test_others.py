"""Networks that are not read as the graph are imported by TVM."""

from __future__ import annotations

from pathlib import Path

import pytest

from match.frontend import load
from match.graph.value import Graph
from tests.frontend.imported_network import save_imported_network

pytestmark = pytest.mark.tvm


def test_an_operator_without_a_class_leaves_the_network_to_tvm(tmp_path: Path) -> None:
    assert not isinstance(load(save_imported_network(tmp_path / "ordered.onnx")).network, Graph)
