from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from tracklight.projections.shelf import Shelf

LAYOUT = np.arange(6, dtype=np.float32).reshape(3, 2)


def test_layouts_come_back(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path / "shelf")
    assert shelf.find("a") is None
    shelf.put("a", LAYOUT)
    found = shelf.find("a")
    assert found is not None and np.array_equal(found, LAYOUT)
    assert [path.name for path in (tmp_path / "shelf").iterdir()] == ["a.npy"]


def test_what_is_damaged_is_as_if_it_were_not_there(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path)
    for content in (b"", b"hello", b"\x93NUMPY\x01\x00v\x00"):
        (tmp_path / "a.npy").write_bytes(content)
        assert shelf.find("a") is None
    np.save(tmp_path / "a.npy", np.zeros(3))
    assert shelf.find("a") is None
    np.save(tmp_path / "a.npy", np.array([{}]), allow_pickle=True)
    assert shelf.find("a") is None


def test_those_used_longest_ago_are_thrown_away(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path, most_bytes=460)
    for age, key in enumerate("abc"):
        shelf.put(key, LAYOUT)
        os.utime(tmp_path / f"{key}.npy", (1000 + age, 1000 + age))
    shelf.find("a")
    shelf.put("d", LAYOUT)
    assert sorted(path.stem for path in tmp_path.glob("*.npy")) == ["a", "c", "d"]


def test_a_folder_that_cannot_be_written_is_no_harm(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    shelf = Shelf(tmp_path / "file" / "shelf")
    shelf.put("a", LAYOUT)
    assert shelf.find("a") is None
