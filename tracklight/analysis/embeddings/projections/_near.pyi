from tracklight.types import Float32, Float64, Int32, Int64

def pick(
    order: Float32,
    own: Int64,
    vectors: Float32,
    queries: Float32,
    metric: str,
    extra: int,
    places: Int32,
    distances: Float64,
    farthest: Float32,
) -> None: ...
def estimate(vectors: Float32, query: Float32, metric: str, distances: Float32) -> None: ...
def refine(
    vectors: Float32,
    metric: str,
    known: Int32,
    known_distances: Float32,
    company: int,
    begin: int,
    end: int,
    places: Int32,
    distances: Float32,
) -> None: ...
