"""The dashboards that are part of tracklight; each uses nothing but the door in `plugin`."""

from __future__ import annotations

#: Where the class of each is, in the order of their tabs.
BUILT_IN: tuple[str, ...] = (
    "tracklight.dashboards.scalars:Scalars",
    "tracklight.dashboards.images:Images",
    "tracklight.dashboards.audio:Audio",
    "tracklight.dashboards.text:Text",
    "tracklight.dashboards.histograms:Histograms",
    "tracklight.dashboards.pr_curves:PrCurves",
    "tracklight.dashboards.mesh:Mesh",
    "tracklight.dashboards.custom_scalars:CustomScalars",
)
