from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from tracklight.analysis.embeddings.discovery import discover_embeddings
from tracklight.analysis.embeddings.loading import Embedding, read_vectors
from tracklight.logdir.confined_files import ConfinedFiles
from tracklight.logdir.roots import parse_roots

DATA = Path(__file__).parents[2] / "data"


def find(root: Path) -> dict[tuple[str, str], Embedding]:
    found = discover_embeddings(ConfinedFiles([str(root)]), parse_roots(str(root)))
    assert len({(item.run, item.name) for item in found}) == len(found)
    return {(item.run, item.name): item for item in found}


def put(folder: Path, config: str = "", **files: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    if config:
        (folder / "projector_config.pbtxt").write_text(config)
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text)


def put_checkpoint(folder: Path, source: str, name: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for path in (DATA / "checkpoints").glob(f"{source}.*"):
        shutil.copyfile(path, folder / path.name.replace(source, name, 1))


def test_files_that_a_config_names_are_steps_of_one_embedding(tmp_path: Path) -> None:
    config = "".join(
        f'embeddings {{ tensor_name: "words:{step:05}" tensor_path: "{step}.tsv" '
        f'metadata_path: "{step}.m.tsv" }}\n'
        for step in (7, 0, 12)
    )
    put(tmp_path / "run", config)
    found = find(tmp_path)
    (words,) = found.values()
    assert (words.run, words.name) == ("run", "words")
    assert [version.step for version in words.versions] == [0, 7, 12]
    assert words.versions[1].metadata_path == str(tmp_path / "run/7.m.tsv")


def test_a_path_without_a_name_goes_by_its_file(tmp_path: Path) -> None:
    paths = "".join(f'embeddings {{ tensor_path: "{name}.npy" }}' for name in "ab")
    put(tmp_path, paths)
    assert set(find(tmp_path)) == {(".", "a.npy"), (".", "b.npy")}


def test_every_checkpoint_is_a_step(tmp_path: Path) -> None:
    for step in (2, 10):
        put_checkpoint(tmp_path / "run", "keras", f"ckpt-{step}")
    put(tmp_path / "run", 'embeddings { tensor_name: "sequential/words/embeddings" '
        'metadata_path: "m.tsv" }')  # fmt: skip
    found = find(tmp_path)
    assert set(found) == {
        ("run", "sequential/words/embeddings"),
        ("run", "sequential/out/kernel"),
    }
    words = found["run", "sequential/words/embeddings"]
    assert [version.step for version in words.versions] == [2, 10]
    assert words.versions[0].metadata_path == str(tmp_path / "run/m.tsv")
    assert found["run", "sequential/out/kernel"].versions[0].metadata_path == ""
    vectors = read_vectors(ConfinedFiles([str(tmp_path)]), words.versions[0])
    assert vectors.values.shape == (20, 6)


def test_an_entry_without_a_name_is_for_all_tensors(tmp_path: Path) -> None:
    put_checkpoint(tmp_path, "keras", "ckpt-1")
    put(tmp_path, 'embeddings { metadata_path: "m.tsv" }')
    paths = {item.versions[0].metadata_path for item in find(tmp_path).values()}
    assert paths == {str(tmp_path / "m.tsv")}


def test_checkpoints_nearby_are_found(tmp_path: Path) -> None:
    """Above TensorFlow's asset folder, or in the run below the config that Keras wrote."""
    assets = tmp_path / "a/plugins/org_tensorflow_tensorboard_projector"
    put(assets, 'embeddings { tensor_name: "rows" }')
    put_checkpoint(tmp_path / "a", "slices", "model")
    put(tmp_path / "b", 'embeddings { tensor_name: "layer_with_weights-0/embeddings" '
        'metadata_path: "words.tsv" }', words__tsv="w\n" * 9)  # fmt: skip
    (tmp_path / "b/train").mkdir()
    for step in (0, 1):
        target = tmp_path / f"b/train/keras_embedding.ckpt-{step}.weights.h5"
        shutil.copyfile(DATA / "weights/keras.weights.h5", target)
    found = find(tmp_path)
    assert found["a", "rows"].versions[0].path == str(tmp_path / "a/model")
    assert [version.step for version in found["b", "words"].versions] == [0, 1]
    assert found["b", "words"].versions[0].metadata_path.endswith("words.tsv")


def test_a_checkpoint_that_was_moved_is_found_by_its_name(tmp_path: Path) -> None:
    put_checkpoint(tmp_path, "slices", "ckpt-5")
    put_checkpoint(tmp_path, "keras", "other-9")
    put(tmp_path, 'model_checkpoint_path: "/old/place/ckpt-5"')
    assert {key for key in find(tmp_path) if key[1] in ("rows", "columns")} == {
        (".", "rows"),
        (".", "columns"),
    }


def test_files_without_a_config_are_offered_as_well(tmp_path: Path) -> None:
    np.save(tmp_path / "vectors.npy", np.zeros((5, 3), np.float32))
    put_checkpoint(tmp_path / "saved/variables", "keras", "variables")
    shutil.copyfile(DATA / "weights/state_dict.pt", tmp_path / "net-3.pt")
    found = find(tmp_path)
    assert found[".", "vectors"].versions[0].shape == (5, 3)
    assert ("saved/variables", "sequential/words/embeddings") in found
    assert found[".", "words.weight"].versions[0].step == 3


@pytest.mark.parametrize(
    ("config", "sentence"),
    [
        ("embeddings {", "cannot be read"),
        ('embeddings { tensor_name: "a" }', 'names the tensor "a", which no checkpoint'),
        ('model_checkpoint_path: "x" embeddings { metadata_path: "m" }', '"x", which is not there'),
        ('embeddings { metadata_path: "m" }', "there is no checkpoint beside the config"),
    ],
)
def test_a_config_without_vectors_is_told(tmp_path: Path, config: str, sentence: str) -> None:
    put(tmp_path / "run", config)
    (item,) = find(tmp_path).values()
    assert sentence in item.problem
    assert not item.versions


def test_one_bad_file_does_not_hide_the_others(tmp_path: Path) -> None:
    np.save(tmp_path / "good.npy", np.zeros((5, 3)))
    (tmp_path / "bad.npy").write_bytes(b"nothing")
    put_checkpoint(tmp_path, "shards", "half")
    (tmp_path / "half.index").write_bytes(b"")
    found = find(tmp_path)
    assert found[".", "good"].problem == ""
    assert "cannot be read" in found[".", "bad.npy"].problem
    assert "may still be being written" in found[".", "half"].problem


def test_paths_out_of_the_log_directory_are_not_read(tmp_path: Path) -> None:
    np.save(tmp_path / "secret.npy", np.zeros((5, 3)))
    put(tmp_path / "logs", 'embeddings { tensor_name: "a" tensor_path: "../secret.npy" }')
    (tmp_path / "logs/link.npy").symlink_to(tmp_path / "secret.npy")
    found = find(tmp_path / "logs")
    assert "is outside the log directory" in found[".", "link.npy"].problem
    place = ConfinedFiles([str(tmp_path / "logs")])
    with pytest.raises(Exception, match="is outside the log directory"):
        read_vectors(place, found[".", "a"].versions[0])


@pytest.mark.parametrize("shape", [(1, 4), (4, 1), (4,), (0, 4)])
def test_an_array_that_is_no_table_is_told(tmp_path: Path, shape: tuple[int, ...]) -> None:
    np.save(tmp_path / "odd.npy", np.ones(shape, np.float32))
    (found,) = find(tmp_path).values()
    assert (found.name, found.versions) == ("odd", ())
    assert '"odd" is no table' in found.problem
