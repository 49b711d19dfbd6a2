"""Reading many values at once gives the same as reading them one by one."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import builders as b
from tests.index import logs
from tracklight.errors import CorruptRecordError
from tracklight.index.event_file import RecordSlice, iter_nearby

MANY = settings(max_examples=40, deadline=None)


def pictures(step: int, *sizes: int) -> bytes:
    """Return one record with a value of each size."""
    values = [b.value("picture", b.image(bytes([step % 256]) * size)) for size in sizes]
    other = b.value("other", b.image(b"x" * (step % 7 * 5000)))
    return b.record(b.event(b.summary(other, *values, other), step=step, wall=1.7e9 + step))


@MANY
@given(
    st.lists(st.lists(st.integers(0, 30_000), min_size=1, max_size=3), min_size=1, max_size=12),
    st.integers(0, 11),
    st.data(),
)
def test_reads_many_values_like_single_ones(
    tmp_path_factory: pytest.TempPathFactory,
    sizes: list[list[int]],
    split: int,
    data: st.DataObject,
) -> None:
    folder = tmp_path_factory.mktemp("log")
    records = [pictures(step, *own) for step, own in enumerate(sizes)]
    logs.write(folder, "a", b"".join(records[:split]), name="events.out.tfevents.1")
    logs.write(folder, "a", b"".join(records[split:]), name="events.out.tfevents.2")
    catalog = logs.open_catalog(folder)
    locations = catalog.locate("a", "picture")
    indexes = data.draw(st.lists(st.integers(0, len(locations) - 1), max_size=20))
    try:
        one_by_one = [catalog.read(locations, index) for index in indexes]
        assert catalog.read_many(locations, indexes) == one_by_one
    finally:
        catalog.close()


def test_rejects_changed_record(tmp_path: Path) -> None:
    path = logs.write(tmp_path, "a", b"".join(logs.picture(step, b"data") for step in range(9)))
    catalog = logs.open_catalog(tmp_path)
    locations = catalog.locate("a", "picture")
    path.write_bytes(b.flip(path.read_bytes(), int(locations.record[4]) + 40))
    with pytest.raises(CorruptRecordError, match="wrong checksum"):
        catalog.read_many(locations, range(9))
    assert len(catalog.read_many(locations, [3, 5])) == 2
    path.write_bytes(path.read_bytes()[:50])
    with pytest.raises(CorruptRecordError, match="has changed"):
        catalog.read_many(locations, [8])
    catalog.close()


def test_reads_neighbors_together() -> None:
    slices = [RecordSlice(record, 0, 84) for record in (0, 100, 200, 9000, 9100)]
    assert [len(group) for group in iter_nearby(slices, 1000, 10_000)] == [3, 2]
    assert [len(group) for group in iter_nearby(slices, 1000, 200)] == [2, 1, 2]
    assert list(iter_nearby([], 1000, 200)) == []
