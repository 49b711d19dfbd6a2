"""What each command does that reads a log and ends."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tracklight.cli.catalog import create_catalog
from tracklight.cli.given import find_given
from tracklight.cli.loading import count_bytes
from tracklight.cli.missing import describe_missing, find_missing
from tracklight.cli.progress import Tally, show_bar
from tracklight.cli.statuses import FAILED
from tracklight.errors import LogError, UsageError
from tracklight.export import export_scalars, open_output
from tracklight.export.output import find_format
from tracklight.inspect.listing import encode_json, iter_lines
from tracklight.log import Log, Values
from tracklight.logdir.discover import discover, is_event_file
from tracklight.logdir.opening import open_filesystem
from tracklight.logdir.roots import Root, is_url, parse_roots
from tracklight.logdir.tensors import PROJECTOR_CONFIG
from tracklight.types import Kind, TagInfo

if TYPE_CHECKING:
    from tracklight.export.tables import Column, ColumnType

Chosen = Mapping[str, Sequence[TagInfo]]

#: What ``export --kind`` takes, besides hparams, and the tags that are meant.
_KINDS = {
    "scalars": Kind.SCALAR,
    "histograms": Kind.HISTOGRAM,
    "images": Kind.IMAGE,
    "audio": Kind.AUDIO,
    "text": Kind.TEXT,
}


def inspect(flags: Namespace) -> int:
    if flags.graph:
        return _inspect_graphs(flags)
    if flags.profile:
        return _inspect_profiles(flags)
    if flags.embeddings:
        return _inspect_embeddings(flags)
    with open_log(flags) as log:
        chosen = _choose(log, flags)
        if flags.json:
            sys.stdout.buffer.write(encode_json(log, chosen) + b"\n")
        else:
            sys.stdout.writelines(f"{line}\n" for line in iter_lines(log, chosen))
        return FAILED if log.problems else 0


def _inspect_graphs(flags: Namespace) -> int:
    from tracklight.inspect import graphs

    model = _find_model(flags)
    problems: Sequence[str] = ()
    if model is not None:
        found = [graphs.sum_up_file(model)]
    else:
        with open_log(flags) as log:
            found = list(graphs.sum_up_graphs(log, _choose(log, flags)))
            problems = log.problems
    if flags.json:
        sys.stdout.buffer.write(graphs.encode_json(found) + b"\n")
    else:
        sys.stdout.writelines(f"{line}\n" for line in graphs.iter_lines(found))
    return FAILED if problems else 0


def _inspect_profiles(flags: Namespace) -> int:
    from tracklight.inspect import profiles

    given = find_given(flags)
    if given is None:
        raise UsageError("no log directory was given: tracklight inspect --profile --logdir DIR")
    roots = parse_roots(given)
    if any(is_url(root.path) for root in roots):
        raise UsageError("profiles are read from local directories only; copy them here first")
    found = list(profiles.sum_up_profiles(roots))
    if not found:
        _check_roots(roots)
    if flags.json:
        sys.stdout.buffer.write(profiles.encode_json(found) + b"\n")
    else:
        sys.stdout.writelines(f"{line}\n" for line in profiles.iter_lines(found))
    return 0


def _inspect_embeddings(flags: Namespace) -> int:
    from tracklight.inspect import embeddings

    given, file = find_given(flags), _find_model(flags)
    if given is None:
        raise UsageError("no log directory was given: tracklight inspect --embeddings --logdir DIR")
    if file is not None:
        found = list(embeddings.sum_up_file(str(file)))
    else:
        roots = parse_roots(given)
        found = list(embeddings.sum_up_embeddings(roots))
        if not found:
            _check_roots(roots)
    if flags.json:
        sys.stdout.buffer.write(embeddings.encode_json(found) + b"\n")
    else:
        sys.stdout.writelines(f"{line}\n" for line in embeddings.iter_lines(found))
    return 0


def _find_model(flags: Namespace) -> Path | None:
    """The file of a model that was given where a log would be."""
    given = find_given(flags)
    if isinstance(given, list):
        given = given[0] if len(given) == 1 else None
    is_model = given and os.path.isfile(given) and not is_event_file(os.path.basename(given))
    return Path(given) if given and is_model else None


def export(flags: Namespace) -> int:
    if flags.static:
        return _export_board(flags)
    if not flags.out:
        raise UsageError("give --out FILE, or --static to copy the board")
    if flags.kind in ("images", "audio"):
        format_name = flags.format or "csv"  # of the index table
    else:
        format_name = find_format(flags.out, flags.format)
    with open_log(flags) as log:
        chosen = _choose(log, flags)
        if flags.kind == "scalars":
            _export_scalars(log, chosen, flags, format_name)
        elif flags.kind == "hparams":
            _export_hparams(log, chosen, flags, format_name)
        else:
            return _export_values(log, chosen, flags, format_name)
        return FAILED if log.problems else 0


def _export_scalars(log: Log, chosen: Chosen, flags: Namespace, format_name: str) -> None:
    keys = _find_series(log, chosen, "scalars")
    tally = Tally(sum(info.count for _, info in keys))
    with open_output(flags.out) as file, show_bar("exporting", tally.read):
        export_scalars(
            (log.scalar(run, info.tag) for run, info in keys),
            file,
            format_name,
            overwritten=flags.overwritten,
            tell=tally.add,
        )


def _export_values(log: Log, chosen: Chosen, flags: Namespace, format_name: str) -> int:
    from tracklight.export import media, tables

    keys = _find_series(log, chosen, flags.kind)
    read = getattr(log, flags.kind)
    tally = Tally(len(keys))
    unread: list[str] = []

    def iter_series() -> Iterator[Values[Any]]:
        for run, info in keys:
            yield read(run, info.tag)
            tally.add(1)

    with show_bar("exporting", tally.read):
        if flags.kind in ("images", "audio"):
            write = media.export_images if flags.kind == "images" else media.export_audio
            write(
                iter_series(),
                flags.out,
                format_name,
                unread.append,
                overwritten=flags.overwritten,
            )
        else:
            export_rows = (
                tables.export_histograms if flags.kind == "histograms" else tables.export_text
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
    return FAILED if unread or log.problems else 0


def _export_hparams(log: Log, chosen: Chosen, flags: Namespace, format_name: str) -> None:
    from tracklight.dashboards.hparams.sheet import make_wide_sheet
    from tracklight.export import tables
    from tracklight.server.context import make_context

    tags = {info.tag for infos in chosen.values() for info in infos} if flags.tag else None
    runs = frozenset(chosen) if flags.run else None
    sheet = make_wide_sheet(make_context(log.catalog), runs, tags)
    if not sheet.rows:
        raise LogError(f"no hyperparameters in {_name_roots(log)}")
    cells = zip(*sheet.rows, strict=True)
    columns = [
        tables.Column(name, _find_type(name, column))
        for name, column in zip(sheet.headings, cells, strict=True)
    ]
    with open_output(flags.out) as file:
        table = tables.create_table(file, format_name, columns)
        for row in sheet.rows:
            pairs = zip(row, columns, strict=True)
            table.write([_fit_cell(cell, column) for cell, column in pairs])
        table.close()


def _find_type(name: str, cells: Sequence[object]) -> ColumnType:
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


def _fit_cell(cell: Any, column: Column) -> Any:
    """Convert a cell to the type of its column."""
    if cell is None or isinstance(cell, str) or column.type == "bool":
        return cell
    if column.type in ("int", "float"):
        return int(cell) if column.type == "int" else float(cell)
    if isinstance(cell, bool):
        return "true" if cell else "false"
    return repr(int(cell) if _is_integer(cell) else cell)


def _find_series(log: Log, chosen: Chosen, kind: str) -> list[tuple[str, TagInfo]]:
    """Return the tags of this kind, at least one."""
    keys = [(run, t) for run, tags in chosen.items() for t in tags if t.kind is _KINDS[kind]]
    if keys:
        return keys
    if log.problems:
        raise LogError(_join_problems(log.problems))
    counts = Counter(info.kind for tags in chosen.values() for info in tags)
    there = [name for name, value in _KINDS.items() if counts[value]]
    hint = f"; there are {', '.join(there)} (--kind)" if there else ""
    raise LogError(f"no {kind} in {_name_roots(log)}{hint}")


def _export_board(flags: Namespace) -> int:
    from tracklight.snapshot.contents import Contents
    from tracklight.snapshot.view import parse_view
    from tracklight.snapshot.write import write_copy

    if flags.format or flags.out:
        raise UsageError("--static goes without --format and --out")
    with open_log(flags, needs_runs=False) as log:
        chosen = _choose(log, flags)
        tags = {info.tag for infos in chosen.values() for info in infos}
        contents = Contents(log.catalog, parse_view(flags.view), chosen, tags)
        tally = Tally(len(tags))
        with show_bar("copying", tally.read):
            write_copy(contents, flags.static, tally.add)
    runs = "one run" if len(contents.runs) == 1 else f"{len(contents.runs):,} runs"
    what = runs if contents.runs else "the embeddings, as there are no runs"
    print(f"wrote a copy of {what}; open {_find_page(flags.static)}")
    return FAILED if log.problems else 0


def _find_page(target: Path) -> Path:
    return target / "index.html" if target.is_dir() else target


@contextmanager
def open_log(flags: Namespace, *, needs_runs: bool = True) -> Iterator[Log]:
    """Open the log that the flags name, and print what could not be read of it.

    LogError if a log directory cannot be read at all, or if there is nothing in it. With
    ``needs_runs`` false, embeddings without any run are something, too.
    """
    catalog = create_catalog(flags)
    for path in find_missing(catalog.roots):
        raise LogError(describe_missing(path))
    with Log(catalog) as log:
        with show_bar("reading", lambda: count_bytes(catalog)):
            log.refresh()
        failed = catalog.failed_roots
        if failed:
            raise LogError(_join_problems(failed))
        if not log.runs and (needs_runs or not catalog.tensor_files()):
            raise LogError(_explain_no_runs(log, flags))
        for problem in log.problems:
            print(f"tracklight: {problem}", file=sys.stderr)
        yield log


def _explain_no_runs(log: Log, flags: Namespace) -> str:
    if flags.include or flags.exclude:
        return f"no run in {_name_roots(log)} is left by --include and --exclude"
    embeddings = "; `tracklight inspect --embeddings` lists its embeddings"
    has_embeddings = any(
        file.path.endswith(PROJECTOR_CONFIG) for file in log.catalog.tensor_files()
    )
    return f"no event files in {_name_roots(log)}{embeddings if has_embeddings else ''}"


def _name_roots(log: Log) -> str:
    return ", ".join(f'"{root.path}"' for root in log.roots)


def _join_problems(problems: Sequence[str]) -> str:
    more = f" (and {len(problems) - 1:,} more problems)" if len(problems) > 1 else ""
    return problems[0] + more


def _check_roots(roots: Sequence[Root]) -> None:
    """Raise LogError if nothing was found because a log directory cannot be read."""
    for root in roots:
        if not is_url(root.path) and not os.path.exists(root.path):
            raise LogError(f'there is no directory "{root.path}"')
        problems = discover(root, open_filesystem(root.path)[0]).problems
        if problems:
            raise LogError(_join_problems(problems))


def _choose(log: Log, flags: Namespace) -> Chosen:
    """The runs and tags that were asked for; at least one of each if any were."""
    chosen: Chosen = log.choose(flags.run, flags.tag)
    if flags.run and not chosen:
        raise LogError(f"no run matches {' or '.join(flags.run)}")
    if flags.tag:
        chosen = {run: tags for run, tags in chosen.items() if tags}
        if not chosen:
            raise LogError(f"no tag matches {' or '.join(flags.tag)}")
    return chosen
