"""web/src/api/schemas.ts is up to date, and says what is sent."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import msgspec
import numpy as np
import pytest
from numpy.typing import NDArray

import tracklight.dashboards
import tracklight.server
from tools import write_web_types
from tools.write_http_api import collect_routes
from tools.write_web_types import (
    LIVE_EVENTS,
    TARGET,
    TypeWriter,
    choose_names,
    format_doc,
    main,
    write_text,
)
from tracklight.dashboards.graphs.schemas import SearchRequest as GraphSearchRequest
from tracklight.dashboards.projector.schemas import SearchRequest as EmbeddingSearchRequest
from tracklight.plugin import Blob, Empty, Route
from tracklight.server import events
from tracklight.util.files import JsonNumber

#: Structs of the server and the dashboards that are not sent: stored, or only extended by others.
INTERNAL_STRUCTS = {
    "AuditEntry",
    "BandsRequest",
    "ColumnStatistics",
    "DataFilesRequest",
    "DocumentsFile",
    "EmbeddingEdits",
    "Instance",
    "LabelEdit",
    "NotesDocument",
    "ReductionRequest",
    "RuleState",
    "SavedSlice",
    "SeriesRequest",
    "StoredDocument",
    "TagChanges",
}


@pytest.fixture(scope="module")
def text() -> str:
    return write_text()


# ---- the file


def test_file_is_up_to_date(text: str) -> None:
    assert TARGET.read_text(encoding="utf-8") == text, f"run {write_web_types.COMMAND}"


def test_check_fails_if_the_file_is_stale_or_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(write_web_types, "TARGET", tmp_path / "schemas.ts")
    monkeypatch.setattr(write_web_types, "write_text", lambda: "new\n")
    assert main(["--check"]) == 1
    assert write_web_types.COMMAND in capsys.readouterr().err
    assert main([]) == 0
    assert main(["--check"]) == 0
    (tmp_path / "schemas.ts").write_text("old\n")
    assert main(["--check"]) == 1
    assert (tmp_path / "schemas.ts").read_text() == "old\n"


def test_every_struct_that_is_sent_is_declared_once(text: str) -> None:
    exported = re.findall(r"^export (?:interface|type) (\w+)", text, re.M)
    assert len(exported) == len(set(exported))
    names = TypeWriter(collect_routes()).names
    assert len(names) > 300
    assert set(names.values()) <= set(exported)
    for package in (tracklight.dashboards, tracklight.server):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            importlib.import_module(module.name)
    ours = [
        struct
        for struct in _iter_subclasses(msgspec.Struct)
        if struct.__module__.startswith(("tracklight.dashboards.", "tracklight.server."))
    ]
    assert {struct.__name__ for struct in ours if struct not in names} == INTERNAL_STRUCTS


def _iter_subclasses(kind: type) -> Iterator[type]:
    for subclass in kind.__subclasses__():
        yield subclass
        yield from _iter_subclasses(subclass)


def test_every_name_that_is_used_is_declared(text: str) -> None:
    code = re.sub(r"/\*\*.*?\*/|'[^'\n]*'|//.*", "", text, flags=re.DOTALL)
    used = set(re.findall(r"\b[A-Z]\w+", code))
    declared = set(re.findall(r"^export (?:interface|type) (\w+)", text, re.M))
    builtin = {"Blob", "Readonly", "Record", "Name"}
    builtin |= {"Float32Array", "Float64Array", "Int32Array", "Uint8Array"}
    assert used - declared <= builtin


def test_every_route_is_listed_with_its_types(text: str) -> None:
    routes = collect_routes()
    assert len(re.findall(r"^  readonly '(?:GET|POST|PUT|PATCH|DELETE) ", text, re.M)) == len(
        routes
    )
    charts = "    readonly request: ChartsRequest;\n    readonly response: ChartsResponse;\n"
    assert f"  readonly 'POST query': {{\n{charts}" in _read_declaration(text, "ScalarsRoutes")
    server = _read_declaration(text, "ServerRoutes")
    assert "    readonly response: readonly DashboardRow[];\n" in server
    assert "    readonly request: readonly AlertRule[];\n" in server


def test_live_events_are_those_of_the_documentation(text: str) -> None:
    documented = re.findall(r"^    (\w+)  +\{", events.__doc__ or "", re.M)
    assert list(LIVE_EVENTS) == documented
    declared = _read_declaration(text, "LiveEvents")
    assert re.findall(r"readonly (\w+):", declared) == documented


def test_structs_of_static_exports_are_declared(text: str) -> None:
    assert "readonly value: Float32Array | Float64Array;" in _read_declaration(
        text, "ExportedSeries"
    )
    assert "readonly tag_runs: TagRuns;" in _read_declaration(text, "ExportHead")
    assert "readonly tiles: Tiles;" in _read_declaration(text, "StaticTimeline")


def test_values_of_the_api_are_precise(text: str) -> None:
    assert "readonly wall_time: JsonNumber;" in _read_declaration(text, "StampRow")
    assert "readonly points: Readonly<Record<string, Readonly<Record<string, LastPoint>>>>;" in text
    assert "readonly change: readonly (ChangeName | null)[];" in _read_declaration(
        text, "EdgeColumns"
    )
    # Defaults are left out of responses of these structs, so they are never null.
    assert "readonly fov?: number;" in _read_declaration(text, "Camera")
    # Names as in the files of TensorBoard's projector.
    assert "readonly tSNEPerplexity: number | null;" in _read_declaration(text, "Bookmark")
    # Sent as a body in one request, as Base64 in JSON in the other.
    assert "readonly body: Blob;" in _read_declaration(text, "ProjectorUploadRequest")
    assert "readonly rows: Base64;" in _read_declaration(text, "EditRequest")


def _read_declaration(text: str, name: str) -> str:
    found = re.search(rf"^export (?:interface|type) {name}\b.*?(?=\n\n|\Z)", text, re.M | re.S)
    assert found, name
    return found[0]


# ---- the generator

Color = Literal["red", "green", 3]


class Point(NamedTuple):
    """A position."""

    x: float
    label: str


class Circle(msgspec.Struct, tag="circle"):
    """A round shape."""

    radius: float = 1.0


class Square(msgspec.Struct, tag="square"):
    """A shape with */ in its description."""

    side: JsonNumber | None


class Sparse(msgspec.Struct, omit_defaults=True):
    note: str | None = None
    size: int = 0


class DrawRequest(msgspec.Struct):
    """What to draw."""

    shapes: list[Circle | Square]
    color: Color = "red"
    limit: Annotated[int, msgspec.Meta(ge=0)] | None = None
    name: str | msgspec.UnsetType = msgspec.UNSET


class NamedDrawRequest(DrawRequest, kw_only=True):
    title: str


class DrawResponse(msgspec.Struct):
    first: Circle
    points: tuple[Point, ...]
    pair: tuple[int, bool]
    colors: dict[str, Color | None]
    ids: NDArray[np.int64]
    mask: NDArray[np.bool_] | None
    sparse: Sparse
    any: object
    is_big: bool = False


def draw(request: DrawRequest) -> DrawResponse:
    """Draw some shapes."""
    raise NotImplementedError


def draw_named(request: NamedDrawRequest) -> Blob:
    """Draw a file."""
    raise NotImplementedError


@pytest.fixture(scope="module")
def sample() -> str:
    routes = [Route("draw", DrawRequest, draw), Route("named", NamedDrawRequest, draw_named)]
    return "\n\n".join(TypeWriter(routes, {"ping": Empty}, ()).iter_sections())


def test_request_fields_with_defaults_are_optional(sample: str) -> None:
    assert _read_declaration(sample, "DrawRequest").splitlines() == [
        "export interface DrawRequest {",
        "  readonly shapes: readonly (CircleInput | Square)[];",
        '  /** Default: `"red"`. */',
        "  readonly color?: Color;",
        "  readonly limit?: number | null;",
        "  readonly name?: string;",
        "}",
    ]
    assert "/** What to draw. */\nexport interface DrawRequest {" in sample


def test_response_fields_are_always_present(sample: str) -> None:
    assert _read_declaration(sample, "DrawResponse").splitlines() == [
        "export interface DrawResponse {",
        "  readonly first: Circle;",
        "  readonly points: readonly Point[];",
        "  readonly pair: readonly [number, boolean];",
        "  readonly colors: Readonly<Record<string, Color | null>>;",
        "  readonly ids: Float64Array;",
        "  readonly mask: Uint8Array | null;",
        "  readonly sparse: Sparse;",
        "  readonly any: unknown;",
        "  readonly is_big: boolean;",
        "}",
    ]


def test_omitted_defaults_are_optional_and_never_null(sample: str) -> None:
    assert "readonly note?: string;" in _read_declaration(sample, "Sparse")
    assert "readonly size?: number;" in _read_declaration(sample, "Sparse")


def test_struct_of_both_directions_has_two_types_if_they_differ(sample: str) -> None:
    assert "  readonly type: 'circle';\n  readonly radius: number;" in _read_declaration(
        sample, "Circle"
    )
    declared = _read_declaration(sample, "CircleInput")
    assert "  /** Default: `1.0`. */\n  readonly radius?: number;" in declared


def test_numbers_may_be_names_and_comments_are_escaped(sample: str) -> None:
    assert "  readonly side: JsonNumber | null;" in _read_declaration(sample, "Square")
    assert "/** A shape with *\\/ in its description. */\n" in sample


def test_subclass_extends_its_base(sample: str) -> None:
    assert _read_declaration(sample, "NamedDrawRequest").splitlines() == [
        "export interface NamedDrawRequest extends DrawRequest {",
        "  readonly title: string;",
        "}",
    ]


def test_named_tuples_have_labels_and_named_unions_keep_their_name(sample: str) -> None:
    assert "export type Point = readonly [x: number, label: string];" in sample
    assert "export type Color = 'red' | 'green' | 3;" in sample


def test_file_responses_are_blobs(sample: str) -> None:
    assert "  /** Draw a file. */\n  readonly 'POST named': {" in sample
    assert "    readonly response: Blob;" in sample
    assert "export type Empty = Record<string, never>;" in sample


def test_equal_names_get_the_dashboard_in_front() -> None:
    names = choose_names([GraphSearchRequest, EmbeddingSearchRequest, Point])
    assert list(names.values()) == ["GraphsSearchRequest", "ProjectorSearchRequest", "Point"]
    other: Any = type("Point", (msgspec.Struct,), {})
    with pytest.raises(ValueError, match="Point"):
        choose_names([Point, other])


def test_long_comments_are_wrapped() -> None:
    lines = format_doc("word " * 40, "  ")
    assert (lines[0], lines[-1]) == ("  /**", "   */")
    assert all(len(line) <= 100 for line in lines)
    assert format_doc("") == []
