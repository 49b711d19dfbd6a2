"""What services do with notebooks that a board has to know: Colab, Kaggle, Codespaces, code-server.

Such a service shows a notebook by one name and what the notebook serves by another, which it makes
up. Its programs tell which, in the environment of a kernel or in the page.
"""

from __future__ import annotations

import html
import os
import sys
import uuid
from importlib.resources import files

import msgspec

from tracklight.server.instances import Instance

_COLAB = ("colab.research.google.com", "*.googleusercontent.com", "*.colab.dev")

_KAGGLE = ("www.kaggle.com", "*.kaggle.net", "*.kaggleusercontent.com")

_CODESPACES = ("*.github.dev", "*.vscode-cdn.net")

#: Where Kaggle shows its notebook servers; each knows only its path there.
_KAGGLE_HOST = "https://kkb-production.jupyter-proxy.kaggle.net"


def list_service_flags() -> list[str]:
    """Flags that a service needs on which this notebook runs."""
    names: tuple[str, ...] = ()
    if "google.colab" in sys.modules or "COLAB_RELEASE_TAG" in os.environ:
        names = _COLAB
    elif _is_kaggle():
        names = _KAGGLE
    elif "CODESPACE_NAME" in os.environ:
        names = _CODESPACES
    return [f"--trusted-host={name}" for name in names]


def find_proxy_url(port: int) -> str | None:
    """Where a proxy shows the port, if the machine says so, in TensorBoard's word as well."""
    for name in ("TRACKLIGHT_PROXY_URL", "TENSORBOARD_PROXY_URL"):
        address = os.environ.get(name)
        if address:
            return address.replace("%PORT%", str(port))
    return None


def find_public_url(port: int) -> str | None:
    """Where the service shows the port in browsers; a notebook's own proxy is asked before."""
    if _is_kaggle():
        base = _find_base_path()
        return base and f"{_KAGGLE_HOST}{base}proxy/{port}"
    # VS Code in a browser: code-server, and services that are built on it.
    template = os.environ.get("VSCODE_PROXY_URI", "")
    if "{{port}}" in template and template.startswith(("http://", "https://")):
        return template.replace("{{port}}", str(port)).rstrip("/")
    name = os.environ.get("CODESPACE_NAME")
    domain = os.environ.get("GITHUB_CODESPACES_PORT_FORWARDING_DOMAIN", "app.github.dev")
    return f"https://{name}-{port}.{domain}" if name else None


def _is_kaggle() -> bool:
    return "KAGGLE_KERNEL_RUN_TYPE" in os.environ


def _find_base_path() -> str | None:
    """The path of the notebook server that runs here, which on Kaggle holds its secret."""
    try:
        from jupyter_server.serverapp import list_running_servers
    except ImportError:
        return None
    bases = [str(server["base_url"]) for server in list_running_servers()]
    return bases[0] if bases else None


# The frame in which a notebook shows a board.

HEIGHT_PX = 800

_FRAME = """\
<div id="{id}" style="min-height: {height}px; font: 13px system-ui, sans-serif">
The board of {logdir} is shown here while it is being served.
</div>
<script>({script})({board})</script>
"""


def show_frame(board: Instance, height: int = HEIGHT_PX) -> None:
    """Show a board below the cell, or where there are no cells say its address."""
    if not _is_in_notebook():
        print(f"The board is at {board.url}")
        return
    from IPython.display import HTML, display

    # A message about frames that IPython prints for such markup is for frames from elsewhere.
    display(HTML(render_frame(board, height)))


def render_frame(board: Instance, height: int) -> str:
    """Markup that finds out where a browser reaches the board, and shows it from there."""
    place = f"tracklight-{uuid.uuid4().hex[:12]}"
    details = {
        "id": place,
        "port": board.port,
        "path": board.path,
        "token": board.token,
        "height": height,
        "scheme": board.url.partition(":")[0],
        "proxy": find_proxy_url(board.port),
        "base": os.environ.get("JUPYTERHUB_SERVICE_PREFIX"),
        "shown": find_public_url(board.port),
    }
    script = (files("tracklight.notebook") / "frame.js").read_text(encoding="utf-8")
    # A name of a directory may look like markup, in a script as well.
    as_script = msgspec.json.encode(details).decode().replace("<", "\\u003c")
    return _FRAME.format(
        id=place,
        height=int(height),
        logdir=html.escape(board.logdir),
        script=script.strip().rstrip(";"),
        board=as_script,
    )


def _is_in_notebook() -> bool:
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return hasattr(shell, "kernel")
