"""Which groups of tests run side by side."""

from __future__ import annotations

from tools.run_tests import MAX_WORKERS, Group, can_start, list_groups


def test_groups_share_the_workers() -> None:
    group = Group("some", (), workers=2)
    assert can_start(group, [])
    assert can_start(group, [Group("other", (), workers=MAX_WORKERS - 2)])
    assert not can_start(group, [Group("other", (), workers=MAX_WORKERS - 1)])


def test_a_group_with_too_many_workers_runs_alone() -> None:
    group = Group("large", (), workers=MAX_WORKERS + 1)
    assert can_start(group, [])
    assert not can_start(group, [Group("other", (), workers=1)])


def test_a_group_that_starts_ray_runs_beside_one_worker() -> None:
    ray, shards, torch, browser = (
        next(group for group in list_groups() if group.name == name)
        for name in ("ray", "ray-shards", "torch", "browser")
    )
    assert not can_start(shards, [ray])
    assert not can_start(ray, [shards])
    assert not can_start(browser, [ray])
    assert not can_start(ray, [browser])
    assert not can_start(ray, [torch, torch])
    assert can_start(torch, [ray])
    assert can_start(ray, [torch])
    assert can_start(ray, [])


def test_every_framework_has_a_group_and_long_ones_start_first() -> None:
    names = [group.name for group in list_groups()]
    assert {"jax", "ray", "subprocesses", "tensorflow", "torch"} < set(names)
    assert names[:3] == ["browser", "unit", "subprocesses"]
    assert names[-2:] == ["ray", "ray-shards"]
