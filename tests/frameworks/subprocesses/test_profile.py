"""`tracklight.profile` with the profilers of the frameworks."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.frameworks.programs import need, run_keras
from tests.frameworks.programs.profile_program import LOAD_S
from tests.writer.event_files import read_scalars
from tracklight.analysis.profiles.captures import list_captures, open_capture
from tracklight.analysis.profiles.steps import detect_steps
from tracklight.logdir.access import Root

NAMES = {"torch": "ProfilerStep#{}", "jax": "train {}", "tensorflow": "train {}"}


@pytest.mark.parametrize("framework", NAMES)
def test_records_requested_steps(framework: str, tmp_path: Path) -> None:
    need(framework)
    recording = run_keras("profile_program.py", framework, tmp_path, backend=framework)
    assert recording == [False, True, True, True, True, False, False]
    (capture,) = list_captures([Root("", str(tmp_path))])
    steps = detect_steps(open_capture(capture.path))
    assert steps.names == tuple(NAMES[framework].format(number) for number in range(11, 15))
    assert capture.run == "."
    # A step includes waiting for its data.
    assert np.diff(steps.spans).min() / 1e12 >= LOAD_S
    tags = {tag for tag, _, _ in read_scalars(tmp_path)}
    assert "system/process_cpu_percent" in tags
