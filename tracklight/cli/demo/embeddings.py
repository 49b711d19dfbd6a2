"""Embeddings for the projector: images of the sweep's data set, and word vectors at five steps."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from tracklight.cli.demo import glyphs
from tracklight.cli.demo.writers import EventFile
from tracklight.formats import summary
from tracklight.formats.media import encode_png
from tracklight.types import Float64, Int64

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


# --- Word vectors ---

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


# --- Image embeddings ---

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
    labels = np.arange(_POINTS) % len(glyphs.CLASSES)
    # TensorBoard only shows folders that contain an event file.
    with EventFile(run, now - 120) as file:
        text = f"Activations of the penultimate layer of `lr=0.03,bn` for {_POINTS} images."
        file.log(now - 120, 6000, summary.text("about", text))
    _write_vectors(run / "tensors.tsv", labels, rng)
    _write_labels(run / "metadata.tsv", labels)
    images = [glyphs.draw_glyph(label, _IMAGE_SIDE_PX, rng) for label in labels]
    sprite = glyphs.tile_images(images, int(_POINTS**0.5))
    (run / "sprite.png").write_bytes(encode_png(sprite))
    config = _CONFIG + write_words(run, seed=seed)
    (run / "projector_config.pbtxt").write_text(config, encoding="utf-8")


def _write_vectors(path: Path, labels: Int64, rng: np.random.Generator) -> None:
    centers = rng.normal(0, 1, (len(glyphs.CLASSES), _DIMENSIONS))
    vectors = centers[labels] + rng.normal(0, 0.35, (_POINTS, _DIMENSIONS))
    rows = ("\t".join(f"{number:.5f}" for number in vector) for vector in vectors)
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")


def _write_labels(path: Path, labels: Int64) -> None:
    rows = ["shape\tindex\tsplit"]
    for index, label in enumerate(labels):
        split = "validation" if index % 5 == 0 else "train"
        rows.append(f"{glyphs.CLASSES[label]}\t{index}\t{split}")
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
