from __future__ import annotations

from tracklight.util.files import hash_key


def test_hashes_are_stable_between_versions() -> None:
    """File names of notes depend on these hashes."""
    assert hash_key("/logs") == "2fe6509cdb3647baacd7495b"
    assert len(hash_key("a", size_bytes=8)) == 16


def test_parts_are_kept_apart() -> None:
    assert hash_key("a", "b") != hash_key("ab") != hash_key("b", "a")


def test_names_that_are_not_utf8_are_accepted() -> None:
    assert len({hash_key(text) for text in ("\udcff", "\ud800", "?", "�")}) == 4
