"""The embeddings of a log, or the tensors of a file, in a few lines each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from tracklight.analysis.embeddings.discovery import discover_embeddings, list_file_embeddings
from tracklight.analysis.embeddings.loading import (
    Embedding,
    EmbeddingVersion,
    read_sprite_sheet,
    read_vectors,
)
from tracklight.analysis.embeddings.metadata import read_metadata
from tracklight.errors import TracklightError
from tracklight.logdir.confined_files import ConfinedFiles
from tracklight.logdir.roots import Root
from tracklight.reader.listing import escape_unprintable

_MAX_LISTED_STEPS = 20


class InspectedEmbedding(msgspec.Struct):
    """An embedding, as it is at its last step; ``problems`` are sentences."""

    run: str
    name: str
    vectors: int = 0
    dimensions: int = 0
    steps: list[int] = []
    labels: list[str] = []
    has_pictures: bool = False
    problems: list[str] = []


def summarize_embeddings(roots: Sequence[Root]) -> Iterator[InspectedEmbedding]:
    """Every embedding below the roots; its vectors, labels and pictures are looked at."""
    place = ConfinedFiles([root.path for root in roots])
    for embedding in discover_embeddings(place, roots):
        yield _summarize_embedding(place, embedding)


def summarize_tensor_file(path: str) -> Iterator[InspectedEmbedding]:
    """Every tensor of a file that can be taken for vectors."""
    place, embeddings = list_file_embeddings(path)
    for embedding in embeddings:
        yield _summarize_embedding(place, embedding)


def encode_embeddings(embeddings: Iterable[InspectedEmbedding]) -> bytes:
    return msgspec.json.format(msgspec.json.encode({"embeddings": list(embeddings)}), indent=2)


def iter_embedding_lines(embeddings: Iterable[InspectedEmbedding]) -> Iterator[str]:
    """The same for people."""
    empty = True
    for found in embeddings:
        empty = False
        yield "  ".join(escape_unprintable(name) for name in (found.run, found.name) if name)
        yield from (f"  {escape_unprintable(line)}" for line in _iter_facts(found))
        yield ""
    if empty:
        yield "no embedding is here"


def _iter_facts(found: InspectedEmbedding) -> Iterator[str]:
    if found.vectors:
        yield f"{found.vectors} vectors of {found.dimensions} numbers"
    if len(found.steps) > 1:
        shown = ", ".join(map(str, found.steps[:_MAX_LISTED_STEPS]))
        more = len(found.steps) - _MAX_LISTED_STEPS
        yield f"steps {shown}" + (f" and {more} more" if more > 0 else "")
    if found.labels:
        yield f"labels: {', '.join(found.labels)}"
    if found.has_pictures:
        yield "a picture of each"
    yield from found.problems


def _summarize_embedding(place: ConfinedFiles, embedding: Embedding) -> InspectedEmbedding:
    steps = [version.step for version in embedding.versions if version.step is not None]
    found = InspectedEmbedding(embedding.run, embedding.name, steps=steps)
    if not embedding.versions:
        found.problems.append(embedding.problem)
        return found
    try:
        _read_details(place, embedding.versions[-1], found)
    except (TracklightError, OSError) as error:
        found.problems.append(str(error))
    return found


def _read_details(
    place: ConfinedFiles, version: EmbeddingVersion, found: InspectedEmbedding
) -> None:
    """Fill in what the files say; an error says what is wrong with the first that is not right."""
    vectors = read_vectors(place, version)
    found.vectors, found.dimensions = vectors.values.shape
    found.problems += vectors.problems
    if version.metadata_path:
        with place.open(version.metadata_path) as file:
            metadata = read_metadata(file, found.vectors)
        found.labels = list(metadata.columns)
        found.problems += metadata.problems
    if version.sprite_path:
        with place.open(version.sprite_path) as file:
            read_sprite_sheet(file, version.sprite_size, found.vectors)
        found.has_pictures = True
