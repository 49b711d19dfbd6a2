"""The What-If dashboard: data sets and models, edited rows, counterfactuals, performance, fairness.

`WhatIf` declares the routes. `schemas` has the requests and responses, `store` the open data sets
and their models, `responses` builds what is sent, `jobs` runs long computations, and
`static_session` builds what a static export contains. The computations are in
`tracklight.analysis.what_if`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from tracklight.analysis.embeddings import decode_row_bits
from tracklight.analysis.embeddings.sprites import SpriteTiles
from tracklight.analysis.source import Sentence
from tracklight.analysis.what_if.workspace import Workspace
from tracklight.dashboards.what_if.images import (
    make_image,
    make_saliency,
    make_thumbnail_tile,
    plan_thumbnails,
)
from tracklight.dashboards.what_if.jobs import WhatIfJobs
from tracklight.dashboards.what_if.responses import (
    decode_values,
    make_columns_response,
    make_export,
    make_frontier_response,
    make_optimize_response,
    make_row_response,
    make_session_info,
    make_statistics_response,
)
from tracklight.dashboards.what_if.schemas import (
    AddFeatureRequest,
    AddModelRequest,
    ComparisonRequest,
    ComparisonResponse,
    ConfigureRequest,
    CounterfactualRequest,
    CounterfactualsResponse,
    DataColumnsRequest,
    DataColumnsResponse,
    DataExportRequest,
    DataFilesResponse,
    DataSessionsResponse,
    DependenceRequest,
    DistanceRequest,
    DistancesResponse,
    FeatureImportanceRequest,
    FeatureStatisticsRequest,
    FeatureStatisticsResponse,
    FrontierRequest,
    FrontierResponse,
    JobResult,
    ModelJobRequest,
    ModelJobStatus,
    ModelRequest,
    OpenRequest,
    OptimizeRequest,
    OptimizeResponse,
    PerformanceRequest,
    PerformanceResponse,
    ReadAheadRequest,
    ReadAheadResponse,
    RowEditRequest,
    RowEditResponse,
    RowImageRequest,
    RowRequest,
    RowResponse,
    SaliencyRequest,
    SaliencyResponse,
    SaveSliceRequest,
    SessionInfo,
    SessionRequest,
    ShapleyRequest,
    SliceRequest,
    ThumbnailsRequest,
    ThumbnailTileRequest,
)
from tracklight.dashboards.what_if.static_session import iter_static_responses
from tracklight.dashboards.what_if.store import SessionStore
from tracklight.plugin import Blob, Context, Dashboard, Empty, Route, Stream

#: Photos are sent in base64, and the rows of a slice as bits.
_MAX_EDIT_BYTES = 32 << 20


class WhatIf(Dashboard):
    """Opens data sets, calls models, and keeps the edits of users in memory."""

    name = "what_if"
    title = "What-If"
    needs_data_access = True

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._store = SessionStore(context)
        self._jobs = WhatIfJobs()

    def routes(self) -> Sequence[Route]:
        return [
            Route("files", Empty, self.list_files, "GET"),
            Route("sessions", Empty, self.sessions, "GET"),
            Route("read_ahead", ReadAheadRequest, self.read_ahead, "GET"),
            Route("open", OpenRequest, self.open),
            Route("about", SessionRequest, self.about, "GET"),
            Route("close", SessionRequest, self.close_session),
            Route("configure", ConfigureRequest, self.configure),
            Route("models", AddModelRequest, self.add_model, mutates=True),
            Route("models", ModelRequest, self.remove_model, "DELETE", mutates=True),
            Route("columns", DataColumnsRequest, self.columns),
            Route("row", RowRequest, self.row, "GET"),
            Route("image", RowImageRequest, self.image, "GET"),
            Route("saliency", SaliencyRequest, self.saliency),
            Route("thumbnails", ThumbnailsRequest, self.thumbnails, "GET"),
            Route("thumbnail_tile", ThumbnailTileRequest, self.thumbnail_tile, "GET"),
            Route("edit", RowEditRequest, self.edit, max_body_bytes=_MAX_EDIT_BYTES),
            Route("feature", AddFeatureRequest, self.add_feature),
            Route(
                "slice",
                SaveSliceRequest,
                self.save_slice,
                mutates=True,
                max_body_bytes=_MAX_EDIT_BYTES,
            ),
            Route("slice", SliceRequest, self.remove_slice, "DELETE", mutates=True),
            Route("distances", DistanceRequest, self.distances),
            Route("counterfactuals", CounterfactualRequest, self.counterfactuals),
            Route("predict", ModelRequest, self.predict),
            Route("dependence", DependenceRequest, self.dependence),
            Route("importance", FeatureImportanceRequest, self.importance),
            Route("shapley", ShapleyRequest, self.shapley),
            Route("job", ModelJobRequest, self.job, "GET"),
            Route("job", ModelJobRequest, self.cancel, "DELETE"),
            Route("performance", PerformanceRequest, self.performance),
            Route("comparison", ComparisonRequest, self.comparison),
            Route("optimize", OptimizeRequest, self.optimize),
            Route("frontier", FrontierRequest, self.frontier),
            Route("statistics", FeatureStatisticsRequest, self.statistics),
            Route("export", DataExportRequest, self.export, "GET"),
        ]

    def prepare(self) -> None:
        self._store.prepare()

    def close(self) -> None:
        self._jobs.close()
        self._store.close()

    def export_static(self, runs: Sequence[str]) -> Iterator[tuple[str, object]]:
        return iter_static_responses(self._store, self.context.view)

    def list_files(self, request: Empty) -> DataFilesResponse:
        """List the data files and model files that can be opened."""
        return self._store.list_files()

    def sessions(self, request: Empty) -> DataSessionsResponse:
        """List the open data sets."""
        infos = []
        for session in self._store.list():
            with session.lock:
                infos.append(make_session_info(session))
        return DataSessionsResponse(infos)

    def read_ahead(self, request: ReadAheadRequest) -> ReadAheadResponse:
        """Start to read data files that a link opens next; returns at once."""
        return ReadAheadResponse(self._store.read_ahead(request))

    def open(self, request: OpenRequest) -> SessionInfo:
        """Open data files as a new session."""
        return make_session_info(self._store.open(request))

    def about(self, request: SessionRequest) -> SessionInfo:
        """Describe an open data set with its columns and models."""
        session = self._store.get(request.session)
        with session.lock:
            return make_session_info(session)

    def close_session(self, request: SessionRequest) -> DataSessionsResponse:
        """Close a data set; its edits are lost. Returns the others."""
        self._store.close_session(request.session)
        return self.sessions(Empty())

    def configure(self, request: ConfigureRequest) -> SessionInfo:
        """Choose the label, the inputs of models, and the names of the classes."""
        session = self._store.get(request.session)
        names = request.class_names
        if request.classes_path is not None:
            names = self._store.read_class_names(request.classes_path)
        with session.lock:
            session.workspace.configure(
                label=request.label, features=request.features, class_names=names
            )
            return make_session_info(session)

    def add_model(self, request: AddModelRequest) -> SessionInfo:
        """Connect to a model. Predictions are computed by the route ``predict``."""
        session = self._store.get(request.session)
        predictor = self._store.create_model(request)
        with session.lock:
            try:
                session.workspace.add_model(predictor)
            except BaseException:
                predictor.close()
                raise
            return make_session_info(session)

    def remove_model(self, request: ModelRequest) -> SessionInfo:
        """Remove a model."""
        session = self._store.get(request.session)
        with session.lock:
            session.workspace.remove_model(session.workspace.get_model(request.model).name)
            return make_session_info(session)

    def columns(self, request: DataColumnsRequest) -> DataColumnsResponse:
        """Return columns for charts, of the data or computed from predictions."""
        session = self._store.get(request.session)
        with session.lock:
            return make_columns_response(session.workspace, request)

    def row(self, request: RowRequest) -> RowResponse:
        """Return all values of one row, and its predictions so far."""
        session = self._store.get(request.session)
        with session.lock:
            return make_row_response(session.workspace, request.row)

    def image(self, request: RowImageRequest) -> Blob:
        """Return an image of one row as PNG."""
        session = self._store.get(request.session)
        return make_image(
            session.workspace, request.row, request.feature, request.max_px, request.step
        )

    def saliency(self, request: SaliencyRequest) -> SaliencyResponse:
        """Return how much each pixel of an image contributes to the prediction."""
        session = self._store.get(request.session)
        with session.lock:
            workspace = session.workspace.snapshot()
        return make_saliency(workspace, request)

    def thumbnails(self, request: ThumbnailsRequest) -> SpriteTiles:
        """Return how the images of a column are laid out on tiles."""
        session = self._store.get(request.session)
        with session.lock:
            return plan_thumbnails(session.workspace, request.feature)

    def thumbnail_tile(self, request: ThumbnailTileRequest) -> Blob:
        """Return small images of many rows as one PNG."""
        session = self._store.get(request.session)
        with session.lock:
            workspace = session.workspace.snapshot()
        return make_thumbnail_tile(workspace, request.feature, request.tile)

    def edit(self, request: RowEditRequest) -> RowEditResponse:
        """Change, add, duplicate, delete, reset or undo, and predict the changed row again."""

        def apply(workspace: Workspace) -> RowEditResponse:
            return _make_edit_response(workspace, _apply_edit(workspace, request))

        return self._store.get(request.session).change(apply)

    def add_feature(self, request: AddFeatureRequest) -> RowEditResponse:
        """Add a column with a value in one row, and predict that row again."""

        def apply(workspace: Workspace) -> RowEditResponse:
            workspace.add_feature(
                request.name,
                request.type,
                request.row,
                request.value,
                is_input=request.is_input,
            )
            return _make_edit_response(workspace, request.row)

        return self._store.get(request.session).change(apply)

    def save_slice(self, request: SaveSliceRequest) -> SessionInfo:
        """Save a named set of rows as a column, for slices, colors and filters.

        Those of data files are stored beside the notes on the log.
        """
        session = self._store.get(request.session)
        with session.lock:
            is_inside = decode_row_bits(request.row_bits or b"", len(session.workspace.table))
            rows = [*request.rows, *np.flatnonzero(is_inside).tolist()]
            self._store.save_slice(session, request.name, rows)
            return make_session_info(session)

    def remove_slice(self, request: SliceRequest) -> SessionInfo:
        """Remove a named set of rows; the rows stay."""
        session = self._store.get(request.session)
        with session.lock:
            self._store.remove_slice(session, request.name)
            return make_session_info(session)

    def distances(self, request: DistanceRequest) -> DistancesResponse:
        """Return the distance of all rows to one row.

        If it takes long, the response has the state of a job instead; send the request again.
        """
        return self._jobs.compute_distances(self._store.get(request.session), request)

    def counterfactuals(self, request: CounterfactualRequest) -> CounterfactualsResponse:
        """Return the nearest rows with another prediction, and the smallest edits if requested.

        A search that takes long is a job, whose result has them.
        """
        return self._jobs.search_counterfactuals(self._store.get(request.session), request)

    def predict(self, request: ModelRequest) -> ModelJobStatus:
        """Start the predictions of all new and edited rows."""
        return self._jobs.start_prediction(self._store.get(request.session), request)

    def dependence(self, request: DependenceRequest) -> ModelJobStatus:
        """Start partial dependence, or return the job of an equal request."""
        return self._jobs.start_dependence(self._store.get(request.session), request)

    def importance(self, request: FeatureImportanceRequest) -> ModelJobStatus:
        """Start permutation importance, or return the job of an equal request."""
        return self._jobs.start_importance(self._store.get(request.session), request)

    def shapley(self, request: ShapleyRequest) -> ModelJobStatus:
        """Start Shapley values, or return the job of an equal request."""
        return self._jobs.start_shapley(self._store.get(request.session), request)

    def job(self, request: ModelJobRequest) -> JobResult:
        """Return the state of a job, and its result when it is done."""
        return self._jobs.get(request.job)

    def cancel(self, request: ModelJobRequest) -> ModelJobStatus:
        """Cancel a job."""
        return self._jobs.cancel(request.job)

    def performance(self, request: PerformanceRequest) -> PerformanceResponse:
        """Return metrics by slice, and the counts at 101 thresholds of binary models.

        Of large tables, the response may have the state of a job instead; send the request again.
        """
        session = self._store.get(request.session)
        return self._jobs.evaluate(session, request, self.context.access.tasks)

    def comparison(self, request: ComparisonRequest) -> ComparisonResponse:
        """Return how the metrics of two models differ by slice, with intervals.

        Of large tables, the response may have the state of a job instead; send the request again.
        """
        session = self._store.get(request.session)
        return self._jobs.compare(session, request, self.context.access.tasks)

    def optimize(self, request: OptimizeRequest) -> OptimizeResponse:
        """Choose thresholds by a strategy."""
        session = self._store.get(request.session)
        with session.lock:
            workspace = session.workspace.snapshot()
        return make_optimize_response(workspace, request)

    def frontier(self, request: FrontierRequest) -> FrontierResponse:
        """Return what a smaller gap of a rate between slices costs."""
        session = self._store.get(request.session)
        with session.lock:
            workspace = session.workspace.snapshot()
        return make_frontier_response(workspace, request)

    def statistics(self, request: FeatureStatisticsRequest) -> FeatureStatisticsResponse:
        """Return statistics of all columns, and the drift to other open data sets."""
        snapshots = {}
        for key in [request.session, *request.others]:
            session = self._store.get(key)
            with session.lock:
                snapshots[key] = session.workspace.snapshot()
        workspace = snapshots.pop(request.session)
        return make_statistics_response(workspace, snapshots)

    def export(self, request: DataExportRequest) -> Stream:
        """Return the rows with edits and predictions as CSV or JSON lines."""
        session = self._store.get(request.session)
        with session.lock:
            return make_export(session.workspace.snapshot(), request, session.title)


def _apply_edit(workspace: Workspace, request: RowEditRequest) -> int | None:
    """Apply a change and return the row to show."""
    values = decode_values(request.values)
    if request.kind == "edit":
        if request.step is not None:
            workspace.edit_step(request.row, request.step, values)
        else:
            workspace.edit(request.row, values)
        return request.row
    if request.kind == "add":
        return workspace.add(values)
    if request.kind == "duplicate":
        return workspace.duplicate(request.row)
    if request.kind == "delete":
        workspace.delete(request.row)
        return None
    if request.kind == "reset":
        workspace.reset(request.row)
        return request.row
    if request.kind == "predict":
        workspace.mark_failed()
        return request.row
    undone = workspace.undo()
    return None if undone is None else undone.row


def _make_edit_response(workspace: Workspace, row: int | None) -> RowEditResponse:
    """Predict the changed row and return it; a model that fails does not undo the change."""
    problems = []
    for predictor in workspace.models:
        if workspace.has_predictions(predictor.name):
            message = workspace.predict_changes(predictor.name)
            if message is not None:
                problems.append(Sentence.make(message))
    is_shown = row is not None and bool(workspace.is_active[row])
    return RowEditResponse(
        workspace.version,
        len(workspace.history),
        int(workspace.is_active.sum()),
        make_row_response(workspace, row) if is_shown and row is not None else None,
        problems,
    )
