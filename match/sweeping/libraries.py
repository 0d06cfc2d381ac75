"""The libraries that share out points and hold tables, which only sweeps need."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from match.errors import ToolchainError


def library(name: str) -> Any:
    """A module of Dask, pandas or PyArrow.

    Raises:
        ToolchainError: if it is not installed.
    """
    try:
        return import_module(name)
    except ImportError as error:
        raise ToolchainError(
            f"a sweep needs the Python package {name.partition('.')[0]}, which is not installed: "
            "`pip install 'match-compiler[sweep]'`."
        ) from error


def check_libraries() -> None:
    """Raise ToolchainError unless all libraries that sweeps need are installed."""
    for name in ("distributed", "pandas", "pyarrow"):
        library(name)
