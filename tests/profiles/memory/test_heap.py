"""Profiles of memory in pprof's form: a real one of JAX, and broken ones."""

from __future__ import annotations

import gzip

import pytest

from tests.profiles.captured import DATA
from tracklight.errors import FormatError
from tracklight.formats.pprof import Frame, Profile, Sample, read_profile
from tracklight.profiles.memory.heap import find_held

PROFILE = DATA / "jax.memory.prof"


def test_memory_of_jax_is_held_by_lines_of_the_program() -> None:
    # The program keeps a matrix of 1000 x 1000, its square, and three of 10 x 10.
    profile = read_profile(PROFILE.read_bytes())
    assert profile.types == ("allocations", "space")
    buffers = [each for each in find_held(profile) if each.kind == "buffer"]
    assert {each.bytes for each in buffers[:2]} == {4_000_000}
    assert all("<stdin>" in each.where for each in buffers)
    assert sum(each.times for each in buffers) == 5
    assert {each.device for each in buffers} != {""}
    assert len(buffers[0].stack) > 3


def test_the_innermost_line_stands_for_all_where_none_is_the_users() -> None:
    inner = Frame("full", "/usr/lib/python3/dist-packages/jax/lax.py", 3)
    held = find_held(Profile(("allocations", "space"), (Sample((inner,), (1, 8), {}),)))
    assert held[0].where == "full /usr/lib/python3/dist-packages/jax/lax.py:3"
    assert find_held(Profile(("count",), (Sample((), (), {}),)))[0].bytes == 0


def test_one_that_is_not_packed_is_the_same() -> None:
    packed = PROFILE.read_bytes()
    assert read_profile(gzip.decompress(packed)) == read_profile(packed)


@pytest.mark.parametrize("data", [b"", b"\x1f\x8bnothing", b"\x0a\x02\x08\x01", b"\xff" * 40])
def test_what_is_no_profile_is_said_to_be_none(data: bytes) -> None:
    with pytest.raises(FormatError):
        read_profile(data)


def test_a_profile_that_breaks_off_is_a_sentence_or_less_of_it() -> None:
    whole = gzip.decompress(PROFILE.read_bytes())
    for size in range(0, len(whole), 97):
        try:
            assert isinstance(read_profile(whole[:size]), Profile)
        except FormatError as error:
            assert str(error)
