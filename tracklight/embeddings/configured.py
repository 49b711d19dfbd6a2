"""The embeddings that a config names, in files of their own or in checkpoints beside it."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tracklight.embeddings.config import NAME, Config, Entry, parse_config
from tracklight.embeddings.families import Member, find_families, split_step
from tracklight.embeddings.model import Embedding, Kind, Version
from tracklight.embeddings.vectors import open_tensors
from tracklight.errors import TracklightError
from tracklight.tensorfiles.model import TensorInfo
from tracklight.tensorfiles.place import Place, join

#: Extensions of files that are opened by what they are; all others are text or raw memory.
_KNOWN = (".npy", ".npz", ".safetensors", ".pt", ".pth", ".h5", ".hdf5", ".csv", ".parquet")
_SUFFIX = "/.ATTRIBUTES/VARIABLE_VALUE"


def read_config_file(place: Place, folder: str) -> Config:
    with place.open(join(folder, NAME)) as file:
        return parse_config(file.read())


@dataclass(frozen=True, slots=True)
class Configured:
    """A config, the folder it is in, and the names of files there and nearby."""

    place: Place
    run: str
    folder: str
    config: Config
    nearby: Mapping[str, Sequence[str]]
    """Names of files by folder, for those in which its checkpoints may be, the nearest first."""

    def list_embeddings(self) -> list[Embedding]:
        entries = self.config.entries
        found = self._list_plain([entry for entry in entries if entry.tensor_path])
        saved = [entry for entry in entries if not entry.tensor_path]
        if saved or self.config.checkpoint_path or not entries:
            found += self._list_saved(saved)
        return found

    def _list_plain(self, entries: Sequence[Entry]) -> list[Embedding]:
        versions: dict[str, list[Version]] = {}
        bookmarks: dict[str, str] = {}
        for entry in entries:
            name, step = split_step(entry.tensor_name or posixpath.basename(entry.tensor_path))
            path = join(self.folder, entry.tensor_path)
            kind: Kind = "file" if path.lower().endswith(_KNOWN) else "plain"
            version = self._make_version(entry, step, kind, path, "", entry.tensor_shape)
            versions.setdefault(name, []).append(version)
            bookmarks[name] = self._join(entry.bookmarks_path)
        return [
            Embedding(self.run, name, sort_versions(some), bookmarks[name])
            for name, some in versions.items()
        ]

    def _list_saved(self, entries: Sequence[Entry]) -> list[Embedding]:
        named = {entry.tensor_name: entry for entry in entries if entry.tensor_name}
        default = next((entry for entry in entries if not entry.tensor_name), Entry())
        found = []
        for members in self._find_members():
            try:
                infos = list_tables(self.place, members[-1])
            except (TracklightError, OSError) as error:
                found.append(Embedding(self.run, members[-1].path, problem=str(error)))
                continue
            found += self._match(members, infos, named, default)
        found += [self._miss(name) for name in named]
        if not found and entries:
            found.append(Embedding(self.run, NAME, problem=self._say_nothing_there()))
        return found

    def _match(
        self,
        members: Sequence[Member],
        infos: Sequence[TensorInfo],
        named: dict[str, Entry],
        default: Entry,
    ) -> Iterator[Embedding]:
        """Each tensor with what the config says of it; what was found is taken off ``named``."""
        entries = {name: _find_info(name, infos) for name in named}
        for name, info in entries.items():
            entries[name] = info or self._guess(named[name], infos)
        for info in infos:
            wanted = next((name for name, match in entries.items() if match is info), None)
            entry = default if wanted is None else named.pop(wanted, default)
            versions = tuple(
                self._make_version(
                    entry, member.step, member.kind, member.path, info.key, info.shape
                )
                for member in members
            )
            yield Embedding(self.run, info.name, versions, self._join(entry.bookmarks_path))

    def _guess(self, entry: Entry, infos: Sequence[TensorInfo]) -> TensorInfo | None:
        """The only tensor with as many rows as there are labels.

        Keras 3 writes names into its config that nothing in its files is called by.
        """
        if not entry.metadata_path:
            return None
        try:
            with self.place.open(self._join(entry.metadata_path)) as file:
                count = sum(bool(line.strip()) for line in file)
        except TracklightError:
            return None
        for rows in (count, count - 1):  # the first line may be one of names
            fitting = [info for info in infos if info.shape[0] == rows]
            if fitting:
                return fitting[0] if len(fitting) == 1 else None
        return None

    def _make_version(
        self, entry: Entry, step: int | None, kind: Kind, path: str, key: str, shape: Sequence[int]
    ) -> Version:
        metadata, sprite = self._join(entry.metadata_path), self._join(entry.sprite_path)
        return Version(step, kind, path, key, tuple(shape), metadata, sprite, entry.sprite_size)

    def _find_members(self) -> list[list[Member]]:
        """The checkpoints that the config names, or all of the nearest folder that has some."""
        wanted = self.config.checkpoint_path
        stem = posixpath.basename(wanted.replace("\\", "/"))
        for nearby in self.nearby:
            families = find_families(nearby, self.nearby[nearby])
            groups = list(families.values())
            if wanted:
                # A folder that was moved keeps the name of its checkpoint, not the path.
                groups = [
                    group
                    for group in groups
                    if any(posixpath.basename(member.path) == stem for member in group)
                ]
            if groups:
                return groups
        return []

    def _miss(self, name: str) -> Embedding:
        sentence = f'the config names the tensor "{name}", which no checkpoint beside it holds'
        return Embedding(self.run, name, problem=sentence)

    def _say_nothing_there(self) -> str:
        wanted = self.config.checkpoint_path
        if wanted:
            return f'the config names the checkpoint "{wanted}", which is not there'
        return "there is no checkpoint beside the config, nor does it name a tensor_path"

    def _join(self, path: str) -> str:
        return join(self.folder, path) if path else ""


def list_tables(place: Place, member: Member) -> list[TensorInfo]:
    """The tensors of a file that can be taken for vectors."""
    with open_tensors(place, member.kind, member.path) as tensors:
        return [
            info
            for info in tensors.tensors()
            if not info.is_state and len(info.shape) > 1 and min(info.shape) > 1
        ]


def sort_versions(versions: Sequence[Version]) -> tuple[Version, ...]:
    return tuple(sorted(versions, key=lambda v: -1 if v.step is None else v.step))


def _find_info(name: str, infos: Sequence[TensorInfo]) -> TensorInfo | None:
    for info in infos:
        if name in (info.key, info.name, info.key.removesuffix(_SUFFIX)):
            return info
    return None
