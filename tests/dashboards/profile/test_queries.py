"""Routes of SQL queries, saved queries and notes at a time."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.analysis.profiles.sample_captures import DATA
from tests.dashboards.profile.client import ProfileClient, open_client, put_file
from tracklight.errors import LogError, UsageError


@pytest.fixture
def client(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Iterator[ProfileClient]:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path_factory.mktemp("data")))
    logdir = tmp_path_factory.mktemp("queries")
    put_file(logdir, "net", DATA / "torch_f32.pt.trace.json.gz", "trace.json.gz")
    with open_client(logdir) as client:
        yield client


def test_tables_list_what_can_be_queried(client: ProfileClient) -> None:
    tables = {table.name: table for table in client.get("query/tables", "net").tables}
    assert [*tables] == ["events", "steps", "ops", "kernels", "counters", "counter_values"]
    types = {column.name: column.type for column in tables["events"].columns}
    assert types["name"] == "text" and types["on_device"] == "bool" and types["event"] == "number"
    result = client.get("query", "net", sql="SELECT count(*) AS n FROM events")
    assert result.columns[0].values == [tables["events"].rows]
    described = client.get("query", "net", sql="DESCRIBE events").columns[0].values
    assert described == [*types]


def test_numbers_of_events_are_those_of_the_trace(client: ProfileClient) -> None:
    sql = (
        "SELECT event, name, start_ms FROM events WHERE on_device ORDER BY duration_ms DESC LIMIT 1"
    )
    event, name, start_ms = (
        column.values[0] for column in client.get("query", "net", sql=sql).columns
    )
    row = client.get("timeline/event", "net", event=event).row
    assert (row.name, row.start_ps) == (name, pytest.approx(start_ms * 1e9))


def test_wrong_queries_are_reported(client: ProfileClient) -> None:
    with pytest.raises(UsageError, match="Table with name nothing does not exist"):
        client.get("query", "net", sql="FROM nothing")


def test_queries_are_saved_by_name(client: ProfileClient) -> None:
    def save(**fields: str) -> list[tuple[str, str]]:
        return [(it.name, it.sql) for it in client.request("query/save", **fields).queries]

    assert save(name="b", sql="FROM ops") == [("b", "FROM ops")]
    save(name="a", sql="FROM steps")
    assert save(name="b", sql="FROM events") == [("a", "FROM steps"), ("b", "FROM events")]
    assert save(name="a") == [("b", "FROM events")]
    assert [it.name for it in client.request("query/saved").queries] == ["b"]


def test_notes_are_kept_by_capture_and_time(client: ProfileClient) -> None:
    client.get("timeline/add-note", "net", time_ps=5e9, text="late")
    notes = client.get("timeline/add-note", "net", time_ps=2e9, text="early").notes
    assert [(it.time_ps, it.text) for it in notes] == [(2e9, "early"), (5e9, "late")]
    assert client.get("timeline/notes", "net").notes == notes
    left = client.get("timeline/delete-note", "net", id=notes[0].id).notes
    assert [it.text for it in left] == ["late"]
    with pytest.raises(LogError):
        client.request("timeline/add-note", capture="gone", time_ps=0, text="x")
