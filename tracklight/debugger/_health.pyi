import numpy as np
from numpy.typing import NDArray

def compute(
    address: int,
    size: int,
    kind: int,
    row: NDArray[np.float32],
    stride: int,
    sample: NDArray[np.float32],
    parallel: int = 0,
    thread_number: int = 0,
    threads: int = 1,
) -> None: ...
def count_dead(address: int, outer: int, channels: int, inner: int, width: int) -> int: ...
