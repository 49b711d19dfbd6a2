"""What each command does that reads a log and ends."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tracklight.cli.logdir_arg import (
    Selection,
    format_roots,
    join_problems,
    open_log,
    select_tags,
)
from tracklight.cli.parser import EXIT_FAILURE
from tracklight.cli.progress import ProgressCounter, show_progress
from tracklight.errors import LogError, UsageError
from tracklight.reader import Log, Values
from tracklight.reader.export import export_scalars, open_output, resolve_format
from tracklight.types import Kind, TagInfo

if TYPE_CHECKING:
    from tracklight.reader.export_values import ColumnType, ExportColumn

#: What ``export --kind`` takes, besides hparams, and the tags that are meant.
_KINDS = {
    "scalars": Kind.SCALAR,
    "histograms": Kind.HISTOGRAM,
    "images": Kind.IMAGE,
    "audio": Kind.AUDIO,
    "text": Kind.TEXT,
}


def export(flags: Namespace) -> int:
    if flags.static:
        return _export_static(flags)
    if not flags.out:
        raise UsageError("give --out FILE, or --static to copy the board")
    if flags.kind in ("images", "audio"):
        format_name = flags.format or "csv"  # of the index table
    else:
        format_name = resolve_format(flags.out, flags.format)
    with open_log(flags) as log:
        chosen = select_tags(log, flags)
        if flags.kind == "scalars":
            _export_scalars(log, chosen, flags, format_name)
        elif flags.kind == "hparams":
            _export_hparams(log, chosen, flags, format_name)
        else:
            return _export_values(log, chosen, flags, format_name)
        return EXIT_FAILURE if log.problems else 0


def _export_scalars(log: Log, chosen: Selection, flags: Namespace, format_name: str) -> None:
    keys = _list_series(log, chosen, "scalars")
    tally = ProgressCounter(sum(info.count for _, info in keys))
    with open_output(flags.out) as file, show_progress("exporting", tally.read):
        export_scalars(
            (log.scalar(run, info.tag) for run, info in keys),
            file,
            format_name,
            overwritten=flags.overwritten,
            on_progress=tally.add,
        )


def _export_values(log: Log, chosen: Selection, flags: Namespace, format_name: str) -> int:
    from tracklight.reader import export_values

    keys = _list_series(log, chosen, flags.kind)
    read = getattr(log, flags.kind)
    tally = ProgressCounter(len(keys))
    unread: list[str] = []

    def iter_series() -> Iterator[Values[Any]]:
        for run, info in keys:
            yield read(run, info.tag)
            tally.add(1)

    with show_progress("exporting", tally.read):
        if flags.kind in ("images", "audio"):
            write = (
                export_values.export_images
                if flags.kind == "images"
                else export_values.export_audio
            )
            write(
                iter_series(),
                flags.out,
                format_name,
                unread.append,
                overwritten=flags.overwritten,
            )
        else:
            export_rows = (
                export_values.export_histograms
                if flags.kind == "histograms"
                else export_values.export_text
            )
            with open_output(flags.out) as file:
                export_rows(
                    iter_series(),
                    file,
                    format_name,
                    unread.append,
                    overwritten=flags.overwritten,
                )
    if unread:
        more = f" (and {len(unread) - 1:,} more)" if len(unread) > 1 else ""
        print(f"tracklight: left out: {unread[0]}{more}", file=sys.stderr)
    return EXIT_FAILURE if unread or log.problems else 0


def _export_hparams(log: Log, chosen: Selection, flags: Namespace, format_name: str) -> None:
    from tracklight.dashboards.hparams.export import make_wide_table
    from tracklight.reader import export_values
    from tracklight.server.plugins import create_static_context

    tags = {info.tag for infos in chosen.values() for info in infos} if flags.tag else None
    runs = frozenset(chosen) if flags.run else None
    sheet = make_wide_table(create_static_context(log.catalog), runs, tags)
    if not sheet.rows:
        raise LogError(f"no hyperparameters in {format_roots(log)}")
    cells = zip(*sheet.rows, strict=True)
    columns = [
        export_values.ExportColumn(name, _infer_type(name, column))
        for name, column in zip(sheet.headings, cells, strict=True)
    ]
    with open_output(flags.out) as file:
        table = export_values.create_table_writer(file, format_name, columns)
        for row in sheet.rows:
            pairs = zip(row, columns, strict=True)
            table.write([_convert_cell(cell, column) for cell, column in pairs])
        table.close()


def _infer_type(name: str, cells: Sequence[object]) -> ColumnType:
    """Return the type of a column whose cells may be of several types."""
    kinds = {type(cell) for cell in cells if cell is not None}
    if kinds == {bool}:
        return "bool"
    if not kinds or not kinds <= {int, float}:
        return "string"
    # Logs have only floating point; a batch size is an integer nevertheless.
    is_integer = name.startswith("hparams.") and all(map(_is_integer, cells))
    return "int" if is_integer else "float"


def _is_integer(cell: object) -> bool:
    return cell is None or (
        isinstance(cell, int | float) and abs(cell) < 1e15 and cell == int(cell)
    )


def _convert_cell(cell: Any, column: ExportColumn) -> Any:
    """Convert a cell to the type of its column."""
    if cell is None or isinstance(cell, str) or column.type == "bool":
        return cell
    if column.type in ("int", "float"):
        return int(cell) if column.type == "int" else float(cell)
    if isinstance(cell, bool):
        return "true" if cell else "false"
    return repr(int(cell) if _is_integer(cell) else cell)


def _list_series(log: Log, chosen: Selection, kind: str) -> list[tuple[str, TagInfo]]:
    """Return the tags of this kind, at least one."""
    keys = [(run, t) for run, tags in chosen.items() for t in tags if t.kind is _KINDS[kind]]
    if keys:
        return keys
    if log.problems:
        raise LogError(join_problems(log.problems))
    counts = Counter(info.kind for tags in chosen.values() for info in tags)
    there = [name for name, value in _KINDS.items() if counts[value]]
    hint = f"; there are {', '.join(there)} (--kind)" if there else ""
    raise LogError(f"no {kind} in {format_roots(log)}{hint}")


def _export_static(flags: Namespace) -> int:
    from tracklight.server.static_export.contents import ExportContents
    from tracklight.server.static_export.view import parse_view
    from tracklight.server.static_export.writer import write_static_export

    if flags.format or flags.out:
        raise UsageError("--static goes without --format and --out")
    with open_log(flags, needs_runs=False) as log:
        chosen = select_tags(log, flags)
        tags = {info.tag for infos in chosen.values() for info in infos}
        contents = ExportContents(log.catalog, parse_view(flags.view), chosen, tags)
        tally = ProgressCounter(len(tags))
        with show_progress("copying", tally.read):
            write_static_export(contents, flags.static, tally.add)
    runs = "one run" if len(contents.runs) == 1 else f"{len(contents.runs):,} runs"
    what = runs if contents.runs else "the embeddings, as there are no runs"
    print(f"wrote a copy of {what}; open {_get_page_path(flags.static)}")
    return EXIT_FAILURE if log.problems else 0


def _get_page_path(target: Path) -> Path:
    return target / "index.html" if target.is_dir() else target
