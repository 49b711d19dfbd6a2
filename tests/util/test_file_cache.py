from __future__ import annotations

import os
from pathlib import Path

from tracklight.util.files import FileCache


def put_in_order(cache: FileCache, folder: Path, *keys: str) -> None:
    """Put values of four bytes, each one second newer than the previous one."""
    for age, key in enumerate(keys):
        before = set(folder.glob("*"))
        cache.put(key, key.encode() * 4)
        (new,) = set(folder.glob("*")) - before
        os.utime(new, (1000 + age, 1000 + age))


def test_values_are_found_by_later_processes(tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    assert FileCache(folder).find("key") is None
    FileCache(folder).put("key", b"content")
    assert FileCache(folder).find("key") == b"content"
    assert len(list(folder.iterdir())) == 1


def test_least_recently_used_files_are_deleted_beyond_the_byte_budget(tmp_path: Path) -> None:
    cache = FileCache(tmp_path, max_bytes=12)
    put_in_order(cache, tmp_path, "a", "b", "c")
    cache.find("a")
    cache.put("d", b"dddd")
    assert [cache.find(key) is not None for key in "abcd"] == [True, False, True, True]


def test_number_of_files_is_bounded(tmp_path: Path) -> None:
    cache = FileCache(tmp_path, max_files=2)
    put_in_order(cache, tmp_path, "a", "b")
    cache.put("c", b"")
    assert [cache.find(key) is not None for key in "abc"] == [False, True, True]


def test_oversized_value_evicts_nothing(tmp_path: Path) -> None:
    cache = FileCache(tmp_path, max_bytes=12)
    cache.put("a", b"aaaa")
    cache.put("b", b"b" * 13)
    assert (cache.find("a"), cache.find("b")) == (b"aaaa", None)


def test_folder_that_cannot_be_written_is_an_empty_cache(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    cache = FileCache(tmp_path / "file" / "cache")
    cache.put("a", b"")
    assert cache.find("a") is None
