from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tracklight.cli import main
from tracklight.cli.demo.embeddings import write_embeddings
from tracklight.logdir.access import parse_roots
from tracklight.reader.summaries import (
    InspectedEmbedding,
    iter_embedding_lines,
    summarize_embeddings,
    summarize_tensor_file,
)

DATA = Path(__file__).parents[1] / "data"


def summarize(root: Path) -> list[InspectedEmbedding]:
    return list(summarize_embeddings(parse_roots(str(root))))


def test_summarizes_labels_and_images(tmp_path: Path) -> None:
    write_embeddings(tmp_path / "run", seed=0, now=1e9)
    words, embedding = summarize(tmp_path)
    assert (words.name, words.steps) == ("word_vectors", [0, 250, 1000, 4000, 16_000])
    assert words.labels == ["word", "group", "letters", "count"]
    assert embedding == InspectedEmbedding(
        "run", "penultimate_layer", 400, 24, [], ["shape", "index", "split"], True, []
    )
    assert list(iter_embedding_lines([embedding]))[:4] == [
        "run  penultimate_layer",
        "  400 vectors of 24 dimensions",
        "  labels: shape, index, split",
        "  one image per vector",
    ]


def test_reports_inconsistent_files(tmp_path: Path) -> None:
    vectors = np.ones((5, 3), np.float32)
    vectors[2, 1] = np.nan
    np.save(tmp_path / "v.npy", vectors)
    (tmp_path / "m.tsv").write_text("a\nb\n")
    Image.new("L", (4, 4)).save(tmp_path / "s.png")
    (tmp_path / "projector_config.pbtxt").write_text(
        'embeddings { tensor_path: "v.npy" metadata_path: "m.tsv" '
        'sprite { image_path: "s.png" single_image_dim: 4 single_image_dim: 4 } }'
    )
    (embedding,) = summarize(tmp_path)
    for problem, part in zip(
        embedding.problems,
        ("left out 1 of 5 vectors with NaN", "2 rows of labels for 5", "has 1 cells of 4 x 4"),
        strict=True,
    ):
        assert part in problem


def test_summarizes_checkpoint_files() -> None:
    vectors = {
        item.name: item.vectors
        for item in summarize_tensor_file(str(DATA / "weights/checkpoint.pth"))
    }
    assert vectors == {"words.weight": 9, "out.0.weight": 3}
    (item,) = summarize_tensor_file(str(DATA / "checkpoints/parts.index"))
    assert (item.name, item.vectors, item.dimensions) == ("table", 70, 150)


def test_limits_the_listed_steps(tmp_path: Path) -> None:
    for step in range(30):
        shutil.copyfile(DATA / "weights/lone.pt", tmp_path / f"lone-{step}.pt")
    (embedding,) = summarize(tmp_path)
    assert embedding.steps == list(range(30))
    assert any(line.endswith("18, 19 and 10 more") for line in iter_embedding_lines([embedding]))


def test_inspect_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.save(tmp_path / "v.npy", np.ones((5, 3)))
    main(["inspect", "--embeddings", "--json", "--logdir", str(tmp_path)])
    (embedding,) = json.loads(capsys.readouterr().out)["embeddings"]
    assert (embedding["name"], embedding["vectors"], embedding["problems"]) == ("v", 5, [])
    main(["inspect", "--embeddings", str(tmp_path / "v.npy")])
    assert "5 vectors of 3 dimensions" in capsys.readouterr().out
    (tmp_path / "nothing").mkdir()
    main(["inspect", "--embeddings", "--logdir", str(tmp_path / "nothing")])
    assert capsys.readouterr().out == "no embeddings found\n"
