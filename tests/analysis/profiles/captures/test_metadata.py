"""What captures say of the devices that they were taken of."""

from __future__ import annotations

from tests.analysis.profiles.sample_captures import open_file, read_case
from tracklight.analysis.profiles.captures.metadata import parse_kineto_devices, parse_xplane_device
from tracklight.analysis.profiles.trace import Device


def test_profilers_of_xla_say_how_fast_a_device_is() -> None:
    (device,) = open_file("jax_f32.xplane.pb").devices
    assert device == Device("NVIDIA H200", 132, 1.98e9, 4814304000000.0, 150109880320, (9, 0))


def test_torch_says_what_it_has() -> None:
    (device,) = open_file("tgpu.pt.trace.json.gz").devices
    assert device == Device("NVIDIA H200", 132, 0.0, 0.0, 150109880320, (9, 0))


def test_a_capture_of_a_host_has_none() -> None:
    assert read_case("cnn").devices == ()


def test_what_is_no_number_is_not_known() -> None:
    said = {"core_count": "many", "clock_rate": -1, "memory_size": float("nan")}
    assert parse_xplane_device(said) == Device()
    assert parse_kineto_devices([{"numSms": None, "name": 7}, "none"]) == (Device("7"),)
    assert parse_kineto_devices("nothing") == ()
