"""The embeddings of a log, or the tensors of a file, in a few lines each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from tracklight.embeddings.find import find_embeddings, find_in_file
from tracklight.embeddings.metadata import read_metadata
from tracklight.embeddings.model import Embedding, Version
from tracklight.embeddings.sprite import read_sprite
from tracklight.embeddings.vectors import read_vectors
from tracklight.errors import TracklightError
from tracklight.inspect.listing import printable
from tracklight.logdir.roots import Root
from tracklight.tensorfiles.place import Place

_MOST_STEPS = 20


class FoundEmbedding(msgspec.Struct):
    """An embedding, as it is at its last step; ``problems`` are sentences."""

    run: str
    name: str
    vectors: int = 0
    dimensions: int = 0
    steps: list[int] = []
    labels: list[str] = []
    has_pictures: bool = False
    problems: list[str] = []


def sum_up_embeddings(roots: Sequence[Root]) -> Iterator[FoundEmbedding]:
    """Every embedding below the roots; its vectors, labels and pictures are looked at."""
    place = Place([root.path for root in roots])
    for embedding in find_embeddings(place, roots):
        yield _sum_up_one(place, embedding)


def sum_up_file(path: str) -> Iterator[FoundEmbedding]:
    """Every tensor of a file that can be taken for vectors."""
    place, embeddings = find_in_file(path)
    for embedding in embeddings:
        yield _sum_up_one(place, embedding)


def encode_json(embeddings: Iterable[FoundEmbedding]) -> bytes:
    return msgspec.json.format(msgspec.json.encode({"embeddings": list(embeddings)}), indent=2)


def iter_lines(embeddings: Iterable[FoundEmbedding]) -> Iterator[str]:
    """The same for people."""
    empty = True
    for found in embeddings:
        empty = False
        yield "  ".join(printable(name) for name in (found.run, found.name) if name)
        yield from (f"  {printable(line)}" for line in _iter_facts(found))
        yield ""
    if empty:
        yield "no embedding is here"


def _iter_facts(found: FoundEmbedding) -> Iterator[str]:
    if found.vectors:
        yield f"{found.vectors} vectors of {found.dimensions} numbers"
    if len(found.steps) > 1:
        shown = ", ".join(map(str, found.steps[:_MOST_STEPS]))
        more = len(found.steps) - _MOST_STEPS
        yield f"steps {shown}" + (f" and {more} more" if more > 0 else "")
    if found.labels:
        yield f"labels: {', '.join(found.labels)}"
    if found.has_pictures:
        yield "a picture of each"
    yield from found.problems


def _sum_up_one(place: Place, embedding: Embedding) -> FoundEmbedding:
    steps = [version.step for version in embedding.versions if version.step is not None]
    found = FoundEmbedding(embedding.run, embedding.name, steps=steps)
    if not embedding.versions:
        found.problems.append(embedding.problem)
        return found
    try:
        _look(place, embedding.versions[-1], found)
    except (TracklightError, OSError) as error:
        found.problems.append(str(error))
    return found


def _look(place: Place, version: Version, found: FoundEmbedding) -> None:
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
            read_sprite(file, version.sprite_size, found.vectors)
        found.has_pictures = True
