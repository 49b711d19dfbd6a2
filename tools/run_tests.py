"""Run the test suite: ``python tools/run_tests.py {quick,all} [pytest options]``.

The suite is split into groups, each a pytest run with processes of its own:

- ``unit`` has no browser and no framework. Playwright's event loop and the frameworks' threads
  never share a process with it.
- ``browser`` keeps one Chromium per worker for the whole run.
- every framework has a group, because TensorFlow, PyTorch and JAX crash in one process.
- ``ray-shards`` repeats tests of reading, queries and live updates with ``--cluster local:2``.

The quick tier runs ``unit`` without slow tests and the browser smoke test; the full tier runs
everything. Groups run side by side as long as there are not more than `MAX_WORKERS` workers,
because browser tests and tests of subprocesses leave a processor idle for a third of their time.
Ray needs a processor to itself while it starts: short groups wait to run beside those on Ray, so
that the other processor is busy to the end. The end of the output merges all groups: every skip
with its reason, the slowest tests, the failed tests with their messages, leaked processes and one
line of totals. The exit status is 1 if anything failed.

``--coverage`` measures all groups that run, with the programs, servers and Ray workers that tests
start, and reports their coverage together. Groups of Ray's shards and of the browser are left out:
they repeat what other groups call.
"""

from __future__ import annotations

import argparse
import ast
import os
import subprocess
import sys
import tempfile
import time
import uuid
import xml.etree.ElementTree as ElementTree
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path
from threading import Thread

import psutil

ROOT = Path(__file__).resolve().parent.parent
FRAMEWORKS = ROOT / "tests" / "frameworks"

QUICK = "(not slow and not browser) or smoke"
MAX_TEST_S = 30.0
SLOWEST = 20
#: Characters of the message of a failed test in the closing summary.
MAX_MESSAGE = 300
#: A group that takes longer is killed. A busy machine takes a multiple of the usual time.
MAX_GROUP_S = 4 * 3600.0
#: Workers of all groups that run at the same time: those of `browser`, `unit` and a long group on
#: two processors. Each waits for part of its time, for a browser or a process that it started.
MAX_WORKERS = 2 * max(os.cpu_count() or 1, 2) + 1
#: Set for every process of a run, so that those that outlive it can be found.
SESSION_VARIABLE = "TRACKLIGHT_TEST_SESSION"

#: Groups below tests/frameworks that take minutes; they start before the others.
LONG_GROUPS = ("subprocesses",)
#: Groups that repeat what others call, or would take long, and whose coverage is not measured.
NOT_MEASURED = ("browser", "ray-shards")
#: Repeated with two shards on Ray: tests of reading, queries and live updates that open a log.
SHARD_TESTS = (
    "tests/index/test_aggregation.py",
    "tests/index/test_cache.py",
    "tests/index/test_catalog.py",
    "tests/index/test_last_points.py",
    "tests/index/test_overwritten.py",
    "tests/index/test_read_values.py",
    "tests/index/test_result_cache.py",
    "tests/index/test_shared_tags.py",
    "tests/index/test_summaries.py",
    "tests/logdir/test_http.py",
    "tests/logdir/test_s3_server.py",
    "tests/reader",
    "tests/server/alerts",
    "tests/server/run_table/test_run_details.py",
    "tests/server/static_export/test_writer.py",
    "tests/server/test_app.py",
    "tests/server/test_bad_requests.py",
    "tests/server/test_blobs.py",
    "tests/server/test_http_api.py",
    "tests/server/test_serve.py",
)


@dataclass(frozen=True)
class Group:
    """Tests that may share a process."""

    name: str
    paths: tuple[str, ...]
    in_quick_tier: bool = False
    workers: int = 2
    #: Ray gives its processes 15 seconds to start, and programs find each other's clusters: a group
    #: that starts Ray runs beside one other worker at most, which does not start Ray.
    starts_ray: bool = False
    #: The group is short, and waits to run beside one that starts Ray.
    waits_for_ray: bool = False

    @property
    def load(self) -> int:
        """How many of `MAX_WORKERS` the group takes."""
        return MAX_WORKERS - 1 if self.starts_ray else self.workers


def list_groups() -> list[Group]:
    """Return all groups in the order in which they start if they can."""
    first = [
        Group("browser", ("tests/web",), True),
        Group("unit", ("tests", "--ignore=tests/web", "--ignore=tests/frameworks"), True),
    ]
    on_ray = [Group("ray-shards", ("--cluster=local:2", *SHARD_TESTS), workers=1, starts_ray=True)]
    short = []
    for folder in sorted(folder for folder in FRAMEWORKS.iterdir() if folder.is_dir()):
        if not any(folder.glob("test_*.py")):
            continue
        # Importing a framework takes seconds in every worker, and so does starting Ray.
        path = f"tests/frameworks/{folder.name}"
        if folder.name in LONG_GROUPS:
            first.append(Group(folder.name, (path,), workers=1))
        elif folder.name == "ray":
            on_ray.append(Group(folder.name, (path,), workers=1, starts_ray=True))
        else:
            short.append(Group(folder.name, (path,), workers=1, waits_for_ray=True))
    return [*first, *on_ray, *short]


@dataclass
class Report:
    """What the pytest runs of all groups found."""

    counts: Counter[str] = field(default_factory=Counter)
    durations: list[tuple[float, str]] = field(default_factory=list)
    skips: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def add_group(self, group: Group, status: int, junit: Path) -> None:
        if not junit.exists():
            self.problems.append(f"{group.name}: pytest wrote no report (exit status {status})")
            return
        failed = 0
        for case in ElementTree.parse(junit).getroot().iter("testcase"):
            outcome = _outcome(case)
            name = f"{case.get('classname', '').replace('.', '/')}::{case.get('name')}"
            if outcome == "failed":
                failed += 1
                self.failures.append(f"{group.name}: {name}: {_failure_message(case)}")
            self.counts[outcome] += 1
            self.durations.append((float(case.get("time", 0)), name))
            for skipped in case.iter("skipped"):
                self.skips[_read_message(skipped)] += 1
        # 5: no test was selected, for example by -k.
        if status not in (0, 5) and not failed:
            self.problems.append(f"{group.name}: pytest ended with exit status {status}")

    def print(self) -> None:
        if self.skips:
            print("\nSkipped:")
            for reason, count in sorted(self.skips.items()):
                print(f"  {count:4} {reason}")
        self.durations.sort(reverse=True)
        print(f"\nSlowest {SLOWEST} tests:")
        for seconds, name in self.durations[:SLOWEST]:
            mark = f"  (over {MAX_TEST_S:.0f} s)" if seconds > MAX_TEST_S else ""
            print(f"  {seconds:7.2f} s  {name}{mark}")
        if self.failures:
            print("\nFailed:")
            for failure in self.failures:
                print(f"  {failure}")
        for problem in self.problems:
            print(f"\nError: {problem}")
        counts = self.counts
        failed = counts["failed"] + len(self.problems)
        print(f"\n{counts['passed']} passed, {failed} failed, {counts['skipped']} skipped")


def _outcome(case: ElementTree.Element) -> str:
    if case.find("failure") is not None or case.find("error") is not None:
        return "failed"
    return "skipped" if case.find("skipped") is not None else "passed"


def _failure_message(case: ElementTree.Element) -> str:
    for part in case:
        if part.tag in ("failure", "error"):
            return _read_message(part)[:MAX_MESSAGE].replace("\n", " ")
    return ""


def _read_message(part: ElementTree.Element) -> str:
    message, text = part.get("message", ""), part.text or ""
    if message == "collection skipped":  # followed by file, line and reason as a tuple
        return str(ast.literal_eval(text)[2])
    return text if message == "collection failure" else message


def run_group(
    group: Group, tier: str, junit: Path, options: list[str], coverage: bool = False
) -> tuple[int, list[str]]:
    """Run the tests of a group; return the exit status and one line per leaked process."""
    command = [sys.executable]
    if coverage:
        command += ["-m", "coverage", "run"]
    command += ["-m", "pytest", *group.paths, f"--junitxml={junit}"]
    # A worker that crashes fails its test; the scheduler would wait forever for a restarted one.
    command += ["-n", str(group.workers), "--dist", "loadfile"]
    command += ["--no-loadscope-reorder", "--max-worker-restart=0"]
    if sys.stdout.isatty():
        command += ["--color=yes"]
    if tier == "quick":
        command += ["-m", QUICK]
    session = uuid.uuid4().hex
    environment = {**os.environ, SESSION_VARIABLE: session}
    # Hundreds of processes import the package and the tests: compile them once.
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    with subprocess.Popen(
        [*command, *options],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
    ) as process:
        assert process.stdout is not None
        printer = Thread(target=print_lines, args=(group.name, process.stdout), daemon=True)
        printer.start()
        try:
            status = process.wait(MAX_GROUP_S)
        except subprocess.TimeoutExpired:
            print(f"Error: {group.name} did not end within {MAX_GROUP_S:.0f} s", file=sys.stderr)
            process.kill()
            status = 1
        leaked = end_leaked(session)
        printer.join()  # Leaked processes could keep the pipe open.
    return status, leaked


def print_lines(name: str, lines: Iterable[str]) -> None:
    for line in lines:
        print(f"{name}: {line.rstrip()}", flush=True)


def run_groups(
    groups: list[Group], tier: str, options: list[str], coverage: bool = False
) -> Report:
    """Run groups side by side, the first ones that can start first."""
    report = Report()
    waiting = list(groups)
    running: dict[Future[tuple[int, list[str]]], Group] = {}
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(len(groups) or 1) as executor:
        while waiting or running:
            for group in list(waiting):
                if can_start(group, running.values(), waiting):
                    waiting.remove(group)
                    print(f"--- {group.name} ---", flush=True)
                    junit = Path(folder) / f"{group.name}.xml"
                    future = executor.submit(run_group, group, tier, junit, options, coverage)
                    running[future] = group
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                group = running.pop(future)
                status, leaked = future.result()
                report.add_group(group, status, Path(folder) / f"{group.name}.xml")
                report.problems += leaked
    return report


def report_coverage() -> int:
    """Combine what all processes measured, and print it; return an exit status."""
    command = [sys.executable, "-m", "coverage"]
    subprocess.run([*command, "combine", "--quiet"], cwd=ROOT, check=True)
    return subprocess.run([*command, "report", "--skip-covered"], cwd=ROOT).returncode


def can_start(group: Group, running: Collection[Group], waiting: Collection[Group] = ()) -> bool:
    """Return whether a group may start beside those that are running.

    Args:
        group: The group.
        running: The groups that are running.
        waiting: The groups that have not started.
    """
    if not running:
        return True
    if group.waits_for_ray and not any(other.starts_ray for other in running):
        if any(other.starts_ray for other in waiting):
            return False
    return sum(other.load for other in running) + group.load <= MAX_WORKERS


def iter_leaked(session: str) -> Iterator[psutil.Process]:
    """Yield processes of this test session that are still running."""
    for process in psutil.process_iter():
        try:
            if process.environ().get(SESSION_VARIABLE) == session:
                yield process
        except psutil.Error:
            continue


def end_leaked(session: str, grace_s: float = 10.0) -> list[str]:
    """Kill what is still running after ``grace_s`` and return one line about each process."""
    deadline = time.monotonic() + grace_s
    while (leaked := list(iter_leaked(session))) and time.monotonic() < deadline:
        time.sleep(0.2)
    lines = []
    for process in leaked:
        try:
            lines.append(f"process {process.pid} outlived the tests: {' '.join(process.cmdline())}")
            process.kill()
        except psutil.NoSuchProcess:
            continue
    return lines


def main() -> int:
    parser = argparse.ArgumentParser(description="Run the Python and browser tests.")
    parser.add_argument("tier", choices=("quick", "all"))
    parser.add_argument("--group", action="append", help="run only this group; may be repeated")
    parser.add_argument(
        "--coverage",
        action="store_true",
        help=f"report the coverage, without the groups {' and '.join(NOT_MEASURED)}",
    )
    arguments, options = parser.parse_known_args()

    groups = [
        group
        for group in list_groups()
        if (not arguments.group or group.name in arguments.group)
        and (group.in_quick_tier or arguments.tier == "all")
        and not (arguments.coverage and group.name in NOT_MEASURED)
    ]
    if arguments.coverage:
        subprocess.run([sys.executable, "-m", "coverage", "erase"], cwd=ROOT, check=True)
    report = run_groups(groups, arguments.tier, options, arguments.coverage)
    covered = not arguments.coverage or report_coverage() == 0
    report.print()
    return 1 if report.counts["failed"] or report.problems or not covered else 0


if __name__ == "__main__":
    raise SystemExit(main())
