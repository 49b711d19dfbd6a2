"""A board in a notebook of a real JupyterHub, behind its proxy.

Needs ``pip install jupyterhub`` and ``npm install --global configurable-http-proxy``.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.index import logs
from tests.server.server_process import end_recorded_servers, get_free_port
from tests.server.waiting import wait_until
from tests.web.notebooks import STARTUP_MS, run_cell, write_notebook
from tracklight.server.serve import list_instances

pytestmark = pytest.mark.browser

CONFIG = """\
c.JupyterHub.authenticator_class = "dummy"
c.DummyAuthenticator.password = "open sesame"
c.Authenticator.allow_all = True
c.JupyterHub.spawner_class = "simple"
c.JupyterHub.bind_url = "http://127.0.0.1:{port}/lab7"
c.JupyterHub.hub_port = {hub_port}
c.JupyterHub.db_url = "sqlite:///{folder}/hub.sqlite"
c.JupyterHub.cookie_secret_file = "{folder}/cookie_secret"
c.ConfigurableHTTPProxy.api_url = "http://127.0.0.1:{proxy_port}"
c.ConfigurableHTTPProxy.pid_file = "{folder}/proxy.pid"
c.SimpleLocalProcessSpawner.home_dir_template = "{folder}/{{username}}"
c.Spawner.cmd = ["{python}", "-m", "jupyterhub.singleuser"]
c.Spawner.args = ["--allow-root"]
c.Spawner.start_timeout = c.Spawner.http_timeout = 300
c.Spawner.default_url = "/lab/tree/board.ipynb"
c.Spawner.environment = {{"PYTHONPATH": {paths!r}}}
c.Spawner.env_keep = ["PATH", "TRACKLIGHT_DATA_DIR", "TRACKLIGHT_CACHE_DIR"]
"""


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Yield the login URL of a hub under a path prefix; its user has a notebook."""
    for module in ("jupyterhub", "jupyterlab", "jupyter_server_proxy"):
        pytest.importorskip(module)
    if shutil.which("configurable-http-proxy") is None:
        pytest.skip("configurable-http-proxy is not installed")
    tmp_path = tmp_path_factory.mktemp("hub")
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setenv("TRACKLIGHT_DATA_DIR", str(tmp_path / "data"))
        monkeypatch.setenv("TRACKLIGHT_CACHE_DIR", str(tmp_path / "cache"))
        yield from run_hub(tmp_path)


def run_hub(tmp_path: Path) -> Iterator[str]:
    home = tmp_path / "ada"
    logs.write(home / "logs", "conv", logs.points(range(30)))
    write_notebook(home / "board.ipynb")
    port = get_free_port()
    config = tmp_path / "jupyterhub_config.py"
    config.write_text(
        CONFIG.format(
            port=port,
            hub_port=get_free_port(),
            proxy_port=get_free_port(),
            folder=tmp_path,
            python=sys.executable,
            paths=os.pathsep.join(path for path in sys.path if path),
        )
    )
    with (tmp_path / "hub.log").open("w") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "jupyterhub", "-f", str(config)],
            cwd=tmp_path,
            stdout=output,
            stderr=output,
        )
    login = f"http://127.0.0.1:{port}/lab7/hub/login"
    try:
        # The proxy starts before the hub and answers with an error page until then.
        wait_until(lambda: is_reachable(login) or process.poll() is not None, 300)
        assert process.poll() is None, (tmp_path / "hub.log").read_text()
        yield login
    finally:
        process.terminate()
        process.wait(300)
        end_recorded_servers()


def is_reachable(address: str) -> bool:
    try:
        urllib.request.urlopen(address, timeout=60).close()
    except OSError:
        return False
    return True


@pytest.fixture(scope="module")
def lab(browser: Browser, hub: str) -> Iterator[Page]:
    """Log in and yield the page with the user's notebook in JupyterLab."""
    context = browser.new_context(viewport={"width": 1440, "height": 1800})
    page = context.new_page()
    page.set_default_timeout(STARTUP_MS)
    page.goto(hub)
    page.locator("input[name=username]").fill("ada")
    page.locator("input[name=password]").fill("open sesame")
    page.locator("input[type=submit]").click()
    yield page
    context.close()


def test_hub_starts_the_notebook_server(lab: Page) -> None:
    expect(lab).to_have_url(re.compile("/lab7/user/ada/lab"), timeout=STARTUP_MS)


def test_cell_shows_a_board_and_a_chart(lab: Page) -> None:
    run_cell(lab)
    frame = lab.locator("iframe[title=tracklight]")
    expect(frame).to_be_visible(timeout=STARTUP_MS)
    (board,) = list_instances()
    assert f"/lab7/user/ada/proxy/{board.port}/" in (frame.get_attribute("src") or "")
    content = lab.frame_locator("iframe[title=tracklight]")
    expect(content.get_by_text("loss", exact=True).first).to_be_visible(timeout=STARTUP_MS)
    expect(content.get_by_text("conv", exact=True).first).to_be_visible()
    expect(lab.locator("figure.tracklight-chart").get_by_role("listitem")).to_have_text(["conv"])
