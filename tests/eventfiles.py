"""Hypothesis strategies for valid and damaged event files."""

from __future__ import annotations

from hypothesis import strategies as st

from tests import builders as b

#: Sizes at which a growing file is scanned, modulo its length.
CUTS = st.lists(st.integers(0, 5000), max_size=5)

#: Bytes between records. They contain no plausible header: one whose record happens to end where a
#: valid record starts could hide everything in between.
GARBAGE = st.one_of(
    st.just(b""),
    st.binary(min_size=1, max_size=40),
    st.just(bytes(30)),
    st.builds(b.header, st.sampled_from([4 << 30, (1 << 63) - 1, (1 << 64) - 1])),
)

_ANY_GARBAGE = st.one_of(GARBAGE, st.builds(b.header, st.integers(0, 200)))
_FLOATS = st.floats(width=32)
_TAGS = st.sampled_from(["loss", "accuracy", "", "layer/weights", "μ"])
_INT_FIELDS = st.sampled_from([7, 10, 11, 13, 16, 17])
_TENSOR_FIELDS = st.one_of(
    st.lists(st.integers(-1, 2), max_size=2).map(lambda sizes: b.shape(*sizes)),
    st.builds(b.content, st.binary(max_size=9)),
    st.builds(b.single, st.just(5), _FLOATS),
    st.builds(b.double, st.just(6), st.floats()),
    st.builds(b.integer, _INT_FIELDS, st.integers(-(1 << 63), (1 << 64) - 1)),
    st.builds(b.blob, st.integers(2, 18), st.binary(max_size=12)),
)
_BODIES = st.one_of(
    st.just(b""),
    st.builds(b.simple, _FLOATS),
    st.builds(b.tensor, st.integers(0, 26), _TENSOR_FIELDS),
    st.builds(b.tensor, st.integers(1, 25), _TENSOR_FIELDS, _TENSOR_FIELDS),
    st.builds(b.image, st.binary(max_size=40)),
    st.builds(b.blob, st.sampled_from([3, 5, 6, 9]), st.binary(max_size=20)),
)
_METADATA = st.one_of(
    st.just(b""),
    st.builds(b.metadata, st.sampled_from(["", "scalars", "images"]), st.binary(max_size=3)),
)
_VALUES = st.builds(b.value, _TAGS, _BODIES, _METADATA)
_FIELDS = st.one_of(
    st.just(b""),
    st.lists(_VALUES, max_size=3).map(lambda values: b.summary(*values)),
    st.builds(b.session, st.integers(0, 3)),
    st.builds(b.blob, st.integers(3, 11), st.binary(max_size=20)),
)


def events() -> st.SearchStrategy[bytes]:
    """Generate payloads that are a valid or almost valid Event."""
    steps = st.integers(-5, 1 << 40)
    return st.builds(b.event, _FIELDS, _FIELDS, step=steps, wall=st.floats())


@st.composite
def good_records(draw: st.DrawFn) -> list[bytes]:
    """Generate records of one series "t" whose steps count up from 0."""
    numbers = draw(st.lists(_FLOATS, min_size=1, max_size=8))
    return [b.scalar("t", step, number) for step, number in enumerate(numbers)]


@st.composite
def damaged_files(draw: st.DrawFn) -> bytes:
    records = st.lists(st.builds(b.record, events()), max_size=8)
    pieces = [draw(_damaged_records(record)) for record in draw(records)]
    return b"".join(pieces) + draw(_ANY_GARBAGE)


@st.composite
def _damaged_records(draw: st.DrawFn, record: bytes) -> bytes:
    """Generate an intact or damaged copy of a record."""
    at = draw(st.integers(0, len(record) - 1))
    kind = draw(st.sampled_from(["whole", "whole", "whole", "flip", "cut", "insert", "overwrite"]))
    extra = draw(_ANY_GARBAGE)
    return {
        "whole": record,
        "flip": b.flip(record, at),
        "cut": record[:at],
        "insert": record[:at] + extra + record[at:],
        "overwrite": (record[:at] + extra + record[at + len(extra) :]),
    }[kind]
