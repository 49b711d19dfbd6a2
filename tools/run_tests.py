"""Run the test suite: ``python tools/run_tests.py {quick,all} [pytest options]``.

The suite is split into groups, each a pytest run with processes of its own:

- ``unit`` has no browser and no framework. Playwright's event loop and the frameworks' threads
  never share a process with it.
- ``browser`` keeps one Chromium per worker for the whole run.
- every framework has a group, because TensorFlow, PyTorch and JAX crash in one process.
- ``ray-shards`` repeats tests of reading, queries and live updates with ``--cluster local:2``.
- ``long`` has the files with the longest single tests, such as builds of the site and the wheel.

The quick tier runs ``unit`` without slow tests and the browser smoke test; the full tier runs
everything. Groups run side by side as long as there are not more than `MAX_WORKERS` workers,
because browser tests and tests of subprocesses leave a processor idle for a third of their time.
Ray needs a processor to itself while it starts: its groups come first, beside the single worker of
those with the longest tests. ``browser`` and ``unit`` follow and end last, as they have two workers
each and keep both processors busy to the end. The end of the output merges all groups: every skip
with its reason, the slowest tests, when each group ran and its processor time, the failed tests
with their messages, leaked processes and one line of totals. The exit status is 1 if anything
failed.

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

#: Tests that take tens of seconds each when four workers run beside them; all are marked slow.
LONG_TESTS = (
    "tests/contract/test_site.py",
    "tests/contract/test_install.py",
    "tests/analysis/predictors/test_frameworks.py",
    "tests/dashboards/what_if/test_serving.py",
    "tests/formats/test_kernel_sanitizer.py",
)
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

    @property
    def load(self) -> int:
        """How many of `MAX_WORKERS` the group takes."""
        return MAX_WORKERS - 1 if self.starts_ray else self.workers


def list_groups() -> list[Group]:
    """Return all groups in the order in which they start if they can."""
    # Importing a framework takes seconds in every worker, and so does starting Ray.
    frameworks = {
        folder.name: Group(
            folder.name,
            (f"tests/frameworks/{folder.name}",),
            workers=1,
            starts_ray=folder.name == "ray",
        )
        for folder in sorted(FRAMEWORKS.iterdir())
        if any(folder.glob("test_*.py"))
    }
    ignored = ("tests/web", "tests/frameworks", *LONG_TESTS)
    return [
        Group("ray-shards", ("--cluster=local:2", *SHARD_TESTS), workers=1, starts_ray=True),
        frameworks.pop("ray"),
        Group("long", LONG_TESTS, workers=1),
        frameworks.pop("subprocesses"),
        Group("browser", ("tests/web",), in_quick_tier=True),
        Group("unit", ("tests", *(f"--ignore={path}" for path in ignored)), in_quick_tier=True),
        *frameworks.values(),
    ]


@dataclass(frozen=True)
class GroupRun:
    """When a group ran, in seconds since the start, and what it used and left behind."""

    group: Group
    status: int
    start_s: float
    end_s: float
    #: Processor time of pytest and of the processes that it and they waited for.
    processor_s: float
    #: One line per process that outlived the tests.
    leaked: list[str]

    def describe(self) -> str:
        used = f"{self.processor_s:6.0f} s of processor time"
        return f"{self.start_s:6.0f} to {self.end_s:5.0f} s, {used}  {self.group.name}"


@dataclass
class Report:
    """What the pytest runs of all groups found."""

    counts: Counter[str] = field(default_factory=Counter)
    durations: list[tuple[float, str]] = field(default_factory=list)
    skips: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    runs: list[GroupRun] = field(default_factory=list)

    def add_run(self, run: GroupRun, junit: Path) -> None:
        self.runs.append(run)
        self.problems += run.leaked
        name, status = run.group.name, run.status
        if not junit.exists():
            self.problems.append(f"{name}: pytest wrote no report (exit status {status})")
            return
        failed = 0
        for case in ElementTree.parse(junit).getroot().iter("testcase"):
            outcome = _outcome(case)
            test = f"{case.get('classname', '').replace('.', '/')}::{case.get('name')}"
            if outcome == "failed":
                failed += 1
                self.failures.append(f"{name}: {test}: {_failure_message(case)}")
            self.counts[outcome] += 1
            self.durations.append((float(case.get("time", 0)), test))
            for skipped in case.iter("skipped"):
                self.skips[_read_message(skipped)] += 1
        # 5: no test was selected, for example by -k.
        if status not in (0, 5) and not failed:
            self.problems.append(f"{name}: pytest ended with exit status {status}")

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
        if self.runs:
            print("\nGroups:")
            for run in self.runs:
                print(f"  {run.describe()}")
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
    group: Group,
    tier: str,
    junit: Path,
    options: list[str],
    coverage: bool = False,
    zero_s: float | None = None,
) -> GroupRun:
    """Run the tests of a group; ``zero_s`` is the monotonic time at which all groups started."""
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
    start_s = time.monotonic()
    zero_s = start_s if zero_s is None else zero_s
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
        processor_s = wait_for(process, MAX_GROUP_S)
        if process.returncode is None:
            print(f"Error: {group.name} did not end within {MAX_GROUP_S:.0f} s", file=sys.stderr)
            process.kill()
        end_s = time.monotonic()
        leaked = end_leaked(session)
        printer.join()  # Leaked processes could keep the pipe open.
    return GroupRun(
        group, process.returncode, start_s - zero_s, end_s - zero_s, processor_s, leaked
    )


def wait_for(process: subprocess.Popen[str], timeout_s: float) -> float:
    """Wait until a process ends; return its processor time, with the processes it waited for."""
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        pid, status, usage = os.wait4(process.pid, os.WNOHANG)
        if pid:
            process.returncode = os.waitstatus_to_exitcode(status)
            return usage.ru_utime + usage.ru_stime
        time.sleep(0.2)
    return 0.0


def print_lines(name: str, lines: Iterable[str]) -> None:
    for line in lines:
        print(f"{name}: {line.rstrip()}", flush=True)


def run_groups(
    groups: list[Group], tier: str, options: list[str], coverage: bool = False
) -> Report:
    """Run groups side by side, the first ones that can start first."""
    report = Report()
    waiting = list(groups)
    running: dict[Future[GroupRun], Group] = {}
    zero_s = time.monotonic()
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(len(groups) or 1) as executor:
        while waiting or running:
            for group in list(waiting):
                if can_start(group, running.values()):
                    waiting.remove(group)
                    print(f"--- {group.name} ---", flush=True)
                    junit = Path(folder) / f"{group.name}.xml"
                    arguments = (group, tier, junit, options, coverage, zero_s)
                    running[executor.submit(run_group, *arguments)] = group
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                group = running.pop(future)
                report.add_run(future.result(), Path(folder) / f"{group.name}.xml")
    return report


def report_coverage() -> int:
    """Combine what all processes measured, and print it; return an exit status."""
    command = [sys.executable, "-m", "coverage"]
    subprocess.run([*command, "combine", "--quiet"], cwd=ROOT, check=True)
    return subprocess.run([*command, "report", "--skip-covered"], cwd=ROOT).returncode


def can_start(group: Group, running: Collection[Group]) -> bool:
    """Return whether a group may start beside those that are running."""
    return not running or sum(it.load for it in running) + group.load <= MAX_WORKERS


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
