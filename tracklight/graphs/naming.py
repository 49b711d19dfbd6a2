"""Where nodes stand in the tree of scopes: one path for each, whatever they are named.

Names come from anywhere. A path has no empty part, is not endlessly deep and belongs to one node
only; for nearly every node it is its name.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

#: Stands in paths between a call, the function that it runs and what is inside of that.
BODY = "|"
_STANDS_FOR_BODY = "\N{BROKEN BAR}"
_NAMELESS = "(no name)"
_DEEPEST = 100


def make_paths(names: Sequence[str]) -> list[str]:
    """A node ``a`` beside nodes in the scope ``a`` stands inside of it, as ``a/(a)``; the second of
    a name is ``a (2)``."""
    paths = list(names) if _are_plain(names) else [_mend(name) for name in names]
    scopes = list_scopes({path.rpartition("/")[0] for path in paths})
    if scopes.isdisjoint(unlike := set(paths)) and len(unlike) == len(paths):
        return paths
    taken = dict.fromkeys(scopes, 1)
    return [_claim(_move_inside(path, scopes), taken) for path in paths]


def list_scopes(inner: Iterable[str]) -> set[str]:
    """Some scopes with all that they are in, but for the root."""
    known = {""}
    for scope in inner:
        while scope not in known:
            known.add(scope)
            scope = scope_of(scope)
    return known - {""}


def scope_of(path: str) -> str:
    return path.rpartition("/")[0]


def label_of(path: str) -> str:
    return path.rpartition("/")[2]


def _are_plain(names: Sequence[str]) -> bool:
    """Whether all are paths as they are: told of the whole, as there may be very many."""
    text = "\n".join(["", *names, ""])
    odd = ("//", BODY, "\n/", "/\n", "\n\n")
    longest = max(map(len, names), default=0)
    return longest < _DEEPEST and not any(part in text for part in odd)


def _mend(name: str) -> str:
    parts = [part or _NAMELESS for part in name.replace(BODY, _STANDS_FOR_BODY).split("/")]
    return "/".join([*parts[:_DEEPEST], ":".join(parts[_DEEPEST:])][: len(parts)])


def _move_inside(path: str, scopes: set[str]) -> str:
    return f"{path}/({label_of(path)})" if path in scopes else path


def _claim(path: str, taken: dict[str, int]) -> str:
    while path in taken:
        taken[path] += 1
        path = f"{path} ({taken[path]})"
    taken[path] = 1
    return path
