"""``tracklight export``: write values as tables or files, or the board as a static site."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tracklight.cli.logdir_arg import (
    ProgressCounter,
    Selection,
    format_roots,
    join_problems,
    open_log,
    parse_data_dirs,
    select_tags,
    show_progress,
)
from tracklight.cli.parser import EXIT_FAILURE
from tracklight.errors import LogError, UsageError
from tracklight.reader import Log, Values
from tracklight.reader.export import (
    ColumnType,
    ExportColumn,
    create_table_writer,
    export_audio,
    export_histograms,
    export_images,
    export_scalars,
    export_text,
    open_output,
    resolve_format,
)
from tracklight.types import Kind, TagInfo
from tracklight.util.html import format_count

#: The values of ``--kind`` that select tags; ``hparams`` selects none.
_KINDS = {
    "scalars": Kind.SCALAR,
    "histograms": Kind.HISTOGRAM,
    "images": Kind.IMAGE,
    "audio": Kind.AUDIO,
    "text": Kind.TEXT,
}


def export(flags: Namespace) -> int:
    """Export what the flags select; return an exit status."""
    if flags.static:
        return _export_static(flags)
    if not flags.out:
        raise UsageError("give --out FILE, or --static OUT for a static copy of the board")
    if flags.kind in ("images", "audio"):
        format_name = flags.format or "csv"  # format of the index table
    else:
        format_name = resolve_format(flags.out, flags.format)
    with open_log(flags) as log:
        selection = select_tags(log, flags)
        if flags.kind == "scalars":
            _export_scalars(log, selection, flags, format_name)
        elif flags.kind == "hparams":
            _export_hparams(log, selection, flags, format_name)
        else:
            return _export_values(log, selection, flags, format_name)
        return EXIT_FAILURE if log.problems else 0


def _export_scalars(log: Log, selection: Selection, flags: Namespace, format_name: str) -> None:
    keys = _list_series(log, selection, "scalars")
    counter = ProgressCounter(sum(info.count for _, info in keys))
    with open_output(flags.out) as file, show_progress("exporting", counter.read):
        export_scalars(
            (log.scalar(run, info.tag) for run, info in keys),
            file,
            format_name,
            overwritten=flags.overwritten,
            on_progress=counter.add,
        )


def _export_values(log: Log, selection: Selection, flags: Namespace, format_name: str) -> int:
    keys = _list_series(log, selection, flags.kind)
    read = getattr(log, flags.kind)
    counter = ProgressCounter(len(keys))
    errors: list[str] = []

    def iter_series() -> Iterator[Values[Any]]:
        for run, info in keys:
            yield read(run, info.tag)
            counter.add(1)

    with show_progress("exporting", counter.read):
        if flags.kind in ("images", "audio"):
            is_images = flags.kind == "images"
            write = export_images if is_images else export_audio
            write(
                iter_series(), flags.out, format_name, errors.append, overwritten=flags.overwritten
            )
        else:
            is_text = flags.kind == "text"
            write_rows = export_text if is_text else export_histograms
            with open_output(flags.out) as file:
                write_rows(
                    iter_series(), file, format_name, errors.append, overwritten=flags.overwritten
                )
    if errors:
        more = f" (and {len(errors) - 1:,} more)" if len(errors) > 1 else ""
        print(f"tracklight: left out: {errors[0]}{more}", file=sys.stderr)
    return EXIT_FAILURE if errors or log.problems else 0


def _export_hparams(log: Log, selection: Selection, flags: Namespace, format_name: str) -> None:
    from tracklight.dashboards.hparams import make_wide_table
    from tracklight.server.plugins import create_static_context

    tags = {info.tag for infos in selection.values() for info in infos} if flags.tag else None
    runs = frozenset(selection) if flags.run else None
    table = make_wide_table(create_static_context(log.catalog), runs, tags)
    if not table.rows:
        raise LogError(f"no hyperparameters in {format_roots(log)}")
    columns = [
        ExportColumn(name, _infer_type(name, cells))
        for name, cells in zip(table.headings, zip(*table.rows, strict=True), strict=True)
    ]
    with open_output(flags.out) as file:
        writer = create_table_writer(file, format_name, columns)
        for row in table.rows:
            writer.write([_convert_cell(*pair) for pair in zip(row, columns, strict=True)])
        writer.close()


def _infer_type(name: str, cells: Sequence[object]) -> ColumnType:
    """Return the column type that holds all cells."""
    kinds = {type(cell) for cell in cells if cell is not None}
    if kinds == {bool}:
        return "bool"
    if not kinds or not kinds <= {int, float}:
        return "string"
    # Logs store all numbers as floats, but a batch size should be exported as an integer.
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


def _list_series(log: Log, selection: Selection, kind: str) -> list[tuple[str, TagInfo]]:
    """Return the selected tags of one kind; raise LogError if there are none."""
    keys = [(run, t) for run, tags in selection.items() for t in tags if t.kind is _KINDS[kind]]
    if keys:
        return keys
    if log.problems:
        raise LogError(join_problems(log.problems))
    counts = Counter(info.kind for tags in selection.values() for info in tags)
    others = [name for name, value in _KINDS.items() if counts[value]]
    hint = f"; there are {', '.join(others)} (--kind)" if others else ""
    raise LogError(f"no {kind} in {format_roots(log)}{hint}")


def _export_static(flags: Namespace) -> int:
    from tracklight.analysis.source import DataAccess
    from tracklight.server.static_export import ExportContents, parse_view, write_static_export

    if flags.format or flags.out:
        raise UsageError("--static cannot be combined with --format or --out")
    with open_log(flags, needs_runs=False) as log:
        selection = select_tags(log, flags)
        tags = {info.tag for infos in selection.values() for info in infos}
        access = DataAccess(parse_data_dirs(flags.data_dir))
        contents = ExportContents(log.catalog, parse_view(flags.view), selection, tags, access)
        counter = ProgressCounter(len(tags))
        with show_progress("exporting", counter.read):
            write_static_export(contents, flags.static, counter.add)
    what = format_count(len(contents.runs), "run") if contents.runs else "files without runs"
    print(f"exported {what}; open {_get_page_path(flags.static)}")
    return EXIT_FAILURE if log.problems else 0


def _get_page_path(target: Path) -> Path:
    return target / "index.html" if target.is_dir() else target
