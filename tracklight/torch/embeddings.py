"""`SummaryWriter.add_embedding`: a directory per step and tag, and the projector's config."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tracklight.projector import (
    EmbeddingInfo,
    ProjectorConfig,
    SpriteMetadata,
    format_metadata,
    make_sprite,
)
from tracklight.projector import visualize_embeddings as write_config
from tracklight.torch.images import encode_pil_png, to_pixels
from tracklight.writer.arguments import as_numbers
from tracklight.writer.warnings import ArgumentError, warn_or_raise

_ESCAPES = str.maketrans({"%": "%25", "/": "%2f", "\\": "%5c"})


def add_embedding(
    logdir: str,
    config: ProjectorConfig,
    matrix: Any,
    metadata: Any,
    images: Any,
    step: int,
    tag: str,
    header: Sequence[str] | None,
) -> None:
    """Write the files of an embedding and add it to the config.

    Args:
        logdir: Directory of the run.
        config: The embeddings of the run so far; extended.
        matrix: Vectors [n, d].
        metadata: Labels, or rows of values for ``header``.
        images: Images [n, channels, height, width].
        step: Step of the embedding.
        tag: Name of the embedding.
        header: Names of the metadata columns.

    Raises:
        ArgumentError: An argument is invalid. Nothing is written then.
    """
    if "://" in logdir:
        raise ArgumentError("log_dir", f"must be a local directory for the projector, not {logdir}")
    subdirectory = f"{step:05d}/{tag.translate(_ESCAPES)}"
    files, info = _make_files(subdirectory, matrix, metadata, images, header)
    info.tensor_name = f"{tag}:{step:05d}"
    directory = Path(logdir, subdirectory)
    if directory.is_dir():
        warn_or_raise(
            "global_step", f"{step} was already logged for {tag!r}; the embedding was overwritten"
        )
    directory.mkdir(parents=True, exist_ok=True)
    for name, data in files.items():
        (directory / name).write_bytes(data)
    config.embeddings.append(info)
    write_config(logdir, config)


def _make_files(
    subdirectory: str, matrix: Any, metadata: Any, images: Any, header: Sequence[str] | None
) -> tuple[dict[str, bytes], EmbeddingInfo]:
    """Build all files before any is written, so that misuse leaves no partial files."""
    array = as_numbers(matrix, "mat")
    if array.ndim != 2:
        raise ArgumentError("mat", f"has shape {list(array.shape)}; expected [points, dimensions]")
    info = EmbeddingInfo(tensor_path=f"{subdirectory}/tensors.tsv")
    rows = ("\t".join(map(str, row)) + "\n" for row in array.tolist())
    files = {"tensors.tsv": "".join(rows).encode()}
    if metadata is not None:
        info.metadata_path = f"{subdirectory}/metadata.tsv"
        columns = _name_columns(metadata, header) if header else metadata
        files["metadata.tsv"] = format_metadata(columns, len(array)).encode()
    if images is not None:
        files["sprite.png"], size = _make_sprite(images, len(array))
        info.sprite = SpriteMetadata(f"{subdirectory}/sprite.png", list(size))
    return files, info


def _name_columns(metadata: Sequence[Sequence[Any]], header: Sequence[str]) -> dict[str, Any]:
    if any(len(row) != len(header) for row in metadata):
        raise ArgumentError(
            "metadata_header",
            f"has {len(header)} names, but some rows of metadata have a different length",
        )
    return dict(zip(header, zip(*metadata, strict=True), strict=True))


def _make_sprite(images: Any, count: int) -> tuple[bytes, tuple[int, int]]:
    array = as_numbers(images, "label_img")
    if array.ndim != 4 or len(array) != count:
        expected = f"expected [{count}, channels, height, width]"
        raise ArgumentError("label_img", f"has shape {list(array.shape)}; {expected}")
    pixels = to_pixels(array.transpose(0, 2, 3, 1))
    if pixels.shape[-1] == 1:
        pixels = pixels.repeat(3, axis=-1)
    sprite, size = make_sprite(pixels)
    return encode_pil_png(sprite), size
