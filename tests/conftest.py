from __future__ import annotations

import functools
import gc
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tests.archives import extract
from tests.small_log import write_small_log
from tracklight.writer import warnings

IS_CI = os.environ.get("CI") == "true"

# Deadlines and slow examples measure the load of the machine more than the code. The examples are
# always the same, so that no change fails for an example that it did not break;
# ``pytest --hypothesis-profile=random`` tries others.
settings.register_profile("random", deadline=None)
settings.register_profile(
    "tracklight",
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("tracklight")

#: Skips that CI accepts, as regular expressions: hardware and data that it never has. Anything else
#: that is missing (a browser, a framework, a shell) is a failure there.
ALLOWED_SKIPS = [
    "there is no GPU",
    "JAX sees no GPU",
    "TRACKLIGHT_CORPUS is not set",
    "(?i)there is no PowerShell",
]


#: The catalogs that were created with ``--cluster``, in order.
OPENED = pytest.StashKey[list[Any]]()

#: Fixtures that start an S3 server, for which the quick tier does not install the packages.
S3_FIXTURES = frozenset({"s3", "meter"})


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--cluster", help="open all logs in shards on Ray, such as local:2; see docs/scale.md"
    )


def pytest_configure(config: pytest.Config) -> None:
    config.stash[OPENED] = []


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Iterator[None]:
    """Exclude tests and modules from garbage collection, which takes a quarter of this time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Start files with slow tests first, so that no worker is left alone with one at the end.

    Browser tests come last: Playwright keeps an event loop in the main thread until the session
    ends, and tests elsewhere run loops of their own.
    """
    if config.getoption("--cluster") is not None:
        items[:] = [item for item in items if not item.get_closest_marker("in_process")]
    for item in items:
        if S3_FIXTURES.intersection(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.slow)
    slow_files = {item.path for item in items if item.get_closest_marker("slow")}
    browser_files = {item.path for item in items if item.get_closest_marker("browser")}
    items.sort(key=lambda item: (item.path in browser_files, item.path not in slow_files))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """In CI, turn a skip that is not allowed into a failure."""
    report: pytest.TestReport = yield  # type: ignore[misc]
    if not hasattr(report, "wasxfail"):
        refuse_skip(report)
    return report  # type: ignore[return-value]


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Iterator[None]:
    """In CI, turn the skip of a whole module into an error as well."""
    report: pytest.CollectReport = yield  # type: ignore[misc]
    refuse_skip(report)
    return report  # type: ignore[return-value]


def refuse_skip(report: pytest.TestReport | pytest.CollectReport) -> None:
    if not IS_CI or not report.skipped:
        return
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    if not any(re.search(allowed, reason) for allowed in ALLOWED_SKIPS):
        report.outcome = "failed"
        report.longrepr = f"{reason}. CI must not skip this test; see ALLOWED_SKIPS."


@pytest.fixture(scope="session")
def nasty_logdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A read-only log directory in which every run has one defect."""
    folder = tmp_path_factory.mktemp("nasty")
    extract(Path(__file__).parent / "data" / "nasty.tar.gz", folder)
    return folder / "nasty"


@pytest.fixture(scope="session", autouse=True)
def data_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Keep notes that tests write out of the user's data directory."""
    folder = tmp_path_factory.mktemp("data")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRACKLIGHT_DATA_DIR", str(folder))
        yield folder


@pytest.fixture(scope="session", autouse=True)
def cluster_option(request: pytest.FixtureRequest) -> Iterator[None]:
    """With ``--cluster local:2``, give every catalog shards on Ray unless a test chooses others."""
    text = request.config.getoption("--cluster")
    if text is None:
        yield
        return
    from tests.shard_pool import PooledCluster, patch_ray_path
    from tracklight.index.catalog import Catalog
    from tracklight.index.cluster.connection import parse_cluster

    patch = pytest.MonkeyPatch()
    patch_ray_path(patch)
    ray = PooledCluster(parse_cluster(text))  # starts Ray once, which takes seconds
    create = Catalog.__init__
    opened = request.config.stash[OPENED]

    @functools.wraps(create)
    def create_with_cluster(catalog: Catalog, *args: Any, **options: Any) -> None:
        if options.get("cluster") is None and options.get("shards", 1) == 1:
            options["cluster"] = PooledCluster(parse_cluster(text), ray.pool)
        create(catalog, *args, **options)
        opened.append(catalog)

    patch.setattr(Catalog, "__init__", create_with_cluster)
    yield
    ray.close()
    patch.undo()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Close the catalogs that a test leaves open: on a cluster, each has two processes."""
    opened = item.config.stash[OPENED]
    before = len(opened)
    try:
        return (yield)
    finally:
        for catalog in opened[before:]:
            catalog.close()
        del opened[before:]


@pytest.fixture
def small_logdir(tmp_path: Path) -> Path:
    """A log of three runs with values of every kind."""
    write_small_log(tmp_path / "logs")
    return tmp_path / "logs"


@pytest.fixture(autouse=True)
def reset_warnings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget which lines were warned about, so that every test sees its own warnings."""
    monkeypatch.setattr(warnings, "_reported", set())
