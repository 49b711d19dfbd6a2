"""Graphs that were logged by real frameworks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

import tracklight
from tests.archives import extract
from tracklight.analysis.graphs.parsers import GRAPH_PARSERS

DATA = Path(__file__).parents[2] / "data"
CORPUS, FILES = DATA / "corpus", DATA / "graphs"
CASES = "jax legacy_v1 seed000 seed001 seed002 seed003 torch".split()


class Logged(NamedTuple):
    case: str
    run: str
    tag: str
    plugin: str
    data: bytes


@pytest.fixture(scope="session")
def logged(tmp_path_factory: pytest.TempPathFactory) -> list[Logged]:
    """Return every graph of the corpus."""
    graphs = []
    for case in CASES:
        folder = tmp_path_factory.mktemp(case)
        extract(CORPUS / f"{case}.tar.xz", folder)
        graphs += list(_iter_logged(case, folder))
    return graphs


def _iter_logged(case: str, folder: Path) -> Iterator[Logged]:
    with tracklight.open(folder, cache=False) as log:
        for run, tags in log.select().items():
            for info in tags:
                if info.plugin in GRAPH_PARSERS:
                    data = log.tensors(run, info.tag)[-1].item()
                    yield Logged(case, run, info.tag, info.plugin, data)
