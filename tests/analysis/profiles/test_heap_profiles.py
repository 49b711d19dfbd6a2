"""Memory profiles in the pprof format: a real one of JAX, and damaged ones."""

from __future__ import annotations

import gzip

import pytest

from tests.analysis.profiles.sample_captures import DATA
from tracklight.analysis.profiles.memory import list_heap_samples
from tracklight.errors import FormatError
from tracklight.formats.profiles.memory_profiles import (
    PprofFrame,
    PprofProfile,
    PprofSample,
    parse_pprof,
)

PROFILE = DATA / "jax.memory.prof"


def test_jax_heap_samples_name_lines_of_the_program() -> None:
    # The program holds a 1000 x 1000 matrix, its square, and three 10 x 10 matrices.
    profile = parse_pprof(PROFILE.read_bytes())
    assert profile.types == ("allocations", "space")
    buffers = [each for each in list_heap_samples(profile) if each.kind == "buffer"]
    assert {each.bytes for each in buffers[:2]} == {4_000_000}
    assert all("<stdin>" in each.location for each in buffers)
    assert sum(each.occurrences for each in buffers) == 5
    assert {each.device for each in buffers} != {""}
    assert len(buffers[0].stack) > 3


def test_location_is_innermost_frame_without_user_code() -> None:
    inner = PprofFrame("full", "/usr/lib/python3/dist-packages/jax/lax.py", 3)
    samples = list_heap_samples(
        PprofProfile(("allocations", "space"), (PprofSample((inner,), (1, 8), {}),))
    )
    assert samples[0].location == "full /usr/lib/python3/dist-packages/jax/lax.py:3"
    assert list_heap_samples(PprofProfile(("count",), (PprofSample((), (), {}),)))[0].bytes == 0


def test_uncompressed_profile_is_equal() -> None:
    compressed = PROFILE.read_bytes()
    assert parse_pprof(gzip.decompress(compressed)) == parse_pprof(compressed)


@pytest.mark.parametrize("data", [b"", b"\x1f\x8bnothing", b"\x0a\x02\x08\x01", b"\xff" * 40])
def test_rejects_invalid_profiles(data: bytes) -> None:
    with pytest.raises(FormatError):
        parse_pprof(data)


def test_truncated_profile_is_read_or_rejected() -> None:
    whole = gzip.decompress(PROFILE.read_bytes())
    for size in range(0, len(whole), 97):
        try:
            assert isinstance(parse_pprof(whole[:size]), PprofProfile)
        except FormatError as error:
            assert str(error)
