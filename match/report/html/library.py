"""The libraries that draw, which only pages need."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from match.errors import ToolchainError


def library(name: str) -> Any:
    """A module of Bokeh or of fast-sugiyama.

    Raises:
        ToolchainError: if it is not installed.
    """
    try:
        return import_module(name)
    except ImportError as error:
        raise ToolchainError(
            f"pages need the Python package {name.partition('.')[0].replace('_', '-')}, which is not installed: "
            "`pip install 'match-compiler[html]'`."
        ) from error


def check_libraries() -> None:
    """Raise ToolchainError unless all libraries that pages need are installed."""
    for name in ("bokeh", "fast_sugiyama"):
        library(name)
