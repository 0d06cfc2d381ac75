"""Tensors by name in ``.npz`` files."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from match.errors import InputError
from match.files.output import whole_file

Array = npt.NDArray[Any]

LABELS = "labels"
"""In a file of inputs: the class of each sample."""


def read(path: Path) -> dict[str, Array]:
    """All tensors of a file.

    Raises:
        InputError: it cannot be read, or holds anything but arrays by name.
    """
    try:
        archive = np.load(path, allow_pickle=False)
        if not isinstance(archive, np.lib.npyio.NpzFile):
            raise InputError(f"{path} holds one array without a name; save tensors by name with numpy.savez.")
        with archive:
            return {name: archive[name] for name in archive.files}
    except OSError as error:
        raise InputError(f"cannot read tensors from {path}: {error.strerror or error}; check the path.") from error
    except (ValueError, EOFError, zipfile.BadZipFile) as error:
        raise InputError(f"{path} is not an .npz file of arrays; write it with numpy.savez.") from error


def by_input(arrays: Mapping[str, Array], inputs: Sequence[str]) -> dict[str, Array]:
    """Arrays of a file by the names of a network's inputs: one array is the only input's, whatever the file calls it.

    Converters rename inputs, as that of Keras to TFLite does, which makes "serving_default_image:0" of "image".
    """
    if len(arrays) == len(inputs) == 1:
        return dict(zip(inputs, arrays.values(), strict=True))
    return dict(arrays)


def write(path: Path, tensors: Mapping[str, Array]) -> None:
    """Write a file, whole or not at all.

    Raises:
        OutputError: it cannot be written.
    """
    # Not numpy.savez, which takes names as keyword arguments: a tensor may be called like one of its own.
    with whole_file(path) as unfinished, zipfile.ZipFile(unfinished, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, tensor in tensors.items():
            with archive.open(f"{name}.npy", "w") as member:
                np.lib.format.write_array(member, np.asarray(tensor), allow_pickle=False)
