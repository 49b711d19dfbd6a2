"""`tracklight.projector`: the files that the projector reads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tracklight import projector
from tracklight.errors import UsageError, UsageWarning
from tracklight.formats.media import encode_png
from tracklight.projector import MAX_SPRITE_SIDE_PX, make_sprite
from tracklight.writer.media import find_image_size

VECTORS = np.arange(12, dtype=np.float32).reshape(4, 3) / 3


def read_vectors(path: Path) -> Any:
    return np.loadtxt(path, delimiter="\t", dtype=np.float32)


def test_writes_all_files_of_an_embedding(tmp_path: Path) -> None:
    images = np.zeros((4, 5, 6, 3), np.uint8)
    assert projector.embeddings(
        tmp_path / "run", VECTORS, metadata=["a", "b", "c", "d"], images=images
    )
    run = tmp_path / "run"
    assert (run / "projector_config.pbtxt").read_text() == (
        "embeddings {\n"
        '  tensor_name: "embedding"\n'
        '  metadata_path: "embedding.metadata.tsv"\n'
        "  tensor_shape: 4\n"
        "  tensor_shape: 3\n"
        "  sprite {\n"
        '    image_path: "embedding.sprite.png"\n'
        "    single_image_dim: 6\n"
        "    single_image_dim: 5\n"
        "  }\n"
        '  tensor_path: "embedding.tensors.tsv"\n'
        "}\n"
    )
    assert np.array_equal(read_vectors(run / "embedding.tensors.tsv"), VECTORS)
    assert (run / "embedding.metadata.tsv").read_text() == "a\nb\nc\nd\n"
    assert find_image_size((run / "embedding.sprite.png").read_bytes()) == (12, 10)
    assert list(run.glob("*tfevents*"))  # makes the directory a run


@pytest.mark.parametrize(
    "metadata",
    [
        {"name": ["a", "b\tc", "", "d"], "size": [1, 2, 3, 4]},
        [
            {"name": "a", "size": 1},
            {"name": "b\nc", "size": 2},
            {"size": 3},
            {"name": "d", "size": 4},
        ],
    ],
)
def test_metadata_columns_have_a_header(tmp_path: Path, metadata: Any) -> None:
    assert projector.embeddings(tmp_path, VECTORS, metadata)
    text = (tmp_path / "embedding.metadata.tsv").read_text()
    assert text == "name\tsize\na\t1\nb c\t2\n(empty)\t3\nd\t4\n"


def test_accepts_a_data_frame(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"name": list("abcd"), "size": [1, 2, 3, 4]})
    assert projector.embeddings(tmp_path, VECTORS, frame)
    assert (tmp_path / "embedding.metadata.tsv").read_text().startswith("name\tsize\na\t1\n")


def test_same_name_replaces_an_embedding(tmp_path: Path) -> None:
    for name, rows in (("one", 4), ('t"wo', 4), ("one", 2)):
        assert projector.embeddings(tmp_path, VECTORS[:rows], name=name)
    config = (tmp_path / "projector_config.pbtxt").read_text()
    assert config.count("embeddings {") == 2
    assert config.count('tensor_name: "one"') == config.count("tensor_shape: 2\n") == 1
    assert 'tensor_name: "t\\"wo"' in config
    assert len(list(tmp_path.glob("*tfevents*"))) == 1


def test_accepts_an_existing_sprite(tmp_path: Path) -> None:
    sheet = encode_png(np.zeros((20, 40), np.uint8))
    (tmp_path / "sheet.png").write_bytes(sheet)
    assert projector.embeddings(tmp_path, VECTORS, sprite=tmp_path / "sheet.png")
    config = (tmp_path / "projector_config.pbtxt").read_text()
    assert "single_image_dim: 20\n    single_image_dim: 10\n" in config
    assert (tmp_path / "embedding.sprite.png").read_bytes() == sheet


def test_sprite_is_a_square_grid_from_the_top_left() -> None:
    images = np.arange(5, dtype=np.uint8)[:, None, None].repeat(2, 1).repeat(2, 2)
    sheet, size = make_sprite(images)
    assert size == (2, 2)
    assert sheet[::2, ::2, 0].tolist() == [[0, 1, 2], [3, 4, 0], [0, 0, 0]]


def test_large_images_are_downsampled() -> None:
    sheet, (width, height) = make_sprite(np.zeros((4, 3, 5000, 1), np.uint8))
    assert max(sheet.shape) <= MAX_SPRITE_SIDE_PX
    assert (width, height) == (2500, 2)


@pytest.mark.parametrize(
    ("argument", "options"),
    [
        ("vectors", {"vectors": np.zeros(3)}),
        ("vectors", {"vectors": np.zeros((1, 3))}),
        ("metadata", {"vectors": VECTORS, "metadata": ["a"]}),
        ("metadata", {"vectors": VECTORS, "metadata": "abcd"}),
        ("images", {"vectors": VECTORS, "images": np.zeros((3, 2, 2, 1))}),
        ("images", {"vectors": VECTORS, "images": np.zeros((4, 2))}),
        ("sprite", {"vectors": VECTORS, "sprite": encode_png(np.zeros((3, 3), np.uint8))}),
    ],
)
def test_misuse_writes_nothing(tmp_path: Path, argument: str, options: Any) -> None:
    with pytest.warns(UsageWarning, match=f"`{argument}` "):
        assert not projector.embeddings(tmp_path, **options)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(UsageError, match=f"`{argument}` "):
        projector.embeddings(tmp_path, **options, strict=True)


def test_config_supports_the_api_of_tutorials(tmp_path: Path) -> None:
    config = projector.ProjectorConfig()
    embedding = config.embeddings.add()
    embedding.tensor_name = "embedding/.ATTRIBUTES/VARIABLE_VALUE"
    embedding.metadata_path = "metadata.tsv"
    embedding.sprite.image_path = "sprite.png"
    embedding.sprite.single_image_dim.extend([28, 28])
    projector.visualize_embeddings(str(tmp_path / "new"), config)
    assert (tmp_path / "new" / "projector_config.pbtxt").read_text() == (
        "embeddings {\n"
        '  tensor_name: "embedding/.ATTRIBUTES/VARIABLE_VALUE"\n'
        '  metadata_path: "metadata.tsv"\n'
        "  sprite {\n"
        '    image_path: "sprite.png"\n'
        "    single_image_dim: 28\n"
        "    single_image_dim: 28\n"
        "  }\n"
        "}\n"
    )


def test_rejects_invalid_config_and_remote_logdir(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="ProjectorConfig"):
        projector.visualize_embeddings(tmp_path, {})
    with pytest.raises(UsageError, match="local directory"):
        projector.visualize_embeddings("s3://bucket/run", projector.ProjectorConfig())
