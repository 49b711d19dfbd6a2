"""Every route returns the same results, whatever the number of shards."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests import builders as b
from tests.index import logs
from tests.server.test_http_api import iter_responses, open_client, write_log
from tests.small_log import write_small_log
from tracklight.index.catalog import Catalog

#: What differs between two servers of the same log: random identifiers and times.
VOLATILE = re.compile(
    rb'"(cursor|process|revision|session)":"[^"]*"|"(created|modified|seconds|elapsed_s|time_s)":[0-9.e+-]+'
    rb'|"id":"(upload-)?[0-9a-f]{12,16}"'
)
#: The state of a job, which may or may not be done when it is asked for.
JOB_STATE = re.compile(rb'\{"job":"[^"]*","state":"')
#: Answers with alerts, which are found in the background, or with random identifiers.
SKIPPED = {
    "PUT api/v1/alerts/rules",
    "POST api/v1/export",
    "POST api/v1/projector/upload",
    "POST api/v1/profile/upload",
}


def write_runs(logdir: Path) -> None:
    """Write runs of several sizes with the same tags, at the same steps but other times."""
    for number in range(8):
        points = (b.scalar("loss", step, step / (number + 1)) for step in range(20 * number + 5))
        logs.write(logdir, f"run-{number}", b"".join(points) + logs.hparams({"lr": number}))
    write_small_log(logdir)


def check_every_route(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, open_other: Callable[[Path], Catalog]
) -> None:
    """Compare the answers of one shard with those of another catalog for the same log."""
    write_log(tmp_path / "logs")
    write_runs(tmp_path / "logs")
    answers: list[dict[str, tuple[int, bytes]]] = []
    for open_catalog in (logs.open_catalog, open_other):
        monkeypatch.setenv("TRACKLIGHT_DATA_DIR", str(tmp_path / f"data-{len(answers)}"))
        with open_client(open_catalog(tmp_path / "logs"), tmp_path) as client:
            answers.append({name: read_answer(answer) for name, answer in iter_responses(client)})
    alone, other = answers
    assert alone.keys() == other.keys()
    different = [name for name in alone if alone[name] != other[name]]
    different = [name for name in different if name not in SKIPPED]
    if different:
        pytest.fail("\n".join(show(name, alone[name][1], other[name][1]) for name in different))


def read_answer(response: Any) -> tuple[int, bytes]:
    if JOB_STATE.match(response.content):
        return response.status_code, b"a job"
    return response.status_code, VOLATILE.sub(b"", response.content)


def show(name: str, first: bytes, second: bytes) -> str:
    """Return the text around the first difference."""
    pairs = enumerate(zip(first, second, strict=False))
    position = next((index for index, (one, two) in pairs if one != two), len(first))
    start = max(0, position - 60)
    return f"{name}: {first[start : start + 140]!r} {second[start : start + 140]!r}"


def test_several_shards_in_one_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check_every_route(tmp_path, monkeypatch, lambda folder: logs.open_catalog(folder, shards=3))
