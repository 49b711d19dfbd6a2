"""The built-in dashboards. They use the same plugin API as third-party ones."""

from __future__ import annotations

from typing import NamedTuple

from tracklight.plugin_base import FileKind


class BuiltIn(NamedTuple):
    """What the server has to know of a dashboard before it loads its code.

    Most dashboards are never opened, and their code takes memory. A test checks that the class
    says the same.
    """

    name: str
    title: str
    plugins: tuple[str, ...]
    location: str
    """The module and the class in it."""
    files: tuple[FileKind, ...] = ()
    has_prepare: bool = False
    """Whether the class overrides `Dashboard.prepare`."""


#: In the order of the tabs.
BUILT_IN = (
    BuiltIn("scalars", "Scalars", ("scalars",), "tracklight.dashboards.scalars:Scalars"),
    BuiltIn("images", "Images", ("images",), "tracklight.dashboards.images:Images"),
    BuiltIn("audio", "Audio", ("audio",), "tracklight.dashboards.audio:Audio"),
    BuiltIn("text", "Text", ("text",), "tracklight.dashboards.text:Text"),
    BuiltIn(
        "histograms", "Histograms", ("histograms",), "tracklight.dashboards.histograms:Histograms"
    ),
    BuiltIn("pr_curves", "PR curves", ("pr_curves",), "tracklight.dashboards.pr_curves:PrCurves"),
    BuiltIn("mesh", "Mesh", ("mesh",), "tracklight.dashboards.mesh:Mesh"),
    BuiltIn(
        "custom_scalars",
        "Custom scalars",
        ("custom_scalars",),
        "tracklight.dashboards.custom_scalars:CustomScalars",
    ),
    BuiltIn(
        "graphs",
        "Graphs",
        ("graphs", "graph_run_metadata", "graph_run_metadata_graph", "graph_keras_model"),
        "tracklight.dashboards.graphs:Graphs",
        has_prepare=True,
    ),
    BuiltIn(
        "hparams",
        "HParams",
        ("hparams",),
        "tracklight.dashboards.hparams:HParams",
        files=("settings",),
        has_prepare=True,
    ),
    BuiltIn(
        "projector",
        "Projector",
        ("projector",),
        "tracklight.dashboards.projector:Projector",
        files=("tensor_files",),
    ),
    BuiltIn(
        "profile",
        "Profile",
        ("profile",),
        "tracklight.dashboards.profile:Profile",
        files=("captures",),
    ),
)
