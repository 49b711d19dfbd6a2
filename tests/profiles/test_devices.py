"""What captures say of the devices that they were taken of."""

from __future__ import annotations

from tests.profiles.captured import open_file, read_case
from tracklight.profiles.devices import Device, read_kineto_devices, read_plane_device


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
    assert read_plane_device(said) == Device()
    assert read_kineto_devices([{"numSms": None, "name": 7}, "none"]) == (Device("7"),)
    assert read_kineto_devices("nothing") == ()
