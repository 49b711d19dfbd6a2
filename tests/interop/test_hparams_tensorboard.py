"""Sessions, hyperparameters and metrics agree with TensorBoard's HParams API."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.analysis.experiments.helpers import open_board
from tests.archives import extract
from tracklight import hparams, summary
from tracklight.dashboards.hparams.schemas import SessionsRequest, SessionsResponse

pytest.importorskip("tensorboard.plugins.hparams.list_session_groups")
DATA = Path(__file__).parent.parent / "data"


def list_tensorboard_groups(logdir: Path) -> Any:
    """Return all session groups of TensorBoard."""
    from tensorboard.backend.event_processing import data_provider, plugin_event_multiplexer
    from tensorboard.context import RequestContext
    from tensorboard.plugins.base_plugin import TBContext
    from tensorboard.plugins.hparams import (
        api_pb2,
        backend_context,
        get_experiment,
        list_session_groups,
    )

    multiplexer = plugin_event_multiplexer.EventMultiplexer()
    multiplexer.AddRunsFromDirectory(str(logdir)).Reload()
    provider = data_provider.MultiplexerDataProvider(multiplexer, str(logdir))
    context = backend_context.Context(TBContext(data_provider=provider, logdir=str(logdir)))
    asked = RequestContext(), context, ""
    experiment = get_experiment.Handler(*asked, api_pb2.GetExperimentRequest()).run()
    request = api_pb2.ListSessionGroupsRequest(slice_size=10**6, allowed_statuses=[0, 1, 2, 3])
    for info in experiment.hparam_infos:
        request.col_params.add(hparam=info.name)
    return list_session_groups.Handler(*asked, request).run().session_groups


def read_hparams(response: SessionsResponse, row: int) -> dict[str, object]:
    found: dict[str, object] = {}
    for column in response.hparams:
        state = 0 if column.states is None else column.states[row]
        value = float(column.values[row])
        if state != 1:
            found[column.name] = column.categories[int(value)] if state == 2 else value
    return found


def compare(logdir: Path) -> int:
    """Compare all groups of TensorBoard; return their number."""
    _, board = open_board(logdir)
    alone, merged = (
        board.sessions(SessionsRequest()),
        board.sessions(SessionsRequest(aggregation="mean")),
    )
    groups = list_tensorboard_groups(logdir)
    assert sorted(group.name for group in groups) == sorted(merged.rows.names)
    for group in groups:
        row = merged.rows.names.index(group.name)
        ours = read_hparams(merged, row)
        theirs = {key: getattr(it, it.WhichOneof("kind")) for key, it in group.hparams.items()}
        assert theirs.items() <= ours.items()
        assert sorted(merged.rows.sessions[row]) == sorted(it.name for it in group.sessions)
        compare_metrics(merged, row, group.metric_values)
        for session in group.sessions:
            place = alone.rows.names.index(session.name)
            assert alone.rows.status[place] == session.status
            compare_metrics(alone, place, session.metric_values)
            if session.start_time_secs:
                assert alone.rows.start[place] == session.start_time_secs
    return len(groups)


def compare_metrics(response: SessionsResponse, row: int, theirs: Any) -> None:
    metrics = {(metric.group, metric.tag): metric for metric in response.metrics}
    for expected in theirs:
        metric = metrics[expected.name.group, expected.name.tag]
        assert metric.steps[row] == expected.training_step
        assert np.isclose(metric.values[row], expected.value, rtol=1e-12, equal_nan=True)


@pytest.mark.parametrize(("case", "count"), [("seed001", 16), ("torch", 7), ("seed003", 0)])
def test_agrees_on_the_corpus(case: str, count: int, tmp_path: Path) -> None:
    extract(DATA / "corpus" / f"{case}.tar.xz", tmp_path)
    if count:
        assert compare(tmp_path) == count
    else:
        assert open_board(tmp_path)[1].sessions(SessionsRequest()).rows.names == []


def test_repeated_runs_are_one_group_with_mean_metrics(tmp_path: Path) -> None:
    for seed in range(3):
        for units in (16, 32):
            run = tmp_path / f"u{units}-s{seed}"
            with summary.create_file_writer(run).as_default():
                hparams.hparams({"units": units, "flip": True, "name": "a"}, trial_id=f"t{units}")
                for step in range(seed + 2):
                    summary.scalar("acc", units / 64 + seed / 10, step=step)
                summary.scalar("odd", math.nan if seed == 2 else 1.0, step=0)
    assert compare(tmp_path) == 2


def test_keeps_what_tensorboard_drops(tmp_path: Path) -> None:
    """Undeclared hyperparameters and metrics, NaN, and mixed types."""
    with summary.create_file_writer(tmp_path).as_default():
        hparams.hparams_config([hparams.HParam("lr")], [hparams.Metric("acc")])
    given = [{"lr": 0.1, "extra": 1}, {"lr": "auto"}, {"lr": math.nan, "flip": True}]
    for number, values in enumerate(given):
        with summary.create_file_writer(tmp_path / str(number)).as_default():
            hparams.hparams(values)
            summary.scalar("undeclared", number, step=1)
    response = open_board(tmp_path)[1].sessions(SessionsRequest())
    found = [read_hparams(response, row) for row in range(3)]
    assert found[0] == {"lr": 0.1, "extra": 1.0}
    assert found[1] == {"lr": "auto"}
    assert found[2]["flip"] == 1 and math.isnan(found[2]["lr"])
    assert [metric.key for metric in response.metrics] == ["|acc", "|undeclared"]
    assert response.metrics[1].values.tolist() == [0, 1, 2]
