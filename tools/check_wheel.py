"""Check an installed wheel: ``python tools/check_wheel.py``, in the environment that has it.

Writes the demo log with the installed command, serves it, and reads a chart as the page does. The
directory of this file must not contain the package, so that the installed one is imported.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import json
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

MIN_KERNELS = 9
TIMEOUT_S = 60.0
QUERY = {"runs": ["sweep/lr=0.1/train"], "charts": [{"id": "loss", "tags": ["loss"]}]}


def main() -> None:
    started = time.monotonic()
    import tracklight

    package = Path(tracklight.__file__).parent
    kernels = [path for path in package.rglob("_*") if path.suffix in (".so", ".pyd")]
    for path in kernels:
        parts = (*path.relative_to(package.parent).parent.parts, path.name.partition(".")[0])
        importlib.import_module(".".join(parts))
    if len(kernels) < MIN_KERNELS:
        sys.exit(f"{package} has {len(kernels)} compiled kernels, expected {MIN_KERNELS}")
    check_metadata()
    with tempfile.TemporaryDirectory() as folder:
        log = str(Path(folder, "logs"))
        subprocess.run([sys.executable, "-m", "tracklight", "demo", log], check=True)
        with tracklight.serve(log, cache=False) as board:
            page = fetch(board.url).decode()
            if "<script" not in page:
                sys.exit("the server does not serve the page")
            points = wait_for_points(board.url)
    seconds = time.monotonic() - started
    print(f"{package}: {len(kernels)} kernels, {points} points in a chart, {seconds:.1f} s")


def check_metadata() -> None:
    distribution = importlib.metadata.distribution("tracklight")
    names = {str(path).rpartition("/")[2] for path in distribution.files or ()}
    missing = {"LICENSE", "THIRD_PARTY_NOTICES.txt", "tracklight.cdx.json"} - names
    if missing:
        sys.exit(f"the wheel lacks {', '.join(sorted(missing))}")


def wait_for_points(url: str) -> int:
    """Return the number of points of a chart, once the log is read."""
    deadline = time.monotonic() + TIMEOUT_S
    while True:
        chart = json.loads(fetch(f"{url}api/v1/scalars/query", QUERY))["charts"][0]
        if chart["points"] > 0:
            return int(chart["points"])
        if time.monotonic() > deadline:
            sys.exit(f"no points after {TIMEOUT_S:.0f} s: {chart}")
        time.sleep(0.1)


def fetch(url: str, body: object = None) -> bytes:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=TIMEOUT_S) as response:
        content: bytes = response.read()
    return content


if __name__ == "__main__":
    main()
