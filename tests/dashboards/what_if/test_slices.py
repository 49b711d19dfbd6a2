"""Slices, images, embeddings, sequences and attributions of the What-If dashboard."""

from __future__ import annotations

import base64
import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
from PIL import Image

from tests.dashboards.what_if.board import Board, create_dashboard, start_board, wait_for_job
from tracklight.analysis.predictors import ColumnPredictor
from tracklight.analysis.predictors.python_models import wrap_model
from tracklight.analysis.source import DataAccess
from tracklight.analysis.tables.columns import make_column
from tracklight.analysis.tables.objects import to_table
from tracklight.analysis.what_if.performance import assign_slices
from tracklight.analysis.what_if.workspace import Workspace
from tracklight.formats.media import encode_png
from tracklight.what_if import Session

ROWS = 300


def make_data() -> dict[str, Any]:
    random = np.random.default_rng(0)
    x = random.normal(size=ROWS)
    return {"x": x, "group": random.choice(["b", "c", "a"], ROWS), "label": (x > 0).astype(int)}


def predict(columns: Any) -> Any:
    return 1 / (1 + np.exp(-columns["x"]))


@contextmanager
def serve(folder: Path, workspace: Workspace) -> Iterator[Board]:
    for model in workspace.models:
        workspace.predict(model.name)
    with start_board(folder, DataAccess(workspaces={"data": workspace})) as board:
        yield board


def make_binary(**options: Any) -> Workspace:
    table = to_table(make_data())
    return Workspace(table, [wrap_model(predict, "m")], label="label", features=["x"], **options)


def request(board: Board, **fields: Any) -> Any:
    return board.post("performance", session="data", intervals="none", **fields)


@pytest.mark.parametrize(
    ("rule", "edges"),
    [
        (4, lambda x: np.round(np.linspace(x.min(), x.max(), 5)[1:-1], 1)),
        ({"quantiles": 3}, lambda x: np.quantile(x, [1 / 3, 2 / 3])),
        ([-1, 0.5], lambda x: [-1, 0.5]),
    ],
)
def test_numeric_columns_have_bins(tmp_path: Path, rule: Any, edges: Any) -> None:
    x = make_data()["x"]
    expected = np.asarray(edges(x))
    with serve(tmp_path, make_binary()) as board:
        response = request(board, slice_by=["x"], buckets={"x": rule})
    assert response["edges"]["x"] == pytest.approx(expected.tolist())
    counts = np.bincount(np.searchsorted(expected, x, side="right"))
    assert response["counts"][1:] == counts.tolist()
    positive = [int(tp + fn) for tp, fn in zip(response["tp"][::101], response["fn"][::101],
                                               strict=True)]  # fmt: skip
    labels = np.bincount(np.searchsorted(expected, x, side="right"), x > 0).astype(int)
    assert positive[1:] == labels.tolist()


def test_invalid_bins_are_explained(tmp_path: Path) -> None:
    with serve(tmp_path, make_binary()) as board:
        message = board.fail("performance", session="data", slice_by=["x"], buckets={"x": [2, 1]})
        assert "must be ascending" in message


def test_deleted_rows_do_not_change_the_slices_of_parts_of_a_response(tmp_path: Path) -> None:
    workspace = make_binary()
    workspace.delete(int(np.argmax(make_data()["x"])))
    with serve(tmp_path, workspace) as board:
        response = request(board, slice_by=["x"], buckets={"x": 4})
    assert response["counts"][0] == ROWS - 1
    assert sum(response["counts"][1:]) == ROWS - 1


def test_rows_without_a_label_are_left_out(tmp_path: Path) -> None:
    data = make_data()
    labels = data["label"].astype(float)
    labels[int(np.argmin(data["x"]))] = np.nan
    table = to_table({**data, "label": labels})
    workspace = Workspace(table, [wrap_model(predict, "m")], label="label", features=["x"])
    with serve(tmp_path, workspace) as board:
        response = request(board, slice_by=["x"], buckets={"x": 4})
    assert sum(response["counts"][1:]) == ROWS - 1


def test_matrices_of_several_classes_belong_to_their_slices(tmp_path: Path) -> None:
    data = make_data()
    data["label"] = np.random.default_rng(1).integers(0, 3, ROWS)

    def predict_three(columns: Any) -> Any:
        classes = (abs(columns["x"]) * 3).astype(int) % 3
        return np.eye(3)[classes]

    table = to_table(data)
    workspace = Workspace(table, [wrap_model(predict_three, "m")], label="label", features=["x"])
    with serve(tmp_path, workspace) as board:
        response = request(board, slice_by=["group"])
    matrices = np.reshape(response["matrices"], (-1, 3, 3))
    assert response["slices"] == ["Overall", "group:a", "group:b", "group:c"]
    assert matrices.sum(axis=(1, 2)).tolist() == response["counts"]
    predicted = predict_three(data).argmax(axis=1)
    chosen = data["group"] == "b"
    expected = np.zeros((3, 3), int)
    np.add.at(expected, (data["label"][chosen], predicted[chosen]), 1)
    assert matrices[2].tolist() == expected.tolist()


def test_label_values_differ_from_class_names(tmp_path: Path) -> None:
    workspace = make_binary(class_names=["low", "high"])
    with serve(tmp_path, workspace) as board:
        response = request(board)
    assert response["class_names"] == ["low", "high"]
    assert response["label_values"] == ["0", "1"]


def test_choosing_the_label_keeps_features_and_class_names(tmp_path: Path) -> None:
    workspace = make_binary(class_names=["no", "yes"])
    with serve(tmp_path, workspace) as board:
        info = board.post("configure", session="data", label=None)
        assert info["label"] is None
        assert [c["name"] for c in info["columns"] if c["is_input"]] == ["x"]
        (model,) = info["models"]
        assert model["class_names"] == ["no", "yes"] and model["is_predicted"]
        info = board.post("configure", session="data", label="label", features=["x", "group"])
        assert not info["models"][0]["is_predicted"]


def test_rows_are_sliced_by_computed_columns(tmp_path: Path) -> None:
    with serve(tmp_path, make_binary()) as board:
        response = request(board, slice_by=["predicted"])
        positive = int((make_data()["x"] >= 0).sum())
        counts = dict(zip(response["slices"], response["counts"], strict=True))
        assert counts["predicted:1"] == positive
        optimized = board.post("optimize", session="data", slice_by=["predicted"], strategy="group")
        assert len(optimized["slices"]) == 2
        message = board.fail("performance", session="data", slice_by=["none"])
        assert 'no column "none"' in message


def test_distances_by_embedding(tmp_path: Path) -> None:
    vectors = np.random.default_rng(0).normal(size=(6, 4))
    rows = [*vectors.tolist(), None]
    table = to_table({"x": np.arange(7.0)}).with_columns([make_column("vector", rows)])
    workspace = Workspace(table)
    workspace.delete(1)
    with serve(tmp_path, workspace) as board:
        info = board.get("about", session="data")
        assert {c["name"]: c["dimensions"] for c in info["columns"]} == {"x": None, "vector": 4}

        def get(metric: str) -> Any:
            response = board.post(
                "distances", session="data", row=2, metric=metric, embedding="vector"
            )
            assert response["features"] == ["vector"]
            assert response["distances"][-1] == "NaN"  # the row without a vector
            return response["distances"][:-1]

        kept = vectors[[0, 2, 3, 4, 5]]
        assert get("l1") == pytest.approx(abs(kept - vectors[2]).sum(axis=1), abs=1e-6)
        assert get("l2") == pytest.approx(np.linalg.norm(kept - vectors[2], axis=1), abs=1e-6)
        norms = np.linalg.norm(kept, axis=1) * np.linalg.norm(vectors[2])
        assert get("cosine") == pytest.approx(1 - kept @ vectors[2] / norms, abs=1e-6)
        assert "vectors of one length" in board.fail(
            "distances", session="data", row=2, embedding="x"
        )
        assert "is missing" in board.fail("distances", session="data", row=6, embedding="vector")


def test_distances_by_a_function_of_the_program(tmp_path: Path) -> None:
    table = to_table({"x": np.array([1.0, 2.0, 4.0, 8.0])})
    workspace = Workspace(table, distance=lambda table, row: np.arange(4) * (row + 1))
    workspace.delete(1)
    with serve(tmp_path, workspace) as board:
        assert board.get("about", session="data")["has_distance"] is True
        response = board.post("distances", session="data", row=2, metric="custom")
        assert response["distances"] == [0, 6, 9]
    with serve(tmp_path, Workspace(table)) as board:
        assert board.get("about", session="data")["has_distance"] is False
        message = board.fail("distances", session="data", row=2, metric="custom")
        assert "No distance function was given" in message


def test_counterfactuals_by_embedding(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    vectors = random.normal(size=(40, 3))
    x = np.linspace(-1, 1, 40)
    table = to_table({"x": x}).with_columns([make_column("vector", vectors.tolist())])
    workspace = Workspace(table, [wrap_model(predict, "model")], features=["x"])
    workspace.predict()
    with serve(tmp_path, workspace) as board:
        found = board.post(
            "counterfactuals",
            **{"session": "data", "row": 2, "count": 3, "metric": "l2", "embedding": "vector"},
        )
        distances = np.where(x >= 0, np.linalg.norm(vectors - vectors[2], axis=1), np.inf)
        expected = np.argsort(distances)[:3]
        assert [each["row"] for each in found["rows"]] == expected.tolist()
        assert [each["distance"] for each in found["rows"]] == pytest.approx(distances[expected])
        message = board.fail(
            "counterfactuals", session="data", row=2, embedding="vector", weights={"x": 2}
        )
        assert "cannot be weighted" in message


def test_images_of_sequences_and_lists_are_replaced_one_by_one(tmp_path: Path) -> None:
    frames = [encode_png(np.full((2, 2, 3), shade, np.uint8)) for shade in (10, 20, 30, 40)]
    table = to_table({"x": np.arange(2)}).with_columns(
        [
            make_column("film", [[[frames[0]], [frames[1]], [frames[2]]], [[frames[0]]]]),
            make_column("views", [[frames[0], frames[1]], [frames[2]]]),
        ]
    )
    new = {"base64": base64.b64encode(frames[3]).decode()}
    with serve(tmp_path, Workspace(table)) as board:

        def get_shade(feature: str, step: int) -> int:
            response = board.request(
                "GET", "image", session="data", row=0, feature=feature, step=step
            )
            assert response.status_code == 200, response.text
            return int(np.asarray(Image.open(io.BytesIO(response.content)))[0, 0, 0])

        board.post("edit", session="data", row=0, step=1, values={"film": new})
        assert [get_shade("film", step) for step in range(3)] == [10, 40, 30]
        board.post("edit", session="data", row=0, step=1, values={"views": new})
        assert [get_shade("views", step) for step in range(2)] == [10, 40]
        board.post("edit", session="data", row=0, step=3, values={"film": [new]})  # appended
        assert get_shade("film", 3) == 40
        assert "has no step 9" in board.fail(
            "edit", session="data", row=0, step=9, values={"film": new}
        )
        assert "has no step 0" in board.fail("edit", session="data", row=0, step=0, values={"x": 3})
        assert "is not an image" in board.fail_get(
            "image", session="data", row=1, feature="film", step=1
        )
        board.post("edit", session="data", kind="undo")
        board.post("edit", session="data", kind="undo")
        assert [get_shade("views", step) for step in range(2)] == [10, 20]


def test_static_export_has_thumbnails(tmp_path: Path) -> None:
    images = [encode_png(np.full((4, 4, 3), shade, np.uint8)) for shade in (0, 255)]
    table = to_table({"x": np.arange(3)}).with_columns([make_column("a (b)", [*images, None])])
    workspace = Workspace(table)
    workspace.delete(0)
    dashboard = create_dashboard(tmp_path, DataAccess(workspaces={"my data": workspace}))
    exported: dict[str, Any] = dict(dashboard.export_static([]))
    dashboard.close()
    # As the page encodes it.
    query = "session=my%20data&feature=a%20(b)"
    assert exported[f"thumbnails?{query}"].tiles == 1
    tile = exported[f"thumbnail_tile?{query}&version=1&tile=0"]
    sheet = np.asarray(Image.open(io.BytesIO(tile.content)))
    assert sheet.shape[:2] == (64, 128)
    assert sheet[32, 32].tolist() == [255, 255, 255, 255]


def test_thumbnails_are_laid_out_on_tiles(tmp_path: Path) -> None:
    colors = np.array([[255, 0, 0], [0, 255, 0], [0, 0, 255]], np.uint8)
    images: list[bytes | None] = [
        encode_png(np.broadcast_to(color, (100, 50, 3)).copy()) for color in colors
    ]
    images[1] = images[1][:60] if images[1] else None  # cannot be decoded
    table = to_table({"x": np.arange(4)}).with_columns([make_column("photo", [*images, None])])
    workspace = Workspace(table)
    workspace.delete(0)
    with serve(tmp_path, workspace) as board:
        tiles = board.get("thumbnails", session="data", feature="photo")
        assert (tiles["tiles"], tiles["tile_columns"], tiles["cell_width"]) == (1, 3, 64)
        response = board.request(
            "GET", "thumbnail_tile", session="data", feature="photo", version=1, tile=0
        )
        sheet = np.asarray(Image.open(io.BytesIO(response.content)))
        assert sheet.shape == (64, 192, 4)
        assert sheet[32, 32].tolist() == [128, 128, 128, 255]  # a placeholder
        assert sheet[32, 64 + 32].tolist() == [0, 0, 255, 255]
        assert sheet[32, 64 + 4].tolist() == [0, 0, 0, 0]  # narrow images are centered
        assert sheet[32, 128 + 32].tolist() == [128, 128, 128, 255]
        assert "no tile 1" in board.fail_get(
            "thumbnail_tile", session="data", feature="photo", tile=1
        )
        assert "not a column of images" in board.fail_get("thumbnails", session="data", feature="x")


def test_rows_describe_sequences_and_truncated_lists(tmp_path: Path) -> None:
    table = to_table({"x": np.arange(2)}).with_columns(
        [
            make_column("speed", [[[1.0, 2.0], [3.0]], [[4.0]]]),
            make_column("long", [list(range(3000)), [1, 2]]),
        ]
    )
    with serve(tmp_path, Workspace(table)) as board:
        values = {v["name"]: v for v in board.get("row", session="data", row=0)["values"]}
        assert values["speed"]["is_sequence"] and values["speed"]["value"] == [[1, 2], [3]]
        assert not values["speed"]["is_truncated"] and values["long"]["is_truncated"]
        edited = board.post("edit", session="data", row=0, values={"speed": [[1, 2], [5]]})
        speed = next(v for v in edited["row"]["values"] if v["name"] == "speed")
        assert speed["value"] == [[1, 2], [5]] and speed["original"] == [[1, 2], [3]]


def test_attributions_are_those_of_each_model(tmp_path: Path) -> None:
    def make(factor: float) -> Any:
        return lambda columns: {
            "predictions": predict(columns),
            "attributions": {"x": factor * columns["x"]},
        }

    data = make_data()
    models = [wrap_model(make(1.0), "one"), wrap_model(make(2.0), "two")]
    workspace = Workspace(to_table(data), models, label="label", features=["x"])
    with serve(tmp_path, workspace) as board:
        values = board.get("row", session="data", row=3)["values"]
    x = next(value for value in values if value["name"] == "x")
    assert x["attributions"] == pytest.approx({"one": data["x"][3], "two": 2 * data["x"][3]})


def test_individual_curves_are_spread_over_the_rows(tmp_path: Path) -> None:
    with serve(tmp_path, make_binary()) as board:
        status = board.post("dependence", session="data", curves=5)
        (curve,) = wait_for_job(board, status)["dependence"]
    assert curve["rows"] == [0, 75, 150, 224, 299]
    x = make_data()["x"]
    grid = np.linspace(x.min(), x.max(), 10)
    individual = np.reshape(curve["individual"], (5, 10, 2))
    assert individual[..., 1] == pytest.approx(np.tile(1 / (1 + np.exp(-grid)), (5, 1)), abs=1e-5)


def test_named_slices_are_columns_that_models_do_not_get(tmp_path: Path) -> None:
    seen: list[list[str]] = []

    def predict(columns: Any) -> Any:
        seen.append(sorted(columns))
        return np.asarray(columns["x"], float) / 10

    table = to_table({"x": np.arange(10.0), "y": [0, 1] * 5})
    workspace = Workspace(table, [wrap_model(predict, "tenth")], label="y")
    workspace.predict()
    with start_board(tmp_path, DataAccess(workspaces={"small": workspace})) as board:
        board.post("slice", session="small", name="high", rows=[7, 8])
        bits = base64.b64encode(bytes([0b10000000, 0b11])).decode()
        info = board.post("slice", session="small", name="high", row_bits=bits)
        assert info["slices"] == ["high"]
        response = board.post("performance", session="small", slice_by=["high"])
        counts = dict(zip(response["slices"], response["counts"], strict=True))
        assert counts["high:True"] == 3 and counts["high:False"] == 7
        board.post("edit", session="small", row=0, values={"x": 5})
        assert seen[-1] == ["x"]
        assert "already have" in board.fail("slice", session="small", name="x", rows=[])
        assert "needs a name" in board.fail("slice", session="small", name=" ", rows=[])
        assert "no row 10" in board.fail("slice", session="small", name="far", rows=[10])
        assert board.delete("slice", session="small", name="high")["slices"] == []
        assert board.request("DELETE", "slice", session="small", name="high").status_code == 400


def test_named_slices_of_files_survive_a_restart(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    file = data / "small.csv"
    file.write_text("x,y\n" + "".join(f"{number},{number % 2}\n" for number in range(10)))
    access = DataAccess(data_dirs=(str(data),))
    with start_board(tmp_path / "logs", access) as board:
        session = board.post("open", path="small.csv")["session"]
        board.post("slice", session=session, name="high", rows=[7, 8])
        board.post("slice", session=session, name="odd", rows=[1, 3])
        board.post("edit", session=session, kind="duplicate", row=8)
        board.post("slice", session=session, name="high", rows=[7, 9, 10])
        board.delete("slice", session=session, name="odd")
    with start_board(tmp_path / "logs", access) as board:
        info = board.post("open", path=str(file), label="y", prediction=["x"])
        assert info["slices"] == ["high"] and info["problems"] == []
        assert "high" not in [column["name"] for column in info["columns"] if column["is_input"]]
        (column,) = board.post("columns", session=info["session"], names=["high"])["columns"]
        assert np.flatnonzero(column["numbers"]).tolist() == [7, 9]
        part = board.post("open", path="small.csv", max_rows=5)
        assert part["slices"] == []
        assert any("are not shown: high" in each["text"] for each in part["problems"])
    file.write_text("x,y\n1,0\n")
    with start_board(tmp_path / "logs", access) as board:
        assert board.post("open", path="small.csv")["slices"] == []
    with start_board(tmp_path / "other", access) as board:
        info = board.post("open", path="small.csv")
        assert info["slices"] == [] and info["problems"] == []


def test_frontier_of_cost_and_gap(tmp_path: Path) -> None:
    random = np.random.default_rng(2)
    group = random.integers(0, 2, 400)
    score = np.clip(random.normal(0.35 + 0.3 * group, 0.2), 0, 1)
    label = (random.random(400) < score).astype(int)
    table = to_table({"group": np.where(group, "a", "b"), "p": score, "y": label})
    workspace = Workspace(table, [ColumnPredictor("p", ["p"], "classification")], label="y")
    with start_board(tmp_path, DataAccess(workspaces={"small": workspace})) as board:
        found = board.post("frontier", session="small", slice_by=["group"])
        assert sorted(found["slices"]) == ["group:a", "group:b"]
        assert np.all(np.diff(found["gaps"]) > 0) and np.all(np.diff(found["costs"]) < 0)
        assert len(found["thresholds"]) == 2 * len(found["gaps"])
        group_cost = board.post("optimize", session="small", slice_by=["group"], strategy="group")
        assert found["costs"][-1] == group_cost["cost"]
        parity = board.post(
            "optimize", session="small", slice_by=["group"], strategy="predictive_parity"
        )
        assert parity["gap"] == pytest.approx(np.ptp(parity["measures"]["precision"]))
        assert "needs slices" in board.fail("frontier", session="small")


@pytest.mark.parametrize("form", ["maps", "channels", "rows", "flat"])
def test_attributions_of_pixels(tmp_path: Path, form: str) -> None:
    expected = np.arange(12.0).reshape(3, 4) - 5
    encoded = encode_png(np.zeros((3, 4, 3), np.uint8))
    table = to_table({"photo": [encoded, encoded], "y": [0, 1]})

    def predict(columns: Any) -> Any:
        count = len(columns["photo"])
        maps = np.stack([expected] * count)
        channels = np.stack([maps / 4, 3 * maps / 4, np.zeros_like(maps)], axis=-1)
        attributions: Any = {
            "maps": {"photo": maps},
            "channels": {"photo": channels},
            "rows": [{"photo": expected.tolist()} for _ in range(count)],
            "flat": {"photo": maps.reshape(count, -1)},
        }[form]
        return {"predictions": np.full(count, 0.5), "attributions": attributions}

    workspace = Workspace(table, [wrap_model(predict, "m")], label="y")
    with serve(tmp_path, workspace) as board:
        found = board.post("saliency", session="data", row=1, feature="photo")
        assert (found["width"], found["height"]) == (4, 3)
        assert found["values"] == pytest.approx(expected.reshape(-1))
        row = board.get("row", session="data", row=1)
        photo = next(value for value in row["values"] if value["name"] == "photo")
        assert photo["attributions"]["m"] == pytest.approx(expected.sum())


def test_images_without_attributions_of_pixels(tmp_path: Path) -> None:
    encoded = encode_png(np.zeros((3, 4, 3), np.uint8))
    table = to_table({"photo": [encoded], "y": [0]})
    model = wrap_model(
        lambda columns: {"predictions": [0.5], "attributions": {"photo": [1.0]}}, "m"
    )
    with serve(tmp_path, Workspace(table, [model], label="y")) as board:
        message = board.fail("saliency", session="data", row=0, feature="photo")
        assert 'returns no attributions of the pixels of "photo"' in message
        assert "not an image" in board.fail("saliency", session="data", row=0, feature="y")


def test_pixels_of_predictions_in_the_data(tmp_path: Path) -> None:
    encoded = encode_png(np.zeros((1, 2, 3), np.uint8))
    table = to_table(
        {"photo": [encoded] * 2, "p": [0.2, 0.8], "attributions__photo": [[1.0, 2.0], [3.0, -1.0]]}
    )
    workspace = Workspace(table, [ColumnPredictor("p", ["p"])])
    with serve(tmp_path, workspace) as board:
        found = board.post("saliency", session="data", row=1, feature="photo")
        assert found["values"] == [3, -1]


def test_photos_of_several_megabytes_replace_images(tmp_path: Path) -> None:
    noise = np.random.default_rng(0).integers(0, 255, (900, 900, 3), dtype=np.uint8)
    photo = encode_png(noise)
    assert len(photo) > 2_000_000
    table = to_table({"photo": [encode_png(noise[:8, :8])]})
    with serve(tmp_path, Workspace(table)) as board:
        value = {"base64": base64.b64encode(photo).decode()}
        response = board.post("edit", session="data", row=0, values={"photo": value})
        assert response["row"]["values"][0]["bytes"] == len(photo)


def test_slices_of_predictions_use_the_threshold_of_the_model(tmp_path: Path) -> None:
    data = make_data()
    table = to_table(data)
    models = [wrap_model(predict, "m"), wrap_model(lambda c: predict(c) ** 2, "n")]
    workspace = Workspace(table, models, label="label", features=["x"])
    thresholds = {"m": 0.8, "n": 0.3}
    decisions = {"m": predict(data) >= 0.8, "n": predict(data) ** 2 >= 0.3}
    correct = int((decisions["m"] == data["label"]).sum())
    fields: dict[str, Any] = {"model": "m", "model_thresholds": thresholds}
    with serve(tmp_path, workspace) as board:
        response = request(board, slice_by=["predicted (n)"], **fields)
        assert response["counts"][1:] == np.bincount(decisions["n"]).tolist()
        response = request(board, slice_by=["correct (m)"], **fields)
        counts = dict(zip(response["slices"], response["counts"], strict=True))
        assert counts["correct (m):correct"] == correct
        compared = board.post("comparison", session="data", other="n", slice_by=["correct (m)"],
                              **fields)  # fmt: skip
        assert compared["slices"] == response["slices"]
        chosen = board.post(
            "optimize", session="data", strategy="group", slice_by=["predicted (m)"], **fields
        )
    # No row of the slice has a score below 0.8.
    at = chosen["slices"].index("predicted (m):1")
    assert chosen["measures"]["positive_rate"][at] == pytest.approx(1)


@pytest.mark.parametrize("format", ["csv", "jsonl"])
def test_exported_predictions_use_the_threshold_of_the_model(tmp_path: Path, format: str) -> None:
    data = make_data()
    models = [wrap_model(predict, "m"), wrap_model(lambda c: predict(c) ** 2, "n")]
    workspace = Workspace(to_table(data), models, label="label", features=["x"])
    with serve(tmp_path, workspace) as board:
        text = board.request("GET", "export", session="data", format=format, models=["m"],
                             thresholds=["0.8"]).text  # fmt: skip
        message = board.fail_get("export", session="data", models=["m"])
    assert "same length" in message
    read = pandas.read_csv if format == "csv" else partial(pandas.read_json, lines=True)
    frame = read(io.StringIO(text))
    assert (
        frame["predicted (m)"].astype(int).tolist() == (predict(data) >= 0.8).astype(int).tolist()
    )
    assert (
        frame["predicted (n)"].astype(int).tolist()
        == (predict(data) ** 2 >= 0.5).astype(int).tolist()
    )


@pytest.mark.parametrize("count", [3, 30])
def test_scores_of_many_classes_are_columns(tmp_path: Path, count: int) -> None:
    random = np.random.default_rng(5)
    scores = random.dirichlet(np.ones(count), ROWS)
    names = [f"class {number}" for number in range(count)]
    table = to_table({"row": np.arange(ROWS), "label": random.integers(0, count, ROWS)})
    model = wrap_model(lambda columns: scores[columns["row"]], "m", class_names=names)
    workspace = Workspace(table, [model], label="label", features=["row"])
    with serve(tmp_path, workspace) as board:
        (info,) = board.get("sessions")["sessions"]
        columns = [each["name"] for each in info["columns"] if each["is_computed"]]
        shown = [f"score:{name}" for name in names[:20]]
        assert columns == [*shown, "predicted", "correct"]
        response = board.post("columns", session="data", names=["score:class 2"])
        assert response["columns"][0]["numbers"] == pytest.approx(scores[:, 2].tolist())
        sliced = request(board, slice_by=["score:class 1"], buckets={"score:class 1": [0.1]})
    below = int((scores[:, 1] < 0.1).sum())
    assert sliced["counts"] == [ROWS, below, ROWS - below]
    frame = Session(table, model, "label", features=["row"]).predictions()
    for number, name in enumerate(names):
        assert np.allclose(frame[f"score:{name}"], scores[:, number])


def test_crossed_values_that_contain_the_separator_are_slices_of_their_own() -> None:
    one = ["a_X_b", "a", "X_b", "a_X", "X", "\\X", "a\\X"]
    two = ["c", "b_X_c", "c", "b", "b", "b", "b"]
    table = to_table({"one": one, "two": two})
    assignment = assign_slices(table, ["one", "two"])
    assert len(set(assignment.names)) == len(one)
    for code, first, second in zip(assignment.codes.tolist(), one, two, strict=True):
        values = assignment.names[code].removeprefix("one_X_two:").split("_X_")
        plain = [re.sub(r"((?:_|^)\\*)\\X(?=_|$)", r"\1X", value) for value in values]
        assert plain == [first, second]
