"""Long computations of the What-If dashboard: predictions, dependence, importance, Shapley values.

A job works on a snapshot of the workspace, so that the page can be used meanwhile. Predictions of
all rows are the exception: nothing else can be shown before them.
"""

from __future__ import annotations

import numpy as np

from tracklight.analysis.jobs import Job, JobProgress, Jobs, make_job_key
from tracklight.analysis.source import Sentence
from tracklight.analysis.tables.table import DataTable
from tracklight.analysis.what_if import importance, partial_dependence
from tracklight.analysis.what_if.performance import get_labels_and_scores
from tracklight.analysis.what_if.scorers import make_scorer
from tracklight.analysis.what_if.workspace import Workspace
from tracklight.dashboards.what_if.schemas import (
    DependenceCurve,
    DependenceRequest,
    FeatureImportance,
    FeatureImportanceRequest,
    JobResult,
    ModelJobStatus,
    ModelRequest,
    ShapleyRequest,
    ShapleyRow,
)
from tracklight.dashboards.what_if.store import OpenSession
from tracklight.errors import LogError, Message, UsageError
from tracklight.types import Float64, Int64

PREDICTING = Message("what_if.predicting", "predicting")
VARYING_FEATURES = Message("what_if.varying_features", "varying features")
SHUFFLING_FEATURES = Message("what_if.shuffling_features", "shuffling features")
SAMPLING = Message("what_if.sampling", "sampling")


class WhatIfJobs:
    """The jobs of a server. Thread-safe."""

    def __init__(self) -> None:
        self._jobs: Jobs[JobResult] = Jobs()

    def close(self) -> None:
        """Cancel all jobs and wait for the running one."""
        self._jobs.close()

    def get(self, key: str) -> JobResult:
        """Return the state of a job, and its result when it is done."""
        job = self._get_job(key)
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
            with session.lock:
                scores = workspace.predict(
                    name, lambda done, total: progress.step(PREDICTING, done, total)
                ).scores
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
            for label in partial_dependence.list_varied(table.get_column(name), request.items)
        ]
        if request.is_pair and len(names) != 2:
            raise UsageError("what_if.pair_features", "choose two features for a joint effect")
        if request.value_range is not None and len(names) != 1:
            raise UsageError("what_if.range_features", "choose a range for one feature at a time")
        grids = []
        for label in names:
            name, index = partial_dependence.parse_label(table, label)
            grids.append(
                partial_dependence.make_grid(
                    table.get_column(name),
                    points=request.points,
                    kind=request.grid,
                    value_range=request.value_range,
                    index=index,
                )
            )
        groups = [grids] if request.is_pair else [[grid] for grid in grids]
        rows = _choose_rows(workspace, request)

        def compute(progress: JobProgress) -> JobResult:
            results = partial_dependence.compute_partial_dependence(
                table,
                rows,
                groups,
                lambda varied: workspace.predict_table(varied, request.model).scores,
                report=lambda done, total: progress.step(VARYING_FEATURES, done, total),
            )
            names = workspace.get_class_names(request.model)
            curves = [_make_curve(each, rows, names, request.curves) for each in results]
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
            result = importance.compute_permutation_importance(
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
            sample = partial_dependence.choose_rows(len(active), request.background, request.seed)
            features = workspace.get_model_features(request.model)
            result = importance.compute_shapley_values(
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

    def _start(
        self, session: OpenSession, kind: str, compute: object, request: object
    ) -> ModelJobStatus:
        key = make_job_key(session.key, session.workspace.version, kind, repr(request),
                           [model.name for model in session.workspace.models])  # fmt: skip
        return _make_status(self._jobs.start(key, compute))  # type: ignore[arg-type]

    def _get_job(self, key: str) -> Job[JobResult]:
        job = self._jobs.find(key)
        if job is None:
            raise LogError(
                "what_if.job_gone", "the server does not have this job any more; start it again"
            )
        return job


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
    return active[partial_dependence.choose_rows(len(active), request.sample, request.seed)]


def _make_curve(
    result: partial_dependence.Dependence, rows: Int64, class_names: list[str], curves: int
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
    )
