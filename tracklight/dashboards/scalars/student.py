"""How many standard errors a 95 % confidence interval reaches, when the runs are few."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tracklight.types import Float64

#: The 97.5 % quantile of Student's t-distribution with 1, 2, … degrees of freedom.
_FIRST = np.array([
    12.706205, 4.302653, 3.182446, 2.776445, 2.570582, 2.446912, 2.364624, 2.306004, 2.262157,
    2.228139, 2.200985, 2.178813, 2.160369, 2.144787, 2.131450, 2.119905, 2.109816, 2.100922,
    2.093024, 2.085963,
])  # fmt: skip

_NORMAL = 1.959963985


def quantiles(freedom: NDArray[np.integer]) -> Float64:
    """For each number of degrees of freedom, which are at least one."""
    few = _FIRST[np.minimum(freedom, len(_FIRST)) - 1]
    return np.where(freedom <= len(_FIRST), few, _expand(freedom.astype(np.float64)))


def _expand(freedom: Float64) -> Float64:
    """Fisher's expansion around the normal distribution, which is near where freedom is large."""
    z = _NORMAL
    first = (z**3 + z) / 4
    second = (5 * z**5 + 16 * z**3 + 3 * z) / 96
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    return z + first / freedom + second / freedom**2 + third / freedom**3
