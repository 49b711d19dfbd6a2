from __future__ import annotations

import time

from tests.server.run_table.tables import LogBuilder
from tracklight.server.run_table.table import RunTable, RunTableStore

#: Every table takes longer than this.
ALWAYS_LONG_S = -1.0
DEADLINE_S = 60.0


def wait_until_current(store: RunTableStore) -> RunTable:
    deadline = time.monotonic() + DEADLINE_S
    while not (table := store.get_table()).is_current:
        assert time.monotonic() < deadline
    return table


def grow(builder: LogBuilder, name: str, loss: float) -> None:
    builder.add(name, {"lr": loss}, {"loss": [loss]})
    builder.source.refresh()


def test_a_small_table_has_every_change() -> None:
    builder = LogBuilder()
    grow(builder, "a", 1.0)
    store = builder.create_store()
    assert store.get_table().names == ["a"]
    grow(builder, "b", 2.0)
    table = store.get_table()
    assert (table.names, table.is_current) == (["a", "b"], True)


def test_a_large_table_is_replaced_in_the_background() -> None:
    builder = LogBuilder()
    grow(builder, "a", 1.0)
    store = builder.create_store(max_build_s=ALWAYS_LONG_S)
    first = store.get_table()
    assert first.is_current
    assert first.get_column("last:loss").values.tolist() == [1.0]
    grow(builder, "b", 2.0)
    before = store.get_table()
    assert (before.names, before.is_current) == (["a"], False)
    table = wait_until_current(store)
    assert table.names == ["a", "b"]
    assert table.get_column("last:loss").values.tolist() == [1.0, 2.0]
    assert table.get_column("hparam:lr").values.tolist() == [1.0, 2.0]


def test_a_new_run_is_in_the_table_that_its_page_asks_for() -> None:
    builder = LogBuilder()
    grow(builder, "a", 1.0)
    store = builder.create_store(max_build_s=ALWAYS_LONG_S)
    store.get_table()
    grow(builder, "b", 2.0)
    assert store.get_table(["a"]).names == ["a"]
    assert store.get_table(["b"]).names == ["a", "b"]
