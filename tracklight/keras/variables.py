"""Numbers out of what Keras keeps on some device."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from tracklight.sdk.arrays import as_number, as_numbers


def read_variable(variable: Any, name: str) -> NDArray[Any]:
    """The numbers of a variable, on any backend."""
    import keras

    # Not by the variable's own way to numpy, for which numpy 2 warns.
    return as_numbers(keras.ops.convert_to_numpy(variable), name)


def read_number(variable: Any, name: str) -> float:
    return as_number(read_variable(variable, name), name)
