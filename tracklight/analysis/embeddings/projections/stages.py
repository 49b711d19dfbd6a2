"""The stages of layouts and clusterings, as they are reported while a job runs."""

from __future__ import annotations

from tracklight.errors import Message

COMPUTING_NEIGHBORS = Message("projector.computing_neighbors", "computing neighbors")
REFINING_NEIGHBORS = Message("projector.refining_neighbors", "refining neighbors")
OPTIMIZING_LAYOUT = Message("projector.optimizing_layout", "optimizing layout")
COMPUTING_COMPONENTS = Message("projector.computing_components", "computing components")
PROJECTING = Message("projector.projecting", "projecting")
CLUSTERING = Message("projector.clustering", "clustering")
ASSIGNING_POINTS = Message("projector.assigning_points", "assigning points")
SELECTING_CLUSTERS = Message("projector.selecting_clusters", "selecting clusters")
