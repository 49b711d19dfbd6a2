"""What each command does that reads a log and ends."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tracklight.cli.logdir_arg import (
    check_roots,
    find_logdir_arg,
    open_log,
    select_tags,
)
from tracklight.cli.parser import EXIT_FAILURE
from tracklight.errors import UsageError
from tracklight.logdir.discover import is_event_file
from tracklight.logdir.roots import is_url, parse_roots
from tracklight.reader.listing import encode_listing, iter_listing_lines

if TYPE_CHECKING:
    pass


def inspect(flags: Namespace) -> int:
    if flags.graph:
        return _inspect_graphs(flags)
    if flags.profile:
        return _inspect_profiles(flags)
    if flags.embeddings:
        return _inspect_embeddings(flags)
    with open_log(flags) as log:
        chosen = select_tags(log, flags)
        if flags.json:
            sys.stdout.buffer.write(encode_listing(log, chosen) + b"\n")
        else:
            sys.stdout.writelines(f"{line}\n" for line in iter_listing_lines(log, chosen))
        return EXIT_FAILURE if log.problems else 0


def _inspect_graphs(flags: Namespace) -> int:
    from tracklight.reader import inspect_graphs

    model = _find_model_file(flags)
    problems: Sequence[str] = ()
    if model is not None:
        found = [inspect_graphs.summarize_graph_file(model)]
    else:
        with open_log(flags) as log:
            found = list(inspect_graphs.summarize_graphs(log, select_tags(log, flags)))
            problems = log.problems
    if flags.json:
        sys.stdout.buffer.write(inspect_graphs.encode_graphs(found) + b"\n")
    else:
        sys.stdout.writelines(f"{line}\n" for line in inspect_graphs.iter_graph_lines(found))
    return EXIT_FAILURE if problems else 0


def _inspect_profiles(flags: Namespace) -> int:
    from tracklight.reader import inspect_profiles

    given = find_logdir_arg(flags)
    if given is None:
        raise UsageError("no log directory was given: tracklight inspect --profile --logdir DIR")
    roots = parse_roots(given)
    if any(is_url(root.path) for root in roots):
        raise UsageError("profiles are read from local directories only; copy them here first")
    found = list(inspect_profiles.summarize_profiles(roots))
    if not found:
        check_roots(roots)
    if flags.json:
        sys.stdout.buffer.write(inspect_profiles.encode_profiles(found) + b"\n")
    else:
        sys.stdout.writelines(f"{line}\n" for line in inspect_profiles.iter_profile_lines(found))
    return 0


def _inspect_embeddings(flags: Namespace) -> int:
    from tracklight.reader import inspect_embeddings

    given, file = find_logdir_arg(flags), _find_model_file(flags)
    if given is None:
        raise UsageError("no log directory was given: tracklight inspect --embeddings --logdir DIR")
    if file is not None:
        found = list(inspect_embeddings.summarize_tensor_file(str(file)))
    else:
        roots = parse_roots(given)
        found = list(inspect_embeddings.summarize_embeddings(roots))
        if not found:
            check_roots(roots)
    if flags.json:
        sys.stdout.buffer.write(inspect_embeddings.encode_embeddings(found) + b"\n")
    else:
        sys.stdout.writelines(
            f"{line}\n" for line in inspect_embeddings.iter_embedding_lines(found)
        )
    return 0


def _find_model_file(flags: Namespace) -> Path | None:
    """The file of a model that was given where a log would be."""
    given = find_logdir_arg(flags)
    if isinstance(given, list):
        given = given[0] if len(given) == 1 else None
    is_model = given and os.path.isfile(given) and not is_event_file(os.path.basename(given))
    return Path(given) if given and is_model else None
