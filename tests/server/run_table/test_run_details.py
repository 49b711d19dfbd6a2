"""Details, files and comparisons of runs, on logs as `tracklight.run` writes them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from starlette.testclient import TestClient

import tracklight
from tests.server.waiting import wait_until
from tracklight.formats.media import encode_png
from tracklight.index.catalog import Catalog
from tracklight.logdir.access import parse_roots
from tracklight.logdir.watch import Watcher
from tracklight.server.app import create_app
from tracklight.server.auth import create_policy
from tracklight.server.run_table import run_files


@pytest.fixture
def logdir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    # The program of a pytest worker is not a file.
    monkeypatch.setattr(sys.modules["__main__"], "__file__", __file__, raising=False)
    for name, lr, factor in (("base", 0.1, 1.0), ("other", 0.2, 1.5), ("same", 0.1, 1.0)):
        config = {"lr": lr, "optimizer": {"name": "adam"}}
        with tracklight.run(tmp_path / "logs", config, name=name, save_code=True) as run:
            for step in range(5):
                run.log({"loss": 1.0 / (step + 1) if step < 3 else factor / (step + 1)}, step)
    folder = tmp_path / "logs/base"
    (folder / "train.log").write_text("10%\r50%\r100%\n\x1b[31merror\x1b[0m\n")
    (folder / "samples").mkdir()
    (folder / "samples/a.png").write_bytes(encode_png(np.zeros((2, 2, 3), np.uint8)))
    (folder / "notes.txt").write_text("héllo")
    (folder / "weights.bin").write_bytes(b"\0\1\2")
    (tmp_path / "secret.txt").write_text("secret")
    (folder / "link.txt").symlink_to(tmp_path / "secret.txt")
    return tmp_path / "logs"


@pytest.fixture
def client(logdir: Path) -> Iterator[TestClient]:
    roots = parse_roots(str(logdir))
    catalog = Catalog(roots, cache=False)
    app = create_app(catalog, Watcher(roots), create_policy("localhost", (), None))
    with TestClient(app, "http://localhost") as client:
        wait_until(lambda: client.get("/api/v1/health").json()["status"] == "ok")
        yield client
    catalog.close()


def post(client: TestClient, route: str, **body: object) -> dict:
    response = client.post(f"/api/v1/runs/{route}", json=body)
    assert response.status_code == 200, response.text
    return response.json()


def test_details_of_a_run(client: TestClient) -> None:
    details = post(client, "details", run="other")
    assert (details["state"], details["error"]) == ("finished", "")
    values = {item["name"]: item["value"] for item in details["config"]}
    assert values == {"lr": 0.2, "optimizer/name": "adam"}
    (metric,) = [row for row in details["metrics"] if row["tag"] == "loss"]
    assert metric["last"] == pytest.approx(0.3)
    assert (metric["count"], metric["max"], metric["step"]) == (5, 1.0, 4)
    environment = {item["name"] for item in details["environment"]}
    assert {"command", "directory", "python", "package:tracklight"} <= environment
    assert details["source"] is not None


def test_unknown_run_is_reported(client: TestClient) -> None:
    response = client.post("/api/v1/runs/details", json={"run": "bas"})
    assert response.status_code == 404
    assert response.json()["error"]["message"] == 'No run "bas"; nearest: "base".'


def test_files_with_previews(client: TestClient) -> None:
    files = post(client, "files", run="base")["files"]
    contents = {row["path"]: row["content"] for row in files if "tfevents" not in row["path"]}
    assert contents["train.log"] == "console"
    assert contents["samples/a.png"] == "image"
    assert contents["notes.txt"] == contents["weights.bin"] == "other"
    assert post(client, "preview", run="base", path="notes.txt")["text"] == "héllo"
    assert post(client, "preview", run="base", path="weights.bin")["text"] is None
    image = client.get("/api/v1/runs/file", params={"run": "base", "path": "samples/a.png"})
    assert image.headers["content-type"] == "image/png"
    saved = client.get("/api/v1/runs/file", params={"run": "base", "path": "notes.txt"})
    assert "attachment" in saved.headers["content-disposition"]


@pytest.mark.parametrize(
    "path", ["../../secret.txt", "/etc/passwd", "link.txt", "gone.txt", "", "./notes.txt"]
)
def test_files_outside_the_run_are_not_read(client: TestClient, path: str) -> None:
    response = client.post("/api/v1/runs/preview", json={"run": "base", "path": path})
    assert response.status_code in (400, 404)
    assert "héllo" not in response.text and '"secret"' not in response.text


def test_console_collapses_progress_bars(client: TestClient) -> None:
    lines = post(client, "console", run="base", path="train.log")["lines"]
    assert [text for _, _, text in lines] == ["100%", "\x1b[31merror\x1b[0m"]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("first line\nsecond\nthird\n", ["third"]),
        ("epoch\n10%\r20%\r30%\r40%\r50%", ["50%"]),
    ],
)
def test_long_console_log_starts_at_a_whole_line(
    client: TestClient, logdir: Path, monkeypatch: pytest.MonkeyPatch, text: str, shown: list[str]
) -> None:
    monkeypatch.setattr(run_files, "MAX_CONSOLE_BYTES", 12)
    (logdir / "base/train.log").write_text(text)
    response = post(client, "console", run="base", path="train.log")
    assert [text for _, _, text in response["lines"]] == shown
    assert response["is_truncated"] is True


def test_large_files_are_not_downloaded(client: TestClient, logdir: Path) -> None:
    with (logdir / "base/weights.bin").open("wb") as file:
        file.truncate((512 << 20) + 1)  # without data on disk
    params = {"run": "base", "path": "weights.bin"}
    response = client.get("/api/v1/runs/file", params=params)
    assert response.status_code == 404
    assert '"weights.bin" has more than 512 MB; copy it' in response.json()["error"]["message"]


def test_comparison_with_first_step_of_divergence(client: TestClient) -> None:
    compared = post(client, "compare", runs=["base", "other", "same"])
    config = {row["name"]: (row["values"], row["differs"]) for row in compared["config"]}
    assert config["lr"] == ([0.1, 0.2, 0.1], True)
    assert config["optimizer/name"] == (["adam"] * 3, False)
    (loss,) = [row for row in compared["metrics"] if row["tag"] == "loss"]
    assert loss["last"] == pytest.approx([0.2, 0.3, 0.2])
    assert loss["diverges_at"] == [None, 3, None]
    assert compared["first_divergence"][1:] == [3, None]
    assert [item["diff"] for item in compared["code"]] == ["", ""]


def test_comparison_needs_two_runs(client: TestClient) -> None:
    assert client.post("/api/v1/runs/compare", json={"runs": ["base"]}).status_code == 400
