"""Compare two results of ``make bench``: ``make bench-compare BASE=FILE``.

``python -m benchmarks.compare BASE [NEW]`` reads the JSON of two runs and lists the rows that
became slower or no longer reach what they must; it fails if there are any. A row is slower if all
of its repetitions took longer than all of those in BASE, and the median at least a tenth longer:
otherwise the difference is within the noise of the two runs. NEW is the last complete run.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from benchmarks.report import RESULTS_JSON, Timing

MIN_SLOWDOWN = 1.1


def iter_regressions(base: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    """Yield a sentence for each row of ``new`` that is worse than the same row of ``base``."""
    before = {_get_key(row): row for row in _list_rows(base)}
    for row in _list_rows(new):
        old = before.get(_get_key(row))
        if old is None:
            continue
        if old["reached"] and row["reached"] is False:
            yield f"{row['what']}: {row['tracklight']}, must be {row['must_be']}"
        elif old["seconds"] and row["seconds"] and _is_slower(old["seconds"], row["seconds"]):
            ratio = statistics.median(row["seconds"]) / statistics.median(old["seconds"])
            was, now = Timing(tuple(old["seconds"])), Timing(tuple(row["seconds"]))
            yield f"{row['what']}: {now}, was {was}: {ratio:.2f} times as long"


def _list_rows(results: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [row for run in results["runs"] for row in run["rows"]]


def _get_key(row: Mapping[str, Any]) -> tuple[str, str]:
    """Return what identifies a row: several have the same name and different requirements."""
    return row["what"], row["must_be"]


def _is_slower(old: list[float], new: list[float]) -> bool:
    slowdown = statistics.median(new) / statistics.median(old)
    return slowdown >= MIN_SLOWDOWN and min(new) > max(old)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.compare", description=__doc__)
    parser.add_argument("base", type=Path)
    parser.add_argument("new", type=Path, nargs="?", default=RESULTS_JSON)
    options = parser.parse_args()
    try:
        base, new = (json.loads(path.read_text()) for path in (options.base, options.new))
    except (OSError, json.JSONDecodeError) as error:
        sys.exit(f"results could not be read: {error}")
    machines = {run["machine"] for results in (base, new) for run in results["runs"]}
    if len(machines) > 1:
        print("not the same day, machine or versions:", *sorted(machines), sep="\n  ")
    regressions = [*iter_regressions(base, new)]
    print("\n".join(regressions) or "no row is slower than before")
    sys.exit(1 if regressions else 0)


if __name__ == "__main__":
    main()
