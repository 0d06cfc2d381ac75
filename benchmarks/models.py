"""Where the benchmarks find the MLPerf Tiny models."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from match.errors import OptionError

MLPERF_TINY = {
    "ResNet8": "pretrainedResnet_quant",
    "VWW": "vww_96_int8",
    "DS-CNN": "kws_ref_model",
    "auto-encoder": "ad01_int8",
}
"""The networks by the names of their TFLite files."""

Models = Annotated[
    Path | None,
    typer.Option(
        "--models",
        envvar="MATCH_MODELS",
        help="Folder of the MLPerf Tiny model files.",
        show_default="shared/models beside the project",
    ),
]


def models_folder(given: Path | None = None) -> Path:
    """The folder that is given, else $MATCH_MODELS, else shared/models beside the project.

    Raises:
        OptionError: it is not there.
    """
    named = given or os.environ.get("MATCH_MODELS")
    folder = Path(named) if named else Path(__file__).resolve().parents[2] / "shared" / "models"
    if not folder.is_dir():
        raise OptionError(f"there is no folder of MLPerf Tiny models at {folder}; set MATCH_MODELS to one.")
    return folder
