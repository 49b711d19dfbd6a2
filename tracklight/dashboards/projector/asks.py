"""What can be asked about embeddings."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from tracklight.dashboards.projector.matching import WHAT_SUITS
from tracklight.projections.neighbours import Metric

AtLeastZero = Annotated[int, msgspec.Meta(ge=0, le=1 << 53)]
Seed = Annotated[int, msgspec.Meta(ge=0, le=1 << 31)]
Share = Annotated[float, msgspec.Meta(ge=0, le=1)]
Name = Annotated[str, msgspec.Meta(min_length=1, max_length=1000)]
Query = Annotated[str, msgspec.Meta(max_length=10_000)]
Axes = Annotated[
    list[Annotated[int, msgspec.Meta(ge=0, le=99)]], msgspec.Meta(min_length=1, max_length=10)
]
Key = Annotated[str, msgspec.Meta(min_length=1, max_length=100)]

#: A bit for each row, the first the lowest of the first byte; in JSON as base64.
Rows = bytes


class EmbeddingAsk(msgspec.Struct, forbid_unknown_fields=True):
    """An embedding at one of its steps, by default the last; ``mark`` as it was listed."""

    id: Key
    index: AtLeastZero | None = None
    mark: str | None = None


class ColumnAsk(EmbeddingAsk, kw_only=True):
    """A column of labels; ``revision`` tells apart what was edited."""

    name: Name
    revision: AtLeastZero = 0


class TileAsk(EmbeddingAsk):
    """A part of the pictures."""

    tile: AtLeastZero = 0


class RowAsk(EmbeddingAsk):
    """One point."""

    row: AtLeastZero = 0


class Pca(msgspec.Struct, tag="pca", frozen=True, forbid_unknown_fields=True):
    """Along the directions in which vectors differ most."""

    components: Annotated[int, msgspec.Meta(ge=1, le=100)] = 10


class Tsne(msgspec.Struct, tag="tsne", frozen=True, forbid_unknown_fields=True):
    """Neighbours stay neighbours; ``supervise`` names a column whose likes pull together."""

    dimensions: Literal[2, 3] = 2
    perplexity: float = 30.0
    iterations: int = 750
    learning_rate: float | None = None
    early_exaggeration: float = 12.0
    metric: Metric = "euclidean"
    supervise: str | None = None
    pull: Share = 0.0


class Umap(msgspec.Struct, tag="umap", frozen=True, forbid_unknown_fields=True):
    """The graph of neighbours, laid out."""

    dimensions: Literal[2, 3] = 2
    neighbours: int = 15
    min_dist: float = 0.1
    metric: Metric = "euclidean"
    epochs: int | None = None
    supervise: str | None = None
    pull: Share = 0.0


class End(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where an axis begins or ends: the mean of these rows, or of those that a search finds."""

    query: Query = ""
    regex: bool = False
    column: str | None = None
    rows: Rows | None = None


class Axis(
    msgspec.Struct, rename={"start": "from", "end": "to"}, frozen=True, forbid_unknown_fields=True
):
    """A direction from one mean to another."""

    start: End
    end: End


class Custom(msgspec.Struct, tag="custom", frozen=True, forbid_unknown_fields=True):
    """Along axes that somebody chose."""

    axes: Annotated[list[Axis], msgspec.Meta(min_length=1, max_length=3)]


Method = Pca | Tsne | Umap | Custom


class ProjectAsk(EmbeddingAsk):
    """A layout of all points, or of some.

    With ``align``, the job of another layout, it starts from that one where the method can, and
    is turned onto it, so that steps and runs can be compared; ``align_by`` is the column that says
    which points are the same, as in a match.
    """

    method: Method = Pca()
    rows: Rows | None = None
    spherize: bool = False
    seed: Seed = 0
    device: Literal["auto", "cpu"] = "auto"
    align: Key | None = None
    align_by: str | None = WHAT_SUITS


class JobAsk(msgspec.Struct, forbid_unknown_fields=True):
    """Something that was started before."""

    job: Key


class LayoutAsk(JobAsk):
    """Places along some axes, unless ``seen`` is the frame that is still shown."""

    seen: int = 0
    axes: Axes = msgspec.field(default_factory=lambda: [0, 1, 2])


class QualityAsk(JobAsk):
    """How far the layout along some axes can be trusted."""

    axes: Axes = msgspec.field(default_factory=lambda: [0, 1])


class NeighboursAsk(EmbeddingAsk):
    """The nearest of one point, or of the mean of some; ``within`` says among which."""

    row: AtLeastZero | None = None
    rows: Rows | None = None
    metric: Metric = "cosine"
    count: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 100
    spherize: bool = False
    within: Rows | None = None


class SearchAsk(EmbeddingAsk):
    """Rows in which a column, or any, holds a text, or with ``regex`` matches an expression."""

    query: Query = ""
    regex: bool = False
    column: str | None = None


class MatchAsk(EmbeddingAsk, kw_only=True):
    """Which rows of two embeddings are the same: by a column of both, or with null by their number;
    an empty one stands for what suits."""

    other: EmbeddingAsk
    column: str | None = WHAT_SUITS


class Kmeans(msgspec.Struct, tag="kmeans", frozen=True, forbid_unknown_fields=True):
    count: Annotated[int, msgspec.Meta(ge=2, le=1000)] = 10


class Hdbscan(msgspec.Struct, tag="hdbscan", frozen=True, forbid_unknown_fields=True):
    min_size: Annotated[int, msgspec.Meta(ge=2, le=100_000)] = 15


class ClusterAsk(EmbeddingAsk):
    """Groups of points, by their vectors or by the places of a layout, named by words."""

    method: Kmeans | Hdbscan = Kmeans()
    rows: Rows | None = None
    on: Key | None = None
    spherize: bool = False
    seed: Seed = 0
    words: str | None = None


class EditAsk(EmbeddingAsk, kw_only=True):
    """A new label for some points, in a column that may be a new one."""

    rows: Rows
    column: Name
    text: Annotated[str, msgspec.Meta(max_length=10_000)]


class BookmarkAsk(msgspec.Struct, forbid_unknown_fields=True):
    """A view under a name; without ``state`` it is forgotten."""

    id: Key
    name: Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
    state: Annotated[str, msgspec.Meta(max_length=200_000)] | None = None


class UploadAsk(msgspec.Struct):
    """A file; of labels or pictures it is said which embedding they are of."""

    name: Name
    body: bytes
    labels_of: str | None = None
    sprite_of: str | None = None


class FileAsk(EmbeddingAsk, kw_only=True):
    """Something to take away."""

    what: Literal["labels", "vectors", "layout"]
    format: Literal["tsv", "npy"] = "tsv"
    job: Key | None = None
