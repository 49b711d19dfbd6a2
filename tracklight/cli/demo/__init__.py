"""``tracklight demo`` and ``tracklight tour``: a synthetic log with data for every dashboard.

Each module writes one experiment with a function ``write_<experiment>(folder, seed=..., now=...)``:

- `sweep`: image classifiers; one trial diverges, one crashes and is resumed. Also a grid search
  over three hyperparameters.
- `media`: networks that log audio and images, and an autoencoder that logs meshes and point clouds.
- `graphs`: op graph, Keras model and step times of ResNet-50, and language models that log text.
- `flowers`: a network profiled before and after optimization.
- `faulty_models`: a training run whose loss becomes infinite, for the debugger, and a credit model
  that is evaluated per group, with its data for What-If.
- `embeddings`: vectors, labels and sprites for the projector, and the images of other experiments.

`writers` encodes the files. Nothing outside ``tracklight.cli`` imports this package.
"""

from __future__ import annotations

import sys
import tempfile
import time
from argparse import Namespace
from pathlib import Path

from tracklight.cli.demo.embeddings import write_embeddings
from tracklight.cli.demo.faulty_models import write_divergence, write_lending
from tracklight.cli.demo.flowers import write_flowers
from tracklight.cli.demo.graphs import write_resnet, write_storyteller
from tracklight.cli.demo.media import write_denoiser, write_painter, write_shapes
from tracklight.cli.demo.sweep import write_grid, write_sweep
from tracklight.errors import UsageError
from tracklight.reader.export import open_output_folder

__all__ = ["demo", "tour", "write_demo"]


def demo(flags: Namespace) -> None:
    """Write the demo log to a directory, or serve it from a temporary one."""
    if flags.directory is not None:
        flags.directory.absolute().parent.mkdir(parents=True, exist_ok=True)
        with open_output_folder(str(flags.directory)) as folder:
            write_demo(folder)
        print(f"wrote a demo log; to see it, run: tracklight --logdir {flags.directory}")
        return
    _serve_temporary_log(flags)


def tour(flags: Namespace) -> None:
    """Serve the demo log, and open the page with the guided tour."""
    _serve_temporary_log(flags, query="tour=1")


def _serve_temporary_log(flags: Namespace, query: str = "") -> None:
    with tempfile.TemporaryDirectory(prefix="tracklight-demo-") as folder:
        print("tracklight: note: writing the demo log takes a moment", file=sys.stderr)
        write_demo(Path(folder) / "demo")
        _serve(Path(folder) / "demo", flags, query)


def _serve(logdir: Path, flags: Namespace, query: str) -> None:
    from tracklight.cli.flags import parse_flags
    from tracklight.cli.serve import serve

    # No cache: the log is deleted when the server stops.
    arguments = ["serve", "--no-config", "--no-cache", f"--logdir={logdir}"]
    # The log has a data file for What-If.
    arguments += [f"--data-dir={logdir}", "--window-title=tracklight demo"]
    serve_flags = parse_flags(arguments)
    serve_flags.port, serve_flags.open = flags.port, flags.open
    serve(serve_flags, query)


def write_demo(logdir: Path, *, seed: int = 0, now: float | None = None) -> None:
    """Write the demo log.

    Args:
        logdir: A new or empty directory.
        seed: Another seed gives other curves; the same seed gives the same log.
        now: Wall time at which the last run ended; by default the current time.

    Raises:
        UsageError: The directory is not empty.
    """
    if logdir.exists() and any(logdir.iterdir()):
        raise UsageError(f"{logdir} is not empty; choose a new directory for the demo log")
    now = time.time() if now is None else now
    write_sweep(logdir / "sweep", seed=seed, now=now)
    write_grid(logdir / "grid", seed=seed, now=now)
    write_denoiser(logdir / "denoiser", seed=seed, now=now)
    write_painter(logdir / "painter", seed=seed, now=now)
    write_storyteller(logdir / "storyteller", seed=seed, now=now)
    write_shapes(logdir / "shapes", seed=seed, now=now)
    write_resnet(logdir / "resnet50", now=now)
    write_flowers(logdir / "flowers", seed=seed, now=now)
    write_divergence(logdir / "divergence", seed=seed, now=now)
    write_lending(logdir / "lending", seed=seed, now=now)
    write_embeddings(logdir / "embeddings", seed=seed, now=now)
