"""Writes the demo log, and shows it for as long as somebody looks."""

from __future__ import annotations

import sys
import tempfile
from argparse import Namespace
from pathlib import Path

from tracklight.cli.demo import write_demo


def demo(flags: Namespace) -> None:
    if flags.directory is not None:
        write_demo(flags.directory)
        print(f"wrote a demo log; look at it with: tracklight --logdir {flags.directory}")
        return
    with tempfile.TemporaryDirectory(prefix="tracklight-demo-") as folder:
        print("tracklight: note: writing the demo log, which takes a moment", file=sys.stderr)
        write_demo(Path(folder) / "demo")
        _serve(Path(folder) / "demo", flags)


def _serve(logdir: Path, flags: Namespace) -> None:
    from tracklight.cli.flags import parse_flags
    from tracklight.cli.serve import serve

    # What goes with the log is not worth keeping.
    words = ["serve", "--no-config", "--no-cache", f"--logdir={logdir}"]
    shown = parse_flags([*words, "--window-title=tracklight demo"])
    shown.port, shown.open = flags.port, flags.open
    serve(shown)
