"""Values are read as logged, and never another value in their place."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.analysis.media.conftest import Open
from tests.index import logs
from tracklight.analysis.media import StepsRequest, ValueReader, ValueRequest, list_steps
from tracklight.errors import LogError
from tracklight.formats.values import Images


def test_reads_the_requested_value(tmp_path: Path, open_log: Open) -> None:
    logs.write(tmp_path, "a", b"".join(logs.picture(step, bytes([step])) for step in range(9)))
    context = open_log(tmp_path)
    (steps,) = list_steps(context, StepsRequest(["picture"])).series
    reader = ValueReader(context)
    for index, fingerprint in zip(steps.index.tolist(), steps.fingerprint.tolist(), strict=True):
        value = reader.read(ValueRequest("a", "picture", index, fingerprint))
        assert isinstance(value, Images)
        assert value.encoded == (bytes([index]),)


@pytest.mark.parametrize(("index", "fingerprint"), [(0, 1), (9, None)])
def test_missing_value_raises_log_error(
    tmp_path: Path, open_log: Open, index: int, fingerprint: int | None
) -> None:
    logs.write(tmp_path, "a", logs.picture(1, b"x"))
    with pytest.raises(LogError, match="no longer has this value"):
        ValueReader(open_log(tmp_path)).read(ValueRequest("a", "picture", index, fingerprint))
