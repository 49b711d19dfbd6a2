"""Finds every embedding below the log directories, with a config or without."""

from __future__ import annotations

import os
import posixpath
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from tracklight.embeddings.config import NAME
from tracklight.embeddings.configured import Configured, list_tables, read_config_file
from tracklight.embeddings.families import Member, find_families, find_own_name
from tracklight.embeddings.model import Embedding, Version
from tracklight.errors import TracklightError
from tracklight.logdir.opening import open_filesystem
from tracklight.logdir.roots import Root
from tracklight.tensorfiles.place import Place, join

#: Where TensorBoard's own writer puts what belongs to a run but is no event.
_ASSETS = "plugins/org_tensorflow_tensorboard_projector"
#: Beyond that, somebody who looks wants to be told which folder to open instead.
_MOST_LOOSE = 200


def find_embeddings(place: Place, roots: Sequence[Root]) -> list[Embedding]:
    """Everything that can be projected, those with labels first, then those of most vectors."""
    found: list[Embedding] = []
    for root in roots:
        found += _Search(place, root).run()
    return sorted(found, key=_rank)


def find_in_file(path: str) -> tuple[Place, list[Embedding]]:
    """The embeddings of one file, or of a checkpoint by its index, and where it may be read."""
    folder, name = os.path.split(os.path.abspath(path))
    place = Place([folder])
    families = find_families(folder, [name])
    members = next(iter(families.values()), [Member(None, "file", path)])
    return place, read_members(place, "", members)


class _Search:
    """One look below one root."""

    def __init__(self, place: Place, root: Root) -> None:
        self._place = place
        self._root = root
        self._files = _list_files(root.path)
        self._claimed: set[str] = set()

    def run(self) -> list[Embedding]:
        found: list[Embedding] = []
        for relative in sorted(self._files):
            if NAME in self._files[relative]:
                found += self._read_configured(relative)
        return found + list(self._iter_loose())

    def _read_configured(self, relative: str) -> list[Embedding]:
        run, folder = self._name_run(relative), self._get_folder(relative)
        nearby = {
            self._get_folder(near): self._files[near]
            for near in _list_nearby(relative)
            if near in self._files
        }
        try:
            config = read_config_file(self._place, folder)
            found = Configured(self._place, run, folder, config, nearby).list_embeddings()
        except (TracklightError, OSError) as error:
            return [Embedding(run, NAME, problem=str(error))]
        self._claimed |= {version.path for item in found for version in item.versions}
        return found

    def _iter_loose(self) -> Iterator[Embedding]:
        """Files with tensors that no config speaks of."""
        left = _MOST_LOOSE
        for relative in sorted(self._files):
            families = find_families(self._get_folder(relative), self._files[relative])
            for members in families.values():
                if left > 0 and not self._claimed & {member.path for member in members}:
                    left -= 1
                    yield from read_members(self._place, self._name_run(relative), members)

    def _name_run(self, relative: str) -> str:
        return self._root.get_run_name(relative.removesuffix(_ASSETS).rstrip("/"))

    def _get_folder(self, relative: str) -> str:
        return join(self._root.path, relative) if relative else self._root.path


def read_members(place: Place, run: str, members: Sequence[Member]) -> list[Embedding]:
    """What the files of a family hold, by the last of them."""
    try:
        infos = list_tables(place, members[-1])
    except (TracklightError, OSError) as error:
        name = posixpath.basename(members[-1].path)
        return [Embedding(run, name, problem=str(error))]
    own = find_own_name(members[-1])
    if own and not infos:
        problem = f'"{own}" is no table of at least 2 rows and 2 columns, of which vectors are made'
        return [Embedding(run, own, problem=problem)]
    return [
        Embedding(
            run,
            own or info.name,
            tuple(
                Version(member.step, member.kind, member.path, "" if own else info.key, info.shape)
                for member in members
            ),
        )
        for info in infos
    ]


def _list_files(root: str) -> Mapping[str, list[str]]:
    """Names of files by folder, of those that may have to do with an embedding."""
    files, path = open_filesystem(root)
    by_folder: dict[str, list[str]] = defaultdict(list)
    for file in files.list_files(path, _is_wanted, lambda directory: False).files:
        by_folder[file.directory].append(file.name)
    return {folder: sorted(names) for folder, names in by_folder.items()}


def _is_wanted(name: str) -> bool:
    return name == NAME or bool(find_families("", [name]))


def _list_nearby(relative: str) -> list[str]:
    """Where checkpoints of a config may be: Keras leaves it above the run, others below."""
    above = posixpath.dirname(relative)
    nearby = [relative, posixpath.join(relative, "train"), above]
    return [*nearby, posixpath.dirname(above)] if relative.endswith(_ASSETS) else nearby


def _rank(item: Embedding) -> tuple[bool, bool, int, str, str]:
    last = item.versions[-1] if item.versions else None
    rows = last.shape[0] if last and last.shape else 0
    return last is None, not (last and last.metadata_path), -rows, item.run, item.name
