import numpy as np
from numpy.typing import NDArray

from tracklight.types import Float32, Float64, Int32, Int64

class Tree:
    def __init__(self, layout: Float64) -> None: ...
    def repel(self, begin: int, end: int, angle: float, forces: Float64) -> float: ...

def spread(layout: Float64, nodes: int, step: float, origin: Float64, field: Float64) -> None: ...
def read(
    layout: Float64,
    nodes: int,
    step: float,
    origin: Float64,
    potential: Float64,
    forces: Float64,
) -> float: ...
def attract(
    layout: Float64,
    starts: Int64,
    others: Int32,
    weights: Float32,
    begin: int,
    end: int,
    forces: Float64,
) -> None: ...
def settle(
    layout: Float64,
    heads: Int32,
    tails: Int32,
    periods: Float64,
    due: Float64,
    epoch: float,
    rate: float,
    a: float,
    b: float,
    strangers: int,
    random: NDArray[np.uint64],
) -> None: ...
