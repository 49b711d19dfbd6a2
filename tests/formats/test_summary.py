from __future__ import annotations

import numpy as np
import pytest

from tracklight.errors import UsageError
from tracklight.formats import hparams, proto, summary
from tracklight.formats.summary import MarginChart, MarginSeries, MultilineChart, parse_metadata
from tracklight.formats.tensor import decode_tensor


def content_of(value: proto.Message, name: str) -> proto.Message:
    return proto.parse(name, value.metadata.plugin_data.content)


def test_scalars_are_float32_by_default() -> None:
    assert decode_tensor(summary.scalar("x", 0.1).tensor).dtype == np.float32
    assert decode_tensor(summary.scalar("x", 0.1, dtype=np.float64).tensor) == 0.1


def test_display_name_and_description() -> None:
    value = summary.scalar("x", 1, display_name="X", description="the *x*")

    metadata = parse_metadata(value.metadata.SerializeToString())
    assert (metadata.plugin, metadata.display_name) == ("scalars", "X")
    assert metadata.description == "the *x*"


def test_number_of_labels_must_match_clips() -> None:
    with pytest.raises(UsageError, match="2 labels for 1 clips"):
        summary.audio("x", [b"wav"], ["a", "b"])


def test_histograms_of_unusual_data() -> None:
    assert decode_tensor(summary.histogram("x", []).tensor).shape == (0, 3)
    assert decode_tensor(summary.histogram("x", [np.nan]).tensor).shape == (0, 3)
    assert decode_tensor(summary.histogram("x", [2, 2, 2]).tensor).tolist() == [[2, 2, 3]]
    assert decode_tensor(summary.histogram("x", np.arange(100)).tensor).shape == (30, 3)


def test_every_finite_number_is_counted() -> None:
    numbers = np.random.default_rng(0).normal(size=1000)

    buckets = decode_tensor(summary.histogram("x", numbers).tensor)

    assert buckets[:, 2].sum() == 1000
    assert (buckets[0, 0], buckets[-1, 1]) == (numbers.min(), numbers.max())


def test_pr_curve() -> None:
    value = summary.pr_curve("x", [1, 0, 1, 0], [0.9, 0.6, 0.5, 0.1], thresholds=3)

    assert content_of(value, "PrCurvePluginData").num_thresholds == 3
    true_positives, false_positives, true_negatives, false_negatives, precision, recall = (
        decode_tensor(value.tensor).tolist()
    )
    assert true_positives == [2, 2, 0]
    assert false_positives == [2, 1, 0]
    assert true_negatives == [0, 1, 2]
    assert false_negatives == [0, 0, 2]
    assert precision == pytest.approx([0.5, 2 / 3, 0])
    assert recall == [1, 1, 0]


def test_pr_curve_with_weights() -> None:
    value = summary.pr_curve("x", [True, False], [1.0, 1.0], weights=[3, 0.5], thresholds=2)

    assert decode_tensor(value.tensor)[:2].tolist() == [[3, 3], [0.5, 0.5]]


def test_mesh_parts_list_all_components() -> None:
    vertices = np.zeros((1, 4, 3))

    cloud = summary.mesh("cloud", vertices)
    solid = summary.mesh("solid", vertices, [[[0, 1, 2]]], vertices, config={"camera": {"fov": 5}})

    assert [value.tag for value in cloud] == [b"cloud_VERTEX"]
    assert [value.tag for value in solid] == [b"solid_VERTEX", b"solid_FACE", b"solid_COLOR"]
    assert content_of(cloud[0], "MeshPluginData").components == 0b10
    contents = [content_of(value, "MeshPluginData") for value in solid]
    assert [content.components for content in contents] == [0b1110] * 3
    assert [content.content_type for content in contents] == [1, 2, 3]
    assert list(contents[1].shape) == [1, 1, 3]
    assert contents[0].json_config == b'{"camera": {"fov": 5}}'
    assert [decode_tensor(value.tensor).dtype for value in solid] == [
        np.float32,
        np.int32,
        np.uint8,
    ]


def test_layout() -> None:
    value = summary.custom_scalars_layout(
        {
            "Losses": [
                MultilineChart("all", ["loss.*"]),
                MarginChart("band", [MarginSeries("mean", "low", "high")]),
            ]
        }
    )

    assert value.tag == b"custom_scalars__config__"
    layout = proto.parse("Layout", decode_tensor(value.tensor).item())
    (category,) = layout.category
    assert category.title == b"Losses"
    assert list(category.chart[0].multiline.tag) == [b"loss.*"]
    assert category.chart[1].margin.series[0].upper == b"high"


def test_experiment() -> None:
    value = hparams.build_experiment(
        [
            hparams.HParam("lr", hparams.Interval(1e-4, 1)),
            hparams.HParam("optimizer", ["adam", "sgd"], display_name="Optimizer"),
            hparams.HParam("batch_norm", [False, True]),
            hparams.HParam("odd", ["a", 1]),
        ],
        [hparams.Metric("accuracy", "validation", dataset=hparams.DatasetType.VALIDATION)],
        created_wall_time=5.0,
    )

    experiment = content_of(value, "HParamsPluginData").experiment
    assert [info.type for info in experiment.hparam_infos] == [3, 1, 2, 0]
    assert experiment.hparam_infos[0].domain_interval.max_value == 1
    choices = experiment.hparam_infos[1].domain_discrete.values
    assert [choice.string_value for choice in choices] == [b"adam", b"sgd"]
    assert experiment.metric_infos[0].name.group == b"validation"
    assert decode_tensor(value.tensor).shape == (0,)


def test_session() -> None:
    start = hparams.build_session_start(
        {"lr": np.float32(0.5), "layers": 3, "bn": True, "opt": "adam"}, group_name="g", wall_time=1
    )
    end = hparams.build_session_end(hparams.Status.FAILURE, wall_time=2)

    info = content_of(start, "HParamsPluginData").session_start_info
    kinds = {pair.key: pair.value.WhichOneof("kind") for pair in info.hparams}
    assert kinds == {
        b"lr": "number_value",
        b"layers": "number_value",
        b"bn": "bool_value",
        b"opt": "string_value",
    }
    assert (info.group_name, info.start_time_secs) == (b"g", 1)
    assert content_of(end, "HParamsPluginData").session_end_info.status == 2


def test_unsupported_hyperparameter_raises() -> None:
    with pytest.raises(UsageError, match="cannot be a list"):
        hparams.build_session_start({"layers": [1, 2]})  # type: ignore[dict-item]
