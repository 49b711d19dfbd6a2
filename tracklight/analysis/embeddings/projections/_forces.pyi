import numpy as np
from numpy.typing import NDArray

from tracklight.types import Float32, Float64, Int32, Int64

class BarnesHutTree:
    def __init__(self, layout: Float64) -> None: ...
    def compute_repulsion(self, begin: int, end: int, theta: float, forces: Float64) -> float: ...

def spread_points(
    layout: Float64, nodes: int, spacing: float, origin: Float64, field: Float64
) -> None: ...
def interpolate_forces(
    layout: Float64,
    nodes: int,
    spacing: float,
    origin: Float64,
    potential: Float64,
    forces: Float64,
) -> float: ...
def compute_attraction(
    layout: Float64,
    indptr: Int64,
    indices: Int32,
    weights: Float32,
    begin: int,
    end: int,
    forces: Float64,
) -> None: ...
def run_umap_epoch(
    layout: Float64,
    heads: Int32,
    tails: Int32,
    periods: Float64,
    next_epochs: Float64,
    epoch: float,
    rate: float,
    a: float,
    b: float,
    negative_samples: int,
    random_state: NDArray[np.uint64],
) -> None: ...
