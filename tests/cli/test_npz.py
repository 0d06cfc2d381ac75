"""Tensors in files: what NumPy writes can be read, and the other way round; anything else is one sentence."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from match.errors import InputError, OutputError
from match.files import npz

pytestmark = pytest.mark.unit


def test_numpy_reads_what_is_written(tmp_path: Path) -> None:
    tensors = {"file": np.arange(6, dtype=np.int8).reshape(2, 3), "model/out:0": np.float32(2.5).reshape(1)}
    npz.write(tmp_path / "x.npz", tensors)
    with np.load(tmp_path / "x.npz") as archive:
        assert set(archive.files) == set(tensors)
        for name, tensor in tensors.items():
            assert archive[name].dtype == tensor.dtype
            assert np.array_equal(archive[name], tensor)
    assert [path.name for path in tmp_path.iterdir()] == ["x.npz"]


def test_what_numpy_writes_is_read(tmp_path: Path) -> None:
    np.savez(tmp_path / "x.npz", a=np.ones((1, 2), np.uint8))
    assert np.array_equal(npz.read(tmp_path / "x.npz")["a"], np.ones((1, 2), np.uint8))


def test_foreign_files_are_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "single.npy", np.ones(3))
    np.savez(tmp_path / "pickled.npz", a=np.array([{}]))
    (tmp_path / "text.npz").write_text("no array")
    (tmp_path / "empty.npz").write_bytes(b"")
    whole = (tmp_path / "pickled.npz").read_bytes()
    (tmp_path / "truncated.npz").write_bytes(whole[: len(whole) // 2])
    for path in tmp_path.iterdir():
        with pytest.raises(InputError, match=path.name):
            npz.read(path)
    with pytest.raises(InputError, match="No such file"):
        npz.read(tmp_path / "missing.npz")


def test_a_failed_write_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "x.npz").mkdir()
    with pytest.raises(OutputError, match=r"cannot write .*x\.npz"):
        npz.write(tmp_path / "x.npz", {"a": np.ones(3)})
    assert [path.name for path in tmp_path.iterdir()] == ["x.npz"]
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match="Not a directory"):
        npz.write(tmp_path / "file" / "x.npz", {"a": np.ones(3)})
    with pytest.raises(OutputError, match="No such file"):
        npz.write(tmp_path / "missing" / "x.npz", {"a": np.ones(3)})
