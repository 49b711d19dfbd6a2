"""Start servers for notebooks, and show them in an iframe below a cell.

Servers run in processes that outlive the kernel and are found again. Hosted services (Colab,
Kaggle, Codespaces, code-server) forward ports of the kernel's machine to host names of their own.
The URL for the browser is found from environment variables here, or by the script in the page
(``frame.js``).
"""

from __future__ import annotations

import html
import os
import secrets
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Sequence
from importlib.resources import files
from typing import IO

import msgspec

from tracklight.cli.flags import parse_flags
from tracklight.errors import TracklightError, UsageError
from tracklight.server.instances import Instance, list_instances

_START_TIMEOUT_S = 60.0
_POLL_S = 0.05

#: The counterpart of ``start_new_session`` on Windows; no console window is opened.
_WINDOWS_FLAGS: int = getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0) | getattr(
    subprocess, "CREATE_NO_WINDOW", 0
)

#: References to started processes; dropping them would raise ResourceWarning.
started_processes: list[subprocess.Popen[bytes]] = []


def find_running(arguments: Sequence[str]) -> Instance | None:
    """Return a running server that was started from this directory with equivalent flags.

    Raises:
        UsageError: A flag is invalid.
    """
    identity = _parse_identity(arguments)
    for board in list_instances():
        if board.directory == os.getcwd() and _find_identity(board.arguments) == identity:
            return board
    return None


def check_port(arguments: Sequence[str]) -> None:
    """Raise UsageError if another tracklight server uses the given port."""
    port = parse_flags(arguments).port
    for board in list_instances():
        if port and board.port == port:
            raise UsageError(
                f"port {port} is used by the server of {board.logdir}; choose another --port, "
                f"or stop that server with `{format_stop_command(board)}`"
            )


def format_stop_command(board: Instance) -> str:
    """Return the line that stops a server from a notebook cell."""
    return f"!taskkill /F /PID {board.pid}" if os.name == "nt" else f"!kill {board.pid}"


def _parse_identity(arguments: Sequence[str]) -> dict[str, object]:
    """Parse flags for comparison, independent of their order and spelling."""
    flags = parse_flags(arguments)
    if flags.command != "serve":
        raise UsageError(
            f"the magic only starts servers; run `!tracklight {flags.command}` instead"
        )
    return vars(flags)


def _find_identity(arguments: Sequence[str]) -> dict[str, object] | None:
    try:
        return _parse_identity(arguments)
    except TracklightError:
        return None


def launch(arguments: Sequence[str]) -> Instance:
    """Start a server and wait until it accepts requests.

    Raises:
        TracklightError: The server exited, or did not respond in time.
    """
    with tempfile.TemporaryFile() as stderr:
        process = subprocess.Popen(
            [sys.executable, "-m", "tracklight", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=stderr,
            # Proxies use host names that the server cannot know; the token grants access to them.
            env={**os.environ, "TRACKLIGHT_PROXY_TOKEN": secrets.token_urlsafe(16)},
            # Interrupting a cell must not stop the server.
            start_new_session=True,
            creationflags=_WINDOWS_FLAGS,
        )
        started_processes.append(process)
        return _wait_for(process, stderr)


def _wait_for(process: subprocess.Popen[bytes], stderr: IO[bytes]) -> Instance:
    deadline = time.monotonic() + _START_TIMEOUT_S
    while time.monotonic() < deadline:
        if process.poll() is not None:
            stderr.seek(0)
            reason = stderr.read().decode(errors="replace").strip().removeprefix("tracklight: ")
            raise TracklightError(
                reason or f"the server exited immediately with status {process.returncode}"
            )
        board = next((it for it in list_instances() if it.pid == process.pid), None)
        if board is not None:
            return board
        time.sleep(_POLL_S)
    raise TracklightError(
        f"the server did not respond within {_START_TIMEOUT_S:.0f} s; it may still be starting "
        f"(pid {process.pid})"
    )


# ---- iframes

HEIGHT_PX = 800

_FRAME = """\
<div id="{id}" style="min-height: {height}px; font: 13px system-ui, sans-serif">
tracklight for {logdir} appears here while its server is running.
</div>
<script>({script})({options})</script>
"""


def show_frame(board: Instance, height: int = HEIGHT_PX) -> None:
    """Show a server below the cell, or print its URL outside of notebooks."""
    if not _is_in_notebook():
        print(f"tracklight at {board.url}")
        return
    from IPython.display import HTML, display

    display(HTML(render_frame(board, height)))


def render_frame(board: Instance, height: int) -> str:
    """Return HTML with a script that finds the URL of the server and shows it in an iframe."""
    element_id = f"tracklight-{uuid.uuid4().hex[:12]}"
    options = {
        "id": element_id,
        "port": board.port,
        "path": board.path,
        "token": board.token,
        "height": height,
        "scheme": board.url.partition(":")[0],
        "proxyUrl": find_proxy_url(board.port),
        "baseUrl": os.environ.get("JUPYTERHUB_SERVICE_PREFIX"),
        "publicUrl": find_public_url(board.port),
    }
    script = (files("tracklight.notebook") / "frame.js").read_text(encoding="utf-8")
    # A directory name may contain "</script>".
    script_options = msgspec.json.encode(options).decode().replace("<", "\\u003c")
    return _FRAME.format(
        id=element_id,
        height=int(height),
        logdir=html.escape(board.logdir),
        script=script.strip().rstrip(";"),
        options=script_options,
    )


def _is_in_notebook() -> bool:
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return hasattr(shell, "kernel")


# --- Hosted notebook services ---

#: Host names under which each service shows the ports of a kernel.
_COLAB = ("colab.research.google.com", "*.googleusercontent.com", "*.colab.dev")
_KAGGLE = ("www.kaggle.com", "*.kaggle.net", "*.kaggleusercontent.com")
_CODESPACES = ("*.github.dev", "*.vscode-cdn.net")
#: The host of Kaggle's notebook servers; a server knows only its path.
_KAGGLE_HOST = "https://kkb-production.jupyter-proxy.kaggle.net"


def list_service_flags() -> list[str]:
    """Return the flags that the server needs on this hosted service."""
    names: tuple[str, ...] = ()
    if "google.colab" in sys.modules or "COLAB_RELEASE_TAG" in os.environ:
        names = _COLAB
    elif _is_kaggle():
        names = _KAGGLE
    elif "CODESPACE_NAME" in os.environ:
        names = _CODESPACES
    return [f"--trusted-host={name}" for name in names]


def find_proxy_url(port: int) -> str | None:
    """Return the URL of the port from TRACKLIGHT_PROXY_URL or TENSORBOARD_PROXY_URL."""
    for name in ("TRACKLIGHT_PROXY_URL", "TENSORBOARD_PROXY_URL"):
        address = os.environ.get(name)
        if address:
            return address.replace("%PORT%", str(port))
    return None


def find_public_url(port: int) -> str | None:
    """Return the URL under which a hosted service shows the port."""
    if _is_kaggle():
        base = _find_base_path()
        return base and f"{_KAGGLE_HOST}{base}proxy/{port}"
    # VS Code in a browser: code-server and services built on it.
    template = os.environ.get("VSCODE_PROXY_URI", "")
    if "{{port}}" in template and template.startswith(("http://", "https://")):
        return template.replace("{{port}}", str(port)).rstrip("/")
    name = os.environ.get("CODESPACE_NAME")
    domain = os.environ.get("GITHUB_CODESPACES_PORT_FORWARDING_DOMAIN", "app.github.dev")
    return f"https://{name}-{port}.{domain}" if name else None


def _is_kaggle() -> bool:
    return "KAGGLE_KERNEL_RUN_TYPE" in os.environ


def _find_base_path() -> str | None:
    """Return the base path of the running notebook server; on Kaggle it contains a secret."""
    try:
        from jupyter_server.serverapp import list_running_servers
    except ImportError:
        return None
    paths = [str(server["base_url"]) for server in list_running_servers()]
    return paths[0] if paths else None
