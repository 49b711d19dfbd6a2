"""Reading tf.Example and tf.SequenceExample records, compared with TensorFlow's own messages."""

from __future__ import annotations

import io

import numpy as np
import pytest

from tracklight.analysis.tables import DataTable, make_table
from tracklight.analysis.tables.examples import ExampleDecoder, decode_varints, encode_examples
from tracklight.analysis.tables.files import ReadLimits, read_files
from tracklight.errors import FormatError
from tracklight.formats import proto
from tracklight.formats.tfrecord import Compression, write_records

ROWS = [
    {"age": 39, "income": 1.5, "job": "clerk", "scores": [1, -2, 300], "late": 2**40},
    {"age": 17, "income": -2.25, "job": "Köchin", "scores": [], "late": -1},
    {"age": 90, "income": None, "job": None, "scores": [7], "late": 0},
]


def read_bytes(data: bytes, limits: ReadLimits | None = None) -> DataTable:
    return read_files(["data.tfrecord"], lambda path: io.BytesIO(data), limits or ReadLimits())


def pack(payloads: list[bytes], compression: Compression | None = None) -> bytes:
    stream = io.BytesIO()
    write_records(stream, payloads, compression=compression)
    return stream.getvalue()


@pytest.mark.parametrize("compression", [None, "gzip", "zlib"])
def test_records_of_each_compression_are_read(compression: Compression | None) -> None:
    table = read_bytes(pack(encode_examples(make_table(ROWS)), compression))
    expected = [{**row, "scores": row["scores"] or None} for row in ROWS]
    assert [table.get_row(row) for row in range(3)] == expected
    types = {name: column.type for name, column in table.columns.items()}
    assert types == {"age": "integer", "income": "float", "job": "string", "late": "integer",
                     "scores": "integer"}  # fmt: skip
    assert table.problems == ()


def test_sequence_examples_have_steps() -> None:
    rows = [
        {"id": 1, "words": [["a", "b"], ["c"]]},
        {"id": 2, "words": [["d"]]},
        {"id": 3, "words": [[], ["e", "f"]]},
    ]
    table = read_bytes(pack(encode_examples(make_table(rows))))
    assert table.get_column("words").is_sequence
    assert [table.get_row(row) for row in range(3)] == rows


def test_varints_of_every_size_are_decoded() -> None:
    values = [0, 1, 127, 128, 16383, 16384, 2**31, 2**62, 2**63 - 1, -1, -(2**63)]
    content = b"".join(_encode_varint(value) for value in values)
    lengths, decoded = decode_varints(
        np.frombuffer(content, np.uint8), np.array([0, len(content), 0])
    )
    assert lengths.tolist() == [0, len(values), 0]
    assert decoded.tolist() == values


def _encode_varint(value: int) -> bytes:
    message: bytes = proto.Int64List(value=[value]).SerializeToString()
    return message[2:]


def test_lists_that_are_not_packed_are_read() -> None:
    # Field 1 of Int64List as three separate varints, which old writers produce.
    unpacked = b"\x08\x05\x08\x07\x08\x09"
    feature = b"\x1a" + bytes([len(unpacked)]) + unpacked
    entry = b"\x0a\x01x\x12" + bytes([len(feature)]) + feature
    features = b"\x0a" + bytes([len(entry)]) + entry
    example = b"\x0a" + bytes([len(features)]) + features
    assert read_bytes(pack([example])).get_row(0) == {"x": [5, 7, 9]}


def test_lists_of_floats_keep_the_precision_of_the_file() -> None:
    rows = [{"one": 0.1, "many": [0.1, 0.2]}, {"one": None, "many": [0.3]}]
    table = read_bytes(pack(encode_examples(make_table(rows))))
    assert table.get_column("many").values.dtype == np.float32
    assert table.get_column("one").values.dtype == np.float64
    assert table.get_row(1) == {"many": [float(np.float32(0.3))], "one": None}


def test_repeated_texts_and_images_are_kept_once() -> None:
    image = b"\x89PNG\r\n\x1a\n" + bytes(1000)
    decoder = ExampleDecoder()
    for _ in range(2):  # two blocks
        payloads = encode_examples(make_table([{"job": "clerk", "photo": image}] * 500))
        sizes = np.array([len(payload) for payload in payloads])
        starts = np.cumsum(sizes) - sizes
        decoder.add(b"".join(payloads), np.stack([starts, sizes], axis=1))
    assert decoder.size_bytes < 50_000  # a thousand images would be a megabyte
    table = decoder.finish()
    assert table.get_column("photo").type == "image"
    assert table.get_row(999) == {"job": "clerk", "photo": image}
    assert table.get_column("photo").get_value(0) is table.get_column("photo").get_value(999)


def test_mixed_kinds_are_numbers_or_a_problem() -> None:
    payloads = [
        *encode_examples(make_table([{"a": 1, "b": 1, "c": 1}])),
        *encode_examples(make_table([{"a": 2.5, "b": "x", "c": 2}])),
    ]
    table = read_bytes(pack(payloads))
    assert table.get_column("a").values.tolist() == [1.0, 2.5]
    assert "b" not in table
    assert table.problems == ('"b" has text in some records and numbers in others; it is left out',)


def test_limits_on_rows_and_sampling() -> None:
    data = pack(encode_examples(make_table([{"x": number} for number in range(1000)])))
    table = read_bytes(data, ReadLimits(max_rows=10))
    assert table.get_column("x").values.tolist() == list(range(10))
    assert "only the first 10 rows were read" in table.problems[0]
    sampled = read_bytes(data, ReadLimits(sampling_ratio=0.1))
    assert 60 < len(sampled) < 140
    assert not sampled.problems


def test_truncated_file_keeps_its_complete_records() -> None:
    data = pack(encode_examples(make_table([{"x": 1}, {"x": 2}])))
    table = read_bytes(data[:-3])
    assert table.get_column("x").values.tolist() == [1]
    assert "reading stopped after 1 records" in table.problems[0]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "the file is empty"),
        (b"hello, this is no record", "not a TFRecord file"),
        (b"\x1f\x8b\x08broken gzip data", "gzip"),
        (pack([b"\x0a\xff\xff\xff"]), "neither a tf.Example nor a tf.SequenceExample"),
    ],
)
def test_other_files_are_rejected_with_a_sentence(data: bytes, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        read_bytes(data)
