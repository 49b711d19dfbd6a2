from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from starlette.testclient import TestClient

from tests.archives import extract
from tests.server.alerts.receiver import Receiver, receive
from tests.server.memory_source import MemorySource, MemoryWatch
from tests.server.waiting import wait_until
from tracklight.analysis.debugger import DEFAULT_ALERT_KINDS, AlertKind
from tracklight.debugger.recorder import Recorder, Schedule
from tracklight.formats.tensor_health import STAT_INDEX, STATS, WatchedTensor
from tracklight.index.catalog import Catalog
from tracklight.logdir.access import parse_roots
from tracklight.server.alerts import AlertRule
from tracklight.server.alerts.monitor import AlertSettings
from tracklight.server.app import create_app
from tracklight.server.auth import create_policy
from tracklight.server.notes import NotesStore
from tracklight.types import DebugEventFile
from tracklight.util.files import get_notes_path

DUMPS = Path(__file__).parents[2] / "data/debug_events/dumps.tar.xz"
ABOVE = {"id": "1", "tag": "loss", "kind": "above", "value": 8}


@pytest.fixture(autouse=True)
def own_data_dir(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TRACKLIGHT_DATA_DIR", str(tmp_path / "data"))


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receive() as receiver:
        yield receiver


@pytest.fixture
def server(
    source: MemorySource, watch: MemoryWatch, tmp_path: Path, receiver: Receiver
) -> Iterator[TestClient]:
    """A client of a server with a rule of the command line and a webhook."""
    settings = AlertSettings((AlertRule("flag-1", "*", "nan"),), receiver.url)
    app = create_app(source, watch, create_policy("localhost"), page_dir=tmp_path, alerts=settings)
    with TestClient(app, base_url="http://localhost:6006") as client:
        wait_until(lambda: read_alerts(client) != [])
        yield client


def read_alerts(client: TestClient) -> list[dict[str, Any]]:
    alerts: list[dict[str, Any]] = client.get("/api/v1/notes").json()["alerts"]["alerts"]
    return alerts


def write(source: MemorySource, watch: MemoryWatch, *values: float) -> None:
    source.logged["vit"]["loss"].extend(values)
    watch.touch()


def test_old_violations_are_listed_but_not_sent(server: TestClient, receiver: Receiver) -> None:
    (alert,) = read_alerts(server)
    assert (alert["rule"], alert["run"], alert["value"]) == ("flag-1", "conv", "NaN")
    assert receiver.messages == []


def test_new_alert_is_sent_and_published(
    server: TestClient, source: MemorySource, watch: MemoryWatch, receiver: Receiver
) -> None:
    last_event = server.get("/api/v1/live/poll").json()["last_event"]
    write(source, watch, float("nan"))
    wait_until(lambda: len(receiver.messages) == 1)
    assert receiver.messages[0]["text"] == "vit: loss is NaN at step 3"
    assert receiver.messages[0]["code"] == "alerts.nan"
    assert read_alerts(server)[0] == receiver.messages[0]
    write(source, watch, 1.0)
    wait_until(lambda: read_alerts(server)[-1]["resolved"])
    events = server.get("/api/v1/live/poll", params={"last_event": last_event}).json()["events"]
    alerts = [event["data"] for event in events if event["name"] == "alert"]
    assert [(alert["id"], alert["resolved"]) for alert in alerts] == [
        (receiver.messages[0]["id"], False),
        (receiver.messages[0]["id"], True),
    ]
    assert len(receiver.messages) == 1


def test_dump_with_nan_is_sent_without_a_rule(
    server: TestClient,
    source: MemorySource,
    watch: MemoryWatch,
    receiver: Receiver,
    tmp_path: Path,
) -> None:
    extract(DUMPS, tmp_path)
    source.dumped += list_files(tmp_path / "full_health", run="vit")
    write(source, watch, 1.0)
    wait_until(lambda: len(receiver.messages) == 1)
    message = receiver.messages[0]
    assert message["text"] == 'vit: the output of "Log" contains NaN or Inf. See the Debugger'
    assert (message["step"], message["view"]) == (None, {"tab": "debugger", "debugger-run": "vit"})
    # Once is enough.
    write(source, watch, 1.0)
    write(source, watch, float("nan"))
    wait_until(lambda: len(receiver.messages) == 2)
    assert receiver.messages[1]["rule"] == "flag-1"


def write_steps(recorder: Recorder, steps: range) -> None:
    """Record a ReLU of which all units are dead from step 5 on."""
    tensor = WatchedTensor("relu", "output", "ReLU", "float32", 40, (4, 10), channels=10)
    recorder.add(tensor)
    for step in steps:
        health = np.zeros((1, len(STATS)), np.float32)
        health[0, [STAT_INDEX["max"], STAT_INDEX["norm"]]] = 1
        health[0, STAT_INDEX["dead"]] = 10 if step >= 5 else 0
        recorder.end_step(step, health)
    recorder.writer.flush()


@pytest.mark.parametrize("kinds", [DEFAULT_ALERT_KINDS, frozenset({AlertKind.NAN})])
def test_dead_units_are_sent_without_a_rule(
    kinds: frozenset[AlertKind], receiver: Receiver, tmp_path: Path
) -> None:
    schedule = Schedule(1, 0)
    recorders = [
        Recorder(
            str(tmp_path / "logs/resnet"),
            "torch",
            "2",
            rank=rank,
            schedule=schedule,
            history=5,
            on_problem="continue",
        )
        for rank in range(2)
    ]
    write_steps(recorders[0], range(20))
    write_steps(recorders[1], range(5))
    recorders[0].writer.scalar("started", 1.0, 0)
    recorders[0].writer.flush()
    (root,) = parse_roots(str(tmp_path / "logs"))
    catalog, watch = Catalog([root], cache=False), MemoryWatch(root)
    rules = (AlertRule("flag-1", "started", "above", 0), AlertRule("flag-2", "done", "above", 0))
    settings = AlertSettings(rules, receiver.url, kinds)
    app = create_app(catalog, watch, create_policy("localhost"), page_dir=tmp_path, alerts=settings)
    with TestClient(app, base_url="http://localhost:6006") as client:
        # Problems that exist when the server starts are not sent.
        rank_0 = "dead units at step 5" if AlertKind.DEAD_UNITS in kinds else "started"
        wait_until(lambda: any(rank_0 in alert["text"] for alert in read_alerts(client)))
        write_steps(recorders[1], range(5, 20))
        watch.touch()
        if AlertKind.DEAD_UNITS in kinds:
            wait_until(lambda: len(receiver.messages) == 1)
            assert receiver.messages[0] == read_alerts(client)[0]
            assert receiver.messages[0]["text"] == (
                'resnet (rank 1): dead units at step 5, "relu". '
                "10 of 10 units are zero for all inputs. See the Debugger"
            )
            assert receiver.messages[0]["view"] == {
                "tab": "debugger",
                "debugger-run": "resnet (rank 1)",
            }
        recorders[0].writer.scalar("done", 1.0, 20)
        recorders[0].writer.flush()
        watch.touch()
        wait_until(lambda: "flag-2" in [it["rule"] for it in receiver.messages])
        assert len(receiver.messages) == 1 + (AlertKind.DEAD_UNITS in kinds)
    for recorder in recorders:
        recorder.close()


def list_files(folder: Path, run: str) -> list[DebugEventFile]:
    files = []
    for path in sorted(folder.iterdir()):
        prefix, _, kind = str(path).rpartition(".")
        files.append(DebugEventFile(run, prefix, kind, str(path), path.stat().st_size, ""))
    return files


def test_stored_rules_extend_those_of_the_command_line(
    server: TestClient, source: MemorySource, watch: MemoryWatch
) -> None:
    response = server.put("/api/v1/alerts/rules", json=[ABOVE]).json()["alerts"]
    assert [(rule["id"], rule["fixed"]) for rule in response["rules"]] == [
        ("flag-1", True),
        ("1", False),
    ]
    assert response["webhook"] is True
    assert NotesStore(get_notes_path(["/logs"])).read().rules == (
        AlertRule("1", "loss", "above", 8.0),
    )
    write(source, watch, 30.0)
    wait_until(lambda: "1" in [alert["rule"] for alert in read_alerts(server)])
    server.put("/api/v1/alerts/rules", json=[])
    wait_until(lambda: "1" not in [alert["rule"] for alert in read_alerts(server)])


def test_publishes_changes_by_another_server(server: TestClient) -> None:
    last_event = server.get("/api/v1/live/poll").json()["last_event"]
    NotesStore(get_notes_path(["/logs"])).update(lambda notes: notes.with_rules(()))

    def read_revisions() -> list[int]:
        events = server.get("/api/v1/live/poll", params={"last_event": last_event}).json()["events"]
        return [event["data"]["revision"] for event in events if event["name"] == "notes"]

    wait_until(lambda: read_revisions() == [1])


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ([{**ABOVE, "value": None}], "needs a number"),
        ([{**ABOVE, "tag": "/(/"}], "not a valid regular expression"),
        ([ABOVE, ABOVE], "same id"),
        ([{**ABOVE, "kind": "odd"}], "kind"),
    ],
)
def test_invalid_rules_return_400(client: TestClient, rules: list[object], message: str) -> None:
    response = client.put("/api/v1/alerts/rules", json=rules)
    assert response.status_code == 400
    assert message in response.json()["error"]["message"]


def test_webhook_failure_is_a_reported_problem(
    server: TestClient, source: MemorySource, watch: MemoryWatch, receiver: Receiver
) -> None:
    receiver.statuses = [410]
    write(source, watch, float("nan"))
    wait_until(lambda: server.get("/api/v1/status").json()["status"]["problem_count"] == 1)
    (problem,) = server.get("/api/v1/status").json()["status"]["problems"]
    assert problem["code"] == "alerts.not_sent"
    expected = "alerts cannot be sent to 127.0.0.1: it responded with status 410"
    assert problem["text"] == expected


def test_warns_about_rules_without_matching_tags(
    source: MemorySource, watch: MemoryWatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    rules = tuple(AlertRule(tag, tag, "nan") for tag in ("*/los", "*/loss"))
    settings = AlertSettings(rules)
    app = create_app(source, watch, create_policy("localhost"), page_dir=tmp_path, alerts=settings)
    with TestClient(app, base_url="http://localhost:6006"):
        wait_until(lambda: len(caplog.messages) > 0)
    assert caplog.messages == ['note: the alert pattern "*/los" matches no scalar tag yet']
