"""`tracklight.hparams`: logged records, domains, and the Keras callback with a fake Keras."""

from __future__ import annotations

import random
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.writer.event_files import read_values
from tracklight import hparams as hp
from tracklight import summary
from tracklight.errors import UsageError, UsageWarning
from tracklight.formats import proto
from tracklight.formats.hparams import Status
from tracklight.hparams.session import create_keras_callback_class


def read_contents(logdir: Path) -> list[Any]:
    return [
        proto.parse("HParamsPluginData", value.metadata.plugin_data.content)
        for value in read_values(logdir)
    ]


def as_dict(start: Any) -> dict[str, Any]:
    return {
        pair.key.decode(): getattr(pair.value, pair.value.WhichOneof("kind"))
        for pair in start.hparams
    }


def test_logs_values_by_name(tmp_path: Path) -> None:
    units = hp.HParam("units", hp.Discrete([16, 32]))
    given = {units: 16, "lr": np.float32(0.5), "bias": True, "opt": "adam"}
    with summary.create_file_writer(tmp_path).as_default():
        assert hp.hparams(given, start_time_secs=12.5)
    (content,) = read_contents(tmp_path)
    start = content.session_start_info
    assert as_dict(start) == {"units": 16.0, "lr": 0.5, "bias": True, "opt": b"adam"}
    assert start.start_time_secs == 12.5


def test_same_values_in_any_order_are_one_trial(tmp_path: Path) -> None:
    for number, given in enumerate([{"a": 1, "b": 2.5}, {"b": 2.5, "a": 1}, {"a": 2, "b": 2.5}]):
        with summary.create_file_writer(tmp_path / str(number)).as_default():
            hp.hparams(given)
    groups = [read_contents(tmp_path / str(i))[0].session_start_info.group_name for i in range(3)]
    assert groups[0] == groups[1] != groups[2]


def test_logs_experiment_with_hparams_and_metrics(tmp_path: Path) -> None:
    with summary.create_file_writer(tmp_path).as_default():
        assert hp.hparams_config(
            hparams=[
                hp.HParam("units", hp.Discrete([32, 16])),
                hp.HParam("dropout", hp.RealInterval(0.1, 0.2), "Dropout", "a *rate*"),
                hp.HParam("depth", hp.IntInterval(1, 9)),
                hp.HParam("free"),
            ],
            metrics=[hp.Metric("acc", "val", "Accuracy", dataset_type=hp.Metric.VALIDATION)],
        )
    (content,) = read_contents(tmp_path)
    units, dropout, depth, free = content.experiment.hparam_infos
    assert [value.number_value for value in units.domain_discrete.values] == [16, 32]
    assert (dropout.domain_interval.min_value, dropout.domain_interval.max_value) == (0.1, 0.2)
    assert (depth.domain_interval.min_value, depth.domain_interval.max_value) == (1, 9)
    assert free.WhichOneof("domain") is None
    (metric,) = content.experiment.metric_infos
    assert (metric.name.tag, metric.name.group, metric.dataset_type) == (b"acc", b"val", 2)


def test_logs_nothing_without_a_writer() -> None:
    assert hp.hparams({"a": 1}) is False
    assert hp.hparams_config([], []) is False


def test_value_of_another_type_is_logged_as_string(tmp_path: Path) -> None:
    with summary.create_file_writer(tmp_path).as_default():
        with pytest.warns(UsageWarning, match=r'`hparams` contains "layers" of type list'):
            assert hp.hparams({"layers": [1, 2]})
    assert as_dict(read_contents(tmp_path)[0].session_start_info) == {"layers": b"[1, 2]"}


def test_duplicate_name_warns(tmp_path: Path) -> None:
    with summary.create_file_writer(tmp_path).as_default():
        with pytest.warns(UsageWarning, match='"lr" twice'):
            assert not hp.hparams({"lr": 1, hp.HParam("lr"): 2})


@pytest.mark.parametrize(
    "domain", [hp.Discrete(["a", "b"]), hp.IntInterval(2, 4), hp.RealInterval(0.5, 1.5)]
)
def test_samples_are_in_the_domain(domain: Any) -> None:
    rng = random.Random(1)
    for _ in range(50):
        sample = domain.sample_uniform(rng)
        assert isinstance(sample, domain.dtype)
        if isinstance(domain, hp.Discrete):
            assert sample in domain.values
        else:
            assert domain.min_value <= sample <= domain.max_value


@pytest.mark.parametrize(
    "make",
    [
        lambda: hp.Discrete([]),
        lambda: hp.Discrete([1, "a"]),
        lambda: hp.Discrete([[1]]),
        lambda: hp.IntInterval(1, 2.5),  # type: ignore[arg-type]
        lambda: hp.IntInterval(3, 2),
        lambda: hp.RealInterval("a", 1.0),  # type: ignore[arg-type]
    ],
)
def test_invalid_domain_raises(make: Any) -> None:
    with pytest.raises(UsageError):
        make()


class Callback:
    """Replaces the class of Keras."""


@pytest.fixture
def keras(monkeypatch: pytest.MonkeyPatch) -> None:
    module = SimpleNamespace(callbacks=SimpleNamespace(Callback=Callback))
    monkeypatch.setitem(sys.modules, "keras", module)  # type: ignore[arg-type]
    create_keras_callback_class.cache_clear()


@pytest.mark.usefixtures("keras")
def test_keras_callback_logs_start_and_end(tmp_path: Path) -> None:
    callback = hp.KerasCallback(str(tmp_path), {"lr": 0.1}, trial_id="one")
    assert isinstance(callback, Callback)
    callback.on_train_begin()
    callback.on_train_end()
    start, end = read_contents(tmp_path)
    assert start.session_start_info.group_name == b"one"
    assert end.session_end_info.status == Status.SUCCESS


@pytest.mark.usefixtures("keras")
def test_keras_callback_does_not_close_a_given_writer(tmp_path: Path) -> None:
    writer = summary.create_file_writer(tmp_path)
    callback = hp.KerasCallback(writer, {"lr": 0.1})
    callback.on_train_begin()
    callback.on_train_end()
    assert not writer.is_closed
    assert len(read_contents(tmp_path)) == 2
    writer.close()


def test_unknown_attribute_raises() -> None:
    with pytest.raises(AttributeError, match="NoSuchName"):
        hp.NoSuchName  # noqa: B018
