"""Find the embeddings below log directories, and parse the files of TensorBoard's projector.

There are two sources. A ``projector_config.pbtxt`` names tensors with their labels and sprites, in
files of their own or in checkpoints near the config (`ConfigResolver`); the views that were saved
are in a file of bookmarks. All other tensor files are offered as they are
(`list_step_file_embeddings`). Files that differ only in the step at the end of their names are
versions of one embedding (`group_step_files`).
"""

from __future__ import annotations

import contextlib
import os
import posixpath
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import BinaryIO, NamedTuple

import msgspec

from tracklight.analysis.embeddings import (
    Embedding,
    EmbeddingVersion,
    StorageKind,
    open_tensors,
)
from tracklight.errors import FormatError, Message, TracklightError, get_message
from tracklight.formats import proto
from tracklight.formats.checkpoints.tensor_file import TensorInfo, get_file_size
from tracklight.formats.proto import Message as ProtoMessage
from tracklight.logdir.access import ConfinedFiles, Root, join_path, open_filesystem
from tracklight.logdir.discover import PROJECTOR_CONFIG, TENSOR_SUFFIXES

# ---- projector files

CONFIG_FILENAME = PROJECTOR_CONFIG

_MAX_CONFIG_BYTES = 16 << 20
_MAX_BOOKMARKS_BYTES = 256 << 20


@dataclass(frozen=True, slots=True)
class ConfigEntry:
    """One embedding of a config. Paths are relative to the config's directory, empty if unset."""

    tensor_name: str = ""
    tensor_path: str = ""
    tensor_shape: tuple[int, ...] = ()
    metadata_path: str = ""
    bookmarks_path: str = ""
    sprite_path: str = ""
    sprite_size: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class ProjectorConfig:
    """The content of a ``projector_config.pbtxt``."""

    checkpoint_path: str = ""
    entries: tuple[ConfigEntry, ...] = ()


class CameraDef(msgspec.Struct, rename="camel"):
    """A camera position. The points fill a cube from -1 to 1, with y pointing up."""

    orthographic: bool = False
    position: tuple[float, float, float] = (0, 0, 1)
    target: tuple[float, float, float] = (0, 0, 0)
    zoom: float = 1


class Bookmark(msgspec.Struct, rename="camel"):
    """One saved view. The coordinates of the points and unknown fields are dropped."""

    label: str = ""
    is_selected: bool = False
    selected_projection: str = "pca"
    data_set_dimensions: list[int] = []
    selected_points: list[int] = []
    filtered_points: list[int] | None = None
    camera_def: CameraDef | None = None
    pca_component_dimensions: list[int] = []
    tsne_perplexity: float | None = msgspec.field(name="tSNEPerplexity", default=None)
    tsne_iteration: int | None = msgspec.field(name="tSNEIteration", default=None)
    tsne_is_3d: bool | None = msgspec.field(name="tSNEis3d", default=None)
    umap_is_3d: bool | None = msgspec.field(name="umapIs3d", default=None)
    umap_neighbors: int | None = None
    umap_min_dist: float | None = None
    custom_selected_search_by_metadata_option: str | None = None
    custom_x_left_text: str | None = None
    custom_x_left_regex: bool | None = None
    custom_x_right_text: str | None = None
    custom_x_right_regex: bool | None = None
    custom_y_down_text: str | None = None
    custom_y_down_regex: bool | None = None
    custom_y_up_text: str | None = None
    custom_y_up_regex: bool | None = None
    selected_color_option_name: str | None = None
    force_categorical_coloring: bool | None = None
    selected_label_option: str | None = None


def parse_config(data: bytes) -> ProjectorConfig:
    """Parse the text of a config; unknown fields are ignored.

    Raises:
        FormatError: The text is not a projector config.
    """
    message = parse_text_proto("ProjectorConfig", data, CONFIG_FILENAME)
    checkpoint = message.model_checkpoint_path or message.model_checkpoint_dir
    return ProjectorConfig(_decode_text(checkpoint), tuple(map(_read_entry, message.embeddings)))


def parse_text_proto(kind: str, data: bytes, name: str) -> ProtoMessage:
    """Parse a message in protobuf's text format.

    Args:
        kind: Name of the message type.
        data: The content of the file.
        name: Name of the file, for error messages.
    """
    from google.protobuf import text_format

    if len(data) > _MAX_CONFIG_BYTES:
        raise FormatError(
            "embeddings.config_too_large",
            "{name} has {size} bytes; at most {limit_mib} MiB are read",
            name=name,
            size=len(data),
            limit_mib=_MAX_CONFIG_BYTES >> 20,
        )
    message = getattr(proto, kind)()
    try:
        return text_format.Parse(
            data.decode("utf-8", "surrogateescape"), message, allow_unknown_field=True
        )
    except (text_format.ParseError, UnicodeError, RecursionError, ValueError) as error:
        raise FormatError(
            "embeddings.config_unreadable",
            "{name} cannot be read: line {error}",
            name=name,
            error=error,
        ) from None


def _read_entry(info: ProtoMessage) -> ConfigEntry:
    return ConfigEntry(
        tensor_name=_decode_text(info.tensor_name).removesuffix(":0"),
        tensor_path=_decode_text(info.tensor_path),
        tensor_shape=tuple(info.tensor_shape),
        metadata_path=_decode_text(info.metadata_path),
        bookmarks_path=_decode_text(info.bookmarks_path),
        sprite_path=_decode_text(info.sprite.image_path),
        sprite_size=tuple(info.sprite.single_image_dim),
    )


def _decode_text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def read_bookmarks(file: BinaryIO, shape: tuple[int, int]) -> tuple[list[Bookmark], list[Message]]:
    """Read the saved views of an embedding with this shape.

    Returns:
        The bookmarks, and what is wrong with those that are left out.

    Raises:
        FormatError: The file is not a list.
    """
    if get_file_size(file) > _MAX_BOOKMARKS_BYTES:
        raise FormatError(
            "embeddings.bookmarks_too_large",
            "bookmark files over {limit_mib} MiB are not read",
            limit_mib=_MAX_BOOKMARKS_BYTES >> 20,
        )
    file.seek(0)
    try:
        entries = msgspec.json.decode(file.read(), type=list[msgspec.Raw])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise FormatError(
            "embeddings.invalid_bookmarks", "invalid bookmarks: {error}", error=error
        ) from None
    bookmarks, notes = [], []
    for number, entry in enumerate(entries, 1):
        try:
            bookmark = msgspec.json.decode(entry, type=Bookmark)
            _check_bookmark_shape(bookmark, shape)
        except FormatError as error:
            problem: Message | str = error.args[0]
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            problem = _describe_bad_bookmark(str(error))
        else:
            bookmarks.append(bookmark)
            continue
        notes.append(
            Message.format(
                "embeddings.bookmark_skipped",
                "bookmark {name} is not shown: {problem}",
                name=_read_bookmark_label(entry) or str(number),
                problem=problem,
            )
        )
    return bookmarks, notes


def _check_bookmark_shape(bookmark: Bookmark, shape: tuple[int, int]) -> None:
    expected = bookmark.data_set_dimensions
    if expected and expected != list(shape):
        raise FormatError(
            "embeddings.bookmark_mismatch",
            "it belongs to vectors of shape {expected}, not {shape}",
            expected=expected,
            shape=list(shape),
        )


#: How msgspec ends its messages about values of another type.
_BAD_FIELD = re.compile(r" - at `\$\.?([^`]+)`$")


def _describe_bad_bookmark(error: str) -> Message:
    field = _BAD_FIELD.search(error)
    if field is None:
        return Message.format("embeddings.bookmark_not_object", "it is not a saved view")
    return Message.format(
        "embeddings.bookmark_bad_field",
        "the value of {field} is not of the right type",
        field=field[1],
    )


def _read_bookmark_label(entry: msgspec.Raw) -> str:
    with contextlib.suppress(msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        content = msgspec.json.decode(entry)
        if isinstance(content, dict) and isinstance(content.get("label"), str):
            return f'"{content["label"]}"' if content["label"] else ""
    return ""


# ---- discovery

#: ``model-0003.safetensors``, ``ckpt-12.index``, ``keras_embedding.ckpt-0.weights.h5``, …
_STEP_FILE_NAME = re.compile(
    r"(?P<stem>.+?)(?:[-_.](?P<step>\d{1,18}))?"
    rf"(?P<suffix>{'|'.join(map(re.escape, TENSOR_SUFFIXES))})"
)
#: ``words:00003``
_STEP_TENSOR_NAME = re.compile(r"(?P<stem>.+):(?P<step>\d{1,18})")

#: Suffixes of tensor files that a config may name; all others are text or raw numbers.
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
#: Suffix of keys in object-based TensorFlow checkpoints.
_OBJECT_GRAPH_SUFFIX = "/.ATTRIBUTES/VARIABLE_VALUE"

#: Where TensorBoard's writer stores assets of the projector, relative to the run.
_ASSETS_DIR = "plugins/org_tensorflow_tensorboard_projector"

#: Bounds the number of tensor files without a config that are opened below one root.
_MAX_UNCONFIGURED = 200


def discover_embeddings(files: ConfinedFiles, roots: Sequence[Root]) -> list[Embedding]:
    """Return all embeddings below some log directories.

    Those with labels come first, then those with the most vectors. Embeddings that cannot be read
    are listed with a problem.
    """
    embeddings: list[Embedding] = []
    for root in roots:
        embeddings += _RootScan(files, root).run()
    return sorted(embeddings, key=_sort_key)


def _sort_key(embedding: Embedding) -> tuple[bool, bool, int, str, str]:
    last = embedding.versions[-1] if embedding.versions else None
    rows = last.shape[0] if last and last.shape else 0
    has_labels = bool(last and last.metadata_path)
    return last is None, not has_labels, -rows, embedding.run, embedding.name


class _RootScan:
    """Finds the embeddings below one root. Directories are relative to the root."""

    def __init__(self, files: ConfinedFiles, root: Root) -> None:
        self._files = files
        self._root = root
        self._names = _list_names_by_directory(root.path)
        self._configured_paths: set[str] = set()

    def run(self) -> list[Embedding]:
        embeddings: list[Embedding] = []
        for directory in sorted(self._names):
            if CONFIG_FILENAME in self._names[directory]:
                embeddings += self._read_configured(directory)
        return embeddings + list(self._iter_unconfigured())

    def _read_configured(self, directory: str) -> list[Embedding]:
        run, path = self._get_run(directory), self._get_path(directory)
        nearby = {
            self._get_path(candidate): self._names[candidate]
            for candidate in _list_checkpoint_directories(directory)
            if candidate in self._names
        }
        try:
            config = read_config(self._files, path)
            embeddings = ConfigResolver(self._files, run, path, config, nearby).list_embeddings()
        except (TracklightError, OSError) as error:
            return [Embedding(run, CONFIG_FILENAME, problem=get_message(error))]
        self._configured_paths |= {
            version.path for embedding in embeddings for version in embedding.versions
        }
        return embeddings

    def _iter_unconfigured(self) -> Iterator[Embedding]:
        """Yield the embeddings of tensor files that no config refers to."""
        remaining = _MAX_UNCONFIGURED
        for directory in sorted(self._names):
            groups = group_step_files(self._get_path(directory), self._names[directory])
            for step_files in groups.values():
                is_configured = self._configured_paths & {file.path for file in step_files}
                if remaining > 0 and not is_configured:
                    remaining -= 1
                    run = self._get_run(directory)
                    yield from list_step_file_embeddings(self._files, run, step_files)

    def _get_run(self, directory: str) -> str:
        return self._root.get_run_name(directory.removesuffix(_ASSETS_DIR).rstrip("/"))

    def _get_path(self, directory: str) -> str:
        return join_path(self._root.path, directory) if directory else self._root.path


def _list_names_by_directory(root: str) -> Mapping[str, list[str]]:
    """Return the names of configs and tensor files by directory."""
    filesystem, path = open_filesystem(root)
    names: dict[str, list[str]] = defaultdict(list)
    for file in filesystem.list_files(path, _is_relevant, lambda directory: False).files:
        names[file.directory].append(file.name)
    return {directory: sorted(own) for directory, own in names.items()}


def _is_relevant(name: str) -> bool:
    return name == CONFIG_FILENAME or bool(group_step_files("", [name]))


def _list_checkpoint_directories(directory: str) -> list[str]:
    """Return where the checkpoints of a config may be, the most likely first.

    Keras writes the config above the run, others below it.
    """
    parent = posixpath.dirname(directory)
    directories = [directory, posixpath.join(directory, "train"), parent]
    if directory.endswith(_ASSETS_DIR):
        directories.append(posixpath.dirname(parent))
    return directories


# ---- tensor files


class StepFile(NamedTuple):
    """A tensor file of one step. The path of a checkpoint is its prefix."""

    step: int | None
    kind: StorageKind
    path: str


def group_step_files(folder: str, names: Iterable[str]) -> dict[str, list[StepFile]]:
    """Group the tensor files of a directory by their names without the step.

    The files of each group are sorted by step.
    """
    groups: dict[str, list[StepFile]] = {}
    for name in names:
        match = _STEP_FILE_NAME.fullmatch(name)
        if match is None:
            continue
        step = int(match["step"]) if match["step"] else None
        is_checkpoint = match["suffix"] == ".index"
        path = join_path(folder, name.removesuffix(".index") if is_checkpoint else name)
        file = StepFile(step, "checkpoint" if is_checkpoint else "file", path)
        groups.setdefault(match["stem"] + match["suffix"], []).append(file)
    for group in groups.values():
        group.sort(key=lambda file: -1 if file.step is None else file.step)
    return groups


def list_file_embeddings(path: str) -> tuple[ConfinedFiles, list[Embedding]]:
    """Return the embeddings of one tensor file or checkpoint index, and access to its directory."""
    folder, name = os.path.split(os.path.abspath(path))
    files = ConfinedFiles([folder])
    groups = group_step_files(folder, [name])
    step_files = next(iter(groups.values()), [StepFile(None, "file", path)])
    return files, list_step_file_embeddings(files, "", step_files)


def list_step_file_embeddings(
    files: ConfinedFiles, run: str, step_files: Sequence[StepFile]
) -> list[Embedding]:
    """Return the embeddings of a group of files; the last file decides which tensors there are."""
    try:
        infos = list_matrices(files, step_files[-1])
    except (TracklightError, OSError) as error:
        name = posixpath.basename(step_files[-1].path)
        return [Embedding(run, name, problem=get_message(error))]
    array_name = find_array_name(step_files[-1])
    if array_name and not infos:
        problem = Message.format(
            "embeddings.no_matrix",
            '"{name}" is not a matrix with at least 2 rows and 2 columns',
            name=array_name,
        )
        return [Embedding(run, array_name, problem=problem)]
    return [
        Embedding(
            run,
            array_name or info.name,
            tuple(
                EmbeddingVersion(
                    file.step, file.kind, file.path, "" if array_name else info.key, info.shape
                )
                for file in step_files
            ),
        )
        for info in infos
    ]


def list_matrices(files: ConfinedFiles, file: StepFile) -> list[TensorInfo]:
    """Return the tensors of a file that can be used as vectors."""
    with open_tensors(files, file.kind, file.path) as tensors:
        return [
            info
            for info in tensors.list_tensors()
            if not info.is_optimizer_state and len(info.shape) > 1 and min(info.shape) > 1
        ]


def find_array_name(file: StepFile) -> str | None:
    """Return the name of the only array of a file, without the step; None if it names its own."""
    name = posixpath.basename(file.path)
    match = _STEP_FILE_NAME.fullmatch(name) if name.endswith(".npy") else None
    return None if match is None else match["stem"]


# ---- projector configs


def read_config(files: ConfinedFiles, folder: str) -> ProjectorConfig:
    """Read the projector config of a directory."""
    with files.open(join_path(folder, CONFIG_FILENAME)) as file:
        return parse_config(file.read())


@dataclass(frozen=True, slots=True)
class ConfigResolver:
    """Resolves the entries of a projector config to files."""

    files: ConfinedFiles
    run: str
    folder: str
    """The directory of the config."""
    config: ProjectorConfig
    nearby: Mapping[str, Sequence[str]]
    """Names of files by directory, where checkpoints may be; the most likely directory first."""

    def list_embeddings(self) -> list[Embedding]:
        """Return the embeddings of the config; those that cannot be found have a problem."""
        entries = self.config.entries
        embeddings = self._list_tensor_files([entry for entry in entries if entry.tensor_path])
        in_checkpoints = [entry for entry in entries if not entry.tensor_path]
        if in_checkpoints or self.config.checkpoint_path or not entries:
            embeddings += self._list_checkpoints(in_checkpoints)
        return embeddings

    def _list_tensor_files(self, entries: Sequence[ConfigEntry]) -> list[Embedding]:
        versions: dict[str, list[EmbeddingVersion]] = {}
        bookmarks: dict[str, str] = {}
        for entry in entries:
            name, step = split_step(entry.tensor_name or posixpath.basename(entry.tensor_path))
            path = join_path(self.folder, entry.tensor_path)
            kind: StorageKind = "file" if path.lower().endswith(_TENSOR_FILE_SUFFIXES) else "plain"
            version = self._make_version(
                entry, StepFile(step, kind, path), key="", shape=entry.tensor_shape
            )
            versions.setdefault(name, []).append(version)
            bookmarks[name] = self._resolve(entry.bookmarks_path)
        return [
            Embedding(self.run, name, sort_versions(own), bookmarks[name])
            for name, own in versions.items()
        ]

    def _list_checkpoints(self, entries: Sequence[ConfigEntry]) -> list[Embedding]:
        named = {entry.tensor_name: entry for entry in entries if entry.tensor_name}
        default = next((entry for entry in entries if not entry.tensor_name), ConfigEntry())
        embeddings = []
        for step_files in self._list_step_files():
            try:
                infos = list_matrices(self.files, step_files[-1])
            except (TracklightError, OSError) as error:
                embeddings.append(
                    Embedding(self.run, step_files[-1].path, problem=get_message(error))
                )
                continue
            embeddings += self._match(step_files, infos, named, default)
        for name in named:
            problem = Message.format(
                "embeddings.tensor_not_found",
                'no checkpoint near the config has the tensor "{name}"',
                name=name,
            )
            embeddings.append(Embedding(self.run, name, problem=problem))
        if not embeddings and entries:
            problem = self._describe_missing_checkpoint()
            embeddings.append(Embedding(self.run, CONFIG_FILENAME, problem=problem))
        return embeddings

    def _match(
        self,
        step_files: Sequence[StepFile],
        infos: Sequence[TensorInfo],
        named: dict[str, ConfigEntry],
        default: ConfigEntry,
    ) -> Iterator[Embedding]:
        """Yield an embedding for each tensor; entries with a tensor are removed from ``named``."""
        info_of = {name: _find_info(name, infos) for name in named}
        for name, found in info_of.items():
            info_of[name] = found or self._find_by_row_count(named[name], infos)
        for info in infos:
            entry_name = next((name for name, found in info_of.items() if found is info), None)
            entry = default if entry_name is None else named.pop(entry_name, default)
            versions = tuple(
                self._make_version(entry, file, info.key, info.shape) for file in step_files
            )
            yield Embedding(self.run, info.name, versions, self._resolve(entry.bookmarks_path))

    def _find_by_row_count(
        self, entry: ConfigEntry, infos: Sequence[TensorInfo]
    ) -> TensorInfo | None:
        """Return the only tensor with as many rows as there are labels.

        The tensor names in configs of Keras 3 do not occur in its checkpoints.
        """
        if not entry.metadata_path:
            return None
        try:
            with self.files.open(self._resolve(entry.metadata_path)) as file:
                lines = sum(bool(line.strip()) for line in file)
        except TracklightError:
            return None
        for rows in (lines, lines - 1):  # the first line may be a header
            candidates = [info for info in infos if info.shape[0] == rows]
            if candidates:
                return candidates[0] if len(candidates) == 1 else None
        return None

    def _make_version(
        self, entry: ConfigEntry, file: StepFile, key: str, shape: Sequence[int]
    ) -> EmbeddingVersion:
        return EmbeddingVersion(
            file.step,
            file.kind,
            file.path,
            key,
            tuple(shape),
            self._resolve(entry.metadata_path),
            self._resolve(entry.sprite_path),
            entry.sprite_size,
        )

    def _list_step_files(self) -> list[list[StepFile]]:
        """Return the checkpoints that the config names, else all of the first directory."""
        checkpoint = self.config.checkpoint_path
        basename = posixpath.basename(checkpoint.replace("\\", "/"))
        for directory, names in self.nearby.items():
            groups = list(group_step_files(directory, names).values())
            if checkpoint:
                # Compare names only: the path is outdated if the directory was moved.
                groups = [
                    group
                    for group in groups
                    if any(posixpath.basename(file.path) == basename for file in group)
                ]
            if groups:
                return groups
        return []

    def _describe_missing_checkpoint(self) -> Message:
        checkpoint = self.config.checkpoint_path
        if checkpoint:
            return Message.format(
                "embeddings.checkpoint_not_found",
                'the checkpoint "{checkpoint}" of the config does not exist',
                checkpoint=checkpoint,
            )
        return Message(
            "embeddings.no_checkpoint",
            "there is no checkpoint near the config, and it has no tensor_path",
        )

    def _resolve(self, path: str) -> str:
        return join_path(self.folder, path) if path else ""


def split_step(name: str) -> tuple[str, int | None]:
    """Split ``words:00003`` into the name of the tensor and its step, which writers append."""
    match = _STEP_TENSOR_NAME.fullmatch(name)
    return (match["stem"], int(match["step"])) if match else (name, None)


def sort_versions(versions: Sequence[EmbeddingVersion]) -> tuple[EmbeddingVersion, ...]:
    """Sort versions by step; those without one come first."""
    return tuple(sorted(versions, key=lambda v: -1 if v.step is None else v.step))


def _find_info(name: str, infos: Sequence[TensorInfo]) -> TensorInfo | None:
    for info in infos:
        if name in (info.key, info.name, info.key.removesuffix(_OBJECT_GRAPH_SUFFIX)):
            return info
    return None
