"""The plugin API: everything that the server part of a dashboard needs.

Built-in dashboards and third-party plugins use the same API; ``docs/plugins.md`` describes it. A
plugin is a subclass of `Dashboard` that is named in the entry point group
``tracklight.dashboards``. Import from here only: other modules may change in any release.
"""

from __future__ import annotations

from tracklight.errors import FormatError, LogError, TracklightError, UsageError
from tracklight.formats.json_number import json_number
from tracklight.index.baseline import Baseline
from tracklight.index.curve import Curve
from tracklight.index.drawing import Draw as DrawLine
from tracklight.index.drawing import Line
from tracklight.index.lens import Lens as SeriesQuery
from tracklight.index.lens import View
from tracklight.index.reduction import make_edges as make_pixel_edges
from tracklight.index.reduction import narrow_exactly
from tracklight.index.smoothing import Smoothing
from tracklight.logdir.roots import Root
from tracklight.media.addresses import encode_uri_component, steps_path, tag_path, value_path
from tracklight.media.copies import Part as ExportPart
from tracklight.media.copies import iter_copies as export_values
from tracklight.media.expressions import match_lines
from tracklight.media.reader import Reader as ValueReader
from tracklight.media.reader import ValueAsk, has_mark
from tracklight.media.steps import SeriesSteps, StepsAnswer, StepsAsk, list_steps, make_marks
from tracklight.plugin_base import (
    Blob,
    Context,
    Dashboard,
    FileKind,
    Method,
    Nothing,
    Problem,
    Route,
    Source,
    Stream,
)
from tracklight.projections.jobs import Job, Jobs, JobStore
from tracklight.projections.jobs import make_key as make_job_key
from tracklight.projections.work import Cancelled as JobCancelled
from tracklight.projections.work import Work as JobProgress
from tracklight.types import (
    CaptureFile,
    Digest,
    Float32,
    Float64,
    Int32,
    Int64,
    Kind,
    Located,
    Point,
    RunInfo,
    SavedFile,
    Series,
    SettingsFile,
    SharedTag,
    TagInfo,
)
from tracklight.util.lru_cache import LruCache

__all__ = [
    "Baseline",
    "Blob",
    "CaptureFile",
    "Context",
    "Curve",
    "Dashboard",
    "Digest",
    "DrawLine",
    "ExportPart",
    "FileKind",
    "Float32",
    "Float64",
    "FormatError",
    "Int32",
    "Int64",
    "Job",
    "JobCancelled",
    "JobProgress",
    "JobStore",
    "Jobs",
    "Kind",
    "Line",
    "Located",
    "LogError",
    "LruCache",
    "Method",
    "Nothing",
    "Point",
    "Problem",
    "Root",
    "Route",
    "RunInfo",
    "SavedFile",
    "Series",
    "SeriesQuery",
    "SeriesSteps",
    "SettingsFile",
    "SharedTag",
    "Smoothing",
    "Source",
    "StepsAnswer",
    "StepsAsk",
    "Stream",
    "TagInfo",
    "TracklightError",
    "UsageError",
    "ValueAsk",
    "ValueReader",
    "View",
    "encode_uri_component",
    "export_values",
    "has_mark",
    "json_number",
    "list_steps",
    "make_job_key",
    "make_marks",
    "make_pixel_edges",
    "match_lines",
    "narrow_exactly",
    "steps_path",
    "tag_path",
    "value_path",
]
