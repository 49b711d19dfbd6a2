from __future__ import annotations

import json
import re

import pytest

from tracklight.notebook import render_frame, show_frame
from tracklight.server.serve import Instance

BOARD = Instance(
    hostname="here",
    pid=7,
    port=6006,
    url="http://localhost:6006/board/",
    token="secret",
    logdir="logs/</script><b>",
    arguments=[],
    directory="/",
    started=0.0,
)


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TRACKLIGHT_PROXY_URL", "TENSORBOARD_PROXY_URL", "JUPYTERHUB_SERVICE_PREFIX"):
        monkeypatch.delenv(name, raising=False)


def parse_options(markup: str) -> dict[str, object]:
    match = re.search(r"\}\)\((\{.*\})\)</script>", markup)
    assert match
    options: dict[str, object] = json.loads(match[1])
    return options


def test_frame_contains_the_options_for_the_script() -> None:
    options = parse_options(render_frame(BOARD, 400))
    assert options["port"] == 6006 and options["path"] == "/board/"
    assert options["token"] == "secret" and options["height"] == 400
    assert options["proxyUrl"] is None


def test_escapes_directory_names() -> None:
    markup = render_frame(BOARD, 400)
    assert "<b>" not in markup and markup.count("</script>") == 1


def test_frames_have_unique_ids() -> None:
    first, second = (parse_options(render_frame(BOARD, 400))["id"] for _ in range(2))
    assert first != second


@pytest.mark.parametrize("name", ["TRACKLIGHT_PROXY_URL", "TENSORBOARD_PROXY_URL"])
def test_reads_the_proxy_url_from_the_environment(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv(name, "/user/ada/proxy/%PORT%/")
    assert parse_options(render_frame(BOARD, 400))["proxyUrl"] == "/user/ada/proxy/6006/"


def test_reads_the_base_url_of_jupyterhub(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JUPYTERHUB_SERVICE_PREFIX", "/user/ada/")
    assert parse_options(render_frame(BOARD, 400))["baseUrl"] == "/user/ada/"


def test_prints_the_url_outside_of_notebooks(capsys: pytest.CaptureFixture[str]) -> None:
    show_frame(BOARD)
    assert capsys.readouterr().out == "tracklight at http://localhost:6006/board/\n"
