from tracklight.types import Float32, Float64, Int32, Int64

def select_nearest(
    scores: Float32,
    excluded: Int64,
    vectors: Float32,
    queries: Float32,
    metric: str,
    extra: int,
    indices: Int32,
    distances: Float64,
    farthest: Float32,
) -> None: ...
def estimate_distances(
    vectors: Float32, query: Float32, metric: str, distances: Float32
) -> None: ...
def refine_neighbors(
    vectors: Float32,
    metric: str,
    known: Int32,
    known_distances: Float32,
    fanout: int,
    begin: int,
    end: int,
    indices: Int32,
    distances: Float32,
) -> None: ...
