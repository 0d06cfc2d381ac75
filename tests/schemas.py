"""JSON Schemas, compared."""

from __future__ import annotations

import json
from typing import Any


def in_order(node: Any) -> Any:
    """A schema with its alternatives sorted: versions of msgspec list them differently."""
    if isinstance(node, dict):
        return {key: in_order(value) for key, value in node.items()}
    return sorted(map(in_order, node), key=json.dumps) if isinstance(node, list) else node
