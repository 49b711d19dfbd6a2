"""Downloads contain images as they were logged."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import pytest

from tests.dashboards.images import samples
from tests.dashboards.images.conftest import Serve, picture_record
from tests.dashboards.images.samples import noise, save
from tests.index import logs

RED, BLUE = save(noise(3, 3, 3, seed=1)), save(noise(3, 3, 3, seed=2), "JPEG")


def unzip(content: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        assert archive.testzip() is None
        names = archive.namelist()
        assert len(names) == len(set(names))
        return {name: archive.read(name) for name in names}


def test_archive_names_files_by_step(serve: Serve) -> None:
    board = serve([RED], [RED, BLUE], [samples.SVG])
    response = board.client.get("/api/v1/images/archive", params={"tag": "picture"})
    assert response.headers["content-type"] == "application/zip"
    assert response.headers["content-disposition"] == "attachment; filename*=utf-8''picture.zip"
    assert unzip(response.content) == {
        "a/picture/step-00000000.png": RED,
        "a/picture/step-00000001-0.png": RED,
        "a/picture/step-00000001-1.jpg": BLUE,
        "a/picture/step-00000002.svg": samples.SVG,
    }


def test_selects_runs_and_steps(serve: Serve, tmp_path: Path) -> None:
    for run in ("b", "c/d", "e"):
        records = (picture_record(step, [RED]) for step in range(5))
        logs.write(tmp_path / "logs", run, b"".join(records))
    board = serve()
    params = {"tag": "picture", "runs": ["b", "c/d"], "first_step": 1, "last_step": 2}
    wanted = {f"{run}/picture/step-0000000{step}.png" for run in ("b", "c/d") for step in (1, 2)}
    response = board.client.get("/api/v1/images/archive", params=params)
    assert set(unzip(response.content)) == wanted
    posted = board.client.post("/api/v1/images/archive", json=params)
    assert set(unzip(posted.content)) == wanted


def test_keeps_all_values_of_a_step(serve: Serve, tmp_path: Path) -> None:
    records = picture_record(7, [RED]) + picture_record(7, [BLUE]) + picture_record(7, [RED])
    logs.write(tmp_path / "logs", "a", records)
    board = serve()
    params = {"tag": "picture"}
    files = unzip(board.client.get("/api/v1/images/archive", params=params).content)
    assert len(files) == len(board.steps["step"])


def test_lists_unreadable_values(serve: Serve, tmp_path: Path) -> None:
    board = serve([RED], [BLUE])
    (path,) = (tmp_path / "logs").rglob("events*")
    data = bytearray(path.read_bytes())
    data[data.index(BLUE) + 9] ^= 1
    path.write_bytes(data)
    response = board.client.get("/api/v1/images/archive", params={"tag": "picture"})
    files = unzip(response.content)
    assert set(files) == {"a/picture/step-00000000.png", "not-read.txt"}
    assert b"a/picture step 1: " in files["not-read.txt"]


def test_file_names_stay_inside_the_archive(serve: Serve, tmp_path: Path) -> None:
    tag = "../../etc/pass wd\\..\\x:y/"
    logs.write(tmp_path / "logs", "a", picture_record(1, [RED], tag=tag))
    board = serve()
    response = board.client.get("/api/v1/images/archive", params={"tag": tag})
    assert list(unzip(response.content)) == ["a/etc/pass wd_.._x_y/step-00000001.png"]
    saved = board.client.get("/api/v1/images/file", params={"run": "a", "tag": tag, "index": 0})
    name = saved.headers["content-disposition"].removeprefix("attachment; filename*=utf-8''")
    assert name == "a-etc-pass%20wd_.._x_y-step-00000001.png"


@pytest.mark.parametrize("params", [{"tag": "none"}, {"tag": "picture", "first_step": 9}])
def test_returns_404_for_an_empty_selection(serve: Serve, params: dict[str, str]) -> None:
    response = serve([RED]).client.get("/api/v1/images/archive", params=params)
    assert response.status_code == 404
    assert "no images of" in response.json()["error"]["message"].lower()
