"""The exceptions of a layer's channels as kernels read them: kernels/include/match_tile.h."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from match.ir.requantization import UNREACHED, Int64Array, Requantization, Requantizer


@dataclass(frozen=True, eq=False)
class ExceptionLists:
    """Where each channel's exceptions begin in `words`, shape (channels,): their number, then they, rising, as int32.

    Channels with the same exceptions share a list; those without begin at the first word, which is 0.
    """

    begins: npt.NDArray[np.uint16]
    words: npt.NDArray[np.int32]

    @property
    def count(self) -> int:
        """How many exceptions all channels have."""
        return int(self.words[self.begins].sum())


def exception_lists(line: Requantization) -> ExceptionLists:
    """The lists of a line's exceptions."""
    if line.exceptions is None:
        return ExceptionLists(np.zeros(line.channels, np.uint16), np.zeros(1, np.int32))
    rows: list[list[int]] = line.exceptions.tolist()
    channels = [tuple(sorted({*row} - {UNREACHED})) for row in rows]
    words: list[int] = [0]
    places: dict[tuple[int, ...], int] = {(): 0}
    for listed in sorted({*channels} - {()}):
        places[listed] = len(words)
        words += [len(listed), *listed]
    return ExceptionLists(np.array([places[listed] for listed in channels], np.uint16), np.array(words, np.int32))


def with_lists_of(form: Requantizer, line: Requantization) -> Requantizer:
    """The form of one layer, with the words and the number of its exceptions, both rounded up to three bits.

    So many layers that differ in nothing but their exceptions have the same form, and are mapped once.
    """
    if not form.exceptions:
        return form
    lists = exception_lists(line)
    return replace(form, exceptions=_rounded(len(lists.words)), listed=_rounded(lists.count))


def _rounded(count: int) -> int:
    step = 1 << max(count.bit_length() - 3, 0)
    return -(-count // step) * step


def visible(line: Requantization, low: Int64Array, high: Int64Array) -> Requantization:
    """The line with those of its exceptions alone that change an output for accumulators from `low` to `high`."""
    if line.exceptions is None:
        return line
    plain = replace(line, exceptions=None)
    met = (line.exceptions >= low[:, None]) & (line.exceptions <= high[:, None])
    changed = met & (line(line.exceptions.T).T != plain(line.exceptions.T).T)
    if not changed.any():
        return plain
    return replace(line, exceptions=np.where(changed, line.exceptions, UNREACHED))
