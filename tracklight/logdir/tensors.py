"""Names of files that hold tensors, or say where some are, whatever framework wrote them."""

from __future__ import annotations

#: What a projector is told of vectors in; TensorBoard's name for it.
PROJECTOR_CONFIG = "projector_config.pbtxt"

#: ``.index`` is that of a TensorFlow checkpoint.
TENSOR_SUFFIXES = (
    ".index",
    ".weights.h5",
    ".h5",
    ".hdf5",
    ".keras",
    ".safetensors",
    ".npy",
    ".npz",
    ".pt",
    ".pth",
    ".ckpt",
)


#: What a config may name: vectors as text or raw memory, and labels.
_COMPANION_SUFFIXES = (".tsv", ".bytes")


def is_companion(name: str) -> bool:
    """Whether a file of this base name may belong to one with tensors or to a config."""
    return name.endswith(_COMPANION_SUFFIXES)


def is_tensor_file(name: str) -> bool:
    """Whether a file of this base name may hold vectors, or names where they are."""
    return name == PROJECTOR_CONFIG or name.endswith(TENSOR_SUFFIXES)
