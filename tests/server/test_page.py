from __future__ import annotations

from pathlib import Path

import pytest
from starlette.testclient import TestClient

from tests.server.memory_source import MemorySource, MemoryWatch
from tracklight.server.app import create_app
from tracklight.server.auth import create_policy


@pytest.fixture
def built(tmp_path: Path) -> Path:
    (tmp_path / "assets").mkdir()
    (tmp_path / "assets" / "index-abc123.js").write_text("1", encoding="ascii")
    (tmp_path / "index.html").write_text("<title>board</title>", encoding="ascii")
    (tmp_path.parent / "secret").write_text("secret", encoding="ascii")
    return tmp_path


def make_client(page_dir: Path, path_prefix: str = "", window_title: str = "") -> TestClient:
    policy = create_policy("localhost")
    app = create_app(
        MemorySource(),
        MemoryWatch(),
        policy,
        path_prefix=path_prefix,
        page_dir=page_dir,
        window_title=window_title,
    )
    return TestClient(app, base_url="http://localhost")


def test_page_is_revalidated_and_assets_are_immutable(built: Path) -> None:
    client = make_client(built)
    page = client.get("/")
    assert "<title>board" in page.text
    assert page.headers["cache-control"] == "no-cache"
    assert "immutable" in client.get("/assets/index-abc123.js").headers["cache-control"]


def test_window_title_is_escaped(built: Path) -> None:
    page = make_client(built, window_title="</title><b>Lab \\1").get("/")
    assert page.text == "<title>&lt;/title&gt;&lt;b&gt;Lab \\1</title>"
    assert page.headers["etag"] != make_client(built).get("/").headers["etag"]


def test_returns_304_for_unchanged_page(built: Path) -> None:
    client = make_client(built)
    etag = client.get("/").headers["etag"]
    assert client.get("/", headers={"if-none-match": etag}).status_code == 304


def test_returns_503_if_the_page_was_not_built(tmp_path: Path) -> None:
    response = make_client(tmp_path).get("/")
    assert response.status_code == 503
    assert "was not built" in response.text and "pip install" in response.text


def test_everything_is_below_the_path_prefix(built: Path) -> None:
    client = make_client(built, "/team/board/")
    assert "<title>board" in client.get("/team/board/").text
    assert client.get("/team/board/api/v1/runs").status_code == 200
    assert client.get("/api/v1/runs").status_code == 404


def test_redirects_path_prefix_without_slash(built: Path) -> None:
    response = make_client(built, "board").get("/board", follow_redirects=False)
    assert response.headers["location"].endswith("/board/")


@pytest.mark.parametrize("path", ["/../secret", "/assets/../../secret", "/%2e%2e/secret"])
def test_returns_404_outside_of_the_page_folder(built: Path, path: str) -> None:
    assert make_client(built).get(path).status_code == 404
