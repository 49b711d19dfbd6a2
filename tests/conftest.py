from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from tests.archives import extract
from tests.small_log import write_small_log
from tracklight.sdk import lenient

# How long an example takes says more of who else uses the machine than of the code.
settings.register_profile("tracklight", deadline=None)
settings.load_profile("tracklight")

#: Where tests talk to browsers, servers and other processes, or look at the clock.
WAITING = "web server notebook cli hparams alerts logdir capture frameworks".split()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Gives tests that wait for others a second chance: a busy machine may stall for seconds.

    What fails twice is a fault, and what was run again is listed at the end of the run.
    """
    rooms = [Path(__file__).parent / room for room in WAITING]
    for item in items:
        if any(room in item.path.parents for room in rooms):
            item.add_marker(pytest.mark.flaky(reruns=1))


@pytest.fixture(scope="session")
def nasty_logdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log directory with everything that can be wrong with one; only to be read."""
    place = tmp_path_factory.mktemp("nasty")
    extract(Path(__file__).parent / "data" / "nasty.tar.gz", place)
    return place / "nasty"


@pytest.fixture(scope="session", autouse=True)
def data_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Notes that tests make stay out of the data folder of who runs them."""
    place = tmp_path_factory.mktemp("data")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRACKLIGHT_DATA", str(place))
        yield place


@pytest.fixture
def small_logdir(tmp_path: Path) -> Path:
    """A log of three runs with values of every kind."""
    write_small_log(tmp_path / "logs")
    return tmp_path / "logs"


@pytest.fixture(autouse=True)
def nothing_told_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every test have its warnings, also for lines that another has warned of."""
    monkeypatch.setattr(lenient, "_told", set())
