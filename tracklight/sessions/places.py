"""Which session each run belongs to.

A session's runs are those below it: Keras writes hyperparameters into ``trial`` and curves into
``trial/train`` and ``trial/validation``. PyTorch's ``add_hparams`` goes the other way, into a run
of its own below the curves; so a run with none takes those of the only run right below it that
has some.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from typing import NamedTuple, TypeVar

from tracklight.logdir.discover import iter_upwards

T = TypeVar("T")

#: The group of metrics in the run right above a session.
ABOVE = ".."


class Place(NamedTuple):
    """A run as part of a session: ``group`` is its path from there, empty for the session's own."""

    session: str
    group: str


def hand_on(own: Mapping[str, T], runs: Iterable[str]) -> dict[str, T]:
    """What each run was given: its own hyperparameters, or those of a run above or below it."""
    return {run: own[place.session] for run, place in find_places(own, runs).items()}


def find_places(sessions: Iterable[str], runs: Iterable[str]) -> dict[str, Place]:
    """The session of each run that has one."""
    known = frozenset(sessions)
    below = _find_only_children(known)
    found = {}
    for run in runs:
        above = next((name for name in iter_upwards(run) if name in known), None)
        if above is not None:
            found[run] = Place(above, _get_relative(run, above))
        elif run in below:
            found[run] = Place(below[run], ABOVE)
    return found


def get_run(session: str, group: str) -> str:
    """The run that holds the metrics of a group of a session."""
    if not group:
        return session
    if group == ABOVE:
        return session.rpartition("/")[0] or "."
    folder = session.removesuffix(".").removesuffix("/")
    return f"{folder}/{group}" if folder else group


def find_settled(settled: Iterable[str], runs: Iterable[str], lacking: Container[str]) -> list[str]:
    """Of the directories with settings those that are sessions.

    A directory in which a run lies is one, and so is one with runs below, such as ``train`` and
    ``test``, unless they have settings of their own; the log directory itself holds many.
    """
    known = frozenset(settled)
    found: dict[str, None] = {}
    taken: set[str] = set()
    for run in runs:
        above = [name for name in iter_upwards(run) if name in known]
        if above and run in lacking:
            found[above[0]] = None
            taken.update(above[1:])
    there = frozenset(runs)
    return [name for name in found if name in there or not (name in taken or _is_root(name))]


def _get_relative(run: str, session: str) -> str:
    if run == session:
        return ""
    folder = session.removesuffix(".").removesuffix("/")
    return run.removeprefix(f"{folder}/") if folder else run


def _is_root(name: str) -> bool:
    return name == "." or name.endswith("/.")


def _find_only_children(names: Iterable[str]) -> dict[str, str]:
    children: dict[str, list[str]] = {}
    for name in names:
        children.setdefault(name.rpartition("/")[0] or ".", []).append(name)
    return {above: own[0] for above, own in children.items() if len(own) == 1}
