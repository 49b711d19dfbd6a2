"""The built-in dashboards. They use the same plugin API as third-party ones."""

from __future__ import annotations

from typing import NamedTuple

from tracklight.analysis.source import FileKind


class BuiltInDashboard(NamedTuple):
    """What the server has to know of a dashboard before it loads its code.

    Most dashboards are never opened, and their code takes memory. A test checks that the class
    says the same.
    """

    name: str
    title: str
    plugins: tuple[str, ...]
    import_path: str
    """The module and the class in it."""
    files: tuple[FileKind, ...] = ()
    has_prepare: bool = False
    """Whether the class overrides `Dashboard.prepare`."""


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
        "tracklight.dashboards.histograms.dashboard:Histograms",
    ),
    BuiltInDashboard(
        "pr_curves",
        "PR curves",
        ("pr_curves",),
        "tracklight.dashboards.pr_curves.dashboard:PrCurves",
    ),
    BuiltInDashboard("mesh", "Mesh", ("mesh",), "tracklight.dashboards.mesh:Mesh"),
    BuiltInDashboard(
        "custom_scalars",
        "Custom scalars",
        ("custom_scalars",),
        "tracklight.dashboards.custom_scalars.dashboard:CustomScalars",
    ),
    BuiltInDashboard(
        "graphs",
        "Graphs",
        ("graphs", "graph_run_metadata", "graph_run_metadata_graph", "graph_keras_model"),
        "tracklight.dashboards.graphs.dashboard:Graphs",
        has_prepare=True,
    ),
    BuiltInDashboard(
        "hparams",
        "HParams",
        ("hparams",),
        "tracklight.dashboards.hparams:HParams",
        files=("settings",),
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
        "profile",
        "Profile",
        ("profile",),
        "tracklight.dashboards.profile.dashboard:Profile",
        files=("captures",),
    ),
)
