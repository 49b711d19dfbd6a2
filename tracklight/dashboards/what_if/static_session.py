"""What a static export contains of the open data sets: what the page shows without calling a model.

The page decides predicted classes itself, at the thresholds of models and slices.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import islice
from typing import Any, TypeVar

import msgspec
import numpy as np

from tracklight.analysis.media import encode_uri_component
from tracklight.analysis.what_if.performance import DEFAULT_BUCKETS
from tracklight.analysis.what_if.workspace import Workspace
from tracklight.dashboards.what_if.images import make_thumbnail_tile, plan_thumbnails
from tracklight.dashboards.what_if.responses import (
    assign_requested_slices,
    make_columns_response,
    make_performance_response,
    make_session_info,
    make_statistics_response,
    to_json,
)
from tracklight.dashboards.what_if.schemas import (
    AddModelRequest,
    BucketRules,
    ColumnModel,
    DataColumnInfo,
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
from tracklight.types import Float64, Int32

#: Data sets with more rows are exported without their rows.
_MAX_ROWS = 100_000
_MAX_SLICE_VALUES = 50
#: Of all lists, and of the scores of a model.
_MAX_ITEMS = 2_000_000
#: Numeric columns whose bins are exported.
_MAX_BINNED_COLUMNS = 50
#: With more tiles, thumbnails get fewer pixels: four tiles have about 20 MB of photos.
_MAX_THUMBNAIL_TILES = 4

_NUMERIC_TYPES = ("integer", "float", "boolean")

_Value = TypeVar("_Value")


class StaticSlicing(msgspec.Struct):
    """The slices by some columns, with the metrics of each model.

    ``codes`` has the position of the slice of each row that is not deleted in ``slices``.
    """

    slice_by: list[str]
    buckets: BucketRules
    model_thresholds: dict[str, float]
    slices: list[str]
    codes: Int32
    performance: dict[str, PerformanceResponse]


class StaticScores(msgspec.Struct):
    """The scores of a model: rows x classes, and the earlier ones of rows that were edited."""

    class_names: list[str]
    values: Float64
    earlier: dict[str, list[list[float]]]


class StaticSession(msgspec.Struct):
    """A data set without a server.

    It has the slices of all rows, by each column with few values or with the bins that the page
    chooses at first, and those of the exported view. ``lists`` are the values of columns of lists,
    ``originals`` the loaded values of edited rows.
    """

    about: SessionInfo
    columns: DataColumnsResponse | None
    statistics: FeatureStatisticsResponse
    slicings: list[StaticSlicing]
    scores: dict[str, StaticScores] = {}
    lists: dict[str, list[Any]] = {}
    originals: dict[str, dict[str, Any]] = {}


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
            exported = _export(session, view)
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
        types=_parse(view.get("wi-file-types", "{}"), dict[str, str], {}),
    )
    with suppress(ValueError):
        request.max_rows = int(view.get("wi-file-rows", ""))
    with suppress(ValueError):
        request.sampling_ratio = float(view.get("wi-file-ratio", ""))
    return request


def _list_column_models(view: Mapping[str, str], session: str) -> list[AddModelRequest]:
    """Return the models of a link that read columns of the data; others cannot be exported."""
    models: list[dict[str, Any]] = _parse(view.get("wi-models", "[]"), list[dict[str, Any]], [])
    try:
        requests = [msgspec.convert({**m, "session": session}, AddModelRequest) for m in models]
    except msgspec.ValidationError:  # a link that was changed
        return []
    return [request for request in requests if isinstance(request.spec, ColumnModel)]


def _split_names(text: str) -> list[str]:
    """Read a list of a URL, in which commas within names are escaped."""
    names = re.findall(r"((?:[^,\\]|\\.)+)", text)
    return [re.sub(r"\\(.)", r"\1", name) for name in names]


def _export(session: OpenSession, view: Mapping[str, str]) -> StaticSession:
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
    slicings = [*_iter_slicings(workspace, about, view)]
    exported = StaticSession(about, columns, make_statistics_response(workspace), slicings)
    if columns is not None:
        exported.scores = _copy_scores(workspace)
        exported.lists = _copy_lists(workspace)
        exported.originals = _copy_originals(workspace)
    return exported


# ---- rows


def _copy_scores(workspace: Workspace) -> dict[str, StaticScores]:
    rows = np.flatnonzero(workspace.is_active)
    edited = sorted({edit.row for edit in workspace.history} & set(rows.tolist()))
    copied = {}
    for predictor in workspace.models:
        name = predictor.name
        if not workspace.is_predicted(name):
            continue
        scores = workspace.predict(name).scores[rows]
        if scores.size > _MAX_ITEMS:
            continue
        earlier = {
            str(row): [np.atleast_1d(item).tolist() for item in history[:-1]]
            for row in edited
            if len(history := workspace.get_history(row, name)) > 1
        }
        values = scores.astype(np.float64).reshape(-1)
        copied[name] = StaticScores(workspace.get_class_names(name), values, earlier)
    return copied


def _copy_lists(workspace: Workspace) -> dict[str, list[Any]]:
    """Return the values of the columns of lists, as long as they are not too many."""
    copied: dict[str, list[Any]] = {}
    left = _MAX_ITEMS
    rows = np.flatnonzero(workspace.is_active).tolist()
    for name, column in workspace.table.columns.items():
        if not column.is_list or column.type in ("image", "bytes"):
            continue
        left -= len(column.values)
        if left < 0:
            break
        copied[name] = [to_json(column.get_value(row)) for row in rows]
    return copied


def _copy_originals(workspace: Workspace) -> dict[str, dict[str, Any]]:
    """Return the values that edited rows were loaded with."""
    names: dict[int, set[str]] = {}
    for edit in workspace.history:
        if edit.kind == "edit" and edit.row < len(workspace.original):
            names.setdefault(edit.row, set()).update(edit.before)
    return {
        str(row): {
            name: to_json(workspace.original.get_column(name).get_value(row))
            for name in sorted(changed)
            if name in workspace.original
        }
        for row, changed in names.items()
    }


# ---- slices


def _iter_slicings(
    workspace: Workspace, about: SessionInfo, view: Mapping[str, str]
) -> Iterator[StaticSlicing]:
    """Yield the slices of all rows, by single columns, and of the view."""
    requests = [PerformanceRequest(about.session), *_list_column_requests(about)]
    requested = _make_view_request(about, view)
    if requested is not None and requested not in requests:
        requests.append(requested)
    for request in requests:
        try:
            yield _make_slicing(workspace, about, request)
        except TracklightError:  # bins of a link that do not fit the column
            continue


def _make_slicing(
    workspace: Workspace, about: SessionInfo, request: PerformanceRequest
) -> StaticSlicing:
    assignment = assign_requested_slices(workspace, request)
    performance = {}
    for model in about.models:
        if model.is_predicted and workspace.label is not None:
            with suppress(TracklightError):  # a label that does not fit the model
                performance[model.name] = make_performance_response(
                    workspace, msgspec.structs.replace(request, model=model.name)
                )
    return StaticSlicing(
        request.slice_by,
        request.buckets,
        request.model_thresholds,
        list(assignment.names),
        assignment.codes[workspace.is_active].astype(np.int32),
        performance,
    )


def _list_column_requests(about: SessionInfo) -> list[PerformanceRequest]:
    columns = [
        column
        for column in about.columns
        if column.name != about.label and not column.is_list and not column.is_computed
    ]
    plain = [
        PerformanceRequest(about.session, slice_by=[column.name])
        for column in columns
        if (column.type == "string" and (column.distinct or 0) <= _MAX_SLICE_VALUES)
        or (column.type in _NUMERIC_TYPES and not _has_bins(column))
    ]
    binned = (
        PerformanceRequest(
            about.session, slice_by=[column.name], buckets={column.name: DEFAULT_BUCKETS}
        )
        for column in columns
        if _has_bins(column)
    )
    return [*plain, *islice(binned, _MAX_BINNED_COLUMNS)]


def _has_bins(column: DataColumnInfo) -> bool:
    """Return whether the page divides a column into bins: all numbers, except such as 0 and 1."""
    if column.type not in _NUMERIC_TYPES:
        return False
    if column.type == "float" or column.minimum is None or column.maximum is None:
        return True
    return column.maximum - column.minimum >= 2


def _make_view_request(about: SessionInfo, view: Mapping[str, str]) -> PerformanceRequest | None:
    """Return the request for the slices of a view; None if it has none or is invalid."""
    known = {column.name: column for column in about.columns}
    names = _split_names(view.get("wi-slice", ""))
    if not names or any(name not in known for name in names):
        return None
    rules: BucketRules = _parse(view.get("wi-bins", "{}"), BucketRules, {})
    thresholds: dict[str, dict[str, float]] = _parse(
        view.get("wi-thresholds", "{}"), dict[str, dict[str, float]], {}
    )
    request = {
        "session": about.session,
        "slice_by": names,
        "buckets": {
            name: rules.get(name, DEFAULT_BUCKETS) for name in names if _has_bins(known[name])
        },
        # Slices by other columns do not depend on thresholds.
        "model_thresholds": {
            name: by_slice[""]
            for name, by_slice in thresholds.items()
            if by_slice.get("", 0.5) != 0.5 and any(known[item].is_computed for item in names)
        },
    }
    try:
        return msgspec.convert(msgspec.to_builtins(request), PerformanceRequest)
    except msgspec.ValidationError:
        return None


def _parse(text: str, type: Any, default: _Value) -> _Value:
    """Read JSON of a link, which may have been cut off or changed."""
    try:
        parsed: _Value = msgspec.json.decode(text, type=type)
    except (msgspec.DecodeError, RecursionError):
        return default
    return parsed
