"""Embedding layers as files that the projector can open without a checkpoint."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracklight.keras.variables import read_variable
from tracklight.projector import EmbeddingInfo, ProjectorConfig, visualize_embeddings
from tracklight.sdk.lenient import Misuse, complain
from tracklight.sdk.tables import format_vectors

_FOLDER = "embeddings"


class EmbeddingLog:
    """Writes what the embedding layers of a model hold, epoch by epoch, beside a run's events.

    All goes into the folder of the run itself: readers only look for a config where there are
    events, and refuse paths that lead out of there.
    """

    def __init__(self, folder: str, log_dir: str, metadata: str | dict[str, str]) -> None:
        if "://" in folder:
            raise Misuse("embeddings_freq", f"needs a local `log_dir`, not {log_dir}")
        self._folder = Path(folder)
        self._log_dir = Path(log_dir)
        self._metadata = metadata
        self._infos: list[EmbeddingInfo] = []

    def check(self, model: Any) -> None:
        """Tell of labels for layers that are not there."""
        names = {layer.name for layer in iter_embedding_layers(model)}
        unknown = set(self._metadata) - names if isinstance(self._metadata, dict) else set()
        if unknown:
            there = ", ".join(sorted(names)) or "none"
            sentence = f"names no embedding layer: {', '.join(sorted(unknown))}; there are {there}"
            complain("embeddings_metadata", sentence)

    def log(self, model: Any, epoch: int) -> None:
        (self._folder / _FOLDER).mkdir(parents=True, exist_ok=True)
        added = [self._write(layer, epoch) for layer in iter_embedding_layers(model)]
        names = {info.tensor_name for info in added}
        # The newest first, because that is what a reader opens by itself.
        self._infos = added + [info for info in self._infos if info.tensor_name not in names]
        config = ProjectorConfig()
        config.embeddings.extend(self._infos)
        visualize_embeddings(self._folder, config)

    def _write(self, layer: Any, epoch: int) -> EmbeddingInfo:
        vectors = read_variable(layer.embeddings, "embeddings").astype("<f4")
        name = f"{layer.name}:{epoch:05}"
        stem = re.sub(r"[^\w.-]", "_", f"{layer.name}-{epoch:05}")
        info = EmbeddingInfo(tensor_name=name, tensor_shape=list(vectors.shape))
        info.tensor_path = f"{_FOLDER}/{_write_tensor(self._folder / _FOLDER / stem, vectors)}"
        info.metadata_path = self._copy_metadata(layer.name)
        return info

    def _copy_metadata(self, layer: str) -> str:
        given = self._metadata if isinstance(self._metadata, str) else self._metadata.get(layer)
        if not given:
            return ""
        source = self._log_dir / os.path.expanduser(given)
        if not source.is_file():
            complain("embeddings_metadata", f"names {source}, which is not there")
            return ""
        target = self._folder / _FOLDER / source.name
        shutil.copyfile(source, target)
        return f"{_FOLDER}/{source.name}"


def iter_embedding_layers(model: Any) -> Iterator[Any]:
    """Every embedding layer of a model and of the models inside it, once built."""
    import keras

    for layer in model.layers:
        if isinstance(layer, keras.layers.Embedding):
            if layer.built:
                yield layer
        elif hasattr(layer, "layers"):
            yield from iter_embedding_layers(layer)


def _write_tensor(path: Path, vectors: NDArray[np.float32]) -> str:
    """Write a file of raw numbers, or of text where a reader would take the numbers for text."""
    raw = vectors.tobytes()
    try:
        raw.decode()
    except UnicodeDecodeError:
        file = path.with_name(f"{path.name}.bytes")
        file.write_bytes(raw)
    else:
        file = path.with_name(f"{path.name}.tsv")
        file.write_text(format_vectors(vectors), encoding="utf-8")
    return file.name
