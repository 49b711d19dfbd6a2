"""SQL queries over a capture: results against NumPy, and what queries must not do."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tests.analysis.profiles.sample_captures import DATA
from tracklight.analysis.profiles import sql as sql_module
from tracklight.analysis.profiles.captures import open_capture
from tracklight.analysis.profiles.profile_data import AnalyzedTrace, ProfileData
from tracklight.analysis.profiles.sql import SqlDatabase
from tracklight.errors import MissingDependencyError, UsageError
from tracklight.util.frames import CategoryColumn, Frame

FORBIDDEN = "A query reads the tables of a capture only"
ONLY_SELECT = "Only SELECT is possible"
TOO_LARGE = "needs too much memory"
TOO_SLOW = "takes longer than"


@pytest.fixture(scope="module")
def data() -> ProfileData:
    trace = open_capture(DATA / "torch_f32.pt.trace.json.gz")
    return ProfileData("run", "session", "host", AnalyzedTrace(trace))


@pytest.fixture
def database() -> Iterator[SqlDatabase]:
    yield SqlDatabase({
        "t": Frame({
            "number": np.arange(1000),
            "half": np.arange(1000) / 2,
            "name": CategoryColumn(["a", "b\udcff"], np.arange(1000, dtype=np.int32) % 2),
        })
    })  # fmt: skip


def test_times_by_step_equal_those_of_numpy(data: ProfileData) -> None:
    events = data.events
    step, ms = events["step"], events["duration_ms"]
    on_device = events["on_device"]
    result = data.query(
        "SELECT step, count(*) AS n, sum(duration_ms) AS ms FROM events WHERE on_device "
        "GROUP BY step ORDER BY step"
    )
    steps = np.unique(step[on_device])
    assert len(steps) > 2
    assert result["step"].tolist() == steps.tolist()
    assert result["n"].tolist() == [(on_device & (step == it)).sum() for it in steps]
    expected = [ms[on_device & (step == it)].sum() for it in steps]
    assert result["ms"] == pytest.approx(expected)


def test_tables_can_be_joined(data: ProfileData) -> None:
    result = data.query(
        "SELECT e.op, max(o.count) AS calls FROM events e JOIN ops o ON o.name = e.op "
        "JOIN steps s USING (step) WHERE o.side = 'device' AND s.is_averaged "
        "GROUP BY e.op ORDER BY e.op"
    )
    assert len(result) > 3 and (result["calls"] > 0).all()
    kernels = data.query("SELECT name, sum(total_ms) AS ms FROM kernels GROUP BY name ORDER BY ms")
    assert kernels["ms"].sum() == pytest.approx(data.kernels["total_ms"].sum())


def test_unknown_numbers_are_null(data: ProfileData) -> None:
    unknown = np.isnan(data.ops["flops"])
    assert unknown.any() and not unknown.all()
    result = data.query("SELECT count(*) AS n, max(flops) AS most FROM ops WHERE flops IS NOT NULL")
    assert result["n"][0] == (~unknown).sum()
    assert result["most"][0] == data.ops["flops"][~unknown].max()


def test_self_time_is_that_of_the_trace_viewer(data: ProfileData) -> None:
    assert (data.events["self_ms"] <= data.events["duration_ms"]).all()
    host = data.query("SELECT sum(self_ms) AS ms FROM events WHERE NOT on_device")["ms"][0]
    total = data.query("SELECT sum(duration_ms) AS ms FROM events WHERE NOT on_device")["ms"][0]
    assert 0 < host < total


def test_values_survive_json(database: SqlDatabase) -> None:
    result = database.run(
        "SELECT 170141183460469231731687303715884105727::HUGEINT AS large, 'nan'::DOUBLE AS nan, "
        "[1, 2] AS list, DATE '2026-01-02' AS day, true AS yes, NULL AS nothing, 1 AS large"
    )
    assert [(it.name, it.type, it.values) for it in result.columns] == [
        ("large", "number", ["170141183460469231731687303715884105727"]),
        ("nan", "number", [None]),
        ("list", "text", ["[1, 2]"]),
        ("day", "text", ["2026-01-02"]),
        ("yes", "bool", [True]),
        ("nothing", "text", [None]),
        ("large", "number", [1]),
    ]
    assert [*result.to_columns()][-1] == "large_2"


def test_rows_are_limited_and_names_are_texts(database: SqlDatabase) -> None:
    result = database.run("FROM t ORDER BY number DESC", max_rows=3)
    assert result.has_more
    assert [column.values for column in result.columns] == [
        [999, 998, 997],
        [499.5, 499.0, 498.5],
        ["b\\udcff", "a", "b\\udcff"],
    ]
    assert not database.run("FROM t LIMIT 3", max_rows=3).has_more
    empty = database.run("SELECT number, name FROM t WHERE half < 0")
    assert [(it.name, it.values) for it in empty.columns] == [("number", []), ("name", [])]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("", "The query is empty"),
        ("-- nothing", "The query is empty"),
        ("SELECT 1; SELECT 2", "Run one query at a time"),
        ("SELEC 1", 'The query failed: syntax error at or near "SELEC"'),
        ("SELECT x FROM t", 'Referenced column "x" not found'),
        ("FROM nowhere", "Table with name nowhere does not exist"),
        ("SELECT 'x'::INT", "Could not convert string 'x' to INT32"),
        ("SELECT * FROM read_csv('/etc/passwd')", FORBIDDEN),
        ("SELECT * FROM read_text('/etc/passwd')", FORBIDDEN),
        ("SELECT * FROM read_blob('/proc/self/environ')", FORBIDDEN),
        ("SELECT * FROM glob('/*')", FORBIDDEN),
        ("FROM '/etc/passwd'", "does not exist"),
        ("FROM '/etc/x.csv'", FORBIDDEN),
        ("FROM 'https://example.com/x.csv'", FORBIDDEN),
        ("COPY (SELECT 1) TO '{folder}/x.csv'", ONLY_SELECT),
        ("EXPLAIN ANALYZE COPY (SELECT 1) TO '{folder}/x.csv'", FORBIDDEN),
        ("EXPORT DATABASE '{folder}/x'", ONLY_SELECT),
        ("ATTACH '{folder}/x.db'", ONLY_SELECT),
        ("ATTACH ':memory:' AS other", ONLY_SELECT),
        ("INSTALL httpfs", ONLY_SELECT),
        ("LOAD httpfs", ONLY_SELECT),
        ("CREATE SECRET (TYPE s3)", ONLY_SELECT),
        ("SET memory_limit = '100GB'", ONLY_SELECT),
        ("SET enable_external_access = true", ONLY_SELECT),
        ("RESET lock_configuration", ONLY_SELECT),
        ("PRAGMA threads = 64", ONLY_SELECT),
        ("CREATE TABLE x AS SELECT 1", ONLY_SELECT),
        ("DROP VIEW t", ONLY_SELECT),
        ("SELECT * FROM query('COPY (SELECT 1) TO ''{folder}/x.csv''')", "The query failed"),
        # DuckDB counts neither of these towards its memory limit.
        ("SELECT repeat('x', 3000000000)", TOO_LARGE),
        ("SELECT len(range(300000000))", TOO_LARGE),
        ("SELECT list(range) FROM range(200000000)", TOO_LARGE),
    ],
)
def test_each_problem_is_one_sentence(
    database: SqlDatabase, tmp_path: Path, sql: str, message: str
) -> None:
    with pytest.raises(UsageError) as raised:
        database.run(sql.replace("{folder}", str(tmp_path)))
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)
    assert not os.listdir(tmp_path)


@pytest.mark.parametrize(
    "sql",
    [
        "WITH RECURSIVE r AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM r) SELECT count(*) FROM r",
        "SELECT sum(a.half * b.half * c.half * d.half) FROM t a, t b, t c, t d",
    ],
)
def test_endless_queries_are_ended(
    database: SqlDatabase, sql: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sql_module, "_MAX_QUERY_S", 0.5)
    with pytest.raises(UsageError, match=TOO_SLOW):
        database.run(sql)


def test_large_results_are_refused(database: SqlDatabase) -> None:
    with pytest.raises(UsageError, match="The result is too large"):
        database.run("SELECT repeat('x', 9000) FROM range(10000)")


def test_locked_configuration_is_the_second_barrier(database: SqlDatabase) -> None:
    names = ("enable_external_access", "lock_configuration", "autoload_known_extensions")
    selected = ", ".join(f"current_setting('{name}')" for name in names)
    values = [column.values for column in database.run(f"SELECT {selected}").columns]
    assert values == [[False], [True], [False]]


def test_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "duckdb" else find_spec(name)
    )
    with pytest.raises(MissingDependencyError, match=r"pip install 'tracklight\[sql\]'"):
        SqlDatabase({})


def test_files_are_deleted_with_the_database(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    database = SqlDatabase({"t": Frame({"x": np.arange(3)})})
    assert len(list(tmp_path.rglob("*.arrow"))) == 1
    del database
    assert not list(tmp_path.iterdir())
