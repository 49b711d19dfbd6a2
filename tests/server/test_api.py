from __future__ import annotations

from pathlib import Path

import pytest
from starlette.testclient import TestClient

import tracklight
from tests.server.memory_source import MemorySource, MemoryWatch
from tests.server.waiting import wait_until
from tracklight.logdir.roots import Root
from tracklight.server.app import create_app
from tracklight.server.security import policy_for
from tracklight.types import DamageInfo


def query(client: TestClient, **body: object) -> dict[str, object]:
    answer = client.post("/api/scalars/query", json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_status_says_what_is_watched_and_how_far_it_is(client: TestClient) -> None:
    status = client.get("/api/status").json()
    assert status["version"] == tracklight.__version__
    assert status["roots"] == [{"name": "", "path": "/logs"}]
    assert status["status"]["progress"]["bytes_done"] == 1000
    assert status["found"] == []


def test_status_says_what_lies_in_a_directory_without_runs(
    client: TestClient, source: MemorySource, tmp_path: Path
) -> None:
    (tmp_path / "notes.txt").touch()
    source.logged.clear()
    source.refresh()
    source.roots = (Root("", str(tmp_path)), Root("b", "/nowhere/at/all"))
    here, nowhere = client.get("/api/status").json()["found"]
    assert (here["exists"], here["entries"], here["examples"]) == (True, 1, ["notes.txt"])
    assert (nowhere["exists"], nowhere["entries"]) == (False, 0)


def test_runs_have_their_counts_and_numbers_that_are_not_finite(client: TestClient) -> None:
    conv, vit = client.get("/api/runs").json()["runs"]
    assert (conv["name"], conv["tags"], conv["points"]) == ("conv", 2, 4)
    assert (vit["start_wall"], vit["last_wall"]) == (10.0, "NaN")


def test_tags_of_one_run(client: TestClient) -> None:
    answer = client.get("/api/tags", params={"run": "conv"}).json()
    loss = next(tag for tag in answer["tags"] if tag["tag"] == "loss")
    assert answer["run"] == "conv"
    assert (loss["kind"], loss["plugin"], loss["count"], loss["runs"]) == (
        "scalar",
        "scalars",
        3,
        1,
    )
    assert loss["last"] == {"step": 2, "wall_time": 20.0}
    assert loss["description"] == "the loss"


def test_tags_of_all_runs_are_merged(client: TestClient) -> None:
    tags = {tag["tag"]: tag for tag in client.get("/api/tags").json()["tags"]}
    assert (tags["loss"]["runs"], tags["loss"]["count"]) == (2, 6)
    assert (tags["acc"]["runs"], tags["acc"]["count"]) == (1, 1)


def test_merged_tags_follow_the_index(client: TestClient, source: MemorySource) -> None:
    assert len(client.get("/api/tags").json()["tags"]) == 2
    source.logged["new"] = {"other": [1.0]}
    source.refresh()
    assert len(client.get("/api/tags").json()["tags"]) == 3


def test_files_tell_the_damage(client: TestClient, source: MemorySource) -> None:
    source.damaged["vit"] = [DamageInfo(18, 40, "header")]
    source.version += 1
    every = client.get("/api/files").json()["files"]
    damaged = client.get("/api/files", params={"damaged": "1"}).json()["files"]
    assert [file["run"] for file in every] == ["conv", "vit"]
    assert [(file["run"], file["damage"]) for file in damaged] == [("vit", [[18, 40, "header"]])]
    assert len(client.get("/api/files", params={"run": "conv"}).json()["files"]) == 1


def test_query_answers_one_chart_for_each_asked(client: TestClient) -> None:
    charts = query(
        client,
        charts=[{"tag": "loss"}, {"tag": "acc", "runs": ["conv"]}],
        width=4,
        columns=["last"],
    )["charts"]
    loss, acc = charts
    assert [line["run"] for line in loss["lines"]] == ["conv", "vit"]
    assert loss["x"] == [0, 1, 2, 3, 4]
    assert acc["lines"][0]["columns"] == {"last": [0.5, None, None, None]}


def test_query_keeps_numbers_that_are_not_finite_apart_from_gaps(client: TestClient) -> None:
    (loss,) = query(client, charts=[{"tag": "loss"}], width=4, columns=["last"])["charts"]
    conv, vit = (line["columns"]["last"] for line in loss["lines"])
    assert conv == [3.0, 2.0, "NaN", None]
    assert vit == [9.0, "Infinity", 7.0, None]


def test_query_says_how_many_runs_it_left_out(client: TestClient) -> None:
    (loss,) = query(client, charts=[{"tag": "loss"}], limit=1)["charts"]
    assert (len(loss["lines"]), loss["runs"]) == (1, 2)


def test_query_for_a_missing_tag_spoils_only_its_own_chart(client: TestClient) -> None:
    charts = [{"tag": "lss", "runs": ["conv"]}, {"tag": "loss"}, {"tag": "nobody has it"}]
    missing, loss, nobody = query(client, charts=charts)["charts"]
    assert missing["error"]["what"] == 'No tag "lss" in run "conv"; nearest: "loss".'
    assert (loss["error"], len(loss["lines"])) == (None, 2)
    assert (nobody["error"], nobody["lines"]) == (None, [])


@pytest.mark.parametrize(
    ("body", "status", "what"),
    [
        ("{", 400, "truncated"),
        ('{"charts": [], "width": 0}', 400, "width"),
        ('{"charts": [{"tag": "a", "runz": []}]}', 400, "runz"),
        ('{"charts": [{"tag": "loss"}], "columns": ["mean"]}', 400, "mean"),
        ("[" * (1 << 21), 413, "megabyte"),
    ],
)
def test_a_query_that_makes_no_sense_is_told_so(
    client: TestClient, body: str, status: int, what: str
) -> None:
    answer = client.post("/api/scalars/query", content=body)
    assert answer.status_code == status
    assert what in answer.json()["error"]["what"]


def test_a_query_cannot_ask_for_more_than_memory_should_hold(
    client: TestClient, source: MemorySource
) -> None:
    charts = [{"tag": "loss"}] * 512
    answer = client.post("/api/scalars/query", json={"charts": charts, "width": 8192})
    assert answer.status_code == 400
    assert "four million" in answer.json()["error"]["what"]


def test_answers_are_compressed_and_not_kept(client: TestClient, source: MemorySource) -> None:
    source.logged |= {f"run-{number}": {"loss": [1.0]} for number in range(50)}
    source.refresh()
    answer = client.get("/api/runs", headers={"accept-encoding": "gzip"})
    assert answer.headers["content-encoding"] == "gzip"
    assert answer.headers["cache-control"] == "no-store"


def test_a_server_that_is_still_reading_answers(source: MemorySource, tmp_path: Path) -> None:
    source.gate.clear()
    app = create_app(source, MemoryWatch(), policy_for("localhost"), page_dir=tmp_path)
    with TestClient(app, base_url="http://localhost") as client:
        assert client.get("/api/status").json()["status"]["loading"] is True
        assert client.get("/api/runs").json()["runs"] == []
        source.gate.set()
        wait_until(lambda: len(client.get("/api/runs").json()["runs"]) == 2)
