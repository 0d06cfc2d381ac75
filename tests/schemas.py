"""JSON Schemas, compared."""

from __future__ import annotations

import json
from typing import Any


def in_order(node: Any) -> Any:
    """A schema with its alternatives sorted and its texts in a line: versions of msgspec write both differently."""
    if isinstance(node, dict):
        return {key: in_order(value) for key, value in node.items()}
    if isinstance(node, list):
        return sorted(map(in_order, node), key=json.dumps)
    return " ".join(node.split()) if isinstance(node, str) else node
