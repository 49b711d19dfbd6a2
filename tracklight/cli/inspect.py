"""``tracklight inspect``: print what a log contains, as text or JSON."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from collections.abc import Iterable, Sequence
from pathlib import Path

from tracklight.cli.logdir_arg import LogdirArg, check_roots, find_logdir_arg, open_log, select_tags
from tracklight.cli.parser import EXIT_FAILURE
from tracklight.errors import UsageError
from tracklight.logdir.access import is_url, parse_roots
from tracklight.logdir.discover import is_event_file
from tracklight.reader.listing import encode_listing, iter_listing_lines


def inspect(flags: Namespace) -> int:
    """Print files and tags, or a summary of data of one kind, such as graphs or profiles."""
    if flags.graph:
        return _inspect_graphs(flags)
    if flags.profile:
        return _inspect_profiles(flags)
    if flags.embeddings:
        return _inspect_embeddings(flags)
    if flags.debugger:
        return _inspect_debugger(flags)
    if flags.fairness:
        return _inspect_evaluations(flags)
    with open_log(flags) as log:
        selection = select_tags(log, flags)
        if flags.json:
            _print_json(encode_listing(log, selection))
        else:
            _print_lines(iter_listing_lines(log, selection))
        return EXIT_FAILURE if log.problems else 0


def _inspect_graphs(flags: Namespace) -> int:
    from tracklight.reader import summaries

    model_file = _find_model_file(flags)
    problems: Sequence[str] = ()
    if model_file is not None:
        graphs = [summaries.summarize_graph_file(model_file)]
    else:
        with open_log(flags) as log:
            graphs = list(summaries.summarize_graphs(log, select_tags(log, flags)))
            problems = log.problems
    if flags.json:
        _print_json(summaries.encode_json(graphs=graphs))
    else:
        _print_lines(summaries.iter_graph_lines(graphs))
    return EXIT_FAILURE if problems else 0


def _inspect_profiles(flags: Namespace) -> int:
    from tracklight.reader import summaries

    roots = parse_roots(_get_logdir_arg(flags, "--profile"))
    if any(is_url(root.path) for root in roots):
        raise UsageError("profiles are read from local directories only; copy them here first")
    profiles = list(summaries.summarize_profiles(roots, with_tables=flags.json))
    if not profiles:
        check_roots(roots)
    if flags.json:
        _print_json(summaries.encode_json(profiles=profiles))
    else:
        _print_lines(summaries.iter_profile_lines(profiles))
    return 0


def _inspect_embeddings(flags: Namespace) -> int:
    from tracklight.reader import summaries

    given, tensor_file = _get_logdir_arg(flags, "--embeddings"), _find_model_file(flags)
    if tensor_file is not None:
        embeddings = list(summaries.summarize_tensor_file(str(tensor_file)))
    else:
        roots = parse_roots(given)
        embeddings = list(summaries.summarize_embeddings(roots))
        if not embeddings:
            check_roots(roots)
    if flags.json:
        _print_json(summaries.encode_json(embeddings=embeddings))
    else:
        _print_lines(summaries.iter_embedding_lines(embeddings))
    return 0


def _inspect_debugger(flags: Namespace) -> int:
    from tracklight.analysis.debugger.library import DebuggerLibrary
    from tracklight.reader import summaries

    with open_log(flags) as log:
        found = summaries.summarize_debugger(DebuggerLibrary(log.catalog))
        if flags.json:
            _print_json(summaries.encode_json(dumps=found))
        else:
            _print_lines(summaries.iter_debugger_lines(found))
        return EXIT_FAILURE if log.problems else 0


def _inspect_evaluations(flags: Namespace) -> int:
    from tracklight.reader import summaries

    with open_log(flags, needs_runs=False) as log:
        found = list(summaries.summarize_evaluations(log, select_tags(log, flags)))
        if flags.json:
            _print_json(summaries.encode_json(evaluations=found))
        else:
            _print_lines(summaries.iter_evaluation_lines(found))
        return EXIT_FAILURE if log.problems else 0


def _get_logdir_arg(flags: Namespace, mode: str) -> LogdirArg:
    given = find_logdir_arg(flags)
    if given is None:
        raise UsageError(f"no log directory was given: tracklight inspect {mode} --logdir DIR")
    return given


def _find_model_file(flags: Namespace) -> Path | None:
    """Return the given path if it is a single file other than an event file."""
    given = find_logdir_arg(flags)
    if isinstance(given, list):
        given = given[0] if len(given) == 1 else None
    is_model = given and os.path.isfile(given) and not is_event_file(os.path.basename(given))
    return Path(given) if given and is_model else None


def _print_json(data: bytes) -> None:
    sys.stdout.buffer.write(data + b"\n")


def _print_lines(lines: Iterable[str]) -> None:
    sys.stdout.writelines(f"{line}\n" for line in lines)
