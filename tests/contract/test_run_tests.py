"""Which groups of tests run side by side, and what the closing summary says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tools.run_tests import (
    LONG_TESTS,
    MAX_WORKERS,
    NOT_MEASURED,
    ROOT,
    Group,
    GroupRun,
    Report,
    can_start,
    list_groups,
    run_group,
)


def test_groups_share_the_workers() -> None:
    group = Group("some", (), workers=2)
    assert can_start(group, [])
    assert can_start(group, [Group("other", (), workers=MAX_WORKERS - 2)])
    assert not can_start(group, [Group("other", (), workers=MAX_WORKERS - 1)])


def test_a_group_with_too_many_workers_runs_alone() -> None:
    group = Group("large", (), workers=MAX_WORKERS + 1)
    assert can_start(group, [])
    assert not can_start(group, [Group("other", (), workers=1)])


def select_groups(*names: str) -> list[Group]:
    groups = {group.name: group for group in list_groups()}
    return [groups[name] for name in names]


def test_a_group_that_starts_ray_runs_beside_one_worker() -> None:
    ray, shards, torch, browser = select_groups("ray", "ray-shards", "torch", "browser")
    assert not can_start(shards, [ray])
    assert not can_start(ray, [shards])
    assert not can_start(browser, [ray])
    assert not can_start(ray, [browser])
    assert not can_start(ray, [torch, torch])
    assert can_start(torch, [ray])
    assert can_start(ray, [torch])
    assert can_start(ray, [])


def test_long_tests_run_beside_ray_and_groups_with_two_workers_end_last() -> None:
    groups = list_groups()
    shards, ray, long, programs, browser, unit, *others = groups
    assert [group for group in groups if can_start(group, [])] == groups
    assert [shards.starts_ray, ray.starts_ray] == [True, True]
    assert can_start(long, [shards]) and can_start(programs, [shards])
    assert can_start(unit, [programs, browser])
    for other in others:
        assert can_start(other, [browser, unit])


def test_every_test_is_in_one_group() -> None:
    unit, long, browser = select_groups("unit", "long", "browser")
    ignored = {path.removeprefix("--ignore=") for path in unit.paths[1:]}
    assert ignored == {*LONG_TESTS, *browser.paths, "tests/frameworks"}
    assert long.paths == LONG_TESTS
    assert all((ROOT / path).exists() for path in ignored)
    # The quick tier has no group `long`.
    is_slow = re.compile(r"^pytestmark = \[?\s*pytest\.mark\.slow", re.MULTILINE)
    assert all(is_slow.search((ROOT / path).read_text("utf-8")) for path in LONG_TESTS)


def test_every_framework_has_a_group() -> None:
    names = [group.name for group in list_groups()]
    folders = {path.parent.name for path in (ROOT / "tests/frameworks").glob("*/test_*.py")}
    assert {"jax", "ray", "subprocesses", "tensorflow", "torch"} <= folders < set(names)
    assert set(NOT_MEASURED) < set(names)
    assert len(names) == len(set(names))


def test_summary_ends_with_the_failed_tests(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    junit = tmp_path / "report.xml"
    junit.write_text(
        """<testsuites><testsuite>
        <testcase classname="tests.some" name="test_one" time="0.1"/>
        <testcase classname="tests.some" name="test_two" time="0.2">
        <failure message="AssertionError: 1 != 2">...</failure></testcase>
        </testsuite></testsuites>"""
    )
    report = Report()
    report.add_run(GroupRun(Group("unit", ()), 1, 5.0, 65.4, 90.0, leaked=[]), junit)
    report.print()
    lines = capsys.readouterr().out.splitlines()
    assert "       5 to    65 s,     90 s of processor time  unit" in lines
    assert lines[-4:] == [
        "Failed:",
        "  unit: tests/some::test_two: AssertionError: 1 != 2",
        "",
        "1 passed, 1 failed, 0 skipped",
    ]


def test_summary_names_the_reasons_of_modules(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    junit = tmp_path / "report.xml"
    junit.write_text(
        """<testsuites><testsuite>
        <testcase classname="" name="tests.one" time="0.1">
        <skipped message="collection skipped">('one.py', 2, 'Skipped: there is no GPU')</skipped>
        </testcase>
        <testcase classname="" name="tests.two" time="0.1">
        <error message="collection failure">ImportError: no such name</error></testcase>
        </testsuite></testsuites>"""
    )
    report = Report()
    report.add_run(GroupRun(Group("unit", ()), 1, 5.0, 65.4, 90.0, leaked=[]), junit)
    report.print()
    lines = capsys.readouterr().out.splitlines()
    assert "     1 Skipped: there is no GPU" in lines
    assert "  unit: ::tests.two: ImportError: no such name" in lines


@pytest.mark.slow
def test_processor_time_has_the_processes_of_a_group(tmp_path: Path) -> None:
    burn = "import time\nwhile time.process_time() < 1: pass"
    (tmp_path / "test_burn.py").write_text(
        f"""import subprocess, sys
def test_burn() -> None:
    subprocess.run([sys.executable, "-c", {burn!r}], check=True)
"""
    )
    group = Group("some", (str(tmp_path), "-c", os.devnull), workers=1)
    run = run_group(group, "all", tmp_path / "report.xml", [])
    assert (run.status, run.leaked) == (0, [])
    assert run.processor_s > 1
    assert 0 <= run.start_s < run.end_s


SKIPPED = """
import pytest

pytest.importorskip("no_such_module")

def test_nothing() -> None:
    pass
"""


def test_skipped_module_is_an_error_in_ci(tmp_path: Path) -> None:
    (tmp_path / "test_skipped.py").write_text(SKIPPED)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.conftest", "-c", os.devnull]
    result = subprocess.run(
        [*command, "--import-mode=importlib", "test_skipped.py"],
        cwd=tmp_path,
        env={**os.environ, "CI": "true", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert "CI must not skip this test" in result.stdout, result.stdout
    assert "1 error" in result.stdout
