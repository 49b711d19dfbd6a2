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
    prepares_from: int | None = None
    """It takes long to answer first, and is prepared for logs of so many runs; None: it is not."""


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
        prepares_from=1,
    ),
    BuiltIn("hparams", "HParams", ("hparams",), "tracklight.dashboards.hparams:HParams", 1000),
    BuiltIn("projector", "Projector", ("projector",), "tracklight.dashboards.projector:Projector"),
    BuiltIn("profile", "Profile", ("profile",), "tracklight.dashboards.profile:Profile"),
)
