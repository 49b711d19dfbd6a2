from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from tracklight.analysis.embeddings import Embedding, read_vectors
from tracklight.analysis.embeddings.discovery import discover_embeddings
from tracklight.logdir.access import ConfinedFiles, parse_roots

DATA = Path(__file__).parents[2] / "data"


def discover(root: Path) -> dict[tuple[str, str], Embedding]:
    """Return all embeddings below a directory by run and name."""
    embeddings = discover_embeddings(ConfinedFiles([str(root)]), parse_roots(str(root)))
    by_name = {(item.run, item.name): item for item in embeddings}
    assert len(by_name) == len(embeddings)
    return by_name


def write_files(folder: Path, config: str = "", **files: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    if config:
        (folder / "projector_config.pbtxt").write_text(config)
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text)


def copy_checkpoint(folder: Path, source: str, name: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for path in (DATA / "checkpoints").glob(f"{source}.*"):
        shutil.copyfile(path, folder / path.name.replace(source, name, 1))


def test_configured_files_are_versions_of_one_embedding(tmp_path: Path) -> None:
    config = "".join(
        f'embeddings {{ tensor_name: "words:{step:05}" tensor_path: "{step}.tsv" '
        f'metadata_path: "{step}.m.tsv" }}\n'
        for step in (7, 0, 12)
    )
    write_files(tmp_path / "run", config)
    found = discover(tmp_path)
    (words,) = found.values()
    assert (words.run, words.name) == ("run", "words")
    assert [version.step for version in words.versions] == [0, 7, 12]
    assert words.versions[1].metadata_path == str(tmp_path / "run/7.m.tsv")


def test_entry_without_a_name_is_named_by_its_file(tmp_path: Path) -> None:
    paths = "".join(f'embeddings {{ tensor_path: "{name}.npy" }}' for name in "ab")
    write_files(tmp_path, paths)
    assert set(discover(tmp_path)) == {(".", "a.npy"), (".", "b.npy")}


def test_every_checkpoint_is_a_version(tmp_path: Path) -> None:
    for step in (2, 10):
        copy_checkpoint(tmp_path / "run", "keras", f"ckpt-{step}")
    write_files(tmp_path / "run", 'embeddings { tensor_name: "sequential/words/embeddings" '
        'metadata_path: "m.tsv" }')  # fmt: skip
    found = discover(tmp_path)
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


def test_entry_without_name_and_path_applies_to_all_tensors(tmp_path: Path) -> None:
    copy_checkpoint(tmp_path, "keras", "ckpt-1")
    write_files(tmp_path, 'embeddings { metadata_path: "m.tsv" }')
    paths = {item.versions[0].metadata_path for item in discover(tmp_path).values()}
    assert paths == {str(tmp_path / "m.tsv")}


def test_finds_checkpoints_near_the_config(tmp_path: Path) -> None:
    """Above TensorFlow's assets directory, or in the run below a config of Keras."""
    assets = tmp_path / "a/plugins/org_tensorflow_tensorboard_projector"
    write_files(assets, 'embeddings { tensor_name: "rows" }')
    copy_checkpoint(tmp_path / "a", "slices", "model")
    write_files(tmp_path / "b", 'embeddings { tensor_name: "layer_with_weights-0/embeddings" '
        'metadata_path: "words.tsv" }', words__tsv="w\n" * 9)  # fmt: skip
    (tmp_path / "b/train").mkdir()
    for step in (0, 1):
        target = tmp_path / f"b/train/keras_embedding.ckpt-{step}.weights.h5"
        shutil.copyfile(DATA / "weights/keras.weights.h5", target)
    found = discover(tmp_path)
    assert found["a", "rows"].versions[0].path == str(tmp_path / "a/model")
    assert [version.step for version in found["b", "words"].versions] == [0, 1]
    assert found["b", "words"].versions[0].metadata_path.endswith("words.tsv")


def test_moved_checkpoint_is_found_by_its_name(tmp_path: Path) -> None:
    copy_checkpoint(tmp_path, "slices", "ckpt-5")
    copy_checkpoint(tmp_path, "keras", "other-9")
    write_files(tmp_path, 'model_checkpoint_path: "/old/place/ckpt-5"')
    assert {key for key in discover(tmp_path) if key[1] in ("rows", "columns")} == {
        (".", "rows"),
        (".", "columns"),
    }


def test_finds_tensor_files_without_a_config(tmp_path: Path) -> None:
    np.save(tmp_path / "vectors.npy", np.zeros((5, 3), np.float32))
    copy_checkpoint(tmp_path / "saved/variables", "keras", "variables")
    shutil.copyfile(DATA / "weights/state_dict.pt", tmp_path / "net-3.pt")
    found = discover(tmp_path)
    assert found[".", "vectors"].versions[0].shape == (5, 3)
    assert ("saved/variables", "sequential/words/embeddings") in found
    assert found[".", "words.weight"].versions[0].step == 3


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ("embeddings {", "cannot be read"),
        ('embeddings { tensor_name: "a" }', 'no checkpoint near the config has the tensor "a"'),
        (
            'model_checkpoint_path: "x" embeddings { metadata_path: "m" }',
            '"x" of the config does not exist',
        ),
        ('embeddings { metadata_path: "m" }', "there is no checkpoint near the config"),
    ],
)
def test_reports_configs_without_vectors(tmp_path: Path, config: str, message: str) -> None:
    write_files(tmp_path / "run", config)
    (item,) = discover(tmp_path).values()
    assert message in str(item.problem)
    assert not item.versions


def test_damaged_file_does_not_hide_others(tmp_path: Path) -> None:
    np.save(tmp_path / "good.npy", np.zeros((5, 3)))
    (tmp_path / "bad.npy").write_bytes(b"nothing")
    copy_checkpoint(tmp_path, "shards", "half")
    (tmp_path / "half.index").write_bytes(b"")
    found = discover(tmp_path)
    assert found[".", "good"].problem is None
    assert "cannot be read" in str(found[".", "bad.npy"].problem)
    assert "still being written" in str(found[".", "half"].problem)


def test_rejects_paths_outside_of_the_log_directory(tmp_path: Path) -> None:
    np.save(tmp_path / "secret.npy", np.zeros((5, 3)))
    write_files(tmp_path / "logs", 'embeddings { tensor_name: "a" tensor_path: "../secret.npy" }')
    (tmp_path / "logs/link.npy").symlink_to(tmp_path / "secret.npy")
    found = discover(tmp_path / "logs")
    assert "is outside the log directory" in str(found[".", "link.npy"].problem)
    files = ConfinedFiles([str(tmp_path / "logs")])
    with pytest.raises(Exception, match="is outside the log directory"):
        read_vectors(files, found[".", "a"].versions[0])


@pytest.mark.parametrize("shape", [(1, 4), (4, 1), (4,), (0, 4)])
def test_reports_arrays_that_are_not_matrices(tmp_path: Path, shape: tuple[int, ...]) -> None:
    np.save(tmp_path / "array.npy", np.ones(shape, np.float32))
    (found,) = discover(tmp_path).values()
    assert (found.name, found.versions) == ("array", ())
    assert '"array" is not a matrix' in str(found.problem)
