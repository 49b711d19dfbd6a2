"""Device properties in captures."""

from __future__ import annotations

from tests.analysis.profiles.sample_captures import open_file, read_case
from tracklight.analysis.profiles.trace import (
    Device,
    parse_kineto_devices,
    parse_xplane_device,
)


def test_reads_device_from_xplane() -> None:
    (device,) = open_file("jax_f32.xplane.pb").devices
    assert device == Device("NVIDIA H200", 132, 1.98e9, 4814304000000.0, 150109880320, (9, 0))


def test_reads_device_from_torch_trace() -> None:
    (device,) = open_file("tgpu.pt.trace.json.gz").devices
    assert device == Device("NVIDIA H200", 132, 0.0, 0.0, 150109880320, (9, 0))


def test_cpu_capture_has_no_devices() -> None:
    assert read_case("cnn").devices == ()


def test_invalid_device_properties_are_ignored() -> None:
    stats = {"core_count": "many", "clock_rate": -1, "memory_size": float("nan")}
    assert parse_xplane_device(stats) == Device()
    assert parse_kineto_devices([{"numSms": None, "name": 7}, "none"]) == (Device("7"),)
    assert parse_kineto_devices("nothing") == ()
