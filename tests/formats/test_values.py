from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tracklight.errors import FormatError
from tracklight.formats import proto, summary
from tracklight.formats.media import encode_png, encode_wav
from tracklight.formats.values import (
    Audio,
    Histogram,
    HistogramStats,
    Images,
    Tensor,
    Text,
    decode_value,
)
from tracklight.types import Kind


def decode(value: Any, kind: Kind) -> Any:
    return decode_value(value.SerializeToString(), kind)


def test_images() -> None:
    picture = encode_png(np.zeros((2, 3), np.uint8))

    images = decode(summary.images("x", [picture, b"gif"], 3, 2), Kind.IMAGE)

    assert images == Images(width=3, height=2, encoded=(picture, b"gif"))


def test_legacy_image() -> None:
    image = proto.Image(width=3, height=2, colorspace=4, encoded_image_string=b"png")

    assert decode(proto.Value(image=image), Kind.IMAGE) == Images(3, 2, (b"png",), colorspace=4)


@pytest.mark.parametrize("size", [b"", b"wide", b"-3", b"9" * 30, "²".encode()])
def test_invalid_image_size_is_zero(size: bytes) -> None:
    array = np.array([size, b"7", b"png"], object)

    assert decode(summary.tensor("x", array), Kind.IMAGE) == Images(0, 7, (b"png",))


def test_audio() -> None:
    clip = encode_wav(np.zeros(10), 8000)

    audio = decode(summary.audio("x", [clip, clip], ["**one**", "two"]), Kind.AUDIO)

    assert audio == Audio((clip, clip), ("**one**", "two"), 8000, "audio/wav")


def test_audio_without_labels() -> None:
    audio = decode(summary.tensor("x", np.array([b"?", b"!"], object)), Kind.AUDIO)

    assert audio == Audio((b"?", b"!"), ("", ""), None, "application/octet-stream")


def test_audio_without_clips() -> None:
    assert decode(summary.audio("x", []), Kind.AUDIO) == Audio((), (), None, "audio/wav")


def test_legacy_audio() -> None:
    old = proto.Audio(
        sample_rate=44100,
        num_channels=2,
        length_frames=10,
        encoded_audio_string=b"mp3",
        content_type=b"audio/mpeg",
    )

    audio = decode(proto.Value(audio=old), Kind.AUDIO)

    assert audio == Audio((b"mp3",), ("",), 44100, "audio/mpeg", channels=2, frames=10)


@pytest.mark.parametrize("texts", ["plain", ["a", "b"], [["a", "b"], ["c", "d"]], [[["deep"]]]])
def test_text_of_any_rank(texts: Any) -> None:
    text = decode(summary.text("x", texts), Kind.TEXT)

    assert isinstance(text, Text)
    assert text.array.tolist() == texts


def test_text_with_invalid_utf8() -> None:
    value = summary.tensor("x", np.array(b"caf\xe9", object))

    assert decode(value, Kind.TEXT).array.item() == "caf\\xe9"


def test_histogram() -> None:
    histogram = decode(
        summary.histogram("x", [0, 1, 1, 3, np.nan, np.inf], buckets=3), Kind.HISTOGRAM
    )

    assert isinstance(histogram, Histogram)
    assert histogram.edges_left.tolist() == [0, 1, 2]
    assert histogram.edges_right.tolist() == [1, 2, 3]
    assert histogram.counts.tolist() == [1, 2, 1]
    assert histogram.totals == HistogramStats(
        min=0, max=3, num=4, sum=5, sum_squares=11, nan=1, positive_infinity=1
    )


def test_histogram_without_totals() -> None:
    histogram = decode(summary.tensor("x", np.ones((2, 3), np.float32)), Kind.HISTOGRAM)

    assert histogram.totals is None
    assert histogram.counts.dtype == np.float64


def test_legacy_histogram() -> None:
    old = proto.HistogramProto(
        min=0, max=3, num=4, sum=5, sum_squares=11, bucket_limit=[1, 2, 9], bucket=[1, 2, 1]
    )

    histogram = decode(proto.Value(histo=old), Kind.HISTOGRAM)

    assert histogram.edges_right.tolist() == [1, 2, 3]
    assert histogram.totals == HistogramStats(min=0, max=3, num=4, sum=5, sum_squares=11)


def test_tensors() -> None:
    array = np.arange(6, dtype=np.int16).reshape(2, 3)

    tensor = decode(summary.tensor("x", array), Kind.TENSOR)

    assert isinstance(tensor, Tensor)
    np.testing.assert_array_equal(tensor.array, array)
    assert decode(proto.Value(simple_value=2), Kind.SCALAR).array.tolist() == 2


def test_empty_value_is_empty_tensor() -> None:
    assert decode(proto.Value(tag=b"hparams"), Kind.TENSOR).array.shape == (0,)


@pytest.mark.parametrize(
    ("value", "kind", "message"),
    [
        (proto.Value(tag=b"x"), Kind.IMAGE, 'the value of "x" is not of kind image'),
        (
            proto.Value(tag=b"x", obsolete_old_style_histogram=b"?"),
            Kind.TENSOR,
            "is not of kind tensor",
        ),
        (
            summary.scalar("x", 1),
            Kind.IMAGE,
            r"not an image value: a tensor of float32 of shape \[\]",
        ),
        (
            summary.text("x", ["1"]),
            Kind.IMAGE,
            r"not an image value: a tensor of string of shape \[1\]",
        ),
        (summary.text("x", "1"), Kind.AUDIO, "not an audio value"),
        (summary.tensor("x", np.zeros((2, 0))), Kind.AUDIO, "not an audio value"),
        (summary.tensor("x", np.full((2, 0), b"", object)), Kind.AUDIO, "not an audio value"),
        (summary.scalar("x", 1), Kind.TEXT, "not a text value"),
        (
            summary.tensor("x", np.zeros((2, 2))),
            Kind.HISTOGRAM,
            "not a histogram|not of kind histogram",
        ),
        (
            summary.text("x", [["a", "b", "c"]]),
            Kind.HISTOGRAM,
            "not a histogram|not of kind histogram",
        ),
        (
            summary.tensor("x", np.zeros((1, 3), complex)),
            Kind.HISTOGRAM,
            "not a histogram|not of kind histogram",
        ),
    ],
)
def test_values_of_another_kind_raise(value: Any, kind: Kind, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        decode(value, kind)


def test_json_plugin_data_is_ignored() -> None:
    value = summary.images("x", [b"png"], 1, 1)
    value.metadata.plugin_data.content = b"{}"

    assert decode(value, Kind.IMAGE).encoded == (b"png",)


def test_too_large_value_raises() -> None:
    value = summary.tensor("x", np.zeros(1000))
    with pytest.raises(FormatError, match="max_bytes"):
        decode_value(value.SerializeToString(), Kind.TENSOR, max_bytes=100)


SEEDS = [
    proto.Value(tag=b"x", simple_value=1),
    proto.Value(image=proto.Image(width=1, encoded_image_string=b"p")),
    proto.Value(audio=proto.Audio(sample_rate=1, encoded_audio_string=b"p")),
    proto.Value(histo=proto.HistogramProto(min=1, bucket=[1, 2], bucket_limit=[1, 2])),
    summary.images("x", [b"p"], 1, 1),
    summary.audio("x", [encode_wav(np.zeros(2), 8)], ["l"]),
    summary.text("x", ["a", "b"]),
    summary.histogram("x", [1, 2, 3], buckets=2),
]


@settings(max_examples=600)
@given(st.data(), st.sampled_from(list(Kind)))
def test_damaged_values_raise_only_format_error(data: st.DataObject, kind: Kind) -> None:
    seed = bytearray(data.draw(st.sampled_from(SEEDS)).SerializeToString())
    for at in data.draw(st.lists(st.integers(0, len(seed) - 1), max_size=4)):
        seed[at : at + 1] = data.draw(st.binary(max_size=2))
    try:
        decode_value(bytes(seed), kind, max_bytes=1 << 16)
    except FormatError:
        pass
