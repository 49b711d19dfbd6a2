"""Settings out of a log are taken as far as they can be trusted."""

from __future__ import annotations

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracklight.analysis.meshes import Camera, Light, Material, SceneConfig, parse_scene_config

#: What TensorBoard's documentation gives as an example.
DOCUMENTED = {
    "camera": {"cls": "PerspectiveCamera", "fov": 75, "near": 0.1, "far": 1000},
    "lights": [
        {"cls": "AmbientLight", "color": "#ffffff", "intensity": 0.75},
        {"cls": "DirectionalLight", "color": "#ffffff", "intensity": 0.75, "position": [0, -1, 2]},
    ],
    "material": {"cls": "MeshStandardMaterial", "roughness": 1, "metalness": 0},
}


def read(config: object) -> tuple[SceneConfig, list[str]]:
    notes: list[str] = []
    return parse_scene_config(
        config if isinstance(config, str) else json.dumps(config), notes
    ), notes


def test_the_documented_settings() -> None:
    look, notes = read(DOCUMENTED)
    assert notes == []
    assert look.camera == Camera(fov=75, near=0.1, far=1000)
    assert look.lights[1] == Light("directional", "#ffffff", 0.75, [0, -1, 2])
    assert look.material == Material("MeshStandardMaterial", roughness=1, metalness=0)


def test_places_by_name_and_colours_as_numbers() -> None:
    look, _ = read(
        {
            "camera": {"position": {"x": 1, "y": 2, "z": 3}, "lookAt": [0, 0, 1]},
            "material": {"cls": "PointsMaterial", "size": 0.02, "color": 0xFF8800},
        }
    )
    assert look.camera == Camera(position=[1, 2, 3], look_at=[0, 0, 1])
    assert look.material == Material("PointsMaterial", "#ff8800", 0.02)


@pytest.mark.parametrize("config", ["{", "[]", "3", '"x"', "[" * 100_000, "x" * 70_000, "\ud800"])
def test_what_is_no_object_is_told(config: str) -> None:
    look, notes = read(config)
    assert look == SceneConfig()
    assert notes == ["The settings logged with it are no JSON object and were not used."]


@pytest.mark.parametrize("config", ["", " ", "{}"])
def test_no_settings_are_nothing_to_tell(config: str) -> None:
    assert read(config) == (SceneConfig(), [])


@pytest.mark.parametrize(
    "camera",
    [
        {"fov": "75"},
        {"fov": True},
        {"position": [1, 2]},
        {"position": [1, 2, None]},
        {"position": "far"},
        {"near": [], "far": {}},
    ],
)
def test_fields_of_another_kind_are_passed_over(camera: dict[str, object]) -> None:
    assert read({"camera": camera})[0].camera == Camera()


def test_numbers_that_no_graphics_card_takes() -> None:
    text = '{"camera": {"fov": 1e400, "near": -5, "far": 1e300, "position": [1e999, 0, 0]}}'
    look, _ = read(text)
    assert look.camera in (Camera(near=1e-12, far=1e12), None)
    assert read('{"camera": {"fov": 1' + "0" * 400 + "}}")[0].camera in (Camera(), None)


@pytest.mark.parametrize("color", ["url(x)", "#12", "red; x", "javascript:1", -1, 2**40, None])
def test_colours_that_are_none(color: object) -> None:
    assert read({"material": {"color": color}})[0].material == Material()


def test_too_many_lights_and_unknown_ones() -> None:
    many = [{"cls": "PointLight"}] * 100
    assert len(read({"lights": many})[0].lights) == 8
    look, notes = read({"lights": [{"cls": "Lava"}], "camera": {"cls": "Eye"}})
    assert (look.lights, len(notes)) == ([], 2)


json_values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner),
)
sections = st.fixed_dictionaries(
    {},
    optional={
        "camera": json_values | st.dictionaries(st.sampled_from(["cls", "fov", "up"]), json_values),
        "lights": st.lists(
            json_values | st.dictionaries(st.sampled_from(["cls", "color"]), json_values)
        ),
        "material": json_values | st.dictionaries(st.sampled_from(["size", "cls"]), json_values),
    },
)


@given(sections | json_values)
def test_anything_is_read_and_can_be_sent(config: object) -> None:
    look, _ = read(json.dumps(config))
    assert msgspec.json.decode(msgspec.json.encode(look), type=SceneConfig) == look
