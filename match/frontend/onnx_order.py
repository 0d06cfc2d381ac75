"""The nodes of an ONNX model in an order of execution, which ONNX asks for and some quantizers do not keep.

onnxruntime puts them in order itself.
"""

from __future__ import annotations

from graphlib import CycleError, TopologicalSorter
from typing import Any

from match.frontend.onnx_graph import read_by, with_fields


def in_order(proto: Any) -> Any:
    """The model with each node after those whose outputs it reads; itself if they are, or if they form a circle."""
    nodes = proto.graph.node
    makers = {output: place for place, node in enumerate(nodes) for output in node.output if output}
    needs = {place: [makers[name] for name in read_by([node]) if name in makers] for place, node in enumerate(nodes)}
    if all(need < place for place, all_needs in needs.items() for need in all_needs):
        return proto
    try:
        order = list(TopologicalSorter(needs).static_order())
    except CycleError:
        return proto
    return with_fields(proto, node=[nodes[place] for place in order])
