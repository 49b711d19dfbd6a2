"""``python -m tracklight.cli.demo FOLDER`` writes the demo log there."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from tracklight.cli.demo import write_demo


def main() -> None:
    parser = argparse.ArgumentParser(prog="tracklight.cli.demo", description=__doc__)
    parser.add_argument("logdir", type=Path, help="a folder that does not exist yet")
    parser.add_argument("--seed", type=int, default=0, help="another seed gives other curves")
    arguments = parser.parse_args()
    logdir: Path = arguments.logdir.absolute()
    if logdir.exists():
        parser.error(f"{logdir} exists already; name a new folder")
    logdir.parent.mkdir(parents=True, exist_ok=True)
    # Written beside and renamed, so that a demo that was interrupted never passes for a whole one.
    with tempfile.TemporaryDirectory(prefix=f".{logdir.name}-", dir=logdir.parent) as unfinished:
        write_demo(Path(unfinished) / "log", seed=arguments.seed)
        (Path(unfinished) / "log").rename(logdir)
    print(f"wrote a demo log into {logdir}")


if __name__ == "__main__":
    main()
