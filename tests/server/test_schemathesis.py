"""Send valid and invalid requests, generated from the OpenAPI description, to a real server.

This takes some seconds and sends the same requests each time. ``TRACKLIGHT_SCHEMATHESIS_S=600``
sends random ones for ten minutes, to a server with the demo log.
``TRACKLIGHT_SCHEMATHESIS_FLAGS=--read-only`` adds flags of the server.
"""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.index import logs
from tests.server.server_process import serve
from tracklight.cli.demo import write_demo
from tracklight.formats.media import encode_png, encode_wav

CHECKS = "not_a_server_error,content_type_conformance,response_schema_conformance"
ON_DEMAND_S = os.environ.get("TRACKLIGHT_SCHEMATHESIS_S")
FLAGS = os.environ.get("TRACKLIGHT_SCHEMATHESIS_FLAGS", "").split()
TOKEN = "any-token"
OPTIONS = (
    ["--phases", "coverage,fuzzing,stateful", "--max-time", ON_DEMAND_S]
    if ON_DEMAND_S
    else ["--phases", "fuzzing", "--max-examples", "2", "--generation-deterministic", "--no-shrink"]
)


def write_log(logdir: Path) -> None:
    """Write values of all kinds."""
    values = logs.picture(1, encode_png(np.zeros((2, 2), np.uint8)))
    values += logs.clip(1, encode_wav(np.ones(9), 8000))
    values += logs.histogram(1, [(0.0, 1.0, 5.0)])
    values += logs.text(1, "a cat") + logs.hparams({"lr": 0.1})
    values += logs.cloud(1, [[0, 0, 0], [1, 2, 3]])
    values += logs.pr_curve(1, [[1, 0], [1, 0], [0, 1], [0, 1], [0.5, 0], [1, 0]])
    logs.write(logdir, "conv", logs.points(range(3)) + values)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_generated_requests_cause_no_server_errors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("schemathesis")
    monkeypatch.setenv("TRACKLIGHT_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("TRACKLIGHT_TOKEN", TOKEN)
    (write_demo if ON_DEMAND_S else write_log)(tmp_path / "logs")
    with serve(tmp_path / "logs", tmp_path, *FLAGS) as started:
        server = replace(started, address=started.address.partition("?")[0])
        server.wait_until_read()
        command = [sys.executable, "-m", "schemathesis.cli", "run"]
        command += [f"{server.address}api/v1/openapi.json", "--url", server.address.rstrip("/")]
        command += ["--header", f"Authorization: Bearer {TOKEN}"]
        command += ["--checks", CHECKS, "--continue-on-failure", "--request-timeout", "30"]
        done = subprocess.run(
            [*command, "--warnings", "off", *OPTIONS], cwd=tmp_path, capture_output=True, text=True
        )
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-1000:]
    assert "generated" in done.stdout
    assert server.errors.read_text() == ""
