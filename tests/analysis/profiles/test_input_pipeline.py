"""Which stage of a tf.data pipeline a program waits for, in small traces."""

from __future__ import annotations

import numpy as np

from tests.analysis.profiles.trace_builder import EventSpec, make_trace
from tracklight.analysis.profiles.findings.input_pipeline import list_pipelines

US = 1_000_000
WINDOW = np.array([[0, 1000]]) * US


def iterator(
    track: int, path: str, start_us: float, end_us: float, id: int, parent_id: int = 0
) -> EventSpec:
    """Make a call of a stage with the ids of its iterator and the one it feeds."""
    args = {"id": id, "parent_id": parent_id} if parent_id else {"id": id}
    return EventSpec(track, f"Iterator::{path}", start_us, end_us, args)


def test_waiting_counts_for_the_called_stage() -> None:
    trace = make_trace(
        iterator(0, "Root", 0, 100, 1),
        iterator(0, "Root::Batch", 5, 95, 2, 1),
        iterator(0, "Root::Batch::Map", 10, 90, 3, 2),
    )
    ((root, batch, map_),) = list_pipelines(trace, WINDOW)
    assert [(it.op, it.parent) for it in (root, batch, map_)] == [
        ("Root", None),
        ("Batch", 0),
        ("Map", 1),
    ]
    assert [it.critical_ps // US for it in (root, batch, map_)] == [10, 10, 80]
    assert [it.self_ps // US for it in (root, batch, map_)] == [10, 10, 80]


def test_prefetched_work_counts_only_if_late() -> None:
    """The map runs from 0 to 60 on another thread, and the program waits from 50 on."""
    trace = make_trace(
        iterator(0, "Root", 50, 70, 1),
        iterator(0, "Root::Prefetch", 50, 70, 2, 1),
        iterator(1, "Root::Prefetch::Map", 0, 60, 3, 2),
    )
    (stages,) = list_pipelines(trace, WINDOW)
    assert [(it.op, it.critical_ps // US) for it in stages] == [
        ("Root", 0),
        ("Prefetch", 10),
        ("Map", 10),
    ]
    assert stages[2].total_ps == 60 * US


def test_only_waiting_in_steps_counts() -> None:
    trace = make_trace(iterator(0, "Root", 0, 100, 1))
    ((root,),) = list_pipelines(trace, np.array([[20, 50], [90, 400]]) * US)
    assert (root.critical_ps, root.total_ps) == (40 * US, 100 * US)


def test_separates_pipelines_and_merges_passes() -> None:
    trace = make_trace(
        iterator(0, "Root", 0, 10, 1),
        iterator(0, "Root::ForeverRepeat[0]::Range", 1, 4, 2, 1),
        iterator(0, "Root::ForeverRepeat[1]::Range", 5, 9, 3, 1),
        iterator(1, "Root", 0, 10, 7),
    )
    training, validation = list_pipelines(trace, WINDOW)
    assert [(it.path, it.calls) for it in training] == [
        ("Iterator::Root", 1),
        ("Iterator::Root::ForeverRepeat::Range", 2),
    ]
    assert len(validation) == 1


def test_cyclic_iterator_parents_terminate() -> None:
    trace = make_trace(
        iterator(0, "Root", 0, 10, 1, 2),
        iterator(0, "Root::Map", 1, 4, 2, 1),
    )
    assert sum(len(stages) for stages in list_pipelines(trace, WINDOW)) == 2
