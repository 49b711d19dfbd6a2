"""TensorBoard as users run it, and its data server alone.

The data server prints the duration of its load cycle, which excludes process start; ours excludes
the start of Python.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
import tensorboard_data_server
from tensorboard.context import RequestContext
from tensorboard.data.grpc_provider import GrpcDataProvider, make_stub

from benchmarks.website import MIB, Website, start_process, start_website, wait_for


class PeerNotAvailableError(Exception):
    """A program to compare with cannot run on this machine."""


@dataclass(frozen=True)
class DataServer:
    """A data server after its first load cycle."""

    load_s: float
    port: int

    def list_scalars(self) -> dict[str, Any]:
        """Return all tags of all runs, requested like TensorBoard does."""
        address = f"localhost:{self.port}"
        limit = [("grpc.max_receive_message_length", 256 * MIB)]
        with grpc.insecure_channel(address, options=limit) as channel:
            provider = GrpcDataProvider(address, make_stub(channel))
            tags = provider.list_scalars(RequestContext(), experiment_id="", plugin_name="scalars")
        return dict(tags)


@contextmanager
def start_data_server(logdir: Path, *flags: str) -> Iterator[DataServer]:
    """Run TensorBoard's data server on ``logdir`` and wait until it has loaded all of it.

    Raises:
        PeerNotAvailableError: The package has no binary for this platform, such as 64-bit Arm.
    """
    binary = tensorboard_data_server.server_binary()
    if binary is None:
        raise PeerNotAvailableError("TensorBoard's data server has no build for this platform")
    options = ["--reload=once", "--port=0", "--verbose", *flags]
    with start_process([binary, f"--logdir={logdir}", *options]) as process:
        port = wait_for(process, r"listening on \S+:(\d+)")
        load_s = wait_for(process, r"Finished load cycle \((\S+)\)")
        yield DataServer(_parse_duration_s(load_s), int(port))


def load_with_data_server(logdir: Path, *flags: str) -> float:
    """Seconds of one load cycle."""
    with start_data_server(logdir, *flags) as server:
        return server.load_s


#: Hides TensorFlow, which TensorBoard would import (about 1 GB).
_TENSORBOARD = """
import sys
sys.modules["tensorflow"] = None
from tensorboard.main import run_main
run_main()
"""


def start_tensorboard(logdir: Path, *flags: str) -> AbstractContextManager[Website]:
    """Run ``tensorboard --logdir`` with its data server, reloading every five seconds."""
    command = [sys.executable, "-c", _TENSORBOARD, f"--logdir={logdir}", "--port=0"]
    return start_website([*command, *flags])


def read_last_step(tensorboard: Website, run: str, tag: str) -> int:
    """Return the newest step that TensorBoard's page would show; -1 if the tag is unknown."""
    tags = tensorboard.get("data/plugin/scalars/tags")
    if tag not in tags.get(run, {}):
        return -1
    points = tensorboard.get("data/plugin/scalars/scalars", run=run, tag=tag)
    return int(points[-1][1])


def _parse_duration_s(text: str) -> float:
    """Parse a duration as Rust prints it: ``2.05s``, ``31.4ms`` or ``950µs``."""
    found = re.fullmatch(r"([\d.]+)(s|ms|µs)", text)
    if found is None:
        raise ValueError(f"not a duration: {text!r}")
    return float(found[1]) * {"s": 1.0, "ms": 1e-3, "µs": 1e-6}[found[2]]
