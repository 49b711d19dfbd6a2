from __future__ import annotations

import pytest

from tracklight.errors import FormatError
from tracklight.tensorfiles.slices import Extent, encode_key, find_place


@pytest.mark.parametrize(
    ("number", "code"),
    [
        (0, "80"),
        (63, "bf"),
        (64, "c040"),
        (1000, "c3e8"),
        (8191, "dfff"),
        (8192, "e02000"),
        (20_000, "e04e20"),
        (1_500_000, "f016e360"),
        (-1, "7f"),
        (-65, "3fbf"),
    ],
)
def test_numbers_are_coded_as_tensorflow_does(number: int, code: str) -> None:
    assert encode_key(b"", [Extent(number, 0)]) == bytes.fromhex(f"0000010101{code}80")


def test_codes_sort_like_their_numbers() -> None:
    numbers = [-9000, -65, -64, -1, 0, 1, 63, 64, 8191, 8192, 2**20, 2**27, 2**54]
    codes = [encode_key(b"a", [Extent(number, 1)]) for number in numbers]
    assert codes == sorted(codes)


def test_bytes_that_end_a_name_are_escaped() -> None:
    assert encode_key(b"a\x00b\xff", []) == b"\x00a\x00\xffb\xff\x00\x00\x01\x00"


def test_a_stretch_without_length_is_the_whole_dimension() -> None:
    place = find_place([Extent(2, 3), Extent(0, -1)], (10, 4))
    assert place == (slice(2, 5), slice(0, 4))


@pytest.mark.parametrize(
    ("extents", "sentence"),
    [
        ([Extent(0, 1)], "a part of 1 dimensions of a tensor of 2"),
        ([Extent(8, 3), Extent(0, 4)], "a part from 8 to 11 of a dimension of 10"),
        ([Extent(-1, 3), Extent(0, 4)], "a part from -1 to 2"),
        ([Extent(3, -2), Extent(0, 4)], "a part from 3 to 1"),
    ],
)
def test_parts_that_do_not_fit_are_told(extents: list[Extent], sentence: str) -> None:
    with pytest.raises(FormatError, match=sentence):
        find_place(extents, (10, 4))


def test_a_place_beyond_any_memory_is_refused() -> None:
    with pytest.raises(FormatError, match="a part of a tensor at"):
        encode_key(b"a", [Extent(2**62, 1)])
