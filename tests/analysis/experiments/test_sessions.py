from __future__ import annotations

from tests.server.memory_source import MemorySource
from tracklight.analysis.experiments.sessions import HParamSource, SessionReader, get_session_reader
from tracklight.formats import hparams as formats
from tracklight.formats.hparams import (
    EXPERIMENT_TAG,
    SESSION_END_TAG,
    SESSION_START_TAG,
    HParam,
    Interval,
    Metric,
    Status,
)


def make_source(*runs: str) -> MemorySource:
    source = MemorySource(logged={run: {"loss": [1.0]} for run in runs})
    source.refresh()
    return source


def add_record(source: MemorySource, tag: str, run: str, value: formats.Message) -> None:
    source.metadata.setdefault(tag, {})[run] = value.metadata.plugin_data.content


def add_start(
    source: MemorySource, run: str, group: str = "", **hparams: float | str | bool
) -> None:
    value = formats.build_session_start(hparams, group_name=group, wall_time=5.0)
    add_record(source, SESSION_START_TAG, run, value)


def add_end(source: MemorySource, run: str, status: Status) -> None:
    add_record(source, SESSION_END_TAG, run, formats.build_session_end(status, wall_time=9.0))


def test_sessions_are_read_from_records() -> None:
    source = make_source("b", "a10", "a9")
    add_start(source, "a10", group="g", lr=0.1)
    add_start(source, "a9", lr=0.2)
    add_start(source, "b", lr=0.3)
    add_end(source, "a10", Status.SUCCESS)
    add_end(source, "b", Status.FAILURE)
    found = SessionReader(source).read().sessions
    assert [(it.name, it.group, it.status, it.start_time, it.end_time) for it in found] == [
        ("a9", "a9", Status.UNKNOWN, 5.0, None),
        ("a10", "g", Status.SUCCESS, 5.0, 9.0),
        ("b", "b", Status.FAILURE, 5.0, 9.0),
    ]


def test_damaged_records_are_ignored() -> None:
    source = make_source("a", "b", "c")
    add_start(source, "a", lr=0.1)
    for tag in (SESSION_START_TAG, SESSION_END_TAG, EXPERIMENT_TAG):
        source.metadata.setdefault(tag, {}).update(b=b"\xff\x00\x07", c=b"")
    add_record(source, SESSION_END_TAG, "a", formats.build_session_start({"lr": 1.0}))
    found = SessionReader(source).read()
    assert [it.name for it in found.sessions] == ["a"]
    assert found.sessions[0].status is Status.UNKNOWN


def test_unknown_status_is_read_as_unknown() -> None:
    status = formats.proto.SessionEndInfo(status=77)
    content = formats.proto.HParamsPluginData(session_end_info=status).SerializeToString()
    assert formats.parse_session_end_info(content) == formats.SessionEnd(Status.UNKNOWN, 0.0)


def test_experiments_round_trip() -> None:
    hparams = (HParam("lr", Interval(0.1, 1.0), "Rate", "of *learning*"), HParam("n", (1.0, 2.0)))
    metrics = (Metric("acc", "validation", "Accuracy"),)
    value = formats.build_experiment(hparams, metrics, name="e", description="d")
    content = value.metadata.plugin_data.content
    assert formats.parse_experiment(content) == formats.Experiment(hparams, metrics, "e", "d")


def test_sessions_have_the_study_of_an_ancestor() -> None:
    source = make_source("grid", "grid/a", "grid/a/train", "torch/1")
    experiment = formats.build_experiment([], [])
    for run in ("grid", "torch/1"):
        add_record(source, EXPERIMENT_TAG, run, experiment)
    add_start(source, "grid/a", lr=1.0)
    add_start(source, "torch/1", lr=1.0)
    found = SessionReader(source).read().sessions
    assert [(it.name, it.study) for it in found] == [("grid/a", "grid"), ("torch/1", ".")]


def test_settings_files_are_used_without_records() -> None:
    source = make_source("a", "b/train", "b/test", "c", "d")
    add_start(source, "a", lr=1.0)
    source.beside = {
        "a": {"config.json": b'{"lr": 2}'},
        "b": {"config.json": b'{"lr": 3}', "hparams.yaml": b"lr: 4"},
        "c": {"args.yaml": b"[1,", "config.json": b'{"lr": 5}'},
        ".": {"config.json": b'{"lr": 6}'},
    }
    found = SessionReader(source).read()
    summary = [(it.name, it.hparams["lr"], it.source) for it in found.sessions]
    assert summary == [
        ("a", 1.0, HParamSource.RECORD),
        ("b", 4.0, HParamSource.SETTINGS),
        ("c", 5.0, HParamSource.SETTINGS),
    ]
    (problem,) = found.problems
    assert problem.text.startswith('Cannot read the settings in "c/args.yaml"')


def test_readers_are_shared_per_log() -> None:
    source, other = make_source("a"), make_source("a")
    assert get_session_reader(source) is get_session_reader(source)
    assert get_session_reader(source) is not get_session_reader(other)
