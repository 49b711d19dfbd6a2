from __future__ import annotations

import pytest

from tracklight.errors import UsageError
from tracklight.util.memory import format_bytes, parse_bytes


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("0", 0),
        ("512", 512),
        ("2GB", 2_000_000_000),
        ("2 gb", 2_000_000_000),
        ("1.5k", 1500),
        (".5MiB", 524_288),
        ("3T", 3_000_000_000_000),
        (77, 77),
    ],
)
def test_parses_sizes(text: str | int, size: int) -> None:
    assert parse_bytes(text) == size


@pytest.mark.parametrize("text", ["", "GB", "two", "-1GB", "2 potatoes", "1e9"])
def test_rejects_invalid_size(text: str) -> None:
    with pytest.raises(UsageError, match="write it as 2GB"):
        parse_bytes(text)


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1 kB"),
        (1_437_000, "1.44 MB"),
        (999_700, "1 MB"),
        (12_345_678_901, "12.3 GB"),
        (5_000_000_000_000, "5 TB"),
    ],
)
def test_formats_sizes(size: int, text: str) -> None:
    assert format_bytes(size) == text
