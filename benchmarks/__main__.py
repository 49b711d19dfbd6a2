"""Run all benchmarks: ``python -m benchmarks``.

Peers are measured in the same run on the same machine. ``--growth`` measures instead how times and
memory grow with points, runs, tags and viewers.
"""

from __future__ import annotations

import argparse
import compileall
import time
from pathlib import Path

import tracklight
from benchmarks import (
    capture,
    cluster,
    debugger,
    fairness,
    graphs,
    growth,
    histograms,
    hparams,
    images,
    live,
    memory,
    mesh,
    object_store,
    page,
    pictures,
    profile,
    projector,
    read,
    run_table,
    screen,
    shell,
    tags,
    viewers,
    what_if,
    workspaces,
    write,
)
from benchmarks.peers import PeerNotAvailableError
from benchmarks.report import (
    Row,
    describe_machine,
    format_table,
    make_run,
    update_results,
    write_json,
)
from tools import write_readme_table

MEASURES = {
    "cold": read.measure_cold,
    "memory": memory.measure,
    "warm": read.measure_warm,
    "tags": tags.measure,
    "images": images.measure,
    "live": live.measure,
    "viewers": viewers.measure,
    "start": page.measure_start,
    "chart": page.measure_first_chart,
    "lines": page.measure_many_lines,
    "runs": page.measure_many_runs,
    "pictures": pictures.measure,
    "histograms": histograms.measure,
    "screen": screen.measure,
    "mesh": mesh.measure,
    "graphs": graphs.measure,
    "hparams": hparams.measure,
    "run_table": run_table.measure,
    "workspaces": workspaces.measure,
    "fairness": fairness.measure,
    "profile": profile.measure,
    "what_if": what_if.measure,
    "write": write.measure,
    "capture": capture.measure,
    "import": write.measure_import,
    "help": shell.measure,
}
#: Run only if they are named: they take many minutes, and one starts Ray clusters.
LONG = {
    "projector": projector.measure,
    "tsne": projector.measure_tsne,
    "umap": projector.measure_umap,
    "debugger": debugger.measure,
    "soak": screen.soak,
    "cluster": cluster.measure,
    "object_store": object_store.measure,
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "--only", nargs="+", choices=[*MEASURES, *LONG], metavar="NAME", default=[*MEASURES]
    )
    parser.add_argument("--quick", action="store_true", help="small logs: does it run at all?")
    parser.add_argument(
        "--growth",
        nargs="*",
        choices=growth.DIMENSIONS,
        metavar="DIMENSION",
        help=f"fit how figures grow with {', '.join(growth.DIMENSIONS)}, or some of them",
    )
    parser.add_argument(
        "--update", action="store_true", help="replace these rows of the results and the READMEs"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows to this file")
    options = parser.parse_args()
    # As an installation of the package does. Programs that cannot write bytecode would otherwise
    # compile every module again when they start.
    compileall.compile_dir(str(Path(tracklight.__file__).parent), quiet=1, workers=0)
    if options.growth is not None:
        return growth.main(options.growth, options.quick)
    rows: dict[str, list[Row]] = {}
    taken_s: dict[str, float] = {}
    skipped: list[str] = []
    for name in options.only:
        print(f"measuring {name} …", flush=True)
        began = time.monotonic()
        try:
            rows[name] = [_print(row) for row in (MEASURES | LONG)[name](options.quick)]
        except PeerNotAvailableError as error:
            print(f"skipped {name}: {error}", flush=True)
            skipped.append(name)
        taken_s[name] = round(time.monotonic() - began, 1)
        print(
            f"  took {taken_s[name]:.0f} s, {sum(taken_s.values()) / 60:.1f} min so far", flush=True
        )
    table = format_table(row for group in rows.values() for row in group)
    print(f"\n{describe_machine()}\n\n{table}")
    run = make_run(rows) | {"measured_s": taken_s}
    if options.json:
        write_json(options.json, run)
    is_complete = not skipped and set(options.only) >= set(MEASURES)
    if not options.quick and (is_complete or options.update):
        update_results(run)
        write_readme_table.main([])


def _print(row: Row) -> Row:
    """Print a row as soon as it is measured: a later one can take minutes, or fail."""
    print(f"  {row.what}: {row.ours}", flush=True)
    return row


if __name__ == "__main__":
    main()
