"""Which sessions form a study."""

from __future__ import annotations

import pytest

from tracklight.analysis.experiments import assign_studies


@pytest.mark.parametrize(
    ("sessions", "declaring", "expected"),
    [
        (["a", "b"], [], [".", "."]),
        (["x/a", "x/b", "y/a", "y/b"], [], ["x", "x", "y", "y"]),
        # PyTorch writes hyperparameters to a run of their own below each training.
        (["lr=0.1/17", "lr=0.2/18"], ["lr=0.1/17", "lr=0.2/18"], [".", "."]),
        (["p/lr=0.1/17", "p/lr=0.2/18", "q/1", "q/2"], [], ["p", "p", "q", "q"]),
        (["x/a", "x/b", "c"], [], ["x", "x", "."]),
        # The nearest declaration above a session counts, however few sessions it has.
        (["x/a", "y/1/a", "y/b"], ["x", "y"], ["x", "y", "y"]),
        (["a/1", "b/1", "b/2"], ["."], [".", ".", "."]),
        (["a/1", "b/1", "b/2"], [".", "b"], [".", "b", "b"]),
        # Several log directories.
        (["first/a", "first/b", "second/a"], ["first/."], ["first/.", "first/.", "."]),
    ],
)
def test_studies(sessions: list[str], declaring: list[str], expected: list[str]) -> None:
    assert assign_studies(sessions, declaring) == dict(zip(sessions, expected, strict=True))
