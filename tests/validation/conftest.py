"""The command line, as for its own tests."""

from __future__ import annotations

from tests.cli.conftest import command

__all__ = ["command"]
