"""Studies of Optuna as a further log directory."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path


@contextmanager
def open_studies(urls: Sequence[str]) -> Iterator[dict[str, Path]]:
    """By name, folders in which the studies of each storage are runs for as long as this lasts."""
    with ExitStack() as ending:
        folders = {}
        for number, url in enumerate(urls, 1):
            from tracklight.hparams.studies import follow_studies  # few have studies

            folder = ending.enter_context(tempfile.TemporaryDirectory(prefix="tracklight-optuna-"))
            ending.enter_context(follow_studies(url, Path(folder)))
            folders["optuna" if number == 1 else f"optuna-{number}"] = Path(folder)
        yield folders
