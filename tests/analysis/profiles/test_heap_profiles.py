"""Profiles of memory in pprof's form: a real one of JAX, and broken ones."""

from __future__ import annotations

import gzip

import pytest

from tests.analysis.profiles.sample_captures import DATA
from tracklight.analysis.profiles.memory import list_heap_samples
from tracklight.errors import FormatError
from tracklight.formats.profiles.pprof import PprofFrame, PprofProfile, PprofSample, parse_pprof

PROFILE = DATA / "jax.memory.prof"


def test_memory_of_jax_is_held_by_lines_of_the_program() -> None:
    # The program keeps a matrix of 1000 x 1000, its square, and three of 10 x 10.
    profile = parse_pprof(PROFILE.read_bytes())
    assert profile.types == ("allocations", "space")
    buffers = [each for each in list_heap_samples(profile) if each.kind == "buffer"]
    assert {each.bytes for each in buffers[:2]} == {4_000_000}
    assert all("<stdin>" in each.location for each in buffers)
    assert sum(each.occurrences for each in buffers) == 5
    assert {each.device for each in buffers} != {""}
    assert len(buffers[0].stack) > 3


def test_the_innermost_line_stands_for_all_where_none_is_the_users() -> None:
    inner = PprofFrame("full", "/usr/lib/python3/dist-packages/jax/lax.py", 3)
    held = list_heap_samples(
        PprofProfile(("allocations", "space"), (PprofSample((inner,), (1, 8), {}),))
    )
    assert held[0].location == "full /usr/lib/python3/dist-packages/jax/lax.py:3"
    assert list_heap_samples(PprofProfile(("count",), (PprofSample((), (), {}),)))[0].bytes == 0


def test_one_that_is_not_packed_is_the_same() -> None:
    packed = PROFILE.read_bytes()
    assert parse_pprof(gzip.decompress(packed)) == parse_pprof(packed)


@pytest.mark.parametrize("data", [b"", b"\x1f\x8bnothing", b"\x0a\x02\x08\x01", b"\xff" * 40])
def test_what_is_no_profile_is_said_to_be_none(data: bytes) -> None:
    with pytest.raises(FormatError):
        parse_pprof(data)


def test_a_profile_that_breaks_off_is_a_sentence_or_less_of_it() -> None:
    whole = gzip.decompress(PROFILE.read_bytes())
    for size in range(0, len(whole), 97):
        try:
            assert isinstance(parse_pprof(whole[:size]), PprofProfile)
        except FormatError as error:
            assert str(error)
