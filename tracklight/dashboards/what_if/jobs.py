"""Long computations of the What-If dashboard: predictions, dependence, importance, Shapley values.

A job works on a snapshot of the workspace, so that the page can be used meanwhile. Predictions of
all rows are the exception: nothing else can be shown before them. Counterfactuals and distances are
returned at once if they are fast; otherwise they are jobs, which end when the page stops polling.
So are metrics of large tables.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

import numpy as np

from tracklight.analysis.jobs import Job, JobProgress, Jobs, Tasks, make_job_key
from tracklight.analysis.predictors import ReportRows
from tracklight.analysis.source import Sentence
from tracklight.analysis.tables import DataTable
from tracklight.analysis.what_if import feature_effects
from tracklight.analysis.what_if.counterfactuals import (
    Threshold,
    compute_distances,
    get_embedding,
    list_counterfactuals,
    make_flip_test,
    search_edits,
    select_candidates,
)
from tracklight.analysis.what_if.distances import DistanceSpace, ReportSteps
from tracklight.analysis.what_if.feature_effects import make_scorer
from tracklight.analysis.what_if.performance import (
    DEFAULT_THRESHOLD,
    get_labels_and_scores,
    is_large,
)
from tracklight.analysis.what_if.workspace import Workspace
from tracklight.dashboards.what_if.responses import (
    make_comparison_response,
    make_pending_performance,
    make_performance_response,
    make_threshold_function,
)
from tracklight.dashboards.what_if.schemas import (
    NO_VALUES,
    ComparisonRequest,
    ComparisonResponse,
    CounterfactualRequest,
    CounterfactualsResponse,
    DependenceCurve,
    DependenceRequest,
    DistanceRequest,
    DistancesResponse,
    EditSuggestion,
    FeatureImportance,
    FeatureImportanceRequest,
    JobResult,
    ModelJobStatus,
    ModelRequest,
    Neighbor,
    PerformanceRequest,
    PerformanceResponse,
    ShapleyRequest,
    ShapleyRow,
)
from tracklight.dashboards.what_if.store import OpenSession
from tracklight.errors import LogError, Message, UsageError
from tracklight.types import Bool, Float64, Int64

PREDICTING = Message("what_if.predicting", "predicting")
VARYING_FEATURES = Message("what_if.varying_features", "varying features")
SHUFFLING_FEATURES = Message("what_if.shuffling_features", "shuffling features")
SAMPLING = Message("what_if.sampling", "sampling")
PREPARING = Message("what_if.preparing_features", "preparing features")
COMPARING = Message("what_if.comparing_rows", "comparing datapoints")
SEARCHING_EDITS = Message("what_if.searching_edits", "searching edits")

#: Searches that take longer are jobs with progress.
_FAST_SEARCH_S = 0.4
#: Searches are cancelled when their state is not requested for this long. The page polls every
#: 150 ms; browsers reduce that to once a second for hidden pages, and busy machines delay it.
_ABANDONED_S = 20.0
_SEARCH_WORKERS = 4
#: Rows among which the values of suggested edits are searched.
_EDIT_SOURCES = 20

#: Called with a stage of a search, and how much of it is done, of how much.
ReportStage = Callable[[Message, int, int], None]


class WhatIfJobs:
    """The jobs of a server. Thread-safe."""

    def __init__(self) -> None:
        self._jobs: Jobs[JobResult] = Jobs()
        # Searches do not wait for jobs that may take minutes.
        self._searches: Jobs[JobResult] = Jobs(workers=_SEARCH_WORKERS)
        self._requested_at: dict[str, float] = {}

    def close(self) -> None:
        """Cancel all jobs and wait for the running ones."""
        self._jobs.close()
        self._searches.close()

    def get(self, key: str) -> JobResult:
        """Return the state of a job, and its result when it is done."""
        job = self._get_job(key)
        if key in self._requested_at:
            self._requested_at[key] = time.monotonic()
        if job.result is None:
            return JobResult(_make_status(job))
        result = job.result
        result.status = _make_status(job)
        return result

    def cancel(self, key: str) -> ModelJobStatus:
        """Cancel a job."""
        job = self._get_job(key)
        job.cancel()
        return _make_status(job)

    def start_prediction(self, session: OpenSession, request: ModelRequest) -> ModelJobStatus:
        """Predict all new and edited rows."""
        workspace = session.workspace
        name = workspace.get_model(request.model).name

        def compute(progress: JobProgress) -> JobResult:
            report = partial(progress.step, PREDICTING)
            _predict_first(session, name, report)
            scores = session.change(lambda copied: copied.predict(name, report).scores)
            return JobResult(_NO_STATUS, predicted_rows=len(scores))

        return self._start(session, "predict", compute, name)

    def start_dependence(self, session: OpenSession, request: DependenceRequest) -> ModelJobStatus:
        """Compute partial dependence."""
        with session.lock:
            workspace = session.workspace.snapshot()
        workspace.check_can_predict(request.model)
        table = workspace.table
        names = request.features or [
            label
            for name in workspace.get_model_features(request.model)
            for label in feature_effects.list_varied(
                workspace.get_active_column(name), request.items
            )
        ]
        if request.is_pair and len(names) != 2:
            raise UsageError("what_if.pair_features", "choose two features for a joint effect")
        if request.value_range is not None and len(names) != 1:
            raise UsageError("what_if.range_features", "choose a range for one feature at a time")
        parsed = [feature_effects.parse_label(table, label) for label in names]
        columns = {name: workspace.get_active_column(name) for name, _ in parsed}
        grids = [
            feature_effects.make_grid(
                columns[name],
                points=request.points,
                kind=request.grid,
                value_range=request.value_range,
                index=index,
            )
            for name, index in parsed
        ]
        groups = [grids] if request.is_pair else [[grid] for grid in grids]
        rows = _choose_rows(workspace, request)

        def compute(progress: JobProgress) -> JobResult:
            results = feature_effects.compute_partial_dependence(
                table,
                rows,
                groups,
                lambda varied: workspace.predict_table(varied, request.model).scores,
                report=lambda done, total: progress.step(VARYING_FEATURES, done, total),
            )
            names = workspace.get_class_names(request.model)
            get_thresholds = _choose_dependence_thresholds(workspace, request)
            curves = [
                _make_curve(result, rows, names, request.curves, get_thresholds)
                for result in results
            ]
            curves.sort(key=lambda curve: -curve.variation)
            return JobResult(_NO_STATUS, dependence=curves)

        return self._start(session, "dependence", compute, request)

    def start_importance(
        self, session: OpenSession, request: FeatureImportanceRequest
    ) -> ModelJobStatus:
        """Compute permutation importance."""
        with session.lock:
            workspace = session.workspace.snapshot()
            workspace.check_can_predict(request.model)
            labels, scores = get_labels_and_scores(workspace, request.model)
        active = np.flatnonzero(workspace.is_active)
        scorer = make_scorer(request.metric, labels[active], scores.ndim == 1)

        def compute(progress: JobProgress) -> JobResult:
            result = feature_effects.compute_permutation_importance(
                workspace.table.take(active),
                workspace.get_model_features(request.model),
                lambda table: workspace.predict_table(table, request.model).scores,
                scorer,
                repeats=request.repeats,
                seed=request.seed,
                report=lambda done, total: progress.step(SHUFFLING_FEATURES, done, total),
            )
            rows = [
                FeatureImportance(name, float(drops.mean()), float(drops.std()))
                for name, drops in result.drops.items()
            ]
            rows.sort(key=lambda row: -row.importance)
            return JobResult(_NO_STATUS, importance=rows, baseline=result.baseline)

        return self._start(session, "importance", compute, request)

    def start_shapley(self, session: OpenSession, request: ShapleyRequest) -> ModelJobStatus:
        """Estimate Shapley values."""
        with session.lock:
            workspace = session.workspace.snapshot()
            workspace.check_can_predict(request.model)
            classes = workspace.get_class_names(request.model)
        for row in request.rows:
            workspace.table.check_row(row)
        if request.class_name is not None and request.class_name not in classes:
            raise UsageError(
                "what_if.no_class",
                'no class "{class_name}"; the classes are {known}',
                class_name=request.class_name,
                known=", ".join(classes[:20]),
            )
        at = -1 if request.class_name is None else classes.index(request.class_name)

        def predict(table: DataTable) -> Float64:
            scores = workspace.predict_table(table, request.model).scores
            return scores if scores.ndim == 1 else scores[:, at]

        def compute(progress: JobProgress) -> JobResult:
            active = np.flatnonzero(workspace.is_active)
            sample = feature_effects.choose_rows(len(active), request.background, request.seed)
            features = workspace.get_model_features(request.model)
            result = feature_effects.compute_shapley_values(
                workspace.table,
                np.array(request.rows, np.int64),
                features,
                predict,
                background=active[sample],
                permutations=request.permutations,
                seed=request.seed,
                report=lambda done, total: progress.step(SAMPLING, done, total),
            )
            rows = [
                ShapleyRow(
                    row,
                    float(result.predictions[number]),
                    np.array([result.values[name][number] for name in features]),
                    np.array([result.standard_error[name][number] for name in features]),
                )
                for number, row in enumerate(request.rows)
            ]
            return JobResult(_NO_STATUS, shapley=rows, features=features, expected=result.expected)

        return self._start(session, "shapley", compute, request)

    def search_counterfactuals(
        self, session: OpenSession, request: CounterfactualRequest
    ) -> CounterfactualsResponse:
        """Return the nearest rows with another prediction, or the job that searches for them."""
        with session.lock:
            workspace = session.workspace.snapshot()
        candidates = select_candidates(
            workspace, request.model, request.row, _choose_threshold(workspace, request)
        )
        if request.search_edits:
            workspace.check_can_predict(request.model)

        def compute(progress: JobProgress) -> JobResult:
            found = _search(session, workspace, candidates, request, progress.step)
            return JobResult(_NO_STATUS, counterfactuals=found)

        key = _make_key(session.key, workspace, "counterfactuals", request)
        job = self._run_search(key, compute)
        if job.result is not None and job.result.counterfactuals:
            return job.result.counterfactuals
        return CounterfactualsResponse([], [], _make_status(job))

    def compute_distances(
        self, session: OpenSession, request: DistanceRequest
    ) -> DistancesResponse:
        """Return the distance of all rows to one row, or the state of the job that computes it."""
        with session.lock:
            workspace = session.workspace.snapshot()

        def compute(progress: JobProgress) -> JobResult:
            found = _compute_distances(session, workspace, request, progress.step)
            return JobResult(_NO_STATUS, distances=found)

        key = _make_key(session.key, workspace, "distances", request)
        job = self._run_search(key, compute)
        if job.result is not None and job.result.distances:
            self._searches.forget(key)  # as large as a column of the data
            return job.result.distances
        return DistancesResponse(np.empty(0, np.float32), [], [], _make_status(job))

    def evaluate(
        self, session: OpenSession, request: PerformanceRequest, tasks: Tasks
    ) -> PerformanceResponse:
        """Return metrics by slice; of a large table, perhaps the state of the job for them."""
        with session.lock:
            workspace = session.workspace.snapshot()
        if not is_large(workspace):
            return make_performance_response(workspace, request, tasks)

        def compute(progress: JobProgress) -> JobResult:
            metrics = make_performance_response(workspace, request, tasks, progress)
            return JobResult(_NO_STATUS, performance=metrics)

        key = _make_key(session.key, workspace, "performance", request)
        job = self._run_search(key, compute)
        if job.result is not None and job.result.performance:
            return job.result.performance
        return make_pending_performance(workspace, request, _make_status(job))

    def compare(
        self, session: OpenSession, request: ComparisonRequest, tasks: Tasks
    ) -> ComparisonResponse:
        """Return how the metrics of two models differ, like `evaluate`."""
        with session.lock:
            workspace = session.workspace.snapshot()
        if not is_large(workspace):
            return make_comparison_response(workspace, request, tasks)

        def compute(progress: JobProgress) -> JobResult:
            metrics = make_comparison_response(workspace, request, tasks, progress)
            return JobResult(_NO_STATUS, comparison=metrics)

        key = _make_key(session.key, workspace, "comparison", request)
        job = self._run_search(key, compute)
        if job.result is not None and job.result.comparison:
            return job.result.comparison
        return ComparisonResponse(workspace.version, [], [], _make_status(job))

    def _run_search(self, key: str, compute: Callable[[JobProgress], JobResult]) -> Job[JobResult]:
        """Start a search, or find the running one, and wait a moment for its result.

        Raises:
            UsageError: The search failed.
        """

        def run(progress: JobProgress) -> JobResult:
            def is_cancelled() -> bool:
                silent_s = time.monotonic() - self._requested_at.get(key, 0.0)
                return progress.is_cancelled() or silent_s > _ABANDONED_S

            try:
                return compute(JobProgress(progress.report, progress.show, is_cancelled))
            finally:
                self._requested_at.pop(key, None)

        self._requested_at[key] = time.monotonic()
        job = self._searches.start(key, run)
        job.wait(_FAST_SEARCH_S)
        if job.state == "failed":
            raise UsageError(job.problem_message)
        if job.state == "done":
            self._requested_at.pop(key, None)
        return job

    def _start(
        self, session: OpenSession, kind: str, compute: object, request: object
    ) -> ModelJobStatus:
        key = _make_key(session.key, session.workspace, kind, request)
        return _make_status(self._jobs.start(key, compute))  # type: ignore[arg-type]

    def _get_job(self, key: str) -> Job[JobResult]:
        job = self._jobs.find(key) or self._searches.find(key)
        if job is None:
            raise LogError(
                "what_if.job_gone", "the server does not have this job any more; start it again"
            )
        return job


def _predict_first(session: OpenSession, name: str, report: ReportRows) -> None:
    """Predict all rows if there are no predictions yet, without a lock while the model works."""
    workspace = session.workspace
    is_done = False
    while not is_done:
        with session.lock:
            if workspace.has_predictions(name):
                return
            copied = workspace.snapshot()
            changed = workspace.start_tracking()
        try:
            copied.predict(name, report)
            with session.lock:
                is_done = workspace.adopt_predictions(copied, name, changed)
        finally:
            with session.lock:
                workspace.stop_tracking(changed)


def choose_space(
    session: OpenSession,
    workspace: Workspace,
    request: DistanceRequest | CounterfactualRequest,
    report: ReportSteps | None = None,
) -> DistanceSpace:
    """Return what a snapshot is compared by, which takes seconds for long lists, without a lock."""
    if request.by_attributions:
        return workspace.get_attribution_space(request.model)
    space = workspace.get_space(report)
    with session.lock:
        session.workspace.share_space(workspace)
    return space


def _compute_distances(
    session: OpenSession, workspace: Workspace, request: DistanceRequest, step: ReportStage
) -> DistancesResponse:
    """Return the distance of all rows to one row."""
    report = partial(step, COMPARING)
    if request.embedding is not None:
        column = get_embedding(workspace, request.embedding)
        values = compute_distances(
            workspace, request.row, request.metric, embedding=column, report=report
        )
        names, ignored = [column.name], []
    else:
        space = choose_space(session, workspace, request, partial(step, PREPARING))
        values = compute_distances(
            workspace,
            request.row,
            request.metric,
            weights=request.weights,
            space=space,
            report=report,
        )
        names, ignored = list(space.names), space.ignored
    return DistancesResponse(values[workspace.is_active].astype(np.float32), names, ignored)


def _search(
    session: OpenSession,
    workspace: Workspace,
    candidates: Bool,
    request: CounterfactualRequest,
    step: ReportStage,
) -> CounterfactualsResponse:
    """Return the nearest candidates, and the smallest edits if requested."""
    compared = choose_space(session, workspace, request, partial(step, PREPARING))
    embedding = request.embedding
    nearest = list_counterfactuals(
        workspace,
        request.row,
        candidates,
        count=max(request.count, _EDIT_SOURCES if request.search_edits else 1),
        metric=request.metric,
        weights=request.weights,
        locked=request.locked,
        embedding=None if embedding is None else get_embedding(workspace, embedding),
        space=compared,
        report=partial(step, COMPARING),
    )
    edits = []
    if request.search_edits:
        features = workspace.get_model_features(request.model)
        edits = search_edits(
            workspace.get_space(),
            workspace.table,
            request.row,
            [item.row for item in nearest],
            make_flip_test(
                workspace, request.model, request.row, _choose_threshold(workspace, request)
            ),
            features=[name for name in features if name not in request.locked],
            max_changes=request.max_changes,
            count=request.count,
            report=partial(step, SEARCHING_EDITS),
        )
    return CounterfactualsResponse(
        [
            Neighbor(item.row, item.distance, compared.compute_features(request.row, item.row))
            for item in nearest[: request.count]
        ],
        [EditSuggestion(dict(e.changes), e.source_row, e.distance) for e in edits],
    )


def _choose_threshold(workspace: Workspace, request: CounterfactualRequest) -> Threshold | None:
    """Return the thresholds of slices if they have some, or else that of all rows."""
    if request.slice_thresholds is None:
        return request.threshold
    of_slices = make_threshold_function(
        workspace,
        workspace.get_model(request.model).name,
        DEFAULT_THRESHOLD if request.threshold is None else request.threshold,
        request.slice_thresholds,
        row=request.row,
    )
    return request.threshold if of_slices is None else of_slices


def _make_key(session: str, workspace: Workspace, kind: str, request: object) -> str:
    """Return a key of a computation with the current data and models."""
    versions = (workspace.version, workspace.model_version)
    names = [model.name for model in workspace.models]
    return make_job_key(session, versions, kind, repr(request), names)


_NO_STATUS = ModelJobStatus("", "done", Sentence.make(""), 0, 0, None)


def _make_status(job: Job[JobResult]) -> ModelJobStatus:
    return ModelJobStatus(
        job.key,
        job.state,
        Sentence.make(job.stage_message),
        job.done,
        job.total,
        Sentence.make(job.problem_message) if job.problem else None,
    )


def _choose_rows(workspace: Workspace, request: DependenceRequest) -> Int64:
    if request.row is not None:
        workspace.table.check_row(request.row)
        return np.array([request.row])
    active = np.flatnonzero(workspace.is_active)
    return active[feature_effects.choose_rows(len(active), request.sample, request.seed)]


def _choose_dependence_thresholds(
    workspace: Workspace, request: DependenceRequest
) -> Callable[[feature_effects.Grid], Float64] | None:
    """Return a function for the thresholds of varied copies of a row; None without slices."""
    row = request.row
    if row is None:
        return None
    get_thresholds = make_threshold_function(
        workspace,
        workspace.get_model(request.model).name,
        request.threshold,
        request.slice_thresholds,
        row=row,
    )
    if get_thresholds is None:
        return None
    return lambda grid: get_thresholds(feature_effects.vary_row(workspace.table, row, grid))


def _make_curve(
    result: feature_effects.Dependence,
    rows: Int64,
    class_names: list[str],
    curves: int,
    get_thresholds: Callable[[feature_effects.Grid], Float64] | None = None,
) -> DependenceCurve:
    count = min(curves, len(result.individual)) if len(result.grids) == 1 else 0
    # Evenly spaced, as data are often sorted by class.
    chosen = np.linspace(0, len(result.individual) - 1, count).round().astype(np.int64)
    individual = result.individual[chosen]
    return DependenceCurve(
        [grid.label for grid in result.grids],
        [list(grid.values) for grid in result.grids],
        [grid.is_numeric for grid in result.grids],
        class_names,
        result.mean.reshape(-1),
        result.standard_error.reshape(-1),
        individual.astype(np.float32).reshape(-1),
        rows[chosen].astype(np.int32),
        result.variation,
        get_thresholds(result.grids[0])
        if get_thresholds is not None and len(result.grids) == 1
        else NO_VALUES,
    )
