from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.server.alerts.receiver import Receiver, receive
from tests.server.memory_source import MemorySource, MemoryWatch
from tests.server.waiting import wait_until
from tracklight.server.alerts.monitor import AlertSettings
from tracklight.server.app import create_app
from tracklight.server.auth import create_policy
from tracklight.server.alerts.rules import AlertRule
from tracklight.server.notes import NotesStore
from tracklight.util.user_dirs import get_notes_path

ABOVE = {"id": "1", "tag": "loss", "kind": "above", "value": 8}


@pytest.fixture(autouse=True)
def own_data(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TRACKLIGHT_DATA_DIR", str(tmp_path / "data"))


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receive() as receiver:
        yield receiver


@pytest.fixture
def board(
    source: MemorySource, watch: MemoryWatch, tmp_path: Path, receiver: Receiver
) -> Iterator[TestClient]:
    """A board with a rule from its command line and a webhook."""
    settings = AlertSettings((AlertRule("flag-1", "*", "nan"),), receiver.url)
    app = create_app(source, watch, create_policy("localhost"), page_dir=tmp_path, alerts=settings)
    with TestClient(app, base_url="http://localhost:6006") as client:
        wait_until(lambda: read_fired(client) != [])
        yield client


def read_fired(client: TestClient) -> list[dict[str, Any]]:
    fired: list[dict[str, Any]] = client.get("/api/v1/notes").json()["alerts"]["fired"]
    return fired


def write(source: MemorySource, watch: MemoryWatch, *values: float) -> None:
    source.logged["vit"]["loss"].extend(values)
    watch.touch()


def test_what_was_wrong_before_is_shown_but_not_sent(board: TestClient, receiver: Receiver) -> None:
    (fired,) = read_fired(board)
    assert (fired["rule"], fired["run"], fired["value"]) == ("flag-1", "conv", "NaN")
    assert receiver.got == []


def test_a_new_alarm_is_sent_and_said(
    board: TestClient, source: MemorySource, watch: MemoryWatch, receiver: Receiver
) -> None:
    heard = board.get("/api/v1/live/poll").json()["heard"]
    write(source, watch, float("nan"))
    wait_until(lambda: len(receiver.got) == 1)
    assert receiver.got[0]["text"] == "vit: loss is NaN at step 3"
    assert read_fired(board)[0] == receiver.got[0]
    write(source, watch, 1.0)
    wait_until(lambda: read_fired(board)[-1]["recovered"])
    said = board.get("/api/v1/live/poll", params={"heard": heard}).json()["said"]
    bodies = [one["body"] for one in said if one["name"] == "alert"]
    assert [(body["id"], body["recovered"]) for body in bodies] == [
        (receiver.got[0]["id"], False),
        (receiver.got[0]["id"], True),
    ]
    assert len(receiver.got) == 1


def test_rules_are_kept_beside_those_of_the_command_line(
    board: TestClient, source: MemorySource, watch: MemoryWatch
) -> None:
    answer = board.put("/api/v1/alerts/rules", json=[ABOVE]).json()["alerts"]
    assert [(rule["id"], rule["fixed"]) for rule in answer["rules"]] == [
        ("flag-1", True),
        ("1", False),
    ]
    assert answer["webhook"] is True
    assert NotesStore(get_notes_path(["/logs"])).read().rules == (
        AlertRule("1", "loss", "above", 8.0),
    )
    write(source, watch, 30.0)
    wait_until(lambda: "1" in [fired["rule"] for fired in read_fired(board)])
    board.put("/api/v1/alerts/rules", json=[])
    wait_until(lambda: "1" not in [fired["rule"] for fired in read_fired(board)])


def test_pages_hear_of_changes_by_another_server(board: TestClient) -> None:
    heard = board.get("/api/v1/live/poll").json()["heard"]
    NotesStore(get_notes_path(["/logs"])).update(lambda book: book.with_rules(()))

    def revisions() -> list[int]:
        said = board.get("/api/v1/live/poll", params={"heard": heard}).json()["said"]
        return [one["body"]["revision"] for one in said if one["name"] == "notes"]

    wait_until(lambda: revisions() == [1])


@pytest.mark.parametrize(
    ("rules", "says"),
    [
        ([{**ABOVE, "value": None}], "needs a number"),
        ([{**ABOVE, "tag": "/(/"}], "no regular expression"),
        ([ABOVE, ABOVE], "same id"),
        ([{**ABOVE, "kind": "odd"}], "kind"),
    ],
)
def test_rules_that_make_no_sense_are_refused(
    client: TestClient, rules: list[object], says: str
) -> None:
    answer = client.put("/api/v1/alerts/rules", json=rules)
    assert answer.status_code == 400
    assert says in answer.json()["error"]["message"]


def test_a_webhook_that_refuses_is_a_problem_on_the_page(
    board: TestClient, source: MemorySource, watch: MemoryWatch, receiver: Receiver
) -> None:
    receiver.statuses = [410]
    write(source, watch, float("nan"))
    wait_until(lambda: board.get("/api/v1/status").json()["status"]["problem_count"] == 1)
    (problem,) = board.get("/api/v1/status").json()["status"]["problems"]
    assert problem == "alarms do not reach 127.0.0.1: it answered 410"


def test_an_alert_that_matches_no_tag_is_named(
    source: MemorySource, watch: MemoryWatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    rules = tuple(AlertRule(tag, tag, "nan") for tag in ("*/los", "*/loss"))
    settings = AlertSettings(rules)
    app = create_app(source, watch, create_policy("localhost"), page_dir=tmp_path, alerts=settings)
    with TestClient(app, base_url="http://localhost:6006"):
        wait_until(lambda: len(caplog.messages) > 0)
    assert caplog.messages == ['note: the alert pattern "*/los" matches no scalar tag yet']
