"""The open data sets of a server: finding files, opening them, and connecting models."""

from __future__ import annotations

import glob
import os
import secrets
import threading
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field

from tracklight.analysis.predictors.base import Predictor, Task
from tracklight.analysis.predictors.column_models import ColumnPredictor, find_prediction_columns
from tracklight.analysis.predictors.grpc_models import ServingGrpcPredictor
from tracklight.analysis.predictors.http_models import (
    AllowedHosts,
    JsonEndpointPredictor,
    KservePredictor,
    ServingRestPredictor,
)
from tracklight.analysis.predictors.model_files import MODEL_SUFFIXES, load_model_file
from tracklight.analysis.tables.files import DATA_SUFFIXES, ReadLimits, read_files
from tracklight.analysis.what_if.workspace import Workspace
from tracklight.dashboards.what_if.schemas import (
    AddModelRequest,
    ColumnModel,
    DataFile,
    DataFilesResponse,
    FileModel,
    GrpcModel,
    JsonModel,
    KserveModel,
    OpenRequest,
    RestModel,
)
from tracklight.errors import LogError, UsageError
from tracklight.logdir.confined_files import ConfinedFiles
from tracklight.logdir.roots import is_url
from tracklight.plugin import Context

_MAX_SESSIONS = 20
_MAX_FILES = 2000
_MAX_FOLDERS = 20_000
_MAX_CLASSES_BYTES = 10 << 20


@dataclass(eq=False)
class OpenSession:
    """A data set that a user opened. Hold ``lock`` while using the workspace."""

    key: str
    title: str
    workspace: Workspace
    lock: threading.RLock = field(default_factory=threading.RLock)
    is_own: bool = True
    """False for a workspace of the program that started the server."""


class SessionStore:
    """The open data sets. Thread-safe.

    Only files below the log directories and ``--data-dir`` are opened, and only allowed hosts are
    contacted.
    """

    def __init__(self, context: Context) -> None:
        self._access = context.access
        self._roots = [
            *(root.path for root in context.log.roots if not is_url(root.path)),
            *self._access.data_dirs,
        ]
        self._files = ConfinedFiles([*(r.path for r in context.log.roots), *self._access.data_dirs])
        self._hosts = AllowedHosts(self._access.model_hosts)
        self._sessions: OrderedDict[str, OpenSession] = OrderedDict()
        self._lock = threading.Lock()
        for name, workspace in self._access.workspaces.items():
            self._sessions[name] = OpenSession(name, name, workspace, is_own=False)

    # ---- files

    def list_files(self) -> DataFilesResponse:
        """Return the data files and model files below the log directories and ``--data-dir``."""
        data: list[DataFile] = []
        models: list[DataFile] = []
        folders = 0
        for root in dict.fromkeys(self._roots):
            for folder, names, files in os.walk(root):
                folders += 1
                names[:] = sorted(name for name in names if not name.startswith("."))
                if folders > _MAX_FOLDERS or len(data) >= _MAX_FILES:
                    break
                if "saved_model.pb" in files:
                    models.append(_make_file(root, folder))
                for name in sorted(files):
                    if name.lower().endswith(DATA_SUFFIXES):
                        data.append(_make_file(root, os.path.join(folder, name)))
                    elif name.lower().endswith(MODEL_SUFFIXES):
                        models.append(_make_file(root, os.path.join(folder, name)))
        return DataFilesResponse(
            data[:_MAX_FILES],
            models[:_MAX_FILES],
            self._access.allow_model_execution,
            list(self._access.model_hosts),
            folders > _MAX_FOLDERS or len(data) >= _MAX_FILES,
        )

    def open(self, request: OpenRequest) -> OpenSession:
        """Read data files.

        Raises:
            LogError: A file is outside the allowed directories, or cannot be read.
            FormatError: A file does not have the format of its suffix.
        """
        paths = self._expand(request.path)
        limits = ReadLimits(request.max_rows, request.sampling_ratio, seed=request.seed)
        table = read_files(paths, self._files.open, limits)
        workspace = Workspace(table, label=request.label)
        from_data = find_prediction_columns(table)
        if from_data is not None:
            workspace.add_model(from_data)
        session = OpenSession(secrets.token_urlsafe(9), os.path.basename(request.path), workspace)
        with self._lock:
            self._sessions[session.key] = session
            own = [key for key, each in self._sessions.items() if each.is_own]
            closed = [self._sessions.pop(key) for key in own[:-_MAX_SESSIONS]]
        for each in closed:
            each.workspace.close()
        return session

    def read_class_names(self, path: str) -> list[str]:
        """Read a text file with one class name per line."""
        with self._files.open(self._resolve(path)) as stream:
            text = stream.read(_MAX_CLASSES_BYTES).decode("utf-8", "replace")
        return text.splitlines()

    def _expand(self, path: str) -> list[str]:
        path = self._resolve(path)
        if not glob.has_magic(path) or is_url(path) or os.path.exists(path):
            return [path]
        paths = []
        for match in sorted(glob.iglob(path)):
            self._check(match)
            paths.append(match)
            if len(paths) > _MAX_FILES:
                raise UsageError(f'more than {_MAX_FILES:,} files match "{path}"')
        if not paths:
            raise LogError(f'no file matches "{path}"')
        return paths

    def _resolve(self, path: str) -> str:
        """Return an absolute path; relative ones are searched below each directory."""
        if "\0" in path:
            raise UsageError("the path contains a null character")
        if not (is_url(path) or os.path.isabs(path)):
            candidates = [os.path.join(root, path) for root in self._roots]
            existing = [c for c in candidates if os.path.exists(c) or _has_match(c)]
            if not existing:
                raise LogError(f'no file "{path}" below the log directory or --data-dir')
            path = existing[0]
        self._check(path.partition("*")[0] if glob.has_magic(path) else path)
        return path

    def _check(self, path: str) -> None:
        try:
            self._files.check_path(path)
        except LogError:
            raise LogError(
                f'"{path}" is outside the log directory; start the server with --data-dir to open '
                "files elsewhere"
            ) from None

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
            raise LogError("the server does not have this data set any more; open it again")
        return session

    def close_session(self, key: str) -> None:
        """Close a data set and its models."""
        session = self.get(key)
        with self._lock:
            self._sessions.pop(key, None)
        if session.is_own:
            session.workspace.close()

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
                "model files may contain code; start the server with --allow-model-execution to "
                "run them"
            )
        path = os.path.realpath(self._resolve(spec.path))
        names = None if features is None else list(features)
        return load_model_file(path, spec.name, task=task, output=spec.output, features=names)


def _has_match(pattern: str) -> bool:
    return glob.has_magic(pattern) and next(glob.iglob(pattern), None) is not None


def _make_file(root: str, path: str) -> DataFile:
    try:
        size = os.path.getsize(path)
    except OSError:
        size = 0
    return DataFile(path, os.path.relpath(path, root), size)
