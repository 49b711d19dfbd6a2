"""The open data sets that a static export contains: columns, predictions, metrics, statistics."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

import msgspec
import numpy as np

from tracklight.analysis.media import encode_uri_component
from tracklight.analysis.what_if.workspace import Workspace
from tracklight.dashboards.what_if.images import make_thumbnail_tile, plan_thumbnails
from tracklight.dashboards.what_if.responses import (
    make_columns_response,
    make_performance_response,
    make_session_info,
    make_statistics_response,
)
from tracklight.dashboards.what_if.schemas import (
    AddModelRequest,
    ColumnModel,
    DataColumnsRequest,
    DataColumnsResponse,
    DataSessionsResponse,
    FeatureStatisticsResponse,
    OpenRequest,
    PerformanceRequest,
    PerformanceResponse,
    SessionInfo,
)
from tracklight.dashboards.what_if.store import OpenSession, SessionStore
from tracklight.errors import TracklightError

#: Data sets with more rows are exported without their rows.
_MAX_ROWS = 100_000
_MAX_SLICE_VALUES = 50
#: With more tiles, thumbnails get fewer pixels: four tiles have about 20 MB of photos.
_MAX_THUMBNAIL_TILES = 4


class StaticSession(msgspec.Struct):
    """A data set without a server: what the page shows without calling a model.

    ``performance`` has the metrics of each model, overall and by each column with few values.
    """

    about: SessionInfo
    columns: DataColumnsResponse | None
    statistics: FeatureStatisticsResponse
    performance: dict[str, PerformanceResponse]


def iter_static_responses(
    store: SessionStore, view: Mapping[str, str]
) -> Iterator[tuple[str, object]]:
    """Yield paths and responses: each open data set with small images, and a list of them.

    A view that opens a file is exported with it.

    Raises:
        LogError: The file of the view is outside the allowed directories, or cannot be read.
    """
    if view.get("tab") == "what_if" and view.get("wi-file") and not store.list():
        session = store.open(_make_open_request(view))
        for request in _list_column_models(view, session.key):
            with suppress(TracklightError):  # a column that the data do not have any more
                session.workspace.add_model(store.create_model(request))
    infos = []
    for session in store.list():
        with session.lock:
            exported = _export(session)
            workspace = session.workspace.snapshot()
        exported.about.path = ""  # where the file is on this machine is private
        infos.append(exported.about)
        yield f"static?session={encode_uri_component(session.key)}", exported
        if exported.columns is not None:
            yield from _iter_thumbnails(workspace, session.key)
    if infos:
        yield "sessions", DataSessionsResponse(infos)


def _iter_thumbnails(workspace: Workspace, key: str) -> Iterator[tuple[str, object]]:
    """Yield the layout of the images of each column, and its tiles."""
    for name, column in workspace.table.columns.items():
        if column.type != "image":
            continue
        query = f"session={encode_uri_component(key)}&feature={encode_uri_component(name)}"
        tiles = plan_thumbnails(workspace, name, _MAX_THUMBNAIL_TILES)
        yield f"thumbnails?{query}", tiles
        for tile in range(tiles.tiles):
            path = f"thumbnail_tile?{query}&version={workspace.version}&tile={tile}"
            yield path, make_thumbnail_tile(workspace, name, tile, _MAX_THUMBNAIL_TILES)


def _make_open_request(view: Mapping[str, str]) -> OpenRequest:
    request = OpenRequest(
        view["wi-file"],
        label=view.get("wi-file-label") or None,
        prediction=_split_names(view.get("wi-file-scores", "")),
        task="regression" if view.get("wi-file-task") == "regression" else "classification",
        class_names=_split_names(view.get("wi-file-classes", "")),
    )
    with suppress(ValueError):
        request.max_rows = int(view.get("wi-file-rows", ""))
    with suppress(ValueError):
        request.sampling_ratio = float(view.get("wi-file-ratio", ""))
    return request


def _list_column_models(view: Mapping[str, str], session: str) -> list[AddModelRequest]:
    """Return the models of a link that read columns of the data; others cannot be exported."""
    try:
        models = msgspec.json.decode(view.get("wi-models", "[]"), type=list[dict[str, Any]])
        requests = [msgspec.convert({**m, "session": session}, AddModelRequest) for m in models]
    except (msgspec.DecodeError, msgspec.ValidationError):  # a link that was cut off or changed
        return []
    return [request for request in requests if isinstance(request.spec, ColumnModel)]


def _split_names(text: str) -> list[str]:
    """Read a list of a URL, in which commas within names are escaped."""
    names = re.findall(r"((?:[^,\\]|\\.)+)", text)
    return [re.sub(r"\\(.)", r"\1", name) for name in names]


def _export(session: OpenSession) -> StaticSession:
    workspace = session.workspace
    for predictor in workspace.models:
        if predictor.is_static:
            workspace.predict(predictor.name)
    workspace = workspace.snapshot()
    about = make_session_info(session)
    about.has_distance = False  # functions of the program cannot be called
    columns = None
    if about.active_count <= _MAX_ROWS:
        names = [column.name for column in about.columns]
        columns = make_columns_response(workspace, DataColumnsRequest(session.key, names=names))
    performance = {}
    for model in about.models:
        if not model.is_predicted or workspace.label is None:
            continue
        groups = [[], *([name] for name in _list_slice_columns(session))]
        for group in groups:
            request = PerformanceRequest(session.key, model.name, group)
            key = "/".join([model.name, *group])
            try:
                performance[key] = make_performance_response(workspace, request)
            except TracklightError:  # a label that does not fit the model
                continue
    return StaticSession(about, columns, make_statistics_response(workspace), performance)


def _list_slice_columns(session: OpenSession) -> list[str]:
    table = session.workspace.table
    return [
        name
        for name, column in table.columns.items()
        if not column.is_list
        and name != session.workspace.label
        and (
            (column.type == "string" and len(column.categories) <= _MAX_SLICE_VALUES)
            or (column.is_numeric and len(np.unique(column.values)) <= _MAX_SLICE_VALUES)
        )
    ]
