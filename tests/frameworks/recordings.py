"""Open recordings of `tracklight.debugger` in tests."""

from __future__ import annotations

from pathlib import Path

from tracklight.analysis.debugger import RootCause
from tracklight.analysis.debugger.recording import Recording, RecordingAnalysis, iter_recordings
from tracklight.index.catalog import Catalog
from tracklight.logdir.access import parse_roots


def open_recording(folder: Path) -> Recording:
    catalog = Catalog(parse_roots(str(folder)), cache=False)
    catalog.refresh()
    (key,) = iter_recordings(catalog)
    return Recording(catalog, key)


def analyze(folder: Path) -> RecordingAnalysis:
    return RecordingAnalysis(open_recording(folder))


def check_root_cause(cause: RootCause | None, kind: str, mention: str) -> None:
    """Require a root cause of a kind that mentions a text."""
    assert cause is not None
    assert cause.kind.value == kind, cause
    assert mention in " ".join([cause.op_type, cause.op_name, cause.message, cause.hint]), cause
