"""The built-in dashboards, a module or package each, with the API of third-party plugins.

A dashboard may import `tracklight.plugin`, `tracklight.analysis`, `tracklight.reader` and
everything below them, but no other dashboard and nothing from the server. Start reading at its
subclass of `Dashboard`, which is named in `BUILT_IN_DASHBOARDS`.
"""

from __future__ import annotations

from typing import NamedTuple

from tracklight.analysis.source import FileKind


class BuiltInDashboard(NamedTuple):
    """What the server needs to know about a dashboard before it loads its code.

    Most dashboards are never opened, and their code takes memory. A test checks these values
    against the class.
    """

    name: str
    title: str
    plugins: tuple[str, ...]
    import_path: str
    """Module and class, separated by a colon."""
    files: tuple[FileKind, ...] = ()
    has_prepare: bool = False
    """Whether the class overrides `Dashboard.prepare`."""
    needs_data_access: bool = False
    """See `Dashboard.needs_data_access`."""


#: In the order of the tabs.
BUILT_IN_DASHBOARDS = (
    BuiltInDashboard("scalars", "Scalars", ("scalars",), "tracklight.dashboards.scalars:Scalars"),
    BuiltInDashboard("images", "Images", ("images",), "tracklight.dashboards.images:Images"),
    BuiltInDashboard("audio", "Audio", ("audio",), "tracklight.dashboards.audio:Audio"),
    BuiltInDashboard("text", "Text", ("text",), "tracklight.dashboards.text:TextDashboard"),
    BuiltInDashboard(
        "histograms",
        "Histograms",
        ("histograms",),
        "tracklight.dashboards.histograms:Histograms",
    ),
    BuiltInDashboard(
        "pr_curves",
        "PR curves",
        ("pr_curves",),
        "tracklight.dashboards.pr_curves:PrCurves",
    ),
    BuiltInDashboard("mesh", "Mesh", ("mesh",), "tracklight.dashboards.mesh:Mesh"),
    BuiltInDashboard(
        "custom_scalars",
        "Custom scalars",
        ("custom_scalars",),
        "tracklight.dashboards.custom_scalars:CustomScalars",
    ),
    BuiltInDashboard(
        "graphs",
        "Graphs",
        ("graphs", "graph_run_metadata", "graph_run_metadata_graph", "graph_keras_model"),
        "tracklight.dashboards.graphs:Graphs",
        has_prepare=True,
    ),
    BuiltInDashboard(
        "hparams",
        "HParams",
        ("hparams",),
        "tracklight.dashboards.hparams:HParams",
        files=("settings", "study_files"),
        has_prepare=True,
    ),
    BuiltInDashboard(
        "projector",
        "Projector",
        ("projector",),
        "tracklight.dashboards.projector:Projector",
        files=("tensor_files",),
    ),
    BuiltInDashboard(
        "debugger",
        "Debugger",
        ("tracklight_debugger",),
        "tracklight.dashboards.debugger:Debugger",
        files=("debug_files",),
    ),
    BuiltInDashboard(
        "fairness",
        "Fairness",
        ("tracklight_fairness", "fairness_indicators"),
        "tracklight.dashboards.fairness:Fairness",
        files=("evaluation_files",),
    ),
    BuiltInDashboard(
        "profile",
        "Profile",
        ("profile",),
        "tracklight.dashboards.profile:Profile",
        files=("captures",),
    ),
    BuiltInDashboard(
        "what_if",
        "What-If",
        (),
        "tracklight.dashboards.what_if:WhatIf",
        needs_data_access=True,
        has_prepare=True,
    ),
    BuiltInDashboard(
        "workspaces",
        "Workspace",
        (),
        "tracklight.dashboards.workspaces:Workspaces",
    ),
)
