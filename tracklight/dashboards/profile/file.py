"""A capture as a file: as it is, or in the form that Perfetto opens."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tracklight.dashboards.profile.asks import CaptureFileAsk
from tracklight.dashboards.profile.store import Store
from tracklight.plugin import Stream
from tracklight.profiles.chrome import iter_chrome

_UNSAFE = re.compile(r"[^\w.-]+")
_CHUNK_BYTES = 1 << 20


def make_file(store: Store, ask: CaptureFileAsk) -> Stream:
    file = store.listing.get_file(ask.capture, ask.host)
    base = re.split(r"[/\\]", file.path)[-1]
    if ask.format == "original":
        name = f"{file.run}-{file.session}-{base}" if file.session not in base else base
        chunks = _iter_file(store, ask)
        return Stream(chunks, "application/octet-stream", _UNSAFE.sub("-", name))
    # Read now: what fails later cannot be told any more.
    trace = store.open(ask).trace
    name = _UNSAFE.sub("-", f"{file.run}-{file.session}-{file.host}").strip("-.") or "trace"
    return Stream(iter_chrome(trace), "application/gzip", f"{name}.trace.json.gz")


def _iter_file(store: Store, ask: CaptureFileAsk) -> Iterator[bytes]:
    with store.fetch(ask) as path, path.open("rb") as opened:
        while chunk := opened.read(_CHUNK_BYTES):
            yield chunk
