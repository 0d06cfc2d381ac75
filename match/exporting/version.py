"""The version that exported libraries have: that of MATCH."""

from __future__ import annotations

from match.codegen.identity import shared_c


def version() -> str:
    """Three numbers with points between them."""
    return ".".join(map(str, shared_c("", ()).numbers))
