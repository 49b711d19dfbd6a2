"""The files of an evaluation folder: names, records and the configuration."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO, Literal

from tracklight.errors import FormatError, import_optional
from tracklight.formats.tfrecord import iter_records

CONFIG_FILE = "eval_config.json"
MAX_CONFIG_BYTES = 16 << 20

TfmaFileKind = Literal["metrics", "plots", "attributions", "validations"]

_FILE_NAME = re.compile(
    r"(metrics|plots|attributions|validations)(-\d+-of-\d+)?(\.tfrecord|\.parquet)?"
)
_MAX_RECORD_BYTES = 256 << 20
_PARQUET_MAGIC = b"PAR1"
_PARQUET_COLUMN = "serialized_value"


@dataclass(frozen=True)
class TfmaModel:
    """One model of the configuration."""

    name: str
    is_baseline: bool = False
    label_key: str = ""
    prediction_key: str = ""
    weight_key: str = ""
    location: str = ""


@dataclass(frozen=True)
class TfmaConfig:
    """What was evaluated; empty where the configuration does not say."""

    version: str = ""
    models: Sequence[TfmaModel] = ()
    data_location: str = ""
    slices: Sequence[str] = ()
    interval_method: str = ""
    """``jackknife``, ``bootstrap``, or empty."""
    min_slice_size: int = 1


def find_file_kind(name: str) -> TfmaFileKind | None:
    """Return what a file in an evaluation folder holds, by its name."""
    match = _FILE_NAME.fullmatch(name)
    return match[1] if match else None  # type: ignore[return-value]


def is_evaluation_file(name: str) -> bool:
    """Return whether a file of this base name may belong to an evaluation folder.

    These names are common. A folder is an evaluation if it has both the configuration and a result.
    """
    return name == CONFIG_FILE or find_file_kind(name) is not None


def iter_messages(file: BinaryIO) -> Iterator[bytes]:
    """Yield the serialized messages of a TFRecord or Parquet file.

    Raises:
        FormatError: The file is damaged or incomplete; messages before the damage were yielded.
        MissingDependencyError: It is a Parquet file, and pyarrow is not installed.
    """
    head = file.read(len(_PARQUET_MAGIC))
    file.seek(0)
    if head == _PARQUET_MAGIC:
        yield from _iter_parquet(file)
        return
    compression: Literal["gzip"] | None = "gzip" if head[:2] == b"\x1f\x8b" else None
    for _, payload in iter_records(
        file, compression=compression, max_record_bytes=_MAX_RECORD_BYTES
    ):
        yield payload


def _iter_parquet(file: BinaryIO) -> Iterator[bytes]:
    parquet = import_optional("pyarrow.parquet", "reading Parquet evaluations", "parquet")
    arrow = import_optional("pyarrow", "reading Parquet evaluations", "parquet")
    try:
        table = parquet.ParquetFile(file)
        if _PARQUET_COLUMN not in table.schema_arrow.names:
            raise FormatError(
                "tfma.no_column", 'the Parquet file has no column "{name}"', name=_PARQUET_COLUMN
            )
        for batch in table.iter_batches(1000, columns=[_PARQUET_COLUMN]):
            for value in batch.column(0).to_pylist():
                if isinstance(value, bytes):
                    yield value
    except (arrow.ArrowException, OSError) as error:
        reason = str(error).strip().partition("\n")[0].rstrip(".")
        raise FormatError(
            "tfma.damaged_parquet",
            "the Parquet file is damaged or incomplete: {reason}",
            reason=reason,
        ) from None


def parse_config(data: bytes) -> TfmaConfig:
    """Decode ``eval_config.json``.

    Raises:
        FormatError: The file is no such configuration.
    """
    try:
        run = json.loads(data)
        if not isinstance(run, dict):
            raise ValueError("it is no object")
    except (ValueError, RecursionError) as error:
        raise FormatError(
            "tfma.invalid_config",
            "{file} is invalid or incomplete: {error}",
            file=CONFIG_FILE,
            error=error,
        ) from None
    config = _get(run, "evalConfig", dict)
    options = _get(config, "options", dict)
    locations = _get(run, "modelLocations", dict)
    models = [
        TfmaModel(
            name=_get(spec, "name", str),
            is_baseline=_get(spec, "isBaseline", bool),
            label_key=_get(spec, "labelKey", str),
            prediction_key=_get(spec, "predictionKey", str),
            weight_key=_get(spec, "exampleWeightKey", str),
            location=str(locations.get(_get(spec, "name", str), "")),
        )
        for spec in _get(config, "modelSpecs", list)
        if isinstance(spec, dict)
    ]
    method = _get(_get(options, "confidenceIntervals", dict), "method", str)
    computes = options.get(
        "computeConfidenceIntervals", options.get("compute_confidence_intervals")
    )
    minimum = options.get("minSliceSize", options.get("min_slice_size", 1))
    return TfmaConfig(
        version=_get(run, "version", str),
        models=models,
        data_location=_get(run, "dataLocation", str),
        slices=[
            _format_json_spec(spec)
            for spec in _get(config, "slicingSpecs", list)
            if isinstance(spec, dict)
        ],
        interval_method={"JACKKNIFE": "jackknife", "POISSON_BOOTSTRAP": "bootstrap"}.get(
            method, "bootstrap" if computes is True else ""
        ),
        min_slice_size=minimum if isinstance(minimum, int) and minimum > 0 else 1,
    )


def _get(data: dict[str, Any], name: str, kind: type[Any]) -> Any:
    """Return a field in camel or snake case, or an empty value if it is missing or wrong."""
    snake = re.sub(r"([A-Z])", lambda match: "_" + match[1].lower(), name)
    value = data.get(name, data.get(snake))
    return value if isinstance(value, kind) else kind()


def _format_json_spec(spec: dict[str, Any]) -> str:
    sql = _get(spec, "sliceKeysSql", str)
    if sql:
        return str(sql)
    keys = [str(key) for key in _get(spec, "featureKeys", list)]
    values = _get(spec, "featureValues", dict)
    return join_spec(keys, {str(key): str(value) for key, value in values.items()})


def join_spec(keys: Sequence[str], values: Mapping[str, str]) -> str:
    """Return the name of a slicing specification: columns, and fixed values by column."""
    parts = [*keys, *(f"{key}:{value}" for key, value in values.items())]
    return "_X_".join(parts) or "Overall"
