"""The dashboards that are part of tracklight; each uses nothing but the door in `plugin`."""

from __future__ import annotations

from typing import NamedTuple


class BuiltIn(NamedTuple):
    """What a tab is made from before the code behind it is loaded, as many are never opened."""

    name: str
    title: str
    plugins: tuple[str, ...]
    place: str
    """The module and the class in it, which says the same of itself."""
    prepares: bool = False
    """Whether it takes long to answer first, so that it is prepared where a log is large."""


#: In the order of their tabs.
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
    ),
    BuiltIn("hparams", "HParams", ("hparams",), "tracklight.dashboards.hparams:HParams", True),
    BuiltIn(
        "projector", "Projector", ("projector",), "tracklight.dashboards.projector:Projector"
    ),
    BuiltIn("profile", "Profile", ("profile",), "tracklight.dashboards.profile:Profile"),
)
