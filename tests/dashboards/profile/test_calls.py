"""Routes of operators and call trees."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from tests.analysis.profiles.sample_captures import DATA
from tests.dashboards.profile.client import ProfileClient, open_client, put_file


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ProfileClient]:
    logdir = tmp_path_factory.mktemp("calls")
    for name in ("torch_modules", "torch_f32", "torch_bf16"):
        put_file(logdir, name, DATA / f"{name}.pt.trace.json.gz", "trace.json.gz")
    put_file(logdir, "jax", DATA / "jax_f32.xplane.pb", "vm.xplane.pb")
    with open_client(logdir) as client:
        yield client


def test_operators_can_be_grouped_by_what_was_recorded(client: ProfileClient) -> None:
    modules = client.get("operators", "torch_modules")
    assert modules.groupings == ["name", "shape", "stack", "module"]
    assert client.get("operators", "torch_f32").groupings == ["name", "shape"]
    tree = client.get("operators", "torch_modules", group_by="module")
    assert tree.names[0] == "Sequential_0" and tree.depths.max() == 2
    tools = {row.name: row.empty_reason for row in client.get("tools", "jax").tools}
    assert tools["operators"].code == "profile.no_operators"
    assert tools["calls"] is None


def test_parents_precede_their_children(client: ProfileClient) -> None:
    for run in ("torch_modules", "jax"):
        for time_on in ("host", "device"):
            tree = client.get("calls", run, time_on=time_on)
            assert (tree.parents < np.arange(len(tree.parents))).all()
            inner = tree.parents >= 0
            assert (
                tree.total_ms[inner] <= tree.total_ms[tree.parents[inner]] * 1.001
            ).mean() > 0.99
            assert tree.has_device and len(tree.names) > 10
    steps = client.get("calls", "torch_f32", first_step=1, last_step=2)
    assert steps.steps == 2
    assert steps.total_ms.max() < client.get("calls", "torch_f32").total_ms.max()


def test_comparison_has_the_times_of_both_captures(client: ProfileClient) -> None:
    both = client.get("calls", "torch_bf16", before="torch_f32", time_on="device")
    after = client.get("calls", "torch_bf16", time_on="device")
    before = client.get("calls", "torch_f32", time_on="device")
    assert (both.steps, both.baseline_steps) == (after.steps, before.steps)
    roots, own, other = both.parents < 0, after.parents < 0, before.parents < 0
    assert both.total_ms[roots].sum() == pytest.approx(after.total_ms[own].sum(), rel=1e-3)
    assert both.baseline_total_ms[roots].sum() == pytest.approx(
        before.total_ms[other].sum(), rel=1e-3
    )
