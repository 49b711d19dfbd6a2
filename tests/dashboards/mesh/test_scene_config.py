"""Scene configs of a log are untrusted: only valid settings are used."""

from __future__ import annotations

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracklight.analysis.meshes import Camera, Light, Material, SceneConfig, parse_scene_config
from tracklight.errors import Message

#: The example of TensorBoard's documentation.
DOCUMENTED = {
    "camera": {"cls": "PerspectiveCamera", "fov": 75, "near": 0.1, "far": 1000},
    "lights": [
        {"cls": "AmbientLight", "color": "#ffffff", "intensity": 0.75},
        {"cls": "DirectionalLight", "color": "#ffffff", "intensity": 0.75, "position": [0, -1, 2]},
    ],
    "material": {"cls": "MeshStandardMaterial", "roughness": 1, "metalness": 0},
}


def parse(config: object) -> tuple[SceneConfig, list[str]]:
    notes: list[Message] = []
    return parse_scene_config(config if isinstance(config, str) else json.dumps(config), notes), [
        note.text for note in notes
    ]


def test_parses_the_documented_example() -> None:
    scene, notes = parse(DOCUMENTED)
    assert notes == []
    assert scene.camera == Camera(fov=75, near=0.1, far=1000)
    assert scene.lights[1] == Light("directional", "#ffffff", 0.75, (0, -1, 2))
    assert scene.material == Material("MeshStandardMaterial", roughness=1, metalness=0)


def test_positions_by_name_and_colors_as_numbers() -> None:
    scene, _ = parse(
        {
            "camera": {"position": {"x": 1, "y": 2, "z": 3}, "lookAt": [0, 0, 1]},
            "material": {"cls": "PointsMaterial", "size": 0.02, "color": 0xFF8800},
        }
    )
    assert scene.camera == Camera(position=(1, 2, 3), look_at=(0, 0, 1))
    assert scene.material == Material("PointsMaterial", "#ff8800", 0.02)


@pytest.mark.parametrize("config", ["{", "[]", "3", '"x"', "[" * 100_000, "x" * 70_000, "\ud800"])
def test_reports_configs_that_are_not_objects(config: str) -> None:
    scene, notes = parse(config)
    assert scene == SceneConfig()
    assert notes == ["The scene config of this mesh is not a JSON object and was ignored."]


@pytest.mark.parametrize("config", ["", " ", "{}"])
def test_empty_configs_have_no_notes(config: str) -> None:
    assert parse(config) == (SceneConfig(), [])


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
def test_fields_of_the_wrong_type_are_ignored(camera: dict[str, object]) -> None:
    assert parse({"camera": camera})[0].camera == Camera()


def test_numbers_are_limited() -> None:
    text = '{"camera": {"fov": 1e400, "near": -5, "far": 1e300, "position": [1e999, 0, 0]}}'
    scene, _ = parse(text)
    assert scene.camera in (Camera(near=1e-12, far=1e12), None)
    assert parse('{"camera": {"fov": 1' + "0" * 400 + "}}")[0].camera in (Camera(), None)


@pytest.mark.parametrize("color", ["url(x)", "#12", "red; x", "javascript:1", -1, 2**40, None])
def test_invalid_colors_are_ignored(color: object) -> None:
    assert parse({"material": {"color": color}})[0].material == Material()


def test_number_of_lights_is_limited_and_unknown_types_are_reported() -> None:
    many = [{"cls": "PointLight"}] * 100
    assert len(parse({"lights": many})[0].lights) == 8
    scene, notes = parse({"lights": [{"cls": "Lava"}], "camera": {"cls": "Eye"}})
    assert (scene.lights, len(notes)) == ([], 2)


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
def test_any_config_is_parsed_and_can_be_serialized(config: object) -> None:
    scene, _ = parse(json.dumps(config))
    assert msgspec.json.decode(msgspec.json.encode(scene), type=SceneConfig) == scene
