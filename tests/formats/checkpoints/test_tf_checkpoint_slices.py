from __future__ import annotations

import pytest

from tracklight.errors import FormatError
from tracklight.formats.checkpoints.tf_checkpoint import SliceExtent, encode_slice_key, to_slices


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
def test_encoding_matches_tensorflow(number: int, code: str) -> None:
    assert encode_slice_key(b"", [SliceExtent(number, 0)]) == bytes.fromhex(f"0000010101{code}80")


def test_encoding_preserves_order() -> None:
    numbers = [-9000, -65, -64, -1, 0, 1, 63, 64, 8191, 8192, 2**20, 2**27, 2**54]
    codes = [encode_slice_key(b"a", [SliceExtent(number, 1)]) for number in numbers]
    assert codes == sorted(codes)


def test_escapes_terminators_in_names() -> None:
    assert encode_slice_key(b"a\x00b\xff", []) == b"\x00a\x00\xffb\xff\x00\x00\x01\x00"


def test_extent_without_length_covers_dimension() -> None:
    place = to_slices([SliceExtent(2, 3), SliceExtent(0, -1)], (10, 4))
    assert place == (slice(2, 5), slice(0, 4))


@pytest.mark.parametrize(
    ("extents", "message"),
    [
        ([SliceExtent(0, 1)], "a slice has 1 dimensions, but its tensor has 2"),
        (
            [SliceExtent(8, 3), SliceExtent(0, 4)],
            "a slice covers 8 to 11 of a dimension of size 10",
        ),
        ([SliceExtent(-1, 3), SliceExtent(0, 4)], "a slice covers -1 to 2"),
        ([SliceExtent(3, -2), SliceExtent(0, 4)], "a slice covers 3 to 1"),
    ],
)
def test_slice_outside_of_tensor_raises(extents: list[SliceExtent], message: str) -> None:
    with pytest.raises(FormatError, match=message):
        to_slices(extents, (10, 4))


def test_absurd_extent_raises() -> None:
    with pytest.raises(FormatError, match="a slice begins or ends at"):
        encode_slice_key(b"a", [SliceExtent(2**62, 1)])
