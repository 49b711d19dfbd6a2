"""Boards and charts in notebooks: ``%load_ext tracklight``, then ``%tracklight --logdir logs``.

`start` does the same as the magic, `list` prints the running servers, `display` shows one of them
again, `chart` returns a live chart widget, and `show_session` shows What-If.

Servers run in processes that outlive the kernel and are found again, and are shown in an iframe
below a cell; that of a What-If session runs in a thread of this process, as its models are here.
Hosted services (Colab, Kaggle, Codespaces, code-server) forward ports of the kernel's machine to
host names of their own. The URL for the browser is found from environment variables here, or by the
script in the page (``frame.js``).

The package may import everything; nothing imports it.
"""

from __future__ import annotations

import builtins
import html
import importlib.util
import os
import secrets
import shlex
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Sequence
from importlib.resources import files
from typing import IO, TYPE_CHECKING, Any

import msgspec

from tracklight.cli.flags import parse_flags
from tracklight.dashboards.scalars.charts import ChartBuilder, LiveCharts
from tracklight.dashboards.scalars.schemas import ChartRequest, ChartsRequest
from tracklight.errors import (
    MissingDependencyError,
    RunNotFoundError,
    TagNotFoundError,
    TracklightError,
    UsageError,
)
from tracklight.index.series_query import Smoothing
from tracklight.plugin import Context
from tracklight.reader import Log
from tracklight.reader import open as open_log
from tracklight.server import responses
from tracklight.server.routing import PAGE_DIR
from tracklight.server.serve import Instance, list_instances
from tracklight.server.source import LogOverview

if TYPE_CHECKING:
    from tracklight.server.serve import Board

__all__ = [
    "chart",
    "display",
    "list",
    "load_ipython_extension",
    "show_session",
    "start",
    "unload_ipython_extension",
]

HEIGHT_PX = 800


def start(arguments: str | Sequence[str], height: int = HEIGHT_PX) -> None:
    """Show a board below the cell, and start its server if it is not running yet.

    A server that was started from this directory with the same flags is reused.

    Args:
        arguments: Flags of the ``tracklight`` command, as one string or a list.
        height: Height of the frame in pixels.

    Raises:
        UsageError: A flag is invalid, or the port is in use.
        TracklightError: The server did not start.

    Example:
        >>> tracklight.notebook.start("--logdir logs --port 6006")
    """
    words = shlex.split(arguments) if isinstance(arguments, str) else builtins.list(arguments)
    words += list_service_flags()
    try:
        board = find_running(words)
    except SystemExit:  # from --help and --version, which have printed their text
        return
    if board is None:
        check_port(words)
        board = launch(words)
    else:
        print(
            f"Reusing the server on port {board.port} (pid {board.pid}), started "
            f"{_format_age(board)} ago. (Use `{format_stop_command(board)}` to stop it.)"
        )
    show_frame(board, height)


def list() -> None:
    """Print the servers that are running on this machine.

    Example:
        >>> tracklight.notebook.list()
    """
    boards = list_instances()
    if not boards:
        print("No tracklight servers are running.")
        return
    print("Running tracklight servers:")
    for board in boards:
        print(
            f"  - port {board.port}: logdir {board.logdir} "
            f"(started {_format_age(board)} ago; pid {board.pid})"
        )


def display(port: int | None = None, height: int | None = None) -> None:
    """Show a running server below the cell.

    Args:
        port: The port of the server; by default the one that was started last.
        height: Height of the frame in pixels.

    Raises:
        UsageError: No server is running, or none on this port.

    Example:
        >>> tracklight.notebook.display(port=6006, height=600)
    """
    boards = [board for board in list_instances() if port in (None, board.port)]
    if not boards:
        where = "" if port is None else f" on port {port}"
        raise UsageError(f"no server is running{where}; `%tracklight --logdir DIR` starts one")
    show_frame(boards[-1], height or HEIGHT_PX)


def load_ipython_extension(shell: Any) -> None:
    """Register the magics; IPython calls this for ``%load_ext tracklight``.

    ``%tensorboard`` is registered as well, unless TensorBoard itself is installed.

    Args:
        shell: The IPython shell.

    Example:
        >>> get_ipython().run_line_magic("load_ext", "tracklight")
    """
    shell.register_magic_function(_run_magic, magic_name="tracklight")
    if importlib.util.find_spec("tensorboard") is None:
        shell.register_magic_function(_run_magic, magic_name="tensorboard")


def unload_ipython_extension(shell: Any) -> None:
    """Remove the magics; IPython calls this for ``%unload_ext tracklight``.

    Args:
        shell: The IPython shell.

    Example:
        >>> get_ipython().run_line_magic("unload_ext", "tracklight")
    """
    magics = shell.magics_manager.magics["line"]
    for name in ("tracklight", "tensorboard"):
        if magics.get(name) is _run_magic:
            del magics[name]


def _run_magic(line: str) -> None:
    """Show a board below this cell: %tracklight --logdir logs --port 6006

    Takes the flags of the `tracklight` command. A running server with the same flags is reused.
    """
    try:
        start(split_line(line))
    except TracklightError as error:
        print(f"tracklight: {error}", file=sys.stderr)


def split_line(line: str) -> builtins.list[str]:
    """Split a line like a shell does, up to a ``#``."""
    if os.name != "nt":
        return shlex.split(line, comments=True)
    # On Windows a backslash separates directories and does not escape.
    words = shlex.split(line, comments=True, posix=False)
    return [word.strip("\"'") for word in words]


def _format_age(board: Instance) -> str:
    minutes, seconds = divmod(int(max(0.0, time.time() - board.started)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}"


# ---- What-If sessions

_MAX_START_S = 60.0
_POLL_S = 0.05

#: Running servers by the identity of their workspace, so that a cell can be run again.
_session_boards: dict[int, tuple[Any, Board]] = {}


def show_session(workspace: Any, height: int = HEIGHT_PX) -> Board:
    """Show the What-If page for a workspace below the cell, or print its URL elsewhere.

    The server stops when the program ends.

    Args:
        workspace: The data and models of a `tracklight.what_if.Session`.
        height: Height of the frame in pixels.

    Returns:
        The running server.

    Raises:
        TracklightError: The server did not start.

    Example:
        >>> tracklight.notebook.show_session(session.workspace)
    """
    known = _session_boards.get(id(workspace))
    board = known[1] if known is not None and known[1].is_serving else _serve_session(workspace)
    _session_boards[id(workspace)] = (workspace, board)
    show_frame(_wait_for_instance(board), height)
    return board


def _serve_session(workspace: Any) -> Board:
    # Imported on use: boards run in processes of their own, which load the server.
    from tracklight.analysis.source import DataAccess
    from tracklight.reader import create_catalog
    from tracklight.server.app import Settings
    from tracklight.server.serve import Board

    folder = tempfile.mkdtemp(prefix="tracklight-what-if-")
    hosts = [flag.partition("=")[2] for flag in list_service_flags()]
    settings = Settings(
        port=0,
        trusted_hosts=tuple(hosts),
        window_title="What-If",
        access=DataAccess(workspaces={"session": workspace}),
    )
    return Board(create_catalog(folder, (), (), False, "2GB"), settings)


def _wait_for_instance(board: Board) -> Instance:
    deadline = time.monotonic() + _MAX_START_S
    while time.monotonic() < deadline:
        for instance in list_instances():
            if instance.pid == os.getpid() and instance.port == board.port:
                return instance
        time.sleep(_POLL_S)
    raise TracklightError("the What-If server did not start")


# ---- servers

_START_TIMEOUT_S = 60.0

#: The counterpart of ``start_new_session`` on Windows; no console window is opened.
_WINDOWS_FLAGS: int = getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0) | getattr(
    subprocess, "CREATE_NO_WINDOW", 0
)

#: References to started processes; dropping them would raise ResourceWarning.
started_processes: builtins.list[subprocess.Popen[bytes]] = []


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
        board = next(
            (instance for instance in list_instances() if instance.pid == process.pid), None
        )
        if board is not None:
            return board
        time.sleep(_POLL_S)
    raise TracklightError(
        f"the server did not respond within {_START_TIMEOUT_S:.0f} s; it may still be starting "
        f"(pid {process.pid})"
    )


# ---- iframes


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


# ---- hosted notebook services

#: Host names under which each service shows the ports of a kernel.
_COLAB = ("colab.research.google.com", "*.googleusercontent.com", "*.colab.dev")
_KAGGLE = ("www.kaggle.com", "*.kaggle.net", "*.kaggleusercontent.com")
_CODESPACES = ("*.github.dev", "*.vscode-cdn.net")
#: The host of Kaggle's notebook servers; a server knows only its path.
_KAGGLE_HOST = "https://kkb-production.jupyter-proxy.kaggle.net"


def list_service_flags() -> builtins.list[str]:
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


# ---- charts

#: Longer series are downsampled to this width; cells are rarely wider.
_WIDTH_PX = 1000


def chart(
    log: Log | str | os.PathLike[str],
    tag: str,
    *,
    runs: Sequence[str] | None = None,
    x: str = "step",
    smoothing: float = 0.0,
    height: int = 300,
    interval_s: float = 2.0,
) -> Any:
    """Return a live chart of a scalar tag, as a widget that notebooks display.

    A tag or run that is not in the log yet is reported above the chart, and drawn as soon as it is
    logged.

    Args:
        log: A log directory, or the result of `tracklight.open`.
        tag: The scalar tag.
        runs: The runs to draw; by default all runs that have the tag.
        x: ``"step"``, ``"relative"``, ``"wall"`` or ``"metric:TAG"``.
        smoothing: Weight of the moving average, from 0 to 1.
        height: Height in pixels.
        interval_s: Seconds between updates. They end when the widget is closed.

    Returns:
        An anywidget.

    Raises:
        UsageError: An argument is invalid.
        MissingDependencyError: The ``notebook`` extra is not installed.
        TracklightError: The page is not built.

    Example:
        >>> tracklight.notebook.chart("logs", tag="loss", smoothing=0.6)
    """
    updater = ChartUpdater(log if isinstance(log, Log) else open_log(log), tag)
    updater.request.x = x
    updater.request.runs = None if runs is None else builtins.list(runs)
    updater.request.smoothing = _parse_smoothing(smoothing)
    answer = updater.render()
    widget = _create_widget(
        title=tag, axis=x, height=height, answer=answer, problem=updater.describe_problem()
    )
    updater.start(widget, interval_s)
    return widget


def _parse_smoothing(weight: float) -> Smoothing | None:
    try:
        return Smoothing("ema", weight) if weight else None
    except ValueError as error:
        raise UsageError(str(error)) from error


class ChartUpdater:
    """Renders a chart, and updates its widget in a background thread when the log changes."""

    def __init__(self, log: Log, tag: str) -> None:
        self._catalog = log.catalog
        self._overview = LogOverview(self._catalog)
        self._context = Context(
            self._catalog,
            self._overview.scalar_tags,
            self._overview.runs_with_scalar,
            str,
            responses.describe_error,
        )
        self._tag = tag
        self.request = ChartsRequest(charts=[ChartRequest("", [tag])], width=_WIDTH_PX)
        self._stopped = threading.Event()

    def render(self) -> bytes:
        """Return the current chart, encoded for the page."""
        charts = ChartBuilder(self._context, self.request, LiveCharts(self._context))
        (chart,) = charts.build()
        if chart.error is not None:
            raise UsageError(chart.error.message)
        return responses.encode_columns(chart)

    def describe_problem(self) -> str:
        """Return which tag or run is missing in the log; empty if all can be drawn."""
        runs_with_tag = frozenset(self._overview.runs_with_scalar(self._tag))
        if not runs_with_tag:
            return self._describe_missing_tag()
        missing = [run for run in self.request.runs or () if run not in runs_with_tag]
        if not missing:
            return ""
        known = self._overview.runs()
        if missing[0] not in known:
            return _make_sentence(RunNotFoundError(missing[0], known))
        return _make_sentence(TagNotFoundError(missing[0], self._tag))

    def _describe_missing_tag(self) -> str:
        known = self._overview.scalar_tags()
        if not known:
            return "The log has no scalars yet."
        reason = _make_sentence(TagNotFoundError(None, self._tag, known))
        return f"{reason} The chart is drawn as soon as the tag is logged."

    def start(self, widget: Any, interval_s: float) -> None:
        """Update the widget until it is closed."""
        widget.on_close = self._stopped.set
        threading.Thread(
            target=self._update, args=(widget, interval_s), name="tracklight-chart", daemon=True
        ).start()

    def _update(self, widget: Any, interval_s: float) -> None:
        while not self._stopped.wait(interval_s):
            try:
                delta = self._catalog.refresh()
                if delta.added or delta.removed or delta.changed:
                    widget.answer = self.render()
                widget.problem = self.describe_problem()
            except TracklightError as error:
                widget.problem = f"{error}."


def _make_sentence(error: TracklightError) -> str:
    text = str(error)
    return f"{text[:1].upper()}{text[1:]}" + ("" if text.endswith((".", "?")) else ".")


def _create_widget(**state: Any) -> Any:
    try:
        import anywidget
        import traitlets
    except ImportError as error:
        raise MissingDependencyError("a notebook chart", "notebook") from error
    assets = PAGE_DIR / "notebook"
    if not (assets / "chart.js").is_file():
        raise TracklightError("the web page of tracklight is not built; run `tracklight doctor`")

    class Chart(anywidget.AnyWidget):  # type: ignore[misc]
        _esm = assets / "chart.js"
        _css = assets / "chart.css"
        title = traitlets.Unicode().tag(sync=True)
        axis = traitlets.Unicode().tag(sync=True)
        height = traitlets.Int().tag(sync=True)
        answer = traitlets.Bytes().tag(sync=True)
        problem = traitlets.Unicode().tag(sync=True)

        on_close = staticmethod(lambda: None)

        def close(self) -> None:
            self.on_close()
            super().close()

    return Chart(**state)
