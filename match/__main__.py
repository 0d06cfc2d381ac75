"""`python -m match` is `match`."""

from __future__ import annotations

from match.cli import main

main()
