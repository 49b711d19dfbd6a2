from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracklight.errors import FormatError
from tracklight.formats import proto, summary
from tracklight.formats.summary import DataClass, parse_metadata
from tracklight.formats.tensor import decode_tensor
from tracklight.formats.values import upgrade_legacy_value


def convert_histogram(**fields: Any) -> np.ndarray[Any, Any]:
    value = upgrade_legacy_value(proto.Value(histo=proto.HistogramProto(**fields)))
    buckets = decode_tensor(value.tensor)
    assert buckets.dtype == np.float64
    return buckets


def test_scalar() -> None:
    value = upgrade_legacy_value(proto.Value(tag=b"loss", simple_value=0.1))

    array = decode_tensor(value.tensor)
    assert value.tag == b"loss"
    assert array.shape == () and array.dtype == np.float32 and array == np.float32(0.1)
    metadata = parse_metadata(value.metadata.SerializeToString())
    assert (metadata.plugin, metadata.data_class) == ("scalars", DataClass.SCALAR)


def test_image_keeps_size_and_colorspace() -> None:
    image = proto.Image(width=640, height=480, colorspace=3, encoded_image_string=b"\x89PNG")

    value = upgrade_legacy_value(proto.Value(image=image))

    assert decode_tensor(value.tensor).tolist() == [b"640", b"480", b"\x89PNG"]
    metadata = parse_metadata(value.metadata.SerializeToString())
    assert (metadata.plugin, metadata.data_class) == ("images", DataClass.BLOB_SEQUENCE)
    content = proto.parse("ImagePluginData", metadata.content)
    assert content == proto.ImagePluginData(converted_to_tensor=True, colorspace=3)


@pytest.mark.parametrize(
    ("content_type", "encoding"), [(b"audio/wav", 11), (b"", 11), (b"audio/mpeg", 0)]
)
def test_audio_keeps_all_properties(content_type: bytes, encoding: int) -> None:
    audio = proto.Audio(
        sample_rate=44100,
        num_channels=2,
        length_frames=99,
        encoded_audio_string=b"sound",
        content_type=content_type,
    )

    value = upgrade_legacy_value(proto.Value(audio=audio))

    assert decode_tensor(value.tensor).tolist() == [[b"sound", b""]]
    metadata = parse_metadata(value.metadata.SerializeToString())
    assert (metadata.plugin, metadata.data_class) == ("audio", DataClass.BLOB_SEQUENCE)
    assert proto.parse("AudioPluginData", metadata.content) == proto.AudioPluginData(
        encoding=encoding,
        converted_to_tensor=True,
        sample_rate=44100,
        num_channels=2,
        length_frames=99,
        content_type=content_type,
    )


def test_histogram_keeps_totals() -> None:
    histogram = proto.HistogramProto(
        min=-1, max=2, num=3, sum=4, sum_squares=5, bucket_limit=[0, 2], bucket=[1, 2]
    )

    value = upgrade_legacy_value(proto.Value(histo=histogram))

    metadata = parse_metadata(value.metadata.SerializeToString())
    assert (metadata.plugin, metadata.data_class) == ("histograms", DataClass.TENSOR)
    content = proto.parse("HistogramPluginData", metadata.content)
    assert content.totals == proto.HistogramTotals(min=-1, max=2, num=3, sum=4, sum_squares=5)


def test_outer_buckets_are_narrowed_to_extremes() -> None:
    buckets = convert_histogram(
        min=0.1,
        max=2.9,
        bucket_limit=[-1.7e308, 0, 1, 2, 3, 1.7e308],
        bucket=[0, 0, 4, 0, 5, 0],
    )

    assert buckets.tolist() == [[0.1, 1, 4], [1, 2, 0], [2, 2.9, 5]]


def test_edges_beyond_float32() -> None:
    buckets = convert_histogram(
        min=1.1e300, max=1.3e300, bucket_limit=[1.2e300, 2e300], bucket=[1, 1]
    )

    assert buckets.tolist() == [[1.1e300, 1.2e300, 1], [1.2e300, 1.3e300, 1]]


def test_one_bucket() -> None:
    assert convert_histogram(min=3, max=3, bucket_limit=[9], bucket=[7]).tolist() == [[3, 3, 7]]


@pytest.mark.parametrize("bucket", [[], [0, 0]])
def test_empty_histogram(bucket: list[float]) -> None:
    assert convert_histogram(bucket_limit=bucket, bucket=bucket).shape == (0, 3)


def test_inconsistent_extremes_are_ignored() -> None:
    buckets = convert_histogram(min=0, max=0, bucket_limit=[-4, -3, -2, -1], bucket=[0, 1, 2, 0])
    assert buckets.tolist() == [[-4, -3, 1], [-3, 0, 2]]

    buckets = convert_histogram(min=5, max=-5, bucket_limit=[1, 2, 3], bucket=[1, 1, 1])
    assert buckets.tolist() == [[1, 1, 1], [1, 2, 1], [2, 3, 1]]


def test_last_limit_may_be_missing() -> None:
    buckets = convert_histogram(min=0, max=2, bucket_limit=[1], bucket=[3, 4])
    assert buckets.tolist() == [[0, 1, 3], [1, 2, 4]]

    buckets = convert_histogram(min=0, max=0, bucket_limit=[1], bucket=[3, 4])
    assert buckets.tolist() == [[0, 1, 3], [1, 1, 4]]


def test_too_few_limits_raise() -> None:
    with pytest.raises(FormatError, match="3 buckets, but 1 edges"):
        convert_histogram(bucket_limit=[1], bucket=[1, 1, 1])


numbers = st.floats(allow_nan=False)


@given(
    st.lists(st.tuples(numbers, st.floats(-1, 5)), max_size=6),
    numbers,
    numbers,
)
def test_buckets_are_ascending(pairs: list[tuple[float, float]], least: float, most: float) -> None:
    buckets = convert_histogram(
        min=least,
        max=most,
        bucket_limit=[limit for limit, _ in pairs],
        bucket=[count for _, count in pairs],
    )

    assert (buckets[:, 1] >= buckets[:, 0]).all()
    assert buckets[:, 2].clip(0).sum() == pytest.approx(sum(max(count, 0) for _, count in pairs))


def test_keeps_name_and_description() -> None:
    metadata = proto.SummaryMetadata(display_name=b"Loss", summary_description=b"of all")

    value = upgrade_legacy_value(proto.Value(node_name=b"n", simple_value=1, metadata=metadata))

    assert value.node_name == b"n"
    assert value.metadata.display_name == b"Loss"
    assert value.metadata.summary_description == b"of all"


def test_current_values_are_unchanged() -> None:
    for value in (summary.scalar("x", 1), proto.Value(tag=b"none")):
        assert upgrade_legacy_value(value) is value
