"""Files that are one thing at several steps, by the numbers at the end of their names."""

from __future__ import annotations

import os
import posixpath
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from tracklight.analysis.embeddings.loading import (
    Embedding,
    EmbeddingVersion,
    StorageKind,
    open_tensors,
)
from tracklight.analysis.embeddings.projector_files import (
    CONFIG_FILENAME,
    ConfigEntry,
    ProjectorConfig,
    parse_config,
)
from tracklight.errors import TracklightError
from tracklight.formats.checkpoints.tensor_file import TensorInfo
from tracklight.logdir.access import open_filesystem
from tracklight.logdir.confined_files import ConfinedFiles, join_path
from tracklight.logdir.discover import TENSOR_SUFFIXES
from tracklight.logdir.roots import Root

#: ``model-0003.safetensors``, ``ckpt-12.index``, ``keras_embedding.ckpt-0.weights.h5``, …
_FILE = re.compile(
    r"(?P<stem>.+?)(?:[-_.](?P<step>\d{1,18}))?"
    rf"(?P<suffix>{'|'.join(map(re.escape, TENSOR_SUFFIXES))})"
)

_NAME = re.compile(r"(?P<stem>.+):(?P<step>\d{1,18})")


class StepFile(NamedTuple):
    """A file of a family; of a checkpoint, its prefix."""

    step: int | None
    kind: StorageKind
    path: str


def group_step_files(folder: str, names: Iterable[str]) -> dict[str, list[StepFile]]:
    """Files with tensors in a folder, grouped by what their names have in common."""
    families: dict[str, list[StepFile]] = {}
    for name in names:
        found = _FILE.fullmatch(name)
        if found is None:
            continue
        step = int(found["step"]) if found["step"] else None
        is_checkpoint = found["suffix"] == ".index"
        path = join_path(folder, name.removesuffix(".index") if is_checkpoint else name)
        member = StepFile(step, "checkpoint" if is_checkpoint else "file", path)
        families.setdefault(found["stem"] + found["suffix"], []).append(member)
    for members in families.values():
        members.sort(key=lambda member: -1 if member.step is None else member.step)
    return families


def find_array_name(file: StepFile) -> str | None:
    """What a file of a single array is called at every step; None for one that names its own."""
    name = posixpath.basename(file.path)
    found = _FILE.fullmatch(name) if name.endswith(".npy") else None
    return None if found is None else found["stem"]


def split_step(name: str) -> tuple[str, int | None]:
    """The name of a tensor and the step at its end, which writers append: ``words:00003``."""
    found = _NAME.fullmatch(name)
    return (found["stem"], int(found["step"])) if found else (name, None)


# The embeddings that a config names, in files of their own or in checkpoints beside it.

#: Extensions of files that are opened by what they are; all others are text or raw memory.
_TENSOR_FILE_SUFFIXES = (
    ".npy",
    ".npz",
    ".safetensors",
    ".pt",
    ".pth",
    ".h5",
    ".hdf5",
    ".csv",
    ".parquet",
)

_OBJECT_GRAPH_SUFFIX = "/.ATTRIBUTES/VARIABLE_VALUE"


def read_config(files: ConfinedFiles, folder: str) -> ProjectorConfig:
    with files.open(join_path(folder, CONFIG_FILENAME)) as file:
        return parse_config(file.read())


@dataclass(frozen=True, slots=True)
class ConfigResolver:
    """A config, the folder it is in, and the names of files there and nearby."""

    files: ConfinedFiles
    run: str
    folder: str
    config: ProjectorConfig
    nearby: Mapping[str, Sequence[str]]
    """Names of files by folder, for those in which its checkpoints may be, the nearest first."""

    def list_embeddings(self) -> list[Embedding]:
        entries = self.config.entries
        found = self._list_tensor_files([entry for entry in entries if entry.tensor_path])
        saved = [entry for entry in entries if not entry.tensor_path]
        if saved or self.config.checkpoint_path or not entries:
            found += self._list_checkpoints(saved)
        return found

    def _list_tensor_files(self, entries: Sequence[ConfigEntry]) -> list[Embedding]:
        versions: dict[str, list[EmbeddingVersion]] = {}
        bookmarks: dict[str, str] = {}
        for entry in entries:
            name, step = split_step(entry.tensor_name or posixpath.basename(entry.tensor_path))
            path = join_path(self.folder, entry.tensor_path)
            kind: StorageKind = "file" if path.lower().endswith(_TENSOR_FILE_SUFFIXES) else "plain"
            version = self._make_version(entry, step, kind, path, "", entry.tensor_shape)
            versions.setdefault(name, []).append(version)
            bookmarks[name] = self._join(entry.bookmarks_path)
        return [
            Embedding(self.run, name, sort_versions(some), bookmarks[name])
            for name, some in versions.items()
        ]

    def _list_checkpoints(self, entries: Sequence[ConfigEntry]) -> list[Embedding]:
        named = {entry.tensor_name: entry for entry in entries if entry.tensor_name}
        default = next((entry for entry in entries if not entry.tensor_name), ConfigEntry())
        found = []
        for members in self._list_step_files():
            try:
                infos = list_matrices(self.files, members[-1])
            except (TracklightError, OSError) as error:
                found.append(Embedding(self.run, members[-1].path, problem=str(error)))
                continue
            found += self._match(members, infos, named, default)
        found += [self._report_missing(name) for name in named]
        if not found and entries:
            found.append(
                Embedding(self.run, CONFIG_FILENAME, problem=self._describe_missing_checkpoint())
            )
        return found

    def _match(
        self,
        members: Sequence[StepFile],
        infos: Sequence[TensorInfo],
        named: dict[str, ConfigEntry],
        default: ConfigEntry,
    ) -> Iterator[Embedding]:
        """Each tensor with what the config says of it; what was found is taken off ``named``."""
        entries = {name: _find_info(name, infos) for name in named}
        for name, info in entries.items():
            entries[name] = info or self._find_by_row_count(named[name], infos)
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

    def _find_by_row_count(
        self, entry: ConfigEntry, infos: Sequence[TensorInfo]
    ) -> TensorInfo | None:
        """The only tensor with as many rows as there are labels.

        Keras 3 writes names into its config that nothing in its files is called by.
        """
        if not entry.metadata_path:
            return None
        try:
            with self.files.open(self._join(entry.metadata_path)) as file:
                count = sum(bool(line.strip()) for line in file)
        except TracklightError:
            return None
        for rows in (count, count - 1):  # the first line may be one of names
            fitting = [info for info in infos if info.shape[0] == rows]
            if fitting:
                return fitting[0] if len(fitting) == 1 else None
        return None

    def _make_version(
        self,
        entry: ConfigEntry,
        step: int | None,
        kind: StorageKind,
        path: str,
        key: str,
        shape: Sequence[int],
    ) -> EmbeddingVersion:
        metadata, sprite = self._join(entry.metadata_path), self._join(entry.sprite_path)
        return EmbeddingVersion(
            step, kind, path, key, tuple(shape), metadata, sprite, entry.sprite_size
        )

    def _list_step_files(self) -> list[list[StepFile]]:
        """The checkpoints that the config names, or all of the nearest folder that has some."""
        wanted = self.config.checkpoint_path
        stem = posixpath.basename(wanted.replace("\\", "/"))
        for nearby in self.nearby:
            families = group_step_files(nearby, self.nearby[nearby])
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

    def _report_missing(self, name: str) -> Embedding:
        sentence = f'the config names the tensor "{name}", which no checkpoint beside it holds'
        return Embedding(self.run, name, problem=sentence)

    def _describe_missing_checkpoint(self) -> str:
        wanted = self.config.checkpoint_path
        if wanted:
            return f'the config names the checkpoint "{wanted}", which is not there'
        return "there is no checkpoint beside the config, nor does it name a tensor_path"

    def _join(self, path: str) -> str:
        return join_path(self.folder, path) if path else ""


def list_matrices(files: ConfinedFiles, file: StepFile) -> list[TensorInfo]:
    """The tensors of a file that can be taken for vectors."""
    with open_tensors(files, file.kind, file.path) as tensors:
        return [
            info
            for info in tensors.list_tensors()
            if not info.is_optimizer_state and len(info.shape) > 1 and min(info.shape) > 1
        ]


def sort_versions(versions: Sequence[EmbeddingVersion]) -> tuple[EmbeddingVersion, ...]:
    return tuple(sorted(versions, key=lambda v: -1 if v.step is None else v.step))


def _find_info(name: str, infos: Sequence[TensorInfo]) -> TensorInfo | None:
    for info in infos:
        if name in (info.key, info.name, info.key.removesuffix(_OBJECT_GRAPH_SUFFIX)):
            return info
    return None


# Finds every embedding below the log directories, with a config or without.

#: Where TensorBoard's own writer puts what belongs to a run but is no event.
_ASSETS_DIR = "plugins/org_tensorflow_tensorboard_projector"

#: Beyond that, somebody who looks wants to be told which folder to open instead.
_MAX_UNCONFIGURED = 200


def discover_embeddings(files: ConfinedFiles, roots: Sequence[Root]) -> list[Embedding]:
    """Everything that can be projected, those with labels first, then those of most vectors."""
    found: list[Embedding] = []
    for root in roots:
        found += _RootScan(files, root).run()
    return sorted(found, key=_rank)


def list_file_embeddings(path: str) -> tuple[ConfinedFiles, list[Embedding]]:
    """The embeddings of one file, or of a checkpoint by its index, and where it may be read."""
    folder, name = os.path.split(os.path.abspath(path))
    place = ConfinedFiles([folder])
    families = group_step_files(folder, [name])
    members = next(iter(families.values()), [StepFile(None, "file", path)])
    return place, list_step_file_embeddings(place, "", members)


class _RootScan:
    """One look below one root."""

    def __init__(self, place: ConfinedFiles, root: Root) -> None:
        self._place = place
        self._root = root
        self._files = _list_files(root.path)
        self._claimed: set[str] = set()

    def run(self) -> list[Embedding]:
        found: list[Embedding] = []
        for relative in sorted(self._files):
            if CONFIG_FILENAME in self._files[relative]:
                found += self._read_configured(relative)
        return found + list(self._iter_unconfigured())

    def _read_configured(self, relative: str) -> list[Embedding]:
        run, folder = self._name_run(relative), self._get_folder(relative)
        nearby = {
            self._get_folder(near): self._files[near]
            for near in _list_nearby(relative)
            if near in self._files
        }
        try:
            config = read_config(self._place, folder)
            found = ConfigResolver(self._place, run, folder, config, nearby).list_embeddings()
        except (TracklightError, OSError) as error:
            return [Embedding(run, CONFIG_FILENAME, problem=str(error))]
        self._claimed |= {version.path for item in found for version in item.versions}
        return found

    def _iter_unconfigured(self) -> Iterator[Embedding]:
        """Files with tensors that no config speaks of."""
        left = _MAX_UNCONFIGURED
        for relative in sorted(self._files):
            families = group_step_files(self._get_folder(relative), self._files[relative])
            for members in families.values():
                if left > 0 and not self._claimed & {member.path for member in members}:
                    left -= 1
                    yield from list_step_file_embeddings(
                        self._place, self._name_run(relative), members
                    )

    def _name_run(self, relative: str) -> str:
        return self._root.get_run_name(relative.removesuffix(_ASSETS_DIR).rstrip("/"))

    def _get_folder(self, relative: str) -> str:
        return join_path(self._root.path, relative) if relative else self._root.path


def list_step_file_embeddings(
    files: ConfinedFiles, run: str, step_files: Sequence[StepFile]
) -> list[Embedding]:
    """What the files of a family hold, by the last of them."""
    try:
        infos = list_matrices(files, step_files[-1])
    except (TracklightError, OSError) as error:
        name = posixpath.basename(step_files[-1].path)
        return [Embedding(run, name, problem=str(error))]
    own = find_array_name(step_files[-1])
    if own and not infos:
        problem = f'"{own}" is no table of at least 2 rows and 2 columns, of which vectors are made'
        return [Embedding(run, own, problem=problem)]
    return [
        Embedding(
            run,
            own or info.name,
            tuple(
                EmbeddingVersion(
                    member.step, member.kind, member.path, "" if own else info.key, info.shape
                )
                for member in step_files
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
    return name == CONFIG_FILENAME or bool(group_step_files("", [name]))


def _list_nearby(relative: str) -> list[str]:
    """Where checkpoints of a config may be: Keras leaves it above the run, others below."""
    above = posixpath.dirname(relative)
    nearby = [relative, posixpath.join(relative, "train"), above]
    return [*nearby, posixpath.dirname(above)] if relative.endswith(_ASSETS_DIR) else nearby


def _rank(item: Embedding) -> tuple[bool, bool, int, str, str]:
    last = item.versions[-1] if item.versions else None
    rows = last.shape[0] if last and last.shape else 0
    return last is None, not (last and last.metadata_path), -rows, item.run, item.name
