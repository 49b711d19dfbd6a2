"""Shapes: the images of the demo's classifiers, and embeddings of them and of words.

The images are a data set of ten shapes, with predictions, kernels and confusion matrices. The word
vectors are logged at five steps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tracklight.cli.demo.writers import EventFile
from tracklight.formats import summary
from tracklight.formats.media import encode_png
from tracklight.formats.proto import Message
from tracklight.types import Float64, Int64

# ---- images

Pixels = NDArray[np.uint8]

CLASSES = (
    "disc",
    "ring",
    "square",
    "frame",
    "triangle",
    "cross",
    "diamond",
    "stripes",
    "checks",
    "crescent",
)

_GLYPH_SIDE_PX = 48
_IMAGES = 32
_IMAGES_PER_SHEET = 16

#: A formula is positive inside its shape; x and y run from -1 to 1.
_FORMULAS: tuple[Callable[[Float64, Float64], Float64], ...] = (
    lambda x, y: 0.7 - np.hypot(x, y),
    lambda x, y: 0.2 - abs(np.hypot(x, y) - 0.55),
    lambda x, y: 0.6 - np.maximum(abs(x), abs(y)),
    lambda x, y: 0.15 - abs(np.maximum(abs(x), abs(y)) - 0.55),
    lambda x, y: np.minimum(0.6 - y, 0.35 + 0.5 * y - abs(x) * 0.95),
    lambda x, y: np.minimum(0.75 - np.maximum(abs(x), abs(y)), 0.2 - np.minimum(abs(x), abs(y))),
    lambda x, y: 0.75 - abs(x) - abs(y),
    lambda x, y: np.minimum(0.75 - abs(x), np.sin(y * 9) * 0.2),
    lambda x, y: np.minimum(0.75 - np.maximum(abs(x), abs(y)), np.sin(x * 6) * np.sin(y * 6) * 0.2),
    lambda x, y: np.minimum(0.7 - np.hypot(x, y), np.hypot(x - 0.35, y + 0.1) - 0.5),
)


def draw_glyph(label: int | np.integer[Any], size: int, rng: np.random.Generator) -> Pixels:
    """Draw a sample of a class with random rotation, offset and colors."""
    angle = rng.normal(0, 0.25)
    line = np.linspace(-1.1, 1.1, size)
    x, y = np.meshgrid(line + rng.normal(0, 0.06), line + rng.normal(0, 0.06))
    rotated = x * np.cos(angle) - y * np.sin(angle), x * np.sin(angle) + y * np.cos(angle)
    # Antialiasing: the edge is one pixel wide.
    coverage = np.clip(_FORMULAS[label](*rotated) * size / 2.2 + 0.5, 0, 1)[..., np.newaxis]
    ink = 0.45 + 0.5 * rng.random(3)
    paper = 0.12 + 0.1 * rng.random(3)
    return to_bytes(paper + (ink - paper) * coverage)


def to_bytes(image: Float64) -> Pixels:
    """Convert intensities in [0, 1] to bytes."""
    return np.asarray(np.clip(image * 255 + 0.5, 0, 255), np.uint8)


def tile_images(images: Sequence[Pixels], columns: int) -> Pixels:
    """Arrange images of the same size in a grid, row by row."""
    rows = [np.concatenate(images[i : i + columns], 1) for i in range(0, len(images), columns)]
    return np.concatenate(rows, 0)


def enlarge(image: Pixels, times: int) -> Pixels:
    return image.repeat(times, 0).repeat(times, 1)


def draw_predictions(right: Sequence[bool], images: Sequence[Pixels], columns: int) -> Pixels:
    """Draw a grid of framed images: green for correct predictions, red for wrong ones."""
    framed = []
    for is_right, image in zip(right, images, strict=True):
        side = len(image) + 6
        cell = np.full((side, side, 3), (52, 168, 83) if is_right else (217, 48, 37), np.uint8)
        cell[3:-3, 3:-3] = image
        framed.append(cell)
    return tile_images(framed, columns)


def draw_filters(phase: float, rng: np.random.Generator) -> Pixels:
    """Draw the kernels of the first layer: noise at ``phase`` 0, edges and blobs at 1."""
    line = np.linspace(-1, 1, 7)
    x, y = np.meshgrid(line, line)
    kernels = []
    for i in range(16):
        angle, frequency = i * np.pi / 8, 2.0 + i % 4
        wave = np.cos(frequency * (x * np.cos(angle) + y * np.sin(angle)) + i)
        learned = (wave * np.exp(-(x**2) - y**2))[..., np.newaxis] * (0.4 + rng.random(3))
        kernel = phase * learned + (1 - phase) * rng.normal(0, 0.5, (7, 7, 3))
        kernels.append(np.pad(to_bytes(0.5 + 0.45 * kernel), ((0, 1), (0, 1), (0, 0))))
    return enlarge(tile_images(kernels, 4), 6)


def make_confusion(accuracy: float, rng: np.random.Generator) -> Int64:
    """Return a confusion matrix of 100 samples per class; similar shapes are confused more."""
    count = len(CLASSES)
    similarity = np.exp(-0.8 * abs(np.subtract.outer(np.arange(count), np.arange(count))))
    np.fill_diagonal(similarity, 0)
    probability = (1 - accuracy) * similarity / similarity.sum(
        1, keepdims=True
    ) + accuracy * np.eye(count)
    return np.array([rng.multinomial(100, row / row.sum()) for row in probability])


_CELL_PX = 40
_MARGIN_PX = 70
_WHITE, _BLUE = np.array([255, 255, 255]), np.array([8, 48, 107])
_INK = (60, 64, 72)


def draw_confusion_matrix(counts: Int64, names: Sequence[str]) -> Pixels:
    """Draw a confusion matrix with counts and labels; rows are true classes."""
    from PIL import Image, ImageDraw, ImageFont

    side = _MARGIN_PX + _CELL_PX * len(names)
    image = Image.new("RGB", (side + 4, side + 4), "white")
    draw, font = ImageDraw.Draw(image), ImageFont.load_default()
    share = counts / counts.sum(1, keepdims=True)
    for row, name in enumerate(names):
        top = row * _CELL_PX
        _draw_text(draw, font, name, (_MARGIN_PX - 8, top + _CELL_PX // 2), anchor_right=True)
        for column in range(len(names)):
            left = _MARGIN_PX + column * _CELL_PX
            shade = float(share[row, column]) ** 0.6
            color = tuple((_WHITE + (_BLUE - _WHITE) * shade).astype(int).tolist())
            draw.rectangle((left, top, left + _CELL_PX, top + _CELL_PX), color, (222, 224, 230))
            if counts[row, column]:
                middle = left + _CELL_PX // 2, top + _CELL_PX // 2
                ink = "white" if shade > 0.55 else _INK
                _draw_text(draw, font, str(counts[row, column]), middle, ink)
    for column, name in enumerate(names):
        label = Image.new("RGB", (_MARGIN_PX - 8, _CELL_PX), "white")
        middle = (_MARGIN_PX - 16, _CELL_PX // 2)
        _draw_text(ImageDraw.Draw(label), font, name, middle, anchor_right=True)
        corner = _MARGIN_PX + column * _CELL_PX, len(names) * _CELL_PX + 8
        image.paste(label.transpose(Image.Transpose.ROTATE_90), corner)
    return np.asarray(image)


def _draw_text(
    draw: Any,
    font: Any,
    text: str,
    position: tuple[int, int],
    ink: Any = _INK,
    *,
    anchor_right: bool = False,
) -> None:
    left, top, right, bottom = draw.textbbox((0, 0), text, font=font)
    x = position[0] - right if anchor_right else position[0] - (left + right) / 2
    draw.text((x, position[1] - (top + bottom) / 2), text, fill=ink, font=font)


class Gallery:
    """The images that a trial logs after each evaluation. Each has a fixed difficulty."""

    def __init__(self, rng: np.random.Generator) -> None:
        labels = rng.integers(0, len(CLASSES), _IMAGES)
        self._images = [draw_glyph(label, _GLYPH_SIDE_PX, rng) for label in labels]
        self._difficulty = rng.uniform(0.05, 1.0, _IMAGES)
        self._rng = rng

    def make_summaries(self, accuracy: float, progress: float) -> list[Message]:
        confusion = make_confusion(accuracy, self._rng)
        matrix = draw_confusion_matrix(confusion, CLASSES)
        filters = draw_filters(progress**0.5, self._rng)
        return [
            self._make_predictions(accuracy),
            _make_image_summary(
                "confusion_matrix", [matrix], "Rows are true classes, columns predictions."
            ),
            _make_image_summary("conv1/kernels", [filters], "The 16 kernels of the first layer."),
            summary.tensor("confusion_counts", confusion),
        ]

    def _make_predictions(self, accuracy: float) -> Message:
        is_right = (accuracy > self._difficulty).tolist()
        sheets = []
        for first in range(0, _IMAGES, _IMAGES_PER_SHEET):
            part = slice(first, first + _IMAGES_PER_SHEET)
            sheets.append(draw_predictions(is_right[part], self._images[part], 4))
        return _make_image_summary("predictions", sheets, "Green: correct. Red: **wrong**.")


def make_pr_curves(accuracy: float, rng: np.random.Generator) -> list[Message]:
    """Return PR curves of three classes; a higher accuracy separates the scores more."""
    values = []
    for difficulty, name in enumerate(("disc", "checks", "crescent")):
        truth = rng.random(600) < 0.25
        separation = 0.5 + 4 * accuracy**2 - 0.8 * difficulty
        score = 1 / (1 + np.exp(-(rng.normal(0, 1.6, 600) + separation * (truth - 0.5))))
        values.append(summary.pr_curve(f"pr/{name}", truth, score, thresholds=101))
    return values


def _make_image_summary(tag: str, images: list[Pixels], description: str) -> Message:
    height, width, _ = images[0].shape
    encoded = [encode_png(image) for image in images]
    return summary.images(tag, encoded, width, height, description=description)


# ---- embeddings

#: Analogies: pairs of words by the names of their two groups, as in "France is to Paris".
WORD_PAIRS = {
    ("country", "capital"): """
        france/paris germany/berlin spain/madrid italy/rome portugal/lisbon austria/vienna
        greece/athens poland/warsaw sweden/stockholm norway/oslo denmark/copenhagen
        finland/helsinki ireland/dublin hungary/budapest russia/moscow turkey/ankara egypt/cairo
        kenya/nairobi ghana/accra morocco/rabat japan/tokyo china/beijing india/delhi
        thailand/bangkok vietnam/hanoi korea/seoul iran/tehran iraq/baghdad cuba/havana peru/lima
        chile/santiago canada/ottawa
    """,
    ("man", "woman"): """
        king/queen prince/princess man/woman boy/girl father/mother son/daughter brother/sister
        uncle/aunt nephew/niece husband/wife actor/actress waiter/waitress host/hostess
        hero/heroine lord/lady duke/duchess emperor/empress monk/nun grandfather/grandmother
        sir/madam
    """,
    ("present", "past"): """
        go/went see/saw take/took give/gave come/came know/knew think/thought find/found
        write/wrote run/ran eat/ate drink/drank sing/sang swim/swam fly/flew grow/grew
        throw/threw bring/brought buy/bought catch/caught teach/taught sleep/slept speak/spoke
        break/broke choose/chose drive/drove ride/rode rise/rose fall/fell begin/began win/won
        lose/lost send/sent build/built keep/kept leave/left meet/met stand/stood hold/held
    """,
    ("good", "better"): """
        good/better bad/worse big/bigger small/smaller fast/faster slow/slower tall/taller
        short/shorter long/longer young/younger old/older warm/warmer cold/colder strong/stronger
        weak/weaker rich/richer poor/poorer bright/brighter dark/darker loud/louder quiet/quieter
        deep/deeper high/higher low/lower wide/wider
    """,
}

WORD_GROUPS = {
    "animal": """
        cat dog horse cow sheep goat pig chicken duck goose rabbit mouse rat fox wolf bear lion
        tiger elephant giraffe zebra monkey camel donkey deer moose otter beaver seal whale dolphin
        shark salmon trout eagle owl raven sparrow robin swan frog toad snake lizard turtle bee ant
        spider butterfly
    """,
    "fruit": """
        apple pear plum cherry peach apricot orange lemon lime grapefruit banana mango papaya
        pineapple melon grape fig date olive strawberry raspberry blueberry blackberry cranberry
        gooseberry coconut kiwi pomegranate
    """,
    "vegetable": """
        carrot potato onion garlic cabbage spinach lettuce celery leek turnip radish beet pumpkin
        cucumber tomato pepper bean pea lentil broccoli cauliflower mushroom asparagus artichoke
    """,
    "colour": """
        red green blue yellow purple brown black white grey pink violet crimson scarlet turquoise
        beige maroon indigo
    """,
    "number": """
        one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen
        twenty thirty forty fifty sixty hundred thousand million
    """,
    "body": """
        head face eye ear nose mouth lip tooth tongue neck shoulder arm elbow hand finger thumb
        chest back hip leg knee foot toe heart lung liver brain bone skin blood
    """,
    "music": """
        piano violin cello viola harp flute oboe clarinet trumpet trombone horn tuba guitar banjo
        drum cymbal organ accordion orchestra choir melody rhythm harmony symphony
    """,
    "profession": """
        doctor nurse teacher lawyer judge farmer baker butcher carpenter plumber tailor cook pilot
        sailor soldier engineer chemist painter poet author singer dancer librarian clerk
    """,
    "transport": """
        car bus train tram bicycle motorcycle truck van ship boat ferry canoe plane helicopter
        rocket wagon sledge subway taxi scooter
    """,
    "weather": """
        rain snow hail wind storm thunder lightning fog mist cloud sun frost ice drought flood
        breeze hurricane tornado
    """,
    "house": """
        table chair sofa bed lamp shelf cupboard drawer mirror carpet curtain door window wall roof
        floor stairs kitchen cellar attic garden fence
    """,
    "clothing": """
        shirt blouse trousers skirt dress coat jacket scarf glove hat cap sock shoe boot sandal belt
        tie sweater apron
    """,
    "computing": """
        computer keyboard screen printer network server database program compiler algorithm memory
        processor file folder password browser robot sensor
    """,
    "time": """
        second minute hour day week month year decade century morning noon evening night yesterday
        today tomorrow spring summer autumn winter
    """,
}


# ---- word vectors

WORD_STEPS = (0, 250, 1000, 4000, 16_000)
_WORD_DIMENSIONS = 48


class Word(NamedTuple):
    text: str
    group: str
    #: Position in its pair, 0 or 1; 0 for words without a pair.
    part: int
    #: Index of the pair in its kind; -1 for words without a pair.
    pair: int


def list_words() -> list[Word]:
    """Return all words without duplicates."""
    words: dict[str, Word] = {}
    for names, text in WORD_PAIRS.items():
        for number, pair in enumerate(text.split()):
            for part, word in enumerate(pair.split("/")):
                words.setdefault(word, Word(word, names[part], part, number))
    for name, text in WORD_GROUPS.items():
        for word in text.split():
            words.setdefault(word, Word(word, name, 0, -1))
    return list(words.values())


def write_words(run: Path, *, seed: int) -> str:
    """Write vectors and labels of all steps; return their part of the projector config."""
    rng = np.random.default_rng([seed, 107])
    words = list_words()
    (run / "words.tsv").write_text(_format_labels(words), encoding="utf-8")
    noise = rng.normal(0, 0.25, (len(words), _WORD_DIMENSIONS))
    learned = _make_word_vectors(words, rng)
    blocks = []
    for step in WORD_STEPS:
        progress = 1 - np.exp(-step / 1500)
        vectors = (1 - progress) * noise + progress * learned
        name = f"words-{step:05d}.bytes"
        (run / name).write_bytes(vectors.astype("<f4").tobytes())
        blocks.append(_format_block(step, name, len(words)))
    return "".join(blocks)


def _make_word_vectors(words: list[Word], rng: np.random.Generator) -> Float64:
    """Return vectors with a center per group, and the same offset within all pairs of a kind."""
    centers_by_group: dict[str, Float64] = {}
    for first, second in WORD_PAIRS:
        centers_by_group[first] = rng.normal(0, 1, _WORD_DIMENSIONS)
        centers_by_group[second] = centers_by_group[first] + rng.normal(0, 0.45, _WORD_DIMENSIONS)
    for name in WORD_GROUPS:
        centers_by_group[name] = rng.normal(0, 1, _WORD_DIMENSIONS)
    # Fruit and vegetables are close to each other.
    centers_by_group["vegetable"] = centers_by_group["fruit"] + rng.normal(0, 0.5, _WORD_DIMENSIONS)
    pair_offsets: dict[tuple[str, int], Float64] = {}
    kinds = {name: names[0] for names in WORD_PAIRS for name in names}
    vectors = []
    for word in words:
        offset = rng.normal(0, 0.35, _WORD_DIMENSIONS)
        if word.group in kinds:
            offset = pair_offsets.setdefault((kinds[word.group], word.pair), offset)
            offset = offset + rng.normal(0, 0.08, _WORD_DIMENSIONS)
        vectors.append(centers_by_group[word.group] + offset)
    return np.array(vectors)


def _format_labels(words: list[Word]) -> str:
    rows = ["word\tgroup\tletters\tcount"]
    for rank, word in enumerate(words, 1):
        # Zipf's law: the n-th word is 1/n times as frequent as the first.
        rows.append(f"{word.text}\t{word.group}\t{len(word.text)}\t{90_000 // rank}")
    return "\n".join(rows) + "\n"


def _format_block(step: int, path: str, count: int) -> str:
    return f"""\
embeddings {{
  tensor_name: "word_vectors:{step:05d}"
  tensor_shape: {count}
  tensor_shape: {_WORD_DIMENSIONS}
  tensor_path: "{path}"
  metadata_path: "words.tsv"
}}
"""


# ---- image embeddings

_POINTS = 400  # a square number, because sprite sheets are square
_DIMENSIONS = 24
_IMAGE_SIDE_PX = 28

_CONFIG = f"""\
embeddings {{
  tensor_name: "penultimate_layer"
  tensor_shape: {_POINTS}
  tensor_shape: {_DIMENSIONS}
  tensor_path: "tensors.tsv"
  metadata_path: "metadata.tsv"
  sprite {{
    image_path: "sprite.png"
    single_image_dim: {_IMAGE_SIDE_PX}
    single_image_dim: {_IMAGE_SIDE_PX}
  }}
}}
"""


def write_embeddings(run: Path, *, seed: int, now: float) -> None:
    rng = np.random.default_rng([seed, 103])
    labels = np.arange(_POINTS) % len(CLASSES)
    # TensorBoard only shows folders that contain an event file.
    with EventFile(run, now - 120) as file:
        text = f"Activations of the penultimate layer of `lr=0.03,bn` for {_POINTS} images."
        file.log(now - 120, 6000, summary.text("about", text))
    _write_vectors(run / "tensors.tsv", labels, rng)
    _write_labels(run / "metadata.tsv", labels)
    images = [draw_glyph(label, _IMAGE_SIDE_PX, rng) for label in labels]
    sprite = tile_images(images, int(_POINTS**0.5))
    (run / "sprite.png").write_bytes(encode_png(sprite))
    config = _CONFIG + write_words(run, seed=seed)
    (run / "projector_config.pbtxt").write_text(config, encoding="utf-8")


def _write_vectors(path: Path, labels: Int64, rng: np.random.Generator) -> None:
    centers = rng.normal(0, 1, (len(CLASSES), _DIMENSIONS))
    vectors = centers[labels] + rng.normal(0, 0.35, (_POINTS, _DIMENSIONS))
    rows = ("\t".join(f"{number:.5f}" for number in vector) for vector in vectors)
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")


def _write_labels(path: Path, labels: Int64) -> None:
    rows = ["shape\tindex\tsplit"]
    for index, label in enumerate(labels):
        split = "validation" if index % 5 == 0 else "train"
        rows.append(f"{CLASSES[label]}\t{index}\t{split}")
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
