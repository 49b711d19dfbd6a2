"""The open data sets of a server: finding files, opening them, and connecting models.

Named slices of data files survive a restart of the server. They are stored in a file beside the
notes on the log, never in the log directory.
"""

from __future__ import annotations

import os
import secrets
import threading
import zlib
from collections import OrderedDict
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from typing import TypeVar

import msgspec
import numpy as np

from tracklight.analysis.embeddings import decode_row_bits
from tracklight.analysis.predictors import (
    ColumnPredictor,
    Predictor,
    Task,
    find_prediction_columns,
)
from tracklight.analysis.predictors.model_files import MODEL_SUFFIXES, load_model_file
from tracklight.analysis.predictors.server_models import (
    AllowedHosts,
    JsonEndpointPredictor,
    KservePredictor,
    ServingGrpcPredictor,
    ServingRestPredictor,
)
from tracklight.analysis.tables import DataTable
from tracklight.analysis.tables.files import DATA_SUFFIXES, ReadLimits, read_files
from tracklight.analysis.what_if.workspace import Workspace
from tracklight.dashboards.what_if.schemas import (
    AddModelRequest,
    ColumnModel,
    DataFile,
    DataFilesRequest,
    DataFilesResponse,
    FileModel,
    GrpcModel,
    JsonModel,
    KserveModel,
    OpenRequest,
    ReadAheadRequest,
    RestModel,
)
from tracklight.errors import LogError, Message, TracklightError, UsageError, import_optional
from tracklight.logdir.access import MAX_FILES, DataFiles
from tracklight.plugin import Context
from tracklight.types import Bool
from tracklight.util.files import JsonFile, get_notes_path, hash_key

# ---- named slices

_MAX_SLICES = 100
#: Rows by which data are recognized, besides their number and the names of the columns.
_SAMPLE_ROWS = 20
_MAX_VALUE_LENGTH = 1000


class SavedSlice(msgspec.Struct, frozen=True):
    """The rows of a slice as a compressed bit set, and what the data were."""

    rows: bytes
    fingerprint: str


SlicesByName = dict[str, SavedSlice]
SlicesByPath = dict[str, SlicesByName]


class SliceStore:
    """The slices of all data files that were opened with a log, shared by its servers."""

    def __init__(self, roots: Iterable[str]) -> None:
        path = get_notes_path(roots).with_suffix(".what_if.json")
        self._file: JsonFile[SlicesByPath] = JsonFile(path, SlicesByPath, dict)

    def restore(self, path: str, workspace: Workspace) -> Message | None:
        """Add the slices of a file to a workspace that was just loaded from it.

        Slices of other rows are left out: the file has changed, or another part of it was read.

        Returns:
            A message about slices that were left out.
        """
        saved = self._file.read().get(path)
        if not saved:
            return None
        fingerprint = compute_fingerprint(workspace.original)
        count = len(workspace.original)
        left_out = []
        for name, found in saved.items():
            if found.fingerprint == fingerprint:
                bits = decode_row_bits(zlib.decompress(found.rows), count)
                workspace.save_slice(name, np.flatnonzero(bits).tolist())
            else:
                left_out.append(name)
        if not left_out:
            return None
        return Message.format(
            "what_if.slices_left_out",
            "saved slices of other rows of this file are not shown: {slices}",
            slices=", ".join(left_out),
        )

    def save(self, path: str, name: str, workspace: Workspace) -> None:
        """Save a slice of a workspace; one of the same name is replaced.

        Raises:
            SaveError: The file cannot be written.
            UsageError: There are too many slices.
        """
        # Rows that a user added are lost with the server.
        inside: Bool = workspace.table.get_column(name).values[: len(workspace.original)]
        bits = np.packbits(inside, bitorder="little").tobytes()
        saved = SavedSlice(zlib.compress(bits), compute_fingerprint(workspace.original))

        def add(before: SlicesByPath) -> SlicesByPath:
            slices = {**before.get(path, {}), name: saved}
            if len(slices) > _MAX_SLICES:
                raise UsageError(
                    "what_if.too_many_slices",
                    "there are already {limit} slices of this file; remove one first",
                    limit=_MAX_SLICES,
                )
            return {**before, path: slices}

        self._file.update(add)

    def remove(self, path: str, name: str) -> None:
        """Remove a slice.

        Raises:
            SaveError: The file cannot be written.
        """

        def leave_out(before: SlicesByPath) -> SlicesByPath:
            slices = {key: item for key, item in before.get(path, {}).items() if key != name}
            others = {key: item for key, item in before.items() if key != path}
            return {**others, path: slices} if slices else others

        self._file.update(leave_out)


def compute_fingerprint(table: DataTable) -> str:
    """Return a text that is the same for the same rows, however they are stored."""
    count = min(_SAMPLE_ROWS, len(table))
    rows = np.linspace(0, len(table) - 1, count).astype(np.int64).tolist()
    parts = [str(len(table))]
    for name, column in table.columns.items():
        values = (repr(column.get_value(row))[:_MAX_VALUE_LENGTH] for row in rows)
        parts += [name, column.type, *values]
    return hash_key(*parts)


# ---- open data sets

_Result = TypeVar("_Result")

_MAX_SESSIONS = 20
_MAX_FOLDERS = 20_000
_MAX_PREPARE_FOLDERS = 1000
_MAX_CLASSES_BYTES = 10 << 20
#: Data that were read ahead and not opened are dropped after this time.
_READ_AHEAD_S = 20.0


@dataclass(eq=False)
class OpenSession:
    """A data set that a user opened. Hold ``lock`` while using the workspace."""

    key: str
    title: str
    workspace: Workspace
    lock: threading.RLock = field(default_factory=threading.RLock)
    edit_lock: threading.Lock = field(default_factory=threading.Lock)
    """Held by one edit at a time while models work, which others need not wait for."""
    path: str = ""
    """The path with which it was opened."""
    full_path: str = ""
    """The absolute path or pattern, empty for data of a program."""
    is_own: bool = True
    """False for a workspace of the program that started the server."""

    def change(self, apply: Callable[[Workspace], _Result]) -> _Result:
        """Apply a change that calls models, without the lock while they work.

        The change is applied to a copy, which replaces the workspace unless that has changed
        meanwhile: then it is applied again. If it fails, the workspace is as before.
        """
        with self.edit_lock:
            while True:
                with self.lock:
                    copied = self.workspace.snapshot()
                    key = self.workspace.get_state_key()
                changed = copied.start_tracking()
                result = apply(copied)
                copied.stop_tracking(changed)
                with self.lock:
                    if self.workspace.get_state_key() == key:
                        self.workspace.adopt(copied, changed)
                        return result


class SessionStore:
    """The open data sets. Thread-safe.

    Only files below the log directories and ``--data-dir`` are opened, and only allowed hosts are
    contacted.
    """

    def __init__(self, context: Context) -> None:
        self._access = context.access
        roots = [root.path for root in context.log.roots]
        self._files = DataFiles(roots, self._access.data_dirs)
        self._slices = SliceStore(roots)
        self._hosts = AllowedHosts(self._access.model_hosts)
        self._sessions: OrderedDict[str, OpenSession] = OrderedDict()
        self._lock = threading.Lock()
        self._ahead: tuple[tuple[object, ...], Future[DataTable]] | None = None
        for name, workspace in self._access.workspaces.items():
            self._sessions[name] = OpenSession(name, name, workspace, is_own=False)

    # ---- files

    def prepare(self) -> None:
        """Import what reads Parquet files if there are some, which takes as long as reading one."""
        folders = islice(self._files.walk(), _MAX_PREPARE_FOLDERS)
        if any(name.lower().endswith(".parquet") for _, _, names in folders for name in names):
            # Opening a file reports that it is not installed.
            with suppress(TracklightError):
                import_optional("pyarrow.parquet", "a Parquet file", "parquet")
                import_optional("pyarrow.compute", "a Parquet file", "parquet")

    def list_files(self) -> DataFilesResponse:
        """Return the data files and model files below the log directories and ``--data-dir``."""
        data: list[DataFile] = []
        models: list[DataFile] = []
        is_truncated = False
        for number, (root, folder, names) in enumerate(self._files.walk()):
            if number >= _MAX_FOLDERS or len(data) >= MAX_FILES:
                is_truncated = True
                break
            if "saved_model.pb" in names:
                models.append(_make_file(root, folder))
            for name in names:
                if name.lower().endswith(DATA_SUFFIXES):
                    data.append(_make_file(root, os.path.join(folder, name)))
                elif name.lower().endswith(MODEL_SUFFIXES):
                    models.append(_make_file(root, os.path.join(folder, name)))
        return DataFilesResponse(
            data[:MAX_FILES],
            models[:MAX_FILES],
            self._access.allow_model_execution,
            list(self._access.model_hosts),
            is_truncated or len(data) > MAX_FILES,
        )

    def open(self, request: OpenRequest) -> OpenSession:
        """Read data files.

        Raises:
            LogError: A file is outside the allowed directories, or cannot be read.
            FormatError: A file does not have the format of its suffix.
        """
        table = self._take_read_ahead(request) or self._read(request)
        names = request.class_names or None
        workspace = Workspace(table, label=request.label, class_names=names)
        from_data = find_prediction_columns(table)
        missing = [name for name in request.prediction if name not in table]
        if missing:
            table.messages += (
                Message.format(
                    "what_if.no_scores",
                    'the data has no column "{column}" with predictions',
                    column=missing[0],
                ),
            )
        elif request.prediction:
            from_data = ColumnPredictor("predictions", request.prediction, request.task)
        full_path = self._files.resolve(request.path)
        left_out = self._slices.restore(full_path, workspace)
        if left_out is not None:
            workspace.table.messages += (left_out,)
        if from_data is not None:
            workspace.add_model(from_data)
            # Fast, so that the page need not fetch everything again after a job.
            with suppress(TracklightError):  # the page calls the model again and shows the error
                workspace.predict(from_data.name)
        title = os.path.basename(request.path)
        key = secrets.token_urlsafe(9)
        session = OpenSession(key, title, workspace, path=request.path, full_path=full_path)
        with self._lock:
            self._sessions[session.key] = session
            own = [key for key, item in self._sessions.items() if item.is_own]
            closed = [self._sessions.pop(key) for key in own[:-_MAX_SESSIONS]]
        for item in closed:
            item.workspace.close()
        return session

    def _read(self, request: DataFilesRequest) -> DataTable:
        paths = self._files.expand(request.path)
        limits = ReadLimits(request.max_rows, request.sampling_ratio, seed=request.seed)
        return read_files(paths, self._files.open, limits, request.types)

    def read_ahead(self, request: ReadAheadRequest) -> bool:
        """Start to read files that are opened next, unless a session has them already.

        Returns whether they are being read. An error is reported when the files are opened.
        """
        key = _make_read_key(request)
        with self._lock:
            is_open = request.session in self._sessions or any(
                session.path == request.path for session in self._sessions.values()
            )
            if is_open:
                return False
            if self._ahead is not None and self._ahead[0] == key:
                return True
            future: Future[DataTable] = Future()
            self._ahead = (key, future)
        threading.Thread(target=self._run_read_ahead, args=(request, future), daemon=True).start()
        return True

    def _run_read_ahead(self, request: ReadAheadRequest, future: Future[DataTable]) -> None:
        try:
            future.set_result(self._read(request))
        except BaseException as error:
            future.set_exception(error)
        # The page that wanted the data may have been closed.
        timer = threading.Timer(_READ_AHEAD_S, self._drop_read_ahead, [future])
        timer.daemon = True
        timer.start()

    def _drop_read_ahead(self, future: Future[DataTable]) -> None:
        with self._lock:
            if self._ahead is not None and self._ahead[1] is future:
                self._ahead = None

    def _take_read_ahead(self, request: DataFilesRequest) -> DataTable | None:
        with self._lock:
            if self._ahead is None or self._ahead[0] != _make_read_key(request):
                return None
            future = self._ahead[1]
            self._ahead = None
        return future.result()

    def read_class_names(self, path: str) -> list[str]:
        """Read a text file with one class name per line."""
        with self._files.open(self._files.resolve(path)) as stream:
            text = stream.read(_MAX_CLASSES_BYTES).decode("utf-8", "replace")
        return text.rstrip().splitlines()

    # ---- sessions

    def list(self) -> list[OpenSession]:
        with self._lock:
            return [*self._sessions.values()]

    def get(self, key: str) -> OpenSession:
        """Return an open data set.

        Raises:
            LogError: It was closed, or the server was restarted.
        """
        with self._lock:
            session = self._sessions.get(key)
            if session is not None:
                self._sessions.move_to_end(key)
        if session is None:
            raise LogError(
                "what_if.session_gone",
                "the server does not have this data set any more; open it again",
            )
        return session

    def close_session(self, key: str) -> None:
        """Close a data set and its models."""
        session = self.get(key)
        with self._lock:
            self._sessions.pop(key, None)
        if session.is_own:
            session.workspace.close()

    def save_slice(self, session: OpenSession, name: str, rows: Iterable[int]) -> None:
        """Name a set of rows; of data files, also after a restart of the server.

        Raises:
            SaveError: It cannot be stored.
            UsageError: The name or a row is invalid.
        """
        chosen = list(rows)
        if session.full_path:
            changed = session.workspace.snapshot()
            changed.save_slice(name, chosen)
            self._slices.save(session.full_path, name.strip(), changed)
        session.workspace.save_slice(name, chosen)

    def remove_slice(self, session: OpenSession, name: str) -> None:
        """Remove a named set of rows.

        Raises:
            SaveError: The change cannot be stored.
            UsageError: There is no such slice.
        """
        session.workspace.remove_slice(name)
        if session.full_path:
            self._slices.remove(session.full_path, name)

    def close(self) -> None:
        """Close all data sets."""
        for session in self.list():
            if session.is_own:
                session.workspace.close()

    # ---- models

    def create_model(self, request: AddModelRequest) -> Predictor:
        """Connect to a model.

        Raises:
            UsageError: The host is not allowed, or model files may not be run.
            ModelError: The model file cannot be loaded.
        """
        spec, task = request.spec, request.task
        features = request.features
        if isinstance(spec, ColumnModel):
            return ColumnPredictor(spec.name, spec.columns, task)
        if isinstance(spec, FileModel):
            return self._load_file(spec, task, features)
        if isinstance(spec, JsonModel):
            self._hosts.check(spec.url)
            return JsonEndpointPredictor(
                spec.name,
                spec.url,
                task,
                template=spec.template,
                scores_path=spec.scores_path,
                timeout_s=spec.timeout_s,
                features=features,
            )
        self._hosts.check(spec.address)
        if isinstance(spec, KserveModel):
            return KservePredictor(
                spec.name,
                spec.address,
                spec.model,
                task,
                version=spec.version,
                input=spec.input,
                output=spec.output,
                timeout_s=spec.timeout_s,
                features=features,
            )
        if isinstance(spec, RestModel):
            return ServingRestPredictor(
                spec.name,
                spec.address,
                spec.model,
                task,
                version=spec.version,
                signature=spec.signature,
                method=spec.method,
                output=spec.output,
                timeout_s=spec.timeout_s,
                features=features,
            )
        assert isinstance(spec, GrpcModel)
        return ServingGrpcPredictor(
            spec.name,
            spec.address,
            spec.model,
            task,
            version=spec.version,
            signature=spec.signature,
            method=spec.method,
            input=spec.input,
            output=spec.output,
            timeout_s=spec.timeout_s,
            features=features,
        )

    def _load_file(self, spec: FileModel, task: Task, features: Iterable[str] | None) -> Predictor:
        if not self._access.allow_model_execution:
            raise UsageError(
                "what_if.no_execution",
                "model files may contain code; start the server with --allow-model-execution to "
                "run them",
            )
        path = os.path.realpath(self._files.resolve(spec.path))
        names = None if features is None else list(features)
        return load_model_file(path, spec.name, task=task, output=spec.output, features=names)


def _make_file(root: str, path: str) -> DataFile:
    try:
        size = os.path.getsize(path)
    except OSError:
        size = 0
    return DataFile(path, os.path.relpath(path, root), size)


def _make_read_key(request: DataFilesRequest) -> tuple[object, ...]:
    limits = (request.max_rows, request.sampling_ratio, request.seed)
    return (request.path, *limits, tuple(sorted(request.types.items())))
