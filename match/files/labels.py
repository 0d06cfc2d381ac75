"""The classes of samples, from a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from match.errors import InputError
from match.files import npz

_TEXT = (".txt", ".csv")


def read_labels(path: Path) -> npt.NDArray[Any]:
    """The array of an .npy file, the one called "labels" of an .npz file, or the numbers of a text file.

    Raises:
        InputError: the file has none.
    """
    if path.suffix.lower() in _TEXT:
        try:
            return np.array([int(number) for number in path.read_text("utf-8").replace(",", " ").split()])
        except (ValueError, OSError) as error:
            raise InputError(f"{path} is no list of classes; write one whole number into each line.") from error
    if path.suffix.lower() == ".npz":
        found = npz.read(path)
        if npz.LABELS not in found:
            raise InputError(f"{path} has {', '.join(found) or 'nothing'}; call the array of classes {npz.LABELS!r}.")
        return found[npz.LABELS]
    return read_array(path)


def read_array(path: Path) -> npt.NDArray[Any]:
    """The array of an .npy file.

    Raises:
        InputError: it has none.
    """
    try:
        found: Any = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise InputError(f"{path} is not an .npy file of an array; write it with numpy.save.") from error
    if isinstance(found, np.lib.npyio.NpzFile):
        raise InputError(f"{path} has arrays by name; call it .npz.")
    return found
