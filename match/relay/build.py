"""What every build of a network by TVM has in common."""

from __future__ import annotations

UNWANTED = ("SimplifyExpr", "SimplifyExprPostAlterOp")
"""Passes of TVM. After each change they infer all types of the network again, which takes half of a build or more."""
