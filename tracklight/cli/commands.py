"""What each command does that reads a log and ends."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from tracklight.cli.catalog import create_catalog
from tracklight.cli.given import find_given
from tracklight.cli.loading import count_bytes
from tracklight.cli.missing import describe_missing, find_missing
from tracklight.cli.progress import Tally, show_bar
from tracklight.errors import LogError, UsageError
from tracklight.export import export_scalars, open_output
from tracklight.inspect.listing import encode_json, iter_lines
from tracklight.log import Log
from tracklight.logdir.discover import is_event_file
from tracklight.types import Kind, TagInfo

Chosen = Mapping[str, Sequence[TagInfo]]


def inspect(flags: Namespace) -> None:
    if flags.graph:
        _inspect_graphs(flags)
        return
    if flags.profile:
        _inspect_profiles(flags)
        return
    if flags.embeddings:
        _inspect_embeddings(flags)
        return
    with open_log(flags) as log:
        chosen = _choose(log, flags)
        if flags.json:
            sys.stdout.buffer.write(encode_json(log, chosen) + b"\n")
        else:
            sys.stdout.writelines(f"{line}\n" for line in iter_lines(log, chosen))


def _inspect_graphs(flags: Namespace) -> None:
    from tracklight.inspect import graphs

    model = _find_model(flags)
    if model is not None:
        found = [graphs.sum_up_file(model)]
    else:
        with open_log(flags) as log:
            found = list(graphs.sum_up_graphs(log, _choose(log, flags)))
    if flags.json:
        sys.stdout.buffer.write(graphs.encode_json(found) + b"\n")
    else:
        sys.stdout.writelines(f"{line}\n" for line in graphs.iter_lines(found))


def _inspect_profiles(flags: Namespace) -> None:
    from tracklight.inspect import profiles
    from tracklight.logdir.roots import is_url, parse_roots

    given = find_given(flags)
    if given is None:
        raise UsageError("no log directory was given: tracklight inspect --profile --logdir DIR")
    roots = parse_roots(given)
    if any(is_url(root.path) for root in roots):
        raise UsageError("profiles are read from local directories only; copy them here first")
    found = profiles.sum_up_profiles(roots)
    if flags.json:
        sys.stdout.buffer.write(profiles.encode_json(found) + b"\n")
    else:
        sys.stdout.writelines(f"{line}\n" for line in profiles.iter_lines(found))


def _inspect_embeddings(flags: Namespace) -> None:
    from tracklight.inspect import embeddings
    from tracklight.logdir.roots import parse_roots

    given, file = find_given(flags), _find_model(flags)
    if given is None:
        raise UsageError("no log directory was given: tracklight inspect --embeddings --logdir DIR")
    if file is not None:
        found = embeddings.sum_up_file(str(file))
    else:
        found = embeddings.sum_up_embeddings(parse_roots(given))
    if flags.json:
        sys.stdout.buffer.write(embeddings.encode_json(found) + b"\n")
    else:
        sys.stdout.writelines(f"{line}\n" for line in embeddings.iter_lines(found))


def _find_model(flags: Namespace) -> Path | None:
    """The file of a model that was given where a log would be."""
    given = find_given(flags)
    if isinstance(given, list):
        given = given[0] if len(given) == 1 else None
    is_model = given and os.path.isfile(given) and not is_event_file(os.path.basename(given))
    return Path(given) if given and is_model else None


def export(flags: Namespace) -> None:
    if flags.static:
        _export_board(flags)
        return
    if not (flags.format and flags.out):
        raise UsageError("give --format and --out, or --static to copy the board")
    if flags.kind != "scalars":
        raise UsageError(
            f'only scalars can be exported, not "{flags.kind}"; other values are read from Python'
        )
    with open_log(flags) as log:
        chosen = _choose(log, flags)
        keys = [(run, t) for run, tags in chosen.items() for t in tags if t.kind is Kind.SCALAR]
        tally = Tally(sum(info.count for _, info in keys))
        with open_output(flags.out) as file, show_bar("exporting", tally.read):
            export_scalars(
                (log.scalar(run, info.tag) for run, info in keys),
                file,
                flags.format,
                overwritten=flags.overwritten,
                tell=tally.add,
            )


def _export_board(flags: Namespace) -> None:
    from tracklight.snapshot.contents import Contents
    from tracklight.snapshot.view import parse_view
    from tracklight.snapshot.write import write_copy

    if flags.format or flags.out:
        raise UsageError("--static goes without --format and --out")
    with open_log(flags) as log:
        chosen = _choose(log, flags)
        tags = {info.tag for infos in chosen.values() for info in infos}
        contents = Contents(log.catalog, parse_view(flags.view), chosen, tags)
        tally = Tally(len(tags))
        with show_bar("copying", tally.read):
            write_copy(contents, flags.static, tally.add)
    runs = "one run" if len(contents.runs) == 1 else f"{len(contents.runs):,} runs"
    print(f"wrote a copy of {runs}; open {_find_page(flags.static)}")


def _find_page(target: Path) -> Path:
    return target / "index.html" if target.is_dir() else target


@contextmanager
def open_log(flags: Namespace) -> Iterator[Log]:
    """A log that is there now; what could not be read of it is told."""
    catalog = create_catalog(flags)
    for path in find_missing(catalog.roots):
        raise LogError(describe_missing(path))
    with Log(catalog) as log:
        with show_bar("reading", lambda: count_bytes(catalog)):
            log.refresh()
        for problem in log.problems:
            print(f"tracklight: {problem}", file=sys.stderr)
        yield log


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
